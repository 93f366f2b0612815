"""A notebook frozen as it stands: every kind of cell, what is wrong with one, and its page."""

import json
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.result import Figure
from data.errors import UserError
from reports.drawn import drawn_rows, patch_of, patched
from reports.freeze import FreezeOptions
from reports.html import render
from reports.notebook.document import (
    AnalysisCell,
    ChartCell,
    Document,
    MetricCell,
    ParameterCell,
    SqlCell,
    TextCell,
)
from reports.notebook.frozen import NOT_RUN, STALE, document_of, freeze_notebook, rows_of
from reports.notebook.run import Output, SqlFacts
from reports.redact import Redaction
from tests.reports.samples import HOSTILE, NOW, sample_result
from tests.reports.test_html import Page

ROWS = pa.table({"run": ["a", HOSTILE], "step_s": [1.5, 90.25]})
CELLS: dict[str, Any] = {
    "words": TextCell(
        markdown=f"# Why\n\n**Bold** {HOSTILE} [in](https://a.example/x) [no](javascript:alert(1))"
    ),
    "least": ParameterCell(name="least", label="Least steps", value=10.0, unit="steps"),
    "spend": AnalysisCell(name="spend", question="ledger", figures=(), tables=True),
    "slow": SqlCell(name="slow", sql="select run, step_s from steps where step >= $least"),
    "bars": ChartCell(
        name="bars", source="slow", chart="bar", x="run", y=("step_s",), title="Slowest", unit="s"
    ),
    "top": MetricCell(name="top", source="slow", column="step_s", summary="max", label="Slowest step"),
}
NOTE = "id: numbers of more than 15 digits: shown as text"
TOP = Figure("top", "step_s", 90.25, "s", interval="none")
DOCUMENT = Document(title="Weekly", cells=tuple(CELLS.values()))


def output(name: str, **more: Any) -> Output:
    return Output(CELLS[name].id, "f", more.pop("state", "done"), **more)


def outputs(**changed: Output | None) -> dict[str, Output]:
    every: dict[str, Output | None] = {
        "spend": output("spend", result=sample_result()),
        "slow": output("slow", table=ROWS, sql=SqlFacts(1_234, 2, True, 0.5, (NOTE,))),
        "bars": output("bars", table=ROWS),
        "top": output("top", value=TOP),
        **changed,
    }
    return {one.cell_id: one for one in every.values() if one is not None}


def text(page: str) -> str:
    return " ".join(Page(page).text.split())


def test_every_cell_is_a_section_with_what_it_was_computed_from() -> None:
    report = freeze_notebook(DOCUMENT, outputs(), versions={"data_version": "7"}, now=NOW)
    words, least, spend, slow, bars, top = report.sections
    assert [s["kind"] for s in report.sections] == ["text", "parameter", "analysis", "sql", "chart", "metric"]
    assert least["parameters"] == slow["parameters"] == bars["parameters"] == {"least": 10.0}
    assert slow["rows"] == {"scanned": 1_234, "returned": 2, "cut": True, "notes": [NOTE]}
    assert slow["tables"]["slow"] == bars["tables"]["bars"] == ROWS.to_pylist()
    assert bars["figures"][0]["name"] == "bars" and bars["source"] == "slow"
    assert (top["headline"][0]["value"], top["headline"][0]["label"]) == (90.25, "Slowest step")
    assert spend["answer"] == report.answer and "7" in report.payload["versions"]["data_version"]
    assert words["text"] == CELLS["words"].markdown
    assert document_of(report) == DOCUMENT


def test_equal_notebooks_hash_alike_and_a_moved_parameter_does_not() -> None:
    again = freeze_notebook(DOCUMENT, outputs())
    assert freeze_notebook(DOCUMENT, outputs()).hash == again.hash
    moved = CELLS["least"].model_copy(update={"value": 11.0})
    other = Document(title="Weekly", cells=tuple(moved if c.id == moved.id else c for c in DOCUMENT.cells))
    assert freeze_notebook(other, outputs()).hash != again.hash


def test_cells_that_are_not_as_they_should_be_are_named_and_never_dropped() -> None:
    refused = UserError("There is no table 'x'", "cell slow", "Use one of the list.")
    report = freeze_notebook(
        DOCUMENT,
        outputs(
            slow=output("slow", state="failed", error=refused),
            bars=output("bars", state="blocked", error=UserError("'slow' failed", "", "Mend 'slow'.")),
            top=None,
        ),
        stale=[CELLS["spend"].id],
    )
    assert {s["name"]: s["state"] for s in report.sections if s["state"] != "done"} == {
        "spend": "stale",
        "slow": "failed",
        "bars": "blocked",
        "top": "not_run",
    }
    told = text(render(report))
    assert "4 of 6 cells are not as they should be." in told
    for part in (
        "There is no table 'x'. Use one of the list.",
        "'slow' failed. Mend 'slow'.",
        STALE,
        NOT_RUN,
    ):
        assert part in told
    assert "Out of date: spend" in told and "gained 5.9" in told


def test_the_page_holds_words_values_statements_and_numbers_without_a_script() -> None:
    report = freeze_notebook(DOCUMENT, outputs(), now=NOW)
    page = render(report)
    seen = Page(page)
    assert (
        seen.addresses == ["https://a.example/x"] and 'rel="noopener noreferrer' in page and not seen.handlers
    )
    told = text(page)
    for part in (
        "Least steps least 10 steps parameter, of 0 steps to 100 steps",
        "1,234 rows scanned · 2 returned, cut at the limit: there are more",
        NOTE,
        "select run, step_s from steps where step >= $least",
        "What is drawn · 2 rows",
        "Slowest step top 90.2 s",
        "vendor spec",
        "Used by",
    ):
        assert part in told
    assert told.count(HOSTILE) >= 3 and "javascript:alert(1)" in told
    assert '<details class="drawn" open>' in page and "<noscript><style>.plot { display: none; }" in page


def test_a_report_of_a_page_or_with_hidden_parts_is_no_notebook_again() -> None:
    hidden = freeze_notebook(DOCUMENT, outputs(), FreezeOptions(Redaction(dollars=True)))
    assert document_of(hidden) == DOCUMENT  # in the home of its author
    bare = type(hidden)(hidden.hash, hidden.created_at, hidden.payload)
    with pytest.raises(UserError, match="Parts of this report are hidden"):
        document_of(bare)


def test_values_of_sql_become_json() -> None:
    moment = datetime(2026, 12, 1, 7, 30)
    table = pa.table(
        {"a": [Decimal("1.50"), None], "b": [float("nan"), 2.0], "c": [moment, None], "d": [[1, 2], None]}
    )
    assert rows_of(table) == [
        {"a": 1.5, "b": None, "c": "2026-12-01T07:30:00", "d": [1, 2]},
        {"a": None, "b": 2.0, "c": None, "d": None},
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab=.", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab=.", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON, JSON)
def test_a_patch_makes_one_specification_of_the_other(light: Any, dark: Any) -> None:
    made = patched(light, patch_of(light, dark))
    assert json.dumps(made, sort_keys=True) == json.dumps(dark, sort_keys=True)


def test_what_a_figure_draws_is_rows_of_its_traces() -> None:
    packed = {"dtype": "f8", "bdata": "AAAAAAAA8D8AAAAAAAAAQA=="}  # 1.0 and 2.0, little-endian doubles
    grid = {"type": "heatmap", "x": ["p", "q"], "y": ["u"], "z": [[5, None]], "name": "h"}
    spec = {
        "data": [{"name": "s", "x": ["a", "b"], "y": packed}, {"name": "key", "x": [None], "y": [None]}, grid]
    }
    columns, rows = drawn_rows(spec)
    assert columns == ["series", "x", "y", "value"]
    assert [(r["series"], r["x"], r["y"], r.get("value")) for r in rows] == [
        ("s", "a", 1.0, None),
        ("s", "b", 2.0, None),
        ("h", "p", "u", 5),
    ]


def test_what_a_figure_draws_tells_whiskers_bands_ends_of_bars_and_names_of_rows() -> None:
    bars = {
        "type": "bar", "orientation": "h", "name": "sure &amp; <b>told</b>", "x": [2.0, 4.0], "y": [0, 1],
        "error_x": {"array": [0.5, None], "arrayminus": [0.25, 1.0]}, "base": [0.0, 3.0],
    }  # fmt: skip
    band = {"type": "scatter", "fill": "toself", "name": "band", "x": [1, 2, 2, 1], "y": [9.0, 8.0, 4.0, 5.0]}
    notes = [
        {"xref": "paper", "x": 0, "y": place - 0.35, "text": f"<b>{name}</b> $2.00"}
        for place, name in enumerate(("By tag", "By a &lt;run&gt;"))
    ]
    layout = {"yaxis": {"showticklabels": False}, "annotations": notes}
    columns, rows = drawn_rows({"data": [bars, band], "layout": layout})
    assert columns == ["series", "x", "y", "low", "high", "bar_from", "bar_to"]
    assert [[row.get(c) for c in columns] for row in rows] == [
        ["sure & told", 2.0, "By tag", 1.75, 2.5, None, None],
        ["sure & told", 4.0, "By a <run>", None, None, 3.0, 7.0],
        ["band", 1, None, 5.0, 9.0, None, None],
        ["band", 2, None, 4.0, 8.0, None, None],
    ]


def times(*hours: int) -> list[pd.Timestamp]:
    return [pd.Timestamp(2026, 11, 2, hour) for hour in hours]


@pytest.mark.parametrize(("shown", "shared"), [((9, 11), True), ((14, 16), False)])
def test_phases_take_the_time_axis_of_the_timeline_above_them(shown: tuple[int, int], shared: bool) -> None:
    """Bins of an hour from 9 to 12 cover the run's 10 to 12 in part; bins from 14 on say nothing of it."""
    busy = AnalysisCell(name="busy", question="utilisation", figures=())
    lost = AnalysisCell(name="lost", question="waste", figures=("track",))
    line = pd.DataFrame({"bin": times(*shown), "bin_minutes": 60})
    track = pd.DataFrame(
        {"start": times(10, 11), "end": times(11, 12), "pool": "", "phase": "train", "frac": 0.5}
    ).assign(seconds=1.0, step_first=1, step_last=2)
    answered = {
        cell.id: Output(
            cell.id, "f", "done", result=replace(sample_result(), analysis=cell.question, tables=t)
        )
        for cell, t in ((busy, {"timeline": line}), (lost, {"track": track}))
    }
    ends = [times(hour)[0].isoformat() for hour in (shown[0], shown[1] + 1)]
    for cells, wanted in (((busy, lost), shared), ((lost, busy), False)):
        sections = freeze_notebook(Document(title="T", cells=cells), answered).sections
        (figure,) = next(s for s in sections if s["name"] == "lost")["figures"]
        told = figure["light"]["layout"]["xaxis"].get("range")
        assert (told is not None and [str(end)[:19] for end in told] == ends) == wanted
