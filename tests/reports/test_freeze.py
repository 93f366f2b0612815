import dataclasses
import json
from datetime import timedelta

import pandas as pd
import pytest

from reports.freeze import FreezeOptions, ReportError, freeze, load, save
from reports.html import render
from reports.redact import HIDDEN_DOLLARS, Redaction, hide_amounts
from tests.reports.samples import HOSTILE, NOW, draw, sample_result


def test_equal_content_has_equal_hash_whenever_it_is_frozen(result):
    first = freeze([result], "Weekly", draw=draw, now=NOW)
    again = freeze([sample_result()], "Weekly", draw=draw, now=NOW + timedelta(days=3))
    assert first.hash == again.hash
    assert freeze([result], "Other title", draw=draw).hash != first.hash


def test_any_changed_number_changes_the_hash(result):
    changed = dataclasses.replace(
        result, headline=(dataclasses.replace(result.headline[0], value=41_234.6), *result.headline[1:])
    )
    assert freeze([changed], "t", draw=draw).hash != freeze([result], "t", draw=draw).hash


def test_saved_report_reads_back_and_refuses_changed_bytes(report, tmp_path):
    save(report, tmp_path, render)
    assert load(tmp_path, report.hash) == report
    path = tmp_path / "reports" / f"{report.hash}.json"
    path.write_text(path.read_text().replace("41234.5", "31234.5"))
    with pytest.raises(ReportError, match="changed after it was frozen"):
        load(tmp_path, report.hash)


def test_a_second_freeze_leaves_the_first_page_alone(report, tmp_path):
    page = save(report, tmp_path, lambda _: "first")
    assert save(report, tmp_path, lambda _: "second").read_text() == "first"
    assert [p.name for p in page.parent.iterdir() if p.name.endswith(".part")] == []


def test_a_lone_surrogate_does_not_break_the_freeze(result):
    odd = dataclasses.replace(result, answer="run \ud800 ended")
    report = freeze([odd], "t", draw=draw)
    assert "run ? ended" in render(report)


def test_no_result_is_no_report():
    with pytest.raises(ValueError, match="at least one"):
        freeze([], "t", draw=draw)


def test_hidden_dollars_are_nowhere_in_the_bytes(result):
    report = freeze([result], "Cost $41.2k", FreezeOptions(Redaction(dollars=True)), draw=draw)
    page = render(report)
    text = page[: page.index("<script>")] + report.to_json()
    for amount in ("41234", "41,234", "41.2k", "30000", "52000", "$7.0k", "Bars of dollars"):
        assert amount not in text
    spend = report.sections[0]["headline"][0]
    assert (spend["value"], spend["low"], spend["missing"]) == (None, None, HIDDEN_DOLLARS)
    assert [f["name"] for f in report.sections[0]["figures"]] == ["steps"]
    assert "usd" not in report.sections[0]["columns"]["runs"]
    assert report.sections[0]["headline"][1]["value"] == 5.9
    assert report.sections[0]["tables"]["runs"][1]["gpu_h"] == 12_345.678
    assert "1 figure that shows dollars is left out" in page
    assert "The author has hidden dollar amounts." in page


def test_amounts_under_another_name_and_inside_cells_go_too(result):
    table = pd.DataFrame(
        {
            "usd": [12.34, 56.78],
            "x": [12.34, 56.78],
            "step": [1, 2],
            "parts": [[{"phase": "eval", "usd": 12.34}], []],
            "metric": ["spend", "steps"],
            "unit": ["USD", "count"],
            "value": [910.11, 7.0],
        }
    )
    report = freeze(
        [dataclasses.replace(result, tables={"t": table})],
        "t",
        FreezeOptions(Redaction(dollars=True)),
        draw=draw,
    )
    section = report.sections[0]
    assert section["columns"]["t"] == ["step", "parts", "metric", "unit", "value"]
    assert section["tables"]["t"][0]["parts"] == [{"phase": "eval"}]
    assert [row["value"] for row in section["tables"]["t"]] == [None, 7.0]
    assert "prices" not in report.payload["versions"]
    assert "prices" not in section["versions"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("cost $41.2k (rent)", "cost $… (rent)"),
        ("-$5.00 or 12 USD", "$… or $…"),
        ("7 points for $1,234,567.", "7 points for $…."),
        ("31 % of the money", "31 % of the money"),
    ],
)
def test_amounts_of_money_are_replaced_in_sentences(text, left):
    assert hide_amounts(text) == left


def test_hidden_names_are_replaced_alike_everywhere(result):
    named = dataclasses.replace(result, answer="node-17.corp of team-x was slow; node-17.corporate was not.")
    chosen = FreezeOptions(Redaction(names=True), ("team-x", "node-17.corp"))
    report = freeze([named], "On node-17.corp", chosen, draw=draw)
    text = report.to_json()
    assert "node-17.corp " not in text.replace("node-17.corporate", "")
    assert '"node-17.corp"' not in text
    assert "team-x" not in text
    assert report.title == "On host 1"
    assert report.answer == "host 1 of name 1 was slow; node-17.corporate was not."
    assert report.sections[0]["tables"]["runs"][0]["host"] == "host 1"
    assert report.sections[0]["figures"][1]["light"]["data"][0]["name"] == "host 1"


def test_a_host_called_like_a_plotly_setting_does_not_break_figures(result):
    report = freeze(
        [result], "t", FreezeOptions(Redaction(names=True), ("scatter", "data", "layout")), draw=draw
    )
    figure = report.sections[0]["figures"][1]["light"]
    assert figure["data"][0]["type"] == "scatter"
    assert set(figure) == {"data", "layout"}


def test_hostile_texts_survive_as_texts(report):
    stored = json.loads(report.to_json())["payload"]["sections"][0]
    assert stored["tables"]["runs"][0]["run"] == HOSTILE
