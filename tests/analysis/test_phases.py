"""Dollars by phase: the identity, the pools they belong to, and the remainders that are never clipped."""

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.params import CommonParams
from analysis.phases import by_run_and_phase, phase_costs, waiting_usd
from analysis.spend import compute_spend, filters_of
from data.queries import spend as queries
from models.cost import split_by_phase
from tests.analysis.conftest import Home, phases, pool, steps
from tests.examples import some

BOUNDARIES = ("compute", "campaign", "full")


def costs_of(home: Home, boundary: str) -> tuple[pd.DataFrame, pd.Series]:
    view, params = home.view(), CommonParams(boundary=boundary)
    spend, filters = compute_spend(view, params), filters_of(params)
    table = phase_costs(
        spend, queries.phase_seconds(view, filters), queries.step_seconds(view, filters), boundary
    )
    return table, spend.runs.set_index("run")["usd"]


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_parts_add_up_to_the_run_to_the_cent(home: Home, boundary: str) -> None:
    home.add("costs", {"currency": "USD", "run": "steady", "bucket": "data", "effective_cost": 12.34})
    table, usd = costs_of(home, boundary)
    total = by_run_and_phase(table).groupby("run")["usd"].sum()
    assert total.to_dict() == pytest.approx(usd.to_dict(), abs=0.005)


def test_hand_worked_phases(home: Home) -> None:
    table, _ = costs_of(home, "campaign")
    found = by_run_and_phase(table).set_index(["run", "phase"])["usd"]
    assert found["steady"].to_dict() == pytest.approx(
        {"rollout": 80.0, "train": 40.0, "unattributed": 3000 / 225, "outside_steps": 6000 / 225}
    )
    # rollout pool: 6 GPUs at $2, 1400 of 1800 s; the trainer's wait of 600 s is not counted again
    assert found["apart"]["rollout"] == pytest.approx(6 * 2 * 1400 / 3600)
    assert found["apart"]["sandbox"] == pytest.approx(0.252)


def test_phases_match_the_model(home: Home) -> None:
    table, _ = costs_of(home, "campaign")
    found = by_run_and_phase(table[table["run"] == "steady"]).set_index("phase")["usd"]
    model = split_by_phase(160.0, 36000, 30000, {"rollout": 18000, "train": 9000})
    assert found["rollout"] == pytest.approx(model.by_phase["rollout"])
    assert found["unattributed"] == pytest.approx(model.unattributed)
    assert found["outside_steps"] == pytest.approx(model.outside_steps)


def test_waiting_counts_once_and_not_beyond_the_unattributed_time(home: Home) -> None:
    table, _ = costs_of(home, "compute")
    assert waiting_usd(table) == pytest.approx({"apart": 2 * 2 * 600 / 3600})
    home.add("step_phases", *phases("apart", 1, range(1, 11), {"env": 500.0}, kind="wait", pool="train"))
    table, _ = costs_of(home, "compute")
    assert waiting_usd(table) == pytest.approx({"apart": 2 * 2 * 650 / 3600})


def test_overlapping_phases_leave_a_negative_remainder(home: Home) -> None:
    home.add("step_phases", *phases("steady", 1, range(1, 301), {"other": 50.0}))
    table, usd = costs_of(home, "campaign")
    found = by_run_and_phase(table).set_index(["run", "phase"])["usd"]
    assert found["steady"]["unattributed"] < 0
    assert found["steady"].sum() == pytest.approx(usd["steady"])


def test_one_clock_costs_every_pool_of_a_synchronous_run(home: Home) -> None:
    home.con.execute("UPDATE runs SET mode = 'sync' WHERE run = 'apart'")
    home.con.execute("DELETE FROM step_phases WHERE run = 'apart'")
    home.add("step_phases", *phases("apart", 1, range(1, 11), {"rollout": 90.0}, pool="colocated"))
    table, _ = costs_of(home, "campaign")
    found = by_run_and_phase(table).set_index(["run", "phase"])["usd"]
    assert found["apart"]["rollout"] == pytest.approx(8 * 2 * 900 / 3600)


def test_the_trainer_clock_of_an_asynchronous_run_costs_the_trainer(home: Home) -> None:
    home.con.execute("DELETE FROM step_phases WHERE run = 'apart'")
    home.con.execute("UPDATE allocations SET pool = 'learners' WHERE run = 'apart' AND role = 'train'")
    home.add("step_phases", *phases("apart", 1, range(1, 11), {"train": 90.0}, pool="train"))
    table, _ = costs_of(home, "campaign")
    found = by_run_and_phase(table).set_index(["run", "phase"])["usd"]
    assert found["apart"]["train"] == pytest.approx(2 * 2 * 900 / 3600)


def test_validation_timed_outside_the_step_leaves_the_step_alone(home: Home) -> None:
    before, _ = costs_of(home, "campaign")
    home.add("step_phases", *phases("steady", 1, range(100, 101), {"eval": 900.0}))
    after, _ = costs_of(home, "campaign")
    was, now = (by_run_and_phase(t).set_index(["run", "phase"])["usd"]["steady"] for t in (before, after))
    assert now["unattributed"] == pytest.approx(was["unattributed"])
    assert now["outside_steps"] == pytest.approx(was["outside_steps"] - now["eval"])


def test_a_timer_in_two_files_counts_once(home: Home) -> None:
    before, _ = costs_of(home, "campaign")
    home.add(
        "step_phases",
        *phases("steady", 1, range(1, 301), {"rollout": 60.0, "train": 30.0}, upload_id="other"),
    )
    after, _ = costs_of(home, "campaign")
    pd.testing.assert_frame_equal(before, after)


@settings(max_examples=some(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    mode=st.sampled_from(["sync", "async", "one_step_off", None]),
    pools=st.lists(
        st.sampled_from(["train", "rollout", "colocated", "judge"]), min_size=1, max_size=3, unique=True
    ),
    timers=st.dictionaries(
        st.sampled_from(["rollout", "train", "eval", "ref"]), st.floats(0, 90), max_size=4
    ),
    kind=st.sampled_from(["wall", "exposed", "wait", "busy", "outside", "outside_exposed"]),
    named=st.sampled_from([None, "train", "colocated", "nobody"]),
    step_s=st.one_of(st.none(), st.floats(0.5, 100)),
    status=st.sampled_from(["completed", "failed", "unknown"]),
    seconds=st.floats(1, 5000),
    boundary=st.sampled_from(BOUNDARIES),
)
def test_parts_add_up_for_any_run(
    scratch_home: Home, mode: str | None, pools: list[str], timers: dict[str, float], kind: str,
    named: str | None, step_s: float | None, status: str, seconds: float, boundary: str,
) -> None:  # fmt: skip
    home = scratch_home
    home.clear()
    home.add("runs", {"run": "r", "mode": mode, "synthetic": False})
    home.add("attempts", {"run": "r", "attempt": 1, "status": status})
    for name in pools:
        home.add("allocations", pool("r", 1, name, name, "h100-sxm", seconds, gpus=3))
    home.add("steps", *steps("r", 1, range(1, 4), step_s))
    home.add("step_phases", *phases("r", 1, range(1, 4), timers, kind=kind, pool=named))
    table, usd = costs_of(home, boundary)
    assert by_run_and_phase(table)["usd"].sum() == pytest.approx(usd["r"], abs=0.005)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_the_ends_of_a_phase_add_up_to_the_range_of_quotes(home: Home, boundary: str) -> None:
    home.add("costs", {"currency": "USD", "run": "steady", "bucket": "data", "effective_cost": 12.34})
    table, _ = costs_of(home, boundary)
    runs = compute_spend(home.view(), CommonParams(boundary=boundary)).runs.set_index("run")
    told = table[~table["kind"].isin(["wait", "busy"])].groupby("run")[["usd_low", "usd", "usd_high"]].sum()
    for name in ("usd_low", "usd", "usd_high"):
        assert told[name].to_dict() == pytest.approx(runs[name].to_dict(), abs=0.005)
    assert (told["usd_low"] < told["usd_high"]).any()


def test_the_dollars_of_the_longest_phase_carry_the_range_of_quotes(home: Home) -> None:
    from analysis import registry

    figure = registry.run("bottleneck", home.view()).figure("usd_by_phase")
    assert figure.interval == "quote_range"
    assert figure.low is not None and figure.high is not None and figure.value is not None
    assert figure.low <= figure.value <= figure.high and figure.low < figure.high


@pytest.mark.parametrize("kind", ["outside", "outside_exposed"])
def test_a_timer_on_top_of_the_step_is_taken_out_of_the_time_outside(home: Home, kind: str) -> None:
    # steady: 300 steps of 100 s in 36,000 s at $160; 12 s a step on top of the step timer are $16
    before, usd = costs_of(home, "campaign")
    home.add("step_phases", *phases("steady", 1, range(1, 301), {"weight_sync": 12.0}, kind=kind))
    after, _ = costs_of(home, "campaign")
    was, now = (by_run_and_phase(t).set_index(["run", "phase"])["usd"]["steady"] for t in (before, after))
    assert now["weight_sync"] == pytest.approx(16.0)
    assert now["unattributed"] == pytest.approx(was["unattributed"])
    assert now["outside_steps"] == pytest.approx(was["outside_steps"] - 16.0)
    assert now.sum() == pytest.approx(usd["steady"])
    waiting = waiting_usd(costs_of(home, "compute")[0]).get("steady", 0.0)
    assert waiting == pytest.approx(16.0 if kind == "outside_exposed" else 0.0)


def test_waits_of_both_pools_and_those_on_top_of_the_step_count_whole(home: Home) -> None:
    # 10 steps of 150 s; train: 70 s of work, 80 s of waits, 6 s on top; rollout: 2 s of work, 5 s of waits
    home.con.execute("DELETE FROM step_phases WHERE run = 'apart'")
    for pool_name, name, kind, seconds in (
        ("train", "train", "wall", 70.0),
        ("train", "rollout", "wait", 80.0),
        ("train", "weight_sync", "outside_exposed", 6.0),
        ("rollout", "data", "wall", 2.0),
        ("rollout", "weight_sync", "wait", 5.0),
    ):
        home.add("step_phases", *phases("apart", 1, range(1, 11), {name: seconds}, kind=kind, pool=pool_name))
    table, _ = costs_of(home, "compute")
    # $2 a GPU-hour: 2 GPUs wait 80 + 6 s a step, 6 GPUs wait 5 s
    assert waiting_usd(table) == pytest.approx({"apart": (2 * 860 + 6 * 50) * 2 / 3600})
