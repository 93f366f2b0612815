"""Scenarios side by side: each answered as its own question, differences marked, refusals said."""

import json
from typing import Any

import pandas as pd
import pytest

from analysis import parse, run
from analysis.result import Figure, Result
from analysis.scenariowords import given, labels_of, shown_figure, summary
from data.errors import UserError
from reports.freeze import FreezeOptions, freeze
from reports.html import render
from reports.redact import Redaction
from tests.analysis.conftest import Home

CHEAP = {"wacc_frac": 0.08, "gpus": 64, "utilisation_frac": 0.5, "buy": "h100-sxm", "unit_usd": 250_123.0}
DEAR = {**CHEAP, "wacc_frac": 0.2, "gpus": 128}


def case(name: str, question: str, params: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "question": question, "params": params, **more}


def compared(home: Home, *cases: dict[str, Any]) -> Result:
    return run("scenarios", home.view(), {"cases": [json.dumps(one) for one in cases]})


def test_each_is_answered_as_its_own_question_is(home: Home) -> None:
    found = compared(home, case("A", "own_cost", CHEAP), case("B", "own_cost", DEAR))
    values = found.tables["values"]
    for name, params in (("A", CHEAP), ("B", DEAR)):
        alone = run("own_cost", home.view(), params)
        own = values[values["scenario"] == name].set_index("name")
        assert dict(own["value"]) == pytest.approx({f.name: f.value for f in alone.headline})
        answers = found.tables["scenarios"].set_index("scenario")["answer"]
        assert answers[name] == alone.answer
    first = values[values["scenario"] == "A"].set_index("name")["value"]
    second = values[values["scenario"] == "B"].set_index("name")
    assert dict(second["change_frac"]) == pytest.approx(dict(second["value"] / first - 1))


def test_inputs_that_differ_are_marked_and_named(home: Home) -> None:
    found = compared(home, case("A", "own_cost", CHEAP), case("B", "own_cost", DEAR))
    inputs = found.tables["inputs"].set_index("input")
    differing = inputs[inputs["differs"] == "differs"]
    assert [list(row) for row in differing[["A", "B"]].to_numpy()] == [["64", "128"], ["8 %", "20 %"]]
    assert set(inputs.loc[inputs["A"] == "H100 SXM", "differs"]) == {""}, "platforms by their names"
    assert (inputs["differs"] == "").sum() == 3  # given and alike: busy share, platform, price of a unit
    assert "They differ in 2 inputs: " in found.answer
    assert all(name in found.answer for name in differing.index)


def test_what_cannot_be_answered_says_why_in_its_place(home: Home) -> None:
    found = compared(
        home,
        case("fine", "own_cost", CHEAP),
        case("old", "own_cost", CHEAP, version=0),
        case("gone", "ledger", {"runs": ["nobody"]}),
        case("inward", "scenarios", {}),
    )
    why = found.tables["scenarios"].set_index("scenario")["missing"]
    assert why["fine"] == ""
    assert "version 0" in why["old"] and "save it again" in why["old"]
    assert "'nobody'" in why["gone"] and "comparison" in why["inward"]
    assert [w.code for w in found.warnings].count("scenario_refused") == 3
    assert set(found.tables["values"]["scenario"]) == {"fine"}


@pytest.mark.parametrize(
    "cases",
    [
        [case("A", "own_cost", {}), case("A", "own_cost", {})],
        [case(str(n), "own_cost", {}) for n in range(7)],
        [{"name": "A"}],
        ["{"],
    ],
)
def test_a_list_that_is_none_is_refused(cases: list[Any]) -> None:
    with pytest.raises(UserError, match="cases"):
        parse("scenarios", {"cases": cases})


def test_a_name_like_a_heading_keeps_its_column(home: Home) -> None:
    found = compared(home, case("unit", "own_cost", CHEAP), case("figure", "own_cost", DEAR))
    assert list(found.tables["figures"]) == [
        "figure",
        "unit",
        "differs",
        "unit (scenario)",
        "figure (scenario)",
    ]
    assert found.tables["inputs"]["figure"].notna().all()


def test_shares_change_by_points_and_the_rest_by_percent_of_the_first() -> None:
    def told(value: float, base: float, unit: str) -> str:
        return shown_figure(Figure("x", "X", value, unit), Figure("x", "X", base, unit))

    assert told(0.95, 0.9, "frac") == "95 %, +5.00 points"
    assert told(30_000, 40_000, "usd") == "$30.0k, -25 %"
    assert told(7, 7, "gpus") == "7 gpus"
    assert shown_figure(Figure("x", "X", None, "usd", missing="no price"), Figure("x", "X", 1, "usd")) == (
        "not known: no price"
    )
    assert [given(v, u) for v, u in ((0.123456, "%"), (1234567.5, "USD"), ([], ""), (2048, "GPUs"))] == [
        "12.3456 %", "$1,234,567.5", "not given", "2,048",
    ]  # fmt: skip


def test_a_shared_comparison_hides_dollars_when_asked(home: Home) -> None:
    found = compared(home, case("A", "own_cost", CHEAP), case("B", "own_cost", DEAR))
    assert "250123" in freeze([found], "t").to_json()
    hidden = freeze([found], "t", FreezeOptions(Redaction(dollars=True)))
    assert "250123" not in hidden.to_json() and "250,123" not in hidden.to_json()
    page = render(hidden)
    assert "wacc" not in page.split("What was asked")[1].split("</details>")[0]
    assert "A: own_cost" in page or "A: own cost" in page


def test_an_input_left_empty_shows_what_counted_instead(home: Home) -> None:
    bare = {name: value for name, value in CHEAP.items() if name != "unit_usd"}
    found = compared(home, case("A", "own_cost", CHEAP), case("B", "own_cost", bare))
    settings = run("own_cost", home.view(), bare).tables["settings"].set_index("name")
    published = settings.loc["unit_usd", "value"]
    row = found.tables["inputs"].set_index("input").loc[settings.loc["unit_usd", "label"]]
    assert row["A"] == "$250,123" and row["differs"] == "differs"
    assert row["B"] == ("not given" if published != published else f"${published:,.10g}, not given")
    assert published == published, "the test needs a platform with a published price"


def test_inputs_of_plans_are_told_in_the_words_of_their_pages() -> None:
    told = {name: (one.label, one.unit) for name, one in labels_of("cadence", None).items()}
    assert told["wanted"] == ("Certainty to finish in time", "%")
    assert told["spare_frac"] == ("Spare", "%") and told["period_h"] == ("Period", "h")
    growth = labels_of("forecast", None)
    assert (growth["growth_frac_month"].label, growth["growth_frac_month"].unit) == ("Growth a month", "%")
    assert (growth["growth_low"].label, growth["growth_low"].unit) == ("Growth a month, low", "%")
    assert labels_of("nobody asks this", None) == {}
    one = Result("cadence", {}, "", (Figure("g", "Working GPUs", 8, "GPUs"), Figure("u", "Cost", 5e3, "usd")))
    assert summary([("A", one)], pd.DataFrame(columns=["input", "differs"]), "differs").startswith(
        "A: working GPUs 8 and cost $5.00k. "
    )
