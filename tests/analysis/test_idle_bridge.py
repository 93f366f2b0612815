"""What a bill calls paid and idle leads to what waste calls not allocated, to the cent and by its reasons."""

from datetime import datetime
from pathlib import Path

import pytest

from analysis import run
from tests.analysis.bills import DAY, charge, hold, job, load, loaded
from tests.analysis.conftest import Home


def bridge(home: Home, period: str = "") -> dict[str, float]:
    frame = run("month", home.view(), {"period": period}).tables["idle"]
    return dict(zip(frame["part"], frame["usd"], strict=True))


def named(home: Home) -> str:
    frame = run("month", home.view(), {}).tables["idle"]
    return " ".join(frame["label"])


def bar(home: Home, name: str, period: str = "") -> float:
    fall = run("waste", home.view(), {"period": period}).tables["waterfall"].set_index("bar")["usd"]
    return float(fall[name])


def test_time_that_a_tag_gives_to_a_run_which_did_not_hold_it(empty_home: Home, tmp_path: Path) -> None:
    """Two nodes at $20 an hour for a day. A job holds one for 1 h: 23 h x $20 are nobody's. A tag gives the
    other to alpha, which holds it for 18 h: 6 h x $20 are borne by alpha and held by nobody.
    """
    job(empty_home, "77", DAY, 1, node_list="node-a")
    job(empty_home, "76", datetime(2026, 3, 9), 1, node_list="node-b")
    loaded(empty_home)
    hold(empty_home, "alpha", DAY, 18, hosts={"node-b": 8})
    tag = '{"run": "alpha"}'
    load(
        empty_home,
        tmp_path,
        [charge(480, gpu_h=192, node="node-a"), charge(480, gpu_h=192, node="node-b", Tags=tag)],
    )
    assert bridge(empty_home) == {"paid_idle": 460.0, "borne": 120.0, "not_allocated": 580.0}
    assert bar(empty_home, "not_allocated") == 580.0
    assert "alpha" in named(empty_home)


def test_two_equal_totals_need_no_step(empty_home: Home, tmp_path: Path) -> None:
    job(empty_home, "77", DAY, 1, node_list="node-a")
    loaded(empty_home)
    load(empty_home, tmp_path, [charge(480, gpu_h=192, node="node-a")])
    assert bridge(empty_home) == {"paid_idle": 460.0, "not_allocated": 460.0}


def test_a_month_without_a_job_of_its_own_is_unknown_below(empty_home: Home, tmp_path: Path) -> None:
    job(empty_home, "77", DAY, 1, node_list="node-a")
    loaded(empty_home, at=datetime(2026, 5, 2))
    load(empty_home, tmp_path, [charge(480, datetime(2026, 4, 10), gpu_h=192, node="node-a")])
    found = bridge(empty_home, "2026-04")
    assert found == {"paid_idle": 480.0, "unknown": -480.0, "not_allocated": 0.0}
    assert bar(empty_home, "unknown", "2026-04") == 480.0


def test_an_unused_commitment_of_cores_is_no_idle_gpu(empty_home: Home, tmp_path: Path) -> None:
    job(empty_home, "77", DAY, 1, node_list="node-a")
    loaded(empty_home)
    cores = {
        "CommitmentDiscountId": "plan-1",
        "ChargeDescription": "vCPU cores",
        "ServiceCategory": "Compute",
    }
    load(
        empty_home,
        tmp_path,
        [
            charge(480, gpu_h=192, node="node-a"),
            charge(10, **cores, CommitmentDiscountStatus="Used"),
            charge(30, **cores, CommitmentDiscountStatus="Unused"),
        ],
    )
    assert bridge(empty_home) == {"paid_idle": 490.0, "other": -30.0, "not_allocated": 460.0}


def test_without_a_bill_there_is_nothing_to_lead_over(empty_home: Home) -> None:
    hold(empty_home, "alpha", DAY, 18)
    assert bridge(empty_home) == {}


@pytest.mark.parametrize("rung", ["paid", "allocated", "active", "effective"])
def test_who_is_on_a_rung_adds_up_to_it(empty_home: Home, tmp_path: Path, rung: str) -> None:
    """A node of which no scheduler file knows ($7.01) is paid and on no other rung."""
    job(empty_home, "77", DAY, 1, node_list="node-a")
    loaded(empty_home)
    hold(empty_home, "alpha", DAY, 18, hosts={"node-b": 8})
    lines = [
        charge("480.01", gpu_h=192, node="node-a"),
        charge("480.02", gpu_h=192, node="node-b", Tags='{"run": "alpha"}'),
        charge("7.01", gpu_h=2, node="node-c"),
    ]
    load(empty_home, tmp_path, lines)
    found = run("waste", empty_home.view(), {}).tables
    value = found["ladder"].set_index("rung").loc[rung, "usd"]
    mine = found["on_rungs"][found["on_rungs"]["rung"] == rung]
    assert mine["usd"].sum() == pytest.approx(value, abs=1e-9)
    assert set(mine["who"]) == {"paid": {"", "alpha", "job 77"}, "allocated": {"alpha", "job 77"}}.get(
        rung, set()
    )
