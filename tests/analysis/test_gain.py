"""Gains: which comparisons are made, refused or undecided, and when a point may carry a price."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis import run
from analysis.gain import GainParams, compute
from analysis.result import Result
from tests.analysis.conftest import Home, evaluation, tiny_book


def ask(home: Home, **params: object) -> Result:
    return compute(home.view(), GainParams(**params))


def row_of(result: Result, name: str) -> pd.Series:
    table = result.tables["gains"]
    return table[table["run"] == name].iloc[0]


def newcombe_by_hand(p1: float, p0: float, n: int) -> tuple[float, float]:
    def wilson(p: float) -> tuple[float, float]:
        z = 1.959964
        centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)

    (l1, u1), (l0, u0) = wilson(p1), wilson(p0)
    d = p1 - p0
    return d - math.sqrt((p1 - l1) ** 2 + (u0 - p0) ** 2), d + math.sqrt((u1 - p1) ** 2 + (p0 - l0) ** 2)


def test_totals_use_newcombe(home: Home) -> None:
    row = row_of(ask(home), "steady")
    low, high = newcombe_by_hand(0.70, 0.60, 500)
    assert (row["gain"], row["low"], row["high"]) == pytest.approx((10.0, 100 * low, 100 * high), abs=1e-4)
    assert (row["verdict"], row["before"], row["after"]) == ("better", "base", "steady@300")


def test_an_interval_with_zero_gets_no_price(home: Home) -> None:
    result = ask(home)
    row = row_of(result, "broken")
    assert row["verdict"] == "cannot tell"
    assert row["reason"] == "not distinguishable from zero"
    assert math.isnan(row["usd_per_point"])
    assert row["low"] < 0 < row["high"]


def test_dollars_per_point_come_from_joint_draws(home: Home) -> None:
    figure = ask(home).figure("usd_per_point")
    assert figure.value == pytest.approx(204.252 / 10, abs=1e-3)
    assert figure.low < figure.value < figure.high
    # wider than dividing by the gain's ends alone, because the price has a range too
    gain = ask(home).figure("gain")
    assert figure.high > 204.252 / gain.high
    assert figure.boundary == "campaign"


def test_twice_the_price_is_twice_the_dollars_per_point(home: Home) -> None:
    once = ask(home, runs=("steady",)).figure("usd_per_point")
    home.book = tiny_book(2.0)
    twice = ask(home, runs=("steady",)).figure("usd_per_point")
    assert (twice.value, twice.low, twice.high) == pytest.approx(
        (2 * once.value, 2 * once.low, 2 * once.high)
    )


def test_a_worse_checkpoint_is_called_worse(home: Home) -> None:
    home.con.execute("UPDATE evals SET score = 0.40 WHERE eval_id = 'steady-300'")
    result = ask(home, runs=("steady",))
    assert row_of(result, "steady")["verdict"] == "worse"
    assert result.figure("usd_per_point").value is None
    assert "lost 20.0" in result.answer


@pytest.mark.parametrize(
    ("column", "value", "word"),
    [
        ("harness", "'other'", "harness"),
        ("benchmark_version", "'v2'", "version"),
        ("split", "'dev'", "split"),
        ("effort", "'high'", "effort"),
        ("metric", "'maj'", "metric"),
        ("k", "8", "k not stated against 8"),
    ],
)
def test_different_conditions_are_refused(home: Home, column: str, value: str, word: str) -> None:
    home.con.execute(f"UPDATE evals SET {column} = {value} WHERE run = 'steady'")
    row = row_of(ask(home), "steady")
    assert math.isnan(row["gain"])
    assert row["reason"].startswith("refused")
    assert word in row["reason"]
    # the start was evaluated, only unlike: nobody is sent to upload what is there
    assert "no_baseline" not in {w.code for w in ask(home, runs=("steady",)).warnings}


def test_without_a_baseline_there_is_no_gain_but_a_way_out(home: Home) -> None:
    home.con.execute("DELETE FROM evals WHERE eval_id = 'base'")
    result = ask(home, runs=("steady",))
    assert result.figure("gain").value is None
    assert "started from" in (result.figure("gain").missing or "")
    assert "no_baseline" in {w.code for w in result.warnings}
    labelled = row_of(ask(home, runs=("steady",), before="first_logged"), "steady")
    assert (labelled["before"], labelled["before_label"]) == ("steady@150", "first logged")
    assert labelled["gain"] == pytest.approx(4.0)


def test_best_of_many_is_flagged(home: Home) -> None:
    home.con.execute("UPDATE evals SET score = 0.75 WHERE eval_id = 'steady-150'")
    result = ask(home, runs=("steady",), after="best")
    assert row_of(result, "steady")["after"] == "steady@150"
    assert "best_of_many" in {w.code for w in result.warnings}
    assert row_of(ask(home, runs=("steady",)), "steady")["after"] == "steady@300"


def test_lost_steps_are_no_candidates(home: Home) -> None:
    home.con.execute("UPDATE evals SET score = 0.99 WHERE eval_id = 'broken-6'")
    assert row_of(ask(home, after="best"), "broken")["after"] == "broken@12"


def add_tasks(home: Home, eval_id: str, passed: list[float], clusters: int) -> None:
    home.add(
        "eval_tasks",
        *[
            {"eval_id": eval_id, "task": f"t{i}", "cluster": f"c{i % clusters}", "repeat": 0, "passed": p}
            for i, p in enumerate(passed)
        ],
    )


def test_tasks_are_paired_and_clustered(home: Home) -> None:
    rng = np.random.default_rng(3)
    before = (rng.random(200) < 0.6).astype(float)
    after = np.where(rng.random(200) < 0.15, 1.0, before)
    add_tasks(home, "base", list(before), 40)
    add_tasks(home, "steady-300", list(after), 40)
    row = row_of(ask(home), "steady")
    change = after - before
    assert row["gain"] == pytest.approx(100 * change.mean())
    assert (row["won"], row["lost"], row["n"], row["n_clusters"]) == (
        (change > 0).sum(),
        (change < 0).sum(),
        200,
        40,
    )
    sums = np.array([change[np.arange(200) % 40 == c].sum() for c in range(40)])
    se = math.sqrt(40 * sums.var(ddof=1)) / 200
    assert (row["high"] - row["low"]) / 2 == pytest.approx(100 * 1.96 * se, rel=0.1)


def test_paired_tasks_are_sharper_than_totals(home: Home) -> None:
    before = [float(i % 5 < 3) for i in range(500)]
    after = [1.0 if i % 10 == 3 else b for i, b in enumerate(before)]
    totals = row_of(ask(home), "steady")
    add_tasks(home, "base", before, 500)
    add_tasks(home, "steady-300", after, 500)
    paired = row_of(ask(home), "steady")
    assert paired["high"] - paired["low"] < totals["high"] - totals["low"]


def test_benchmark_aliases_are_one_benchmark_and_its_size_is_an_assumption(home: Home) -> None:
    home.con.execute(
        "UPDATE evals SET benchmark = 'HuggingFaceH4/MATH-500', n_tasks = NULL WHERE run = 'steady'"
    )
    result = ask(home)
    row = row_of(result, "steady")
    assert (row["benchmark_id"], row["gain"]) == ("math-500", pytest.approx(10.0))
    assert row["n_source"] == "catalogue"
    assert any("tasks in MATH-500" in a.name and a.value == 500 for a in result.assumptions)


def test_an_unknown_number_of_tasks_leaves_the_question_open(home: Home) -> None:
    home.con.execute("UPDATE evals SET benchmark = 'in-house', n_tasks = NULL")
    row = row_of(ask(home), "steady")
    assert row["gain"] == pytest.approx(10.0)
    assert math.isnan(row["low"])
    assert (row["verdict"], row["reason"]) == ("cannot tell", "the number of tasks is not known")


def test_percent_and_fraction_are_one_scale_and_nonsense_is_refused(home: Home) -> None:
    home.con.execute("UPDATE evals SET score = 70, score_kind = 'percent' WHERE eval_id = 'steady-300'")
    assert row_of(ask(home), "steady")["gain"] == pytest.approx(10.0)
    home.con.execute("UPDATE evals SET score_kind = 'fraction' WHERE eval_id = 'steady-300'")
    result = ask(home)
    assert "score_refused" in {w.code for w in result.warnings}
    assert row_of(result, "steady")["after"] == "steady@150"


def test_seeds_of_a_checkpoint_are_averaged(home: Home) -> None:
    home.add("evals", {**evaluation("again", "steady", 1, 300, 0.74), "seed": 2})
    assert row_of(ask(home), "steady")["after_score"] == pytest.approx(0.72)


def test_shipped_checkpoint_leads_and_without_one_the_choice_is_flagged(home: Home) -> None:
    home.con.execute("UPDATE evals SET score = 0.95 WHERE eval_id = 'broken-12'")
    assert "10.0" in ask(home).answer
    home.con.execute("UPDATE campaigns SET shipped_checkpoint = NULL")
    result = ask(home)
    assert result.figure("gain").value == pytest.approx(34.0)
    assert "best_of_many" in {w.code for w in result.warnings}


def test_the_same_call_gives_the_same_answer_in_any_row_order(home: Home) -> None:
    first = run("gain", home.view(), {}).to_json()
    home.shuffle()
    assert run("gain", home.view(), {}).to_json() == first
