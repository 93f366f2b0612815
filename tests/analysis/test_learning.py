"""Score against what had been spent by then."""

import pandas as pd
import pytest

from analysis.evaluations import load_evaluations
from analysis.learning import LearningParams, compute
from analysis.result import Result
from analysis.thin import thin
from data.queries.filters import Filters
from models.stats import wilson
from tests.analysis.conftest import Home, evaluation


def ask(home: Home, **params: object) -> Result:
    return compute(home.view(), LearningParams(**params))


def line(result: Result, name: str, column: str = "x") -> list[float]:
    points = result.tables["points"]
    return points.loc[points["run"] == name, column].tolist()


def test_money_spent_by_each_evaluation(home: Home) -> None:
    result = ask(home)
    assert line(result, "steady") == pytest.approx([0, 80, 160])
    # the failed attempt's $12 are paid before the second attempt begins; its lost point is not drawn
    assert line(result, "broken") == pytest.approx([0, 36])
    assert line(result, "broken", "score") == pytest.approx([0.61, 0.64])


@pytest.mark.parametrize(
    ("x", "boundary", "steady", "broken"),
    [
        ("usd", "compute", [0, 80, 160], [0, 32]),
        ("gpu_hours", "campaign", [0, 40, 80], [0, 12]),
        ("hours", "campaign", [0, 5, 10], [0, 3]),
        ("steps", "campaign", [0, 150, 300], [0, 12]),
        ("tokens", "campaign", [0, 9.6e6, 19.2e6], [0]),
    ],
)
def test_other_axes(home: Home, x: str, boundary: str, steady: list[float], broken: list[float]) -> None:
    result = ask(home, x=x, boundary=boundary)
    assert line(result, "steady") == pytest.approx(steady)
    assert line(result, "broken") == pytest.approx(broken)


def test_every_point_has_a_wilson_interval(home: Home) -> None:
    points = ask(home).tables["points"]
    for row in points.itertuples():
        expected = wilson(row.score * row.n, row.n)
        assert (row.low, row.high) == pytest.approx((expected.low, expected.high))


def test_full_boundary_ends_at_the_full_spend(home: Home) -> None:
    home.add("costs", {"currency": "USD", "run": "steady", "bucket": "data", "effective_cost": 40.0})
    assert line(ask(home, boundary="full"), "steady") == pytest.approx([0, 100, 200])


def test_money_without_step_times_is_spread_evenly_and_said(home: Home) -> None:
    home.con.execute("UPDATE steps SET step_s = NULL WHERE run = 'steady'")
    home.con.execute("DELETE FROM step_phases WHERE run = 'steady'")
    result = ask(home)
    assert line(result, "steady") == pytest.approx([0, 80, 160])
    assert "even_steps" in {w.code for w in result.warnings}


def test_points_that_cannot_be_placed_are_named(home: Home) -> None:
    home.con.execute("UPDATE allocations SET platform = 'gb300-nvl72' WHERE run = 'steady'")
    result = ask(home)
    assert line(result, "steady") == pytest.approx([0])
    assert [w.where for w in result.warnings if w.code == "points_left_out"] == ["steady"]


def test_the_benchmark_is_one_that_runs_trained_for_not_one_whose_start_they_share(home: Home) -> None:
    """gsm8k: the shared start and one checkpoint of one run, with more tasks; math-500: both runs."""
    home.con.execute("DELETE FROM evals WHERE eval_id = 'broken-0'")  # both start from the same checkpoint
    home.add(
        "checkpoints", {"checkpoint": "broken@0", "run": "broken", "attempt": 1, "step": 0, "parent": "base"}
    )
    for name, run, attempt, step in (("base", None, None, None), ("steady-300", "steady", 1, 300)):
        row = evaluation(name, run, attempt, step, 0.8)
        home.add("evals", row | {"eval_id": f"g-{name}", "benchmark": "gsm8k", "n_tasks": 1319})
    found = ask(home)
    assert set(found.tables["points"]["benchmark_id"]) == {"math-500"}
    rows = load_evaluations(home.view(), Filters()).rows
    assert {r["for_run"] for r in rows if r["benchmark_id"] == "gsm8k"} == {"steady", "broken"}


def test_the_highest_of_many_scores_is_said_to_be_chosen(home: Home) -> None:
    """The answer quotes a maximum: it is above its truth, and its interval does not know that."""
    many = [w for w in ask(home).warnings if w.code == "best_of_many"]
    assert len(many) == 1 and "highest of" in many[0].text
    home.con.execute("DELETE FROM evals WHERE eval_id NOT IN ('base', 'steady-300')")
    assert "best_of_many" not in {w.code for w in ask(home).warnings}


def test_without_evaluations_it_says_what_to_upload(home: Home) -> None:
    home.con.execute("DELETE FROM evals")
    result = ask(home)
    assert "evals template" in result.answer
    assert result.tables["points"].empty


def test_runs_are_grouped_by_platform_generation(home: Home) -> None:
    table = ask(home).tables["by_generation"].set_index("generation")
    assert table["runs"].to_dict() == {"Blackwell": 1, "Hopper": 2}
    assert table.loc["Hopper", "usd"] == pytest.approx(168.252)
    assert table.loc["Blackwell", "gpu_hours"] == pytest.approx(12)


def test_different_conditions_between_runs_are_said(home: Home) -> None:
    home.con.execute("UPDATE evals SET harness = 'other' WHERE run = 'broken'")
    assert "keys_differ" in {w.code for w in ask(home).warnings}


def test_thinning_keeps_spikes_ends_and_order() -> None:
    frame = pd.DataFrame({"run": "a", "x": range(50_000), "score": 0.0})
    frame.loc[31_234, "score"], frame.loc[12_345, "score"] = 9.0, -9.0
    thinned = thin(frame, "run", "score", most=1000)
    assert len(thinned) <= 1000
    assert (thinned["score"].max(), thinned["score"].min()) == (9.0, -9.0)
    assert (thinned["x"].iloc[0], thinned["x"].iloc[-1]) == (0, 49_999)
    assert thinned["x"].is_monotonic_increasing
