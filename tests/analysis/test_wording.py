"""What sentences must not get wrong: made-up data first, bounds said, numbers and nouns that agree."""

from datetime import datetime

import pytest

import analysis
from analysis.words import month_words, percent, plural
from data.tables import tables
from tests.analysis.conftest import Home, gpu_minutes
from tests.examples import in_turn

ABOUT_NONE = {"forecast_score", "scenarios"}
"""Questions about what was kept or named."""
ELSEWHERE = {"backtest", "nemotron", "platforms", "pricebook", "reconciliation"} | ABOUT_NONE
ABOUT_RUNS = sorted(set(analysis.QUESTIONS) - ELSEWHERE)
"""Questions that a home without a bill answers from its runs."""
ABOUT_ONE = {"projection", "cadence", "pools", "sandboxes", "weight_sync"}


@pytest.mark.parametrize("question", in_turn(ABOUT_RUNS, turn=1))
def test_made_up_data_is_said_first(home: Home, question: str) -> None:
    home.con.execute("UPDATE runs SET synthetic = true WHERE run = 'steady'")
    home.con.execute("UPDATE allocations SET platform = 'gb300-nvl72' WHERE run = 'broken'")
    gpu_minutes(home)
    one = {"run": "steady"} if question in ABOUT_ONE else {}
    found = analysis.run(question, home.view(), {"boundary": "full", **one})
    assert found.warnings[0].code == "synthetic"
    assert found.warnings[0].where == "steady"


@pytest.mark.parametrize("question", ["unit_economics", "learning", "ledger"])
def test_a_lower_bound_is_said_in_the_sentence(home: Home, question: str) -> None:
    assert "at least" not in analysis.run(question, home.view(), {"runs": ["steady"]}).answer
    home.con.execute("UPDATE allocations SET seconds_basis = 'progress_bar' WHERE run = 'steady'")
    assert "at least $" in analysis.run(question, home.view(), {"runs": ["steady"]}).answer


def test_samples_alone_are_not_nothing(empty_home: Home) -> None:
    assert analysis.run("ledger", empty_home.view()).warnings[0].code == "empty_home"
    values = {"VARCHAR": "x", "TIMESTAMP": datetime(2026, 1, 1), "BIGINT": 1, "BOOLEAN": False, "DOUBLE": 1.0}
    kinds = {c.name: c.type for c in tables()["uploads"] if c.required}
    empty_home.add("uploads", {name: values.get(kind, "{}") for name, kind in kinds.items()})
    found = analysis.run("ledger", empty_home.view())
    assert found.warnings[0].code == "no_runs"
    assert "none of them names a run" in found.answer


def test_one_and_several(home: Home) -> None:
    gpu_minutes(home)
    home.con.execute("UPDATE gpus SET run = NULL")
    found = analysis.run("utilisation", home.view())
    assert "over 2 GPUs" in found.answer
    assert any(w.text.startswith("2 GPUs belong to no run") for w in found.warnings)
    home.con.execute("DELETE FROM gpus WHERE gpu_index = 1")
    found = analysis.run("utilisation", home.view())
    assert "over 1 GPU with" in found.answer
    assert any(w.text.startswith("1 GPU belongs to no run") for w in found.warnings)


def test_runs_without_a_campaign_agree_with_their_verb(home: Home) -> None:
    home.con.execute("UPDATE runs SET campaign = NULL")
    home.con.execute("DELETE FROM allocations")
    home.con.execute("DELETE FROM evals")
    answer = analysis.run("ledger", home.view()).answer
    assert answer.startswith("The 3 runs without a campaign have no dollar figure yet and what they gained")
    assert "2 more runs without cost" in answer


def test_few_samples_of_much_allocated_time_are_said(home: Home) -> None:
    gpu_minutes(home)
    assert "of the allocated GPU-hours" in analysis.run("utilisation", home.view()).answer


def test_the_best_of_several_runs_is_named_as_such(home: Home) -> None:
    assert "in its best run" not in analysis.run("ledger", home.view()).answer
    home.con.execute("UPDATE campaigns SET shipped_checkpoint = NULL")
    home.con.execute("UPDATE evals SET step = 0 WHERE eval_id = 'broken-6'")
    found = analysis.run("ledger", home.view())
    noted = "best_of_many" in {w.code for w in found.warnings}
    assert ("in its best run" in found.answer) == noted


def test_the_one_run_of_several_that_has_a_gain_is_named(home: Home) -> None:
    home.con.execute("UPDATE runs SET campaign = NULL")
    home.con.execute("DELETE FROM evals WHERE run IS NOT NULL AND run <> 'steady'")
    answer = analysis.run("ledger", home.view()).answer
    assert answer.startswith("The 3 runs without a campaign cost")
    assert "points on MATH-500 in steady, the only run with a comparison" in answer


def test_words() -> None:
    assert [percent(x) for x in (1.0, 0.9967, 0.99999, 0.5, 0)] == [
        "100 %",
        "99.7 %",
        "99.9 %",
        "50 %",
        "0 %",
    ]
    assert [f"{n} {plural('run', n)}" for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]


def test_months_are_named_in_full() -> None:
    assert [month_words(f"2026-{n:02d}").split()[0][:3] for n in range(1, 13)] == [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]  # fmt: skip
    assert (month_words("2026-03"), month_words("2028-09")) == ("March 2026", "September 2028")
