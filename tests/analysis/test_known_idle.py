"""Time that nobody held is idle only where a scheduler file knows the machine, then and afterwards."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from analysis import run
from tests.analysis.bills import DAY, charge, job, load, loaded, reconciled, shares
from tests.analysis.conftest import Home


def bill(home: Home, tmp_path: Path, node: str = "node-a", start: datetime = DAY) -> None:
    """One day of a node for $480; a job held 1 of its 24 hours on the tenth of March: $20."""
    load(home, tmp_path, [charge(480, start, gpu_h=192, node=node)])


def test_one_short_job_explains_its_machine_and_no_other(empty_home: Home, tmp_path: Path) -> None:
    job(empty_home, "77", DAY, 1, node_list="node-a")
    loaded(empty_home)
    lines = [
        charge(480, gpu_h=192, node="node-a"),
        charge(9000, datetime(2026, 3, 1), 24 * 31, gpu_h=3000, node="i-1", ProviderName="Other"),
        charge(7, gpu_h=1),
    ]
    load(empty_home, tmp_path, lines)
    found = reconciled(empty_home)
    assert found.figure("bill_unheld").value == 460.0
    assert found.figure("bill_open").value == 9007.0
    assert "scheduler_lacks_machine" in {notice.code for notice in found.warnings}
    assert [a.value for a in found.assumptions if a.name == "GPU time known to be idle"] == [184.0]
    parts = run("waste", empty_home.view(), {}).tables["identity"].set_index("part")["usd"]
    assert (parts["not_allocated"], parts["unknown"]) == (460.0, 9027.0)
    rung = run("waste", empty_home.view(), {}).tables["ladder"].set_index("rung").loc["allocated"]
    assert (rung["usd"], rung["usd_high"]) == (20.0, 9027.0)


@pytest.mark.parametrize(
    ("start", "uploaded", "more", "idle"),
    [
        (DAY, datetime(2026, 3, 11), {}, 460.0),
        (DAY, datetime(2026, 3, 10, 23), {}, 0.0),
        (datetime(2026, 3, 2), datetime(2026, 4, 2), {}, 480.0),
        (datetime(2026, 2, 27), datetime(2026, 4, 2), {}, 0.0),
        (DAY, datetime(2026, 4, 2), {"cluster": None}, 460.0),
    ],
    ids=[
        "loaded afterwards",
        "loaded before it ended",
        "month of the first job",
        "month before",
        "no cluster",
    ],
)
def test_when_a_scheduler_file_covers_a_charge(
    empty_home: Home, tmp_path: Path, start: datetime, uploaded: datetime, more: dict[str, None], idle: float
) -> None:
    job(empty_home, "77", DAY, 1, **{"node_list": "node-a", **more})
    loaded(empty_home, at=uploaded)
    bill(empty_home, tmp_path, start=start)
    found = shares(empty_home, f"{start:%Y-%m}")
    assert float(sum(s.usd for s in found.shares if s.known_idle)) == pytest.approx(idle)


def test_a_job_without_an_end_leaves_its_machine_open(empty_home: Home, tmp_path: Path) -> None:
    job(empty_home, "77", DAY, 1, node_list="node-a")
    job(empty_home, "78", DAY - timedelta(days=1), 1, node_list="node-a", ended_at=None)
    loaded(empty_home)
    bill(empty_home, tmp_path)
    assert not any(share.known_idle for share in shares(empty_home).shares)
