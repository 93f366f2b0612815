"""The front of cost and score: shared noise is drawn once, unlike scores are refused, two runs compared."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from analysis import run
from analysis.frontier import FrontierParams, compute
from analysis.result import Result
from data.errors import UserError
from tests.analysis.conftest import Home, evaluation
from tests.analysis.test_gain import add_tasks


def ask(home: Home, **params: object) -> Result:
    return compute(home.view(), FrontierParams(**params))


def test_the_dearer_run_with_the_higher_score_and_the_cheaper_one_are_both_on_the_front(home: Home) -> None:
    """steady: 0.70 for $160; broken: 0.64 for $36, both of 500 tasks drawn alone."""
    table = ask(home).tables["candidates"].set_index("run")
    assert set(table.index) == {"steady", "broken"}
    assert table["on_front"].all()
    assert (table.loc["steady", "usd"], table.loc["broken", "usd"]) == pytest.approx((160, 36))
    spread = math.sqrt(0.7 * 0.3 / 500 + 0.64 * 0.36 / 500)
    assert table.loc["steady", "best_frac"] == pytest.approx(float(ndtr(0.06 / spread)), abs=0.01)
    assert table["best_frac"].sum() == pytest.approx(1)
    assert table.loc["broken", "front_frac"] == 1.0  # $36 against $120 at the least: nobody is cheaper


def test_shared_tasks_make_a_sure_order(home: Home) -> None:
    """One task in ten is won by steady alone, none by broken alone: on shared tasks the order is sure."""
    broken = [float(i % 5 < 3) for i in range(500)]
    add_tasks(home, "broken-12", broken, 500)
    alone = ask(home).tables["candidates"].set_index("run")
    add_tasks(home, "steady-300", [1.0 if i % 10 == 3 else p for i, p in enumerate(broken)], 500)
    table = ask(home).tables["candidates"].set_index("run")
    assert table.loc["steady", "best_frac"] > 0.999 > alone.loc["steady", "best_frac"]
    assert table.loc["steady", "score"] == pytest.approx(
        np.mean([i % 10 == 3 or i % 5 < 3 for i in range(500)])
    )


def test_the_price_of_runs_at_one_price_is_drawn_once(home: Home) -> None:
    """Twice the GPU-hours at one price is dearer in every draw: with a lower score never on the front."""
    home.clear()
    for name, gpus, score in (("thrifty", 4, 0.8), ("lavish", 8, 0.2)):
        home.add("runs", {"run": name, "algorithm": "grpo", "mode": "sync", "synthetic": False})
        home.add(
            "attempts",
            {"run": name, "attempt": 1, "elapsed_s": 3600.0, "elapsed_basis": "clock", "status": "completed"},
        )
        home.add(
            "allocations",
            {
                "run": name, "attempt": 1, "pool": "all", "role": "colocated", "platform": "h100-sxm",
                "seconds": 3600.0, "seconds_basis": "clock", "source": "user", "gpus": gpus,
            },
        )  # fmt: skip
        home.add("evals", evaluation(f"{name}-e", name, 1, 10, score))
        home.add("steps", {"run": name, "attempt": 1, "step": 10, "source": "verl_console", "step_s": 3600.0})
    table = ask(home).tables["candidates"].set_index("run")
    assert (table.loc["lavish", "front_frac"], table.loc["thrifty", "front_frac"]) == (0.0, 1.0)
    assert table.loc["lavish", "beaten_by"] == "thrifty" and table.loc["lavish", "beaten_frac"] == 1.0
    assert not table.loc["lavish", "on_front"]


def test_another_harness_is_refused_in_words(home: Home) -> None:
    home.con.execute("UPDATE evals SET harness = 'other' WHERE run = 'broken'")
    result = ask(home)
    assert len(result.tables["candidates"]) == 1
    said = {w.code: w.text for w in result.warnings}
    refused = said.get("keys_refused", "")
    assert "harness" in refused and "do not compare" in refused
    assert "one_candidate" in said


def test_a_run_without_dollars_has_no_place_and_says_why(home: Home) -> None:
    home.add("evals", evaluation("apart-10", "apart", 1, 10, 0.5))
    home.con.execute("UPDATE allocations SET platform = 'gb300-nvl72' WHERE run = 'apart'")
    result = ask(home)
    assert "apart" not in set(result.tables["candidates"]["run"])
    assert any(w.code == "points_left_out" and "apart" in w.text for w in result.warnings)


def test_budget_and_every_checkpoint(home: Home) -> None:
    table = ask(home, budget_usd=50, after="all").tables["candidates"].set_index("checkpoint")
    assert len(table) == 4 - 1  # steady 150 and 300, broken 12; step 6 was lost
    assert table.loc["steady@300", "within_frac"] == 0.0
    assert table.loc["broken@12", "within_frac"] == pytest.approx(1, abs=0.01)  # steady@150: $80
    assert "best_of_many" in {w.code for w in ask(home, after="all").warnings}


def test_groups_add_up_the_probability_of_the_best(home: Home) -> None:
    groups = ask(home, by="generation").tables["groups"].set_index("group")
    assert set(groups.index) == {"Hopper", "Blackwell"}
    assert groups["best_frac"].sum() == pytest.approx(1)


def test_synchronous_against_asynchronous_at_equal_dollars_and_score(home: Home) -> None:
    """broken turned async: start 0.61 at $0, 0.64 at $36; steady: 0.60, 0.66 and 0.70 at $0, $80 and $160.

    At $20 steady is on its way from 0.60 to 0.66, broken from 0.61 to 0.64.
    """
    home.con.execute("UPDATE runs SET mode = 'async' WHERE run = 'broken'")
    result = ask(home, at_usd=20.0)
    table = result.tables["versus"].set_index("question")
    row = table.loc["score at equal dollars"]
    assert (row["a"], row["b"], row["at_usd"]) == ("steady", "broken", 20.0)
    middle = result_points(home)
    steady = 0.60 + 0.06 * 20 / middle
    broken = 0.61 + 0.03 * 20 / 36
    assert row["points"] == pytest.approx(100 * (steady - broken), abs=0.4)
    assert row["points_low"] < row["points"] < row["points_high"]
    assert row["verdict"] == "cannot tell"
    assert math.isnan(table.loc["dollars at equal score", "points"])


def result_points(home: Home) -> float:
    """Dollars of steady at step 150, by the question that places scores."""
    points = run("learning", home.view(), {}).tables["points"]
    return float(points[(points["run"] == "steady") & (points["step"] == 150)]["usd"].iloc[0])


def test_a_run_that_has_no_curve_is_named(home: Home) -> None:
    with pytest.raises(UserError, match="no curve"):
        ask(home, a="apart")
    assert ask(home).tables["versus"].empty  # all synchronous: nothing to set against each other


def test_the_same_call_gives_the_same_answer_in_any_row_order(home: Home) -> None:
    first = run("frontier", home.view(), {"after": "all"}).to_json()
    home.shuffle()
    assert run("frontier", home.view(), {"after": "all"}).to_json() == first
