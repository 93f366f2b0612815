"""Splits of pools: worked by hand, sums and properties, and what happens without the facts."""

import numpy as np
import pytest

import analysis
from analysis.pools_inputs import SLOWEST_MODE
from analysis.result import Result
from data.errors import UserError
from models.pool_flow import PoolWork, bound_s, stages
from tests.analysis.conftest import Home, pool

EVEN = {"cv_rollout_frac": 0.0, "cv_train_frac": 0.0, "unit_rollout": 1, "unit_train": 1, "range_frac": 0.0}
"""Batches that do not differ: a mean step is then its bound."""
STEP = {
    "basis": "scratch", "gpus_total": 12, "rollout_gpu_s": 700.0, "rollout_measured_gpus": 10, "tail_s": 10.0,
    "train_gpu_s": 300.0, "sync_s": 2.0, "other_s": 3.0, "rollouts_per_step": 100.0, "usd_per_gpu_h": 3.0,
    **EVEN,
}  # fmt: skip


def asked(home: Home, **params: object) -> Result:
    return analysis.run("pools", home.view(), {**STEP, **params})


def chosen(found: Result) -> dict:
    (row,) = found.tables["splits"].query("chosen").to_dict("records")
    return row


def test_by_hand(home: Home) -> None:
    # work 700 - 10 x 10 = 600 GPU-s; staleness 4: 8 and 4 GPUs take 75 and 75 s, through (75 + 10 + 75) / 5
    found = asked(home, max_staleness=4)
    row = chosen(found)
    assert (row["rollout_gpus"], row["train_gpus"], row["judge_gpus"]) == (8, 4, 0)
    assert (row["rollout_s"], row["train_s"]) == (75, 75)
    assert row["step_s"] == pytest.approx(80) and row["starved_frac"] == pytest.approx(0, abs=1e-9)
    assert found.figure("pool_usd_per_step").value == pytest.approx(12 * 3 * 80 / 3600)
    modes = found.tables["modes"].set_index("mode")
    # one pool: 600/12 + 10 + 300/12 + 5 = 90; one step off with 8 and 4: max(85, 75) + 5 = 90
    assert modes.loc["sync", "step_s"] == pytest.approx(90)
    assert modes.loc["one_step_off", "step_s"] == pytest.approx(90)
    assert modes.loc["async", "steps_for_budget"] == pytest.approx(200 * 90 / 80)
    age = modes.loc["async", "age_updates"]
    assert modes.loc["async", "breakeven_extra_steps_frac"] == pytest.approx((90 / 80 - 1) / age)


def test_parts_add_up_and_dollars_double_with_the_price(home: Home) -> None:
    one = asked(home, judge_gpu_s=80.0, max_staleness=2)
    rows = one.tables["splits"]
    assert (rows["rollout_gpus"] + rows["train_gpus"] + rows["judge_gpus"] == 12).all()
    assert (rows["judge_gpus"] >= 1).all() and rows["chosen"].sum() == 1
    twice = asked(home, judge_gpu_s=80.0, max_staleness=2, usd_per_gpu_h=6.0)
    for name, times in (("usd_per_step", 2), ("step_s", 1)):
        assert twice.tables["splits"][name].to_numpy() == pytest.approx(times * rows[name].to_numpy())


def test_no_split_beats_the_chosen_one_and_its_bound(home: Home) -> None:
    found = asked(home, cv_rollout_frac=0.3, cv_train_frac=0.2, max_staleness=3, judge_gpu_s=50.0)
    rows = found.tables["splits"]
    assert chosen(found)["step_s"] == rows["step_s"].min()
    assert (rows["step_s"] >= rows["bound_s"] * 0.99).all()
    assert found.tables["nearby"]["step_s"].min() == pytest.approx(rows["step_s"].min())


def test_more_staleness_is_never_slower_and_is_a_limit(home: Home) -> None:
    steps, ages = [], []
    for allowed in (1, 2, 4, 8):
        found = asked(home, max_staleness=allowed, cv_rollout_frac=0.3, tail_s=40.0)
        steps.append(chosen(found)["step_s"])
        ages.append(found.figure("pool_age").value)
        assert found.figure("pool_age").value <= allowed
    assert steps == sorted(steps, reverse=True) and ages == sorted(ages)
    none = asked(home, max_staleness=0)
    assert none.tables["modes"].set_index("mode")["allowed"].to_dict() == {
        "sync": True, "one_step_off": False, "async": False,
    }  # fmt: skip
    assert "synchronous steps alone" in none.answer and "staleness" in {w.code for w in none.warnings}


def test_what_age_costs_decides_between_modes(home: Home) -> None:
    free = asked(home, max_staleness=4, mode_factor=1.0)
    limit = free.figure("pool_breakeven_steps").value
    assert limit is not None and "cheaper for the same score unless" in free.answer
    dear = asked(home, max_staleness=4, mode_factor=1.0, extra_steps_frac=limit * 1.1, range_frac=0.0)
    assert "Cheaper for the same score: synchronous" in dear.answer
    row = dear.tables["modes"].set_index("mode").loc["async"]
    assert row["usd_for_same_score_ratio"] == pytest.approx(80 / 90 * (1 + 1.1 * limit * row["age_updates"]))


def test_seconds_of_one_mode_are_no_verdict_on_the_other(home: Home) -> None:
    # side by side 6 and 2 GPUs: 140 s + 5; one pool 840/8 + 160/8 + 5 = 130 s, if its GPUs were as fast
    found = analysis.run(
        "pools", home.view(), {"run": "apart", "tail_s": 0.0, "unit_rollout": 1, "unit_train": 1}
    )
    assert "cannot be told: a step is" in found.answer
    assert found.answer.startswith("apart: of 8 "), "the run is named"
    factor = found.tables["settings"].set_index("name").loc["mode_factor"]
    assert (factor["low"], factor["value"], factor["high"]) == (SLOWEST_MODE, 1.0, 1.0)


def test_a_measured_run_splits_its_own_seconds(home: Home) -> None:
    # apart: 6 GPUs roll out for 140 s, 2 train for 80 s, 5 s of sync, steps of 150 s; lengths are not known
    found = analysis.run("pools", home.view(), {"run": "apart", "unit_rollout": 1, "unit_train": 1})
    values = found.tables["settings"].set_index("name")["value"]
    assert (values["rollout_gpu_s"], values["train_gpu_s"], values["sync_s"]) == (840, 160, 5)
    assert values["tail_s"] == 70 and values["gpus_total"] == 8
    tail = found.tables["settings"].set_index("name").loc["tail_s"]
    assert (tail["low"], tail["high"]) == pytest.approx((28, 112))
    assert found.tables["splits"].query("current")["rollout_gpus"].tolist() == [6]
    assert found.figure("pool_saved").value >= 0


def test_the_best_split_in_a_tornado_and_five_inputs_at_most(home: Home) -> None:
    found = asked(home, range_frac=0.2, max_staleness=4)
    rows = found.tables["tornado"]
    assert 0 < len(rows) <= 5 and (rows["outcome_unit"] == "s").all()
    swing = rows[["at_low", "at_high"]].max(axis=1) - rows[["at_low", "at_high"]].min(axis=1)
    assert swing.is_monotonic_decreasing
    one = rows.set_index("param").loc["train_gpu_s"]
    best = min(
        float(bound_s(stages(PoolWork(600.0, one["high"], tail_s=10.0, stop_s=5.0), r, 12 - r), 4, True))
        for r in range(1, 12)
    )
    assert one["at_high"] == pytest.approx(best)
    varied = asked(home, range_frac=0.2, max_staleness=4, cv_rollout_frac=0.4, cv_train_frac=0.3)
    told = varied.tables["tornado"]["at_value"].unique()
    assert told == pytest.approx([chosen(varied)["step_s"]]), "the middle is the answer, not its bound"
    assert told[0] > chosen(varied)["bound_s"] * 1.01


def test_published_splits_are_a_band(home: Home) -> None:
    found = asked(home)
    rows = found.tables["published"].set_index("recipe_id")
    assert rows.loc["ultra-rlvr-phase1", "ratio_rollout_train"] == pytest.approx(172 / 64)
    assert rows.loc["ultra-swe-teacher", "ratio_rollout_train"] == 1
    assert rows.loc["ultra-mopd", "rollout_frac"] == pytest.approx(128 / 224)
    assert rows.loc["ultra-mopd", "side_frac"] == pytest.approx(32 / 224)
    parts = rows[["train_frac", "rollout_frac", "side_frac"]].sum(axis=1)
    assert parts.to_numpy() == pytest.approx(np.ones(len(rows)))
    assert rows["inside"].all() and "unusual_split" not in {w.code for w in found.warnings}
    odd = asked(home, rollout_gpu_s=7000.0, train_gpu_s=100.0, max_staleness=4)
    assert not odd.tables["published"]["inside"].any() and "unusual_split" in {w.code for w in odd.warnings}


def test_refusals_name_the_place_and_the_remedy(home: Home) -> None:
    with pytest.raises(UserError, match="no unit of each pool"):
        asked(home, unit_rollout=8, unit_train=8)
    with pytest.raises(UserError, match="leaves no work"):
        asked(home, tail_s=70.0)
    with pytest.raises(UserError, match="no run 'nope'"):
        analysis.run("pools", home.view(), {"run": "nope"})
    for question in ("pools", "weight_sync"):
        with pytest.raises(UserError, match="measured on h100-sxm"):
            analysis.run(question, home.view(), {"run": "apart", "platform": "gb200-nvl72"})
    with pytest.raises(UserError, match="no platform"):
        asked(home, platform="nope")


def test_a_run_without_timers_says_so_and_a_missing_price_leaves_seconds(home: Home) -> None:
    found = analysis.run("pools", home.view(), {"run": "broken"})
    assert "no timer of rollouts" in found.answer and "basis to scratch" in found.answer
    assert found.warnings[0].code == "cannot_plan" and found.tables["splits"].empty
    home.con.execute("UPDATE allocations SET platform = 'gb300-nvl72' WHERE run = 'apart'")
    bare = analysis.run("pools", home.view(), {"run": "apart"})
    assert bare.figure("pool_usd_per_step").value is None
    assert "price_missing" in {w.code for w in bare.warnings}
    assert bare.figure("pool_step").value > 0


def test_the_published_default_answers_on_an_empty_home(empty_home: Home) -> None:
    assert analysis.run("pools", empty_home.view()).warnings[0].code == "empty_home"
    found = analysis.run("pools", empty_home.view(), {"basis": "scratch"})
    assert found.figure("pool_step").low < found.figure("pool_step").value <= found.figure("pool_step").high
    assert {a.status for a in found.assumptions} >= {"derived"}


def test_a_judge_pool_of_the_run_stays_beside_the_split(home: Home) -> None:
    home.add("allocations", pool("apart", 1, "judge", "judge", "h100-sxm", 1800, gpus=4))
    found = analysis.run("pools", home.view(), {"run": "apart"})
    told = next(w for w in found.warnings if w.code == "judge_beside")
    assert "judge pool of 4 GPUs" in told.text
    given = {"run": "apart", "judge_gpu_s": 300.0, "gpus_total": 12, "unit_judge": 1}
    both = analysis.run("pools", home.view(), given)
    assert "judge_beside" not in {w.code for w in both.warnings} and chosen(both)["judge_gpus"] >= 1
