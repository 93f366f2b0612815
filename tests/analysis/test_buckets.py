"""Dollars by bucket add up to the spend at every boundary; lost work and waits have buckets of their own."""

import pytest

from analysis import run
from analysis.buckets import BucketsParams, compute
from tests.analysis.conftest import Home


def by_bucket(home: Home, name: str, boundary: str = "campaign") -> dict[str, float]:
    table = compute(home.view(), BucketsParams(boundary=boundary)).tables["buckets"]
    mine = table[table["run"] == name]
    return dict(zip(mine["bucket"], mine["usd"], strict=True))


def test_a_synchronous_run_by_hand(home: Home) -> None:
    """steady: $160 for 36,000 s: 300 steps of 60 s generation, 30 s training, 10 s unnamed; 6,000 s out."""
    found = by_bucket(home, "steady")
    assert found == pytest.approx(
        {"generate": 80.0, "train": 40.0, "unattributed": 40 / 3, "held_outside_steps": 80 / 3}
    )


def test_what_a_failure_lost_is_a_bucket(home: Home) -> None:
    """broken: $12 of attempt 1 survived to two thirds; attempt 2 survived."""
    assert by_bucket(home, "broken")["failed"] == pytest.approx(4.0)
    assert "failed" not in by_bucket(home, "broken", "compute")


def test_a_wait_is_starvation_and_not_counted_twice(home: Home) -> None:
    """apart, trainer: 10 steps of 150 s at $2 / 1,800 s: 80 train, 5 refit, 65 unnamed, 60 of them waits."""
    found = by_bucket(home, "apart")
    per_s = 2.0 / 1800
    assert found["starvation"] == pytest.approx(600 * per_s)
    assert found["train"] == pytest.approx(800 * per_s)
    assert found["refit"] == pytest.approx(50 * per_s)


@pytest.mark.parametrize("boundary", ["compute", "campaign", "full"])
def test_buckets_add_up_to_the_spend(home: Home, boundary: str) -> None:
    table = run("buckets", home.view(), {"boundary": boundary}).tables["buckets"]
    spent = run("ledger", home.view(), {"boundary": boundary}).tables["ledger"].set_index("run")
    for end in ("usd", "usd_low", "usd_high"):
        sums = table.groupby("run")[end].sum()
        for name in sums.index:
            assert sums[name] == pytest.approx(spent.loc[name, end]), (name, end)
    assert table.groupby("run")["frac"].sum().to_numpy() == pytest.approx(1.0)
