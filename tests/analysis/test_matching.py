"""Whom a charge belongs to, step by step, on clusters small enough to work out by hand."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from analysis.holds import host_names
from tests.analysis.bills import DAY, by, charge, gpu_h, hold, job, load, reconciled, shares
from tests.analysis.conftest import Home

D = Decimal


def test_the_machine_is_paid_by_who_held_it_and_the_rest_by_nobody(empty_home: Home, tmp_path: Path) -> None:
    """24 h of 8 GPUs for $480: held for 18 h, so $360 are the run's and $120 nobody's."""
    hold(empty_home, "r1", DAY, 18, hosts={"node-a": 8})
    load(empty_home, tmp_path, [charge(480, gpu_h=192, node="node-a")])
    found = shares(empty_home)
    assert found.basis == "bill"
    assert by(found, "run", "how") == {("r1", "resource"): 360.0, (None, "none"): 120.0}
    assert gpu_h([s for s in found.shares if s.how == "none"]) == 48.0
    assert [(s.attempt, s.pool, s.role, s.platform) for s in found.shares if s.run] == [
        (1, "all", "colocated", "h100-sxm")
    ]


def test_a_tag_wins_over_the_machine(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r1", DAY, 24, hosts={"node-a": 8})
    hold(empty_home, "r2", DAY, 24, hosts={"node-b": 8}, campaign="spring")
    load(empty_home, tmp_path, [charge(480, gpu_h=192, node="node-a", Tags='{"run": "r2"}')])
    assert by(shares(empty_home), "run", "campaign", "how") == {("r2", "spring", "tag"): 480.0}
    (said,) = [n.text for n in shares(empty_home).notices if n.code == "tag_and_holder_differ"]
    assert said.startswith("1 line of r2 by a tag names a machine that r1 held then")


def test_a_tag_of_a_run_that_held_nothing_then_leaves_the_holder_its_part(
    empty_home: Home, tmp_path: Path
) -> None:
    """r1 held the machine for 12 of 24 hours, r2, whom the tag names, nothing: $240 each."""
    hold(empty_home, "r1", DAY, 12, hosts={"node-a": 8})
    hold(empty_home, "r2", DAY + timedelta(days=2), 24, hosts={"node-b": 8})
    load(empty_home, tmp_path, [charge(480, gpu_h=192, node="node-a", Tags='{"run": "r2"}')])
    assert by(shares(empty_home), "run", "how") == {("r1", "resource"): 240.0, ("r2", "none"): 240.0}
    (said,) = [n.text for n in shares(empty_home).notices if n.code == "tag_and_holder_differ"]
    assert said.endswith("r2 held no GPU then, so r1 bears what it held and r2 the rest.")


def test_a_tag_on_a_machine_that_others_held_at_another_time_is_no_dispute(
    empty_home: Home, tmp_path: Path
) -> None:
    hold(empty_home, "r1", DAY + timedelta(days=1), 24, hosts={"node-a": 8})
    hold(empty_home, "r2", DAY, 24, hosts={"node-b": 8})
    load(empty_home, tmp_path, [charge(480, gpu_h=192, node="node-a", Tags='{"run": "r2"}')])
    assert not [n for n in shares(empty_home).notices if n.code == "tag_and_holder_differ"]


def test_what_a_tagged_run_did_not_hold_is_borne_by_it_and_held_by_nobody(
    empty_home: Home, tmp_path: Path
) -> None:
    hold(empty_home, "r1", DAY, 6)
    load(empty_home, tmp_path, [charge(480, gpu_h=192, Tags='{"run": "r1"}')])
    assert by(shares(empty_home), "run", "how") == {("r1", "tag"): 120.0, ("r1", "none"): 360.0}
    assert reconciled(empty_home).figure("bill_explained").value == 1.0


def test_a_tag_on_one_machine_leaves_the_other_machine_of_the_run(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r1", DAY, 24, 16, hosts={"node-a": 8, "node-b": 8})
    rows = [
        charge(480, gpu_h=192, node="node-a", Tags='{"run": "r1"}'),
        charge(400, gpu_h=192, node="node-b"),
    ]
    load(empty_home, tmp_path, rows)
    assert by(shares(empty_home), "run", "how") == {("r1", "tag"): 480.0, ("r1", "resource"): 400.0}
    assert reconciled(empty_home).tables["other_side"].empty


def test_a_campaign_tag_is_shared_by_its_runs_and_a_team_bears_what_is_left(
    empty_home: Home, tmp_path: Path
) -> None:
    """Campaign line: 16 of 24 h for r1, 8 h for r2. Team line: storage that nobody holds."""
    hold(empty_home, "r1", DAY, 16, campaign="c")
    hold(empty_home, "r2", DAY + timedelta(hours=16), 8, campaign="c")
    rows = [
        charge(480, gpu_h=192, Tags='{"campaign": "c"}'),
        charge(9, ChargeDescription="Checkpoint storage", ServiceName="Storage", Tags='{"team": "rl"}'),
    ]
    load(empty_home, tmp_path, rows)
    found = by(shares(empty_home), "run", "campaign", "team", "how")
    assert found == {
        ("r1", "c", None, "tag"): 320.0,
        ("r2", "c", None, "tag"): 160.0,
        (None, None, "rl", "tag"): 9.0,
    }


def test_a_bill_that_a_person_books_is_booked(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r1", DAY, 24)
    load(empty_home, tmp_path, [charge(480, gpu_h=192)], run="r1")
    assert by(shares(empty_home), "run", "how") == {("r1", "booked"): 480.0}


def test_jobs_hold_machines_too_and_one_named_like_a_run_is_that_run(
    empty_home: Home, tmp_path: Path
) -> None:
    hold(empty_home, "r1", DAY, 12)
    job(empty_home, "7", DAY, 12, node_list="node-[a-b]", name="r1", gpus=8, nodes=2)
    job(empty_home, "8", DAY + timedelta(hours=12), 12, node_list="node-c")
    load(empty_home, tmp_path, [charge(480, gpu_h=192, node=f"node-{n}") for n in "c"])
    found = shares(empty_home)
    assert found.has_scheduler
    assert by(found, "run", "job", "how") == {(None, "8", "job"): 240.0, (None, None, "none"): 240.0}
    assert reconciled(empty_home).tables["other_side"].to_dict("records")[0]["gpu_hours"] == 96.0


def test_kind_and_time_alone_only_when_all_that_was_held_fits(empty_home: Home, tmp_path: Path) -> None:
    """Two nodes without names: 192 GPU-hours each. One run of 8 fits; two more of 8 do not."""
    hold(empty_home, "r1", DAY, 24)
    load(empty_home, tmp_path, [charge(480, gpu_h=192), charge(500, gpu_h=192)])
    assert by(shares(empty_home), "run", "how") == {("r1", "time"): 490.0, (None, "none"): 490.0}
    hold(empty_home, "r2", DAY, 24)
    assert by(shares(empty_home), "run", "how") == {("r1", "time"): 490.0, ("r2", "time"): 490.0}
    hold(empty_home, "r3", DAY, 24)
    result = reconciled(empty_home)
    assert by(shares(empty_home), "run", "how") == {(None, "none"): 980.0}
    assert set(result.tables["lines"]["why"]) == {
        "more GPUs of this kind were held than the lines bought: whose they are is open"
    }
    assert result.tables["other_side"]["gpu_hours"].tolist() == [192.0] * 3


def test_another_gpu_model_is_no_match(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r1", DAY, 24)
    load(empty_home, tmp_path, [charge(480, gpu_h=192, ChargeDescription="B200 node")])
    assert by(shares(empty_home), "run", "how") == {(None, "none"): 480.0}


def test_a_named_idle_machine_is_not_given_to_a_run_on_a_machine_that_is_not_on_the_bill(
    empty_home: Home, tmp_path: Path
) -> None:
    hold(empty_home, "r1", DAY, 24, hosts={"node-a": 8})
    hold(empty_home, "r2", DAY, 24, hosts={"elsewhere": 8})
    rows = [charge(480, gpu_h=192, node="node-a"), charge(480, gpu_h=192, node="node-b")]
    load(empty_home, tmp_path, rows)
    assert by(shares(empty_home), "run", "how") == {("r1", "resource"): 480.0, (None, "none"): 480.0}
    other = reconciled(empty_home).tables["other_side"].to_dict("records")
    assert [(row["run"], row["gpu_hours"]) for row in other] == [("r2", 192.0)]


def test_a_run_that_may_be_a_job_is_not_matched_by_time(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r1", DAY, 24)
    job(empty_home, "7", DAY, 24, node_list="node-a")
    rows = [charge(480, gpu_h=192, node="node-a"), charge(480, gpu_h=192)]
    load(empty_home, tmp_path, rows)
    found = shares(empty_home)
    assert by(found, "run", "job", "how") == {(None, "7", "job"): 480.0, (None, None, "none"): 480.0}
    assert any(n.code == "run_may_be_job" for n in found.notices)


def test_over_matched_lines_are_listed_and_shared_in_proportion(empty_home: Home, tmp_path: Path) -> None:
    """Two jobs say that they held all 8 GPUs of a node, one all day and one for half of it: 2 to 1."""
    job(empty_home, "7", DAY, 24, node_list="node-a")
    job(empty_home, "8", DAY, 12, node_list="node-a")
    load(empty_home, tmp_path, [charge(480, gpu_h=192, node="node-a")])
    assert by(shares(empty_home), "job") == {"7": 320.0, "8": 160.0}
    result = reconciled(empty_home)
    assert result.tables["lines"]["status"].tolist() == ["over-matched"]
    notice = next(n for n in result.warnings if n.code == "over_matched")
    assert "held 288.00 GPU-hours of machines that bought 192.00" in notice.text


def test_used_and_bought_by_the_same_hour_in_two_lines(empty_home: Home, tmp_path: Path) -> None:
    """An hour half under a commitment, half on demand: together 8 GPU-hours, so no line is over-matched."""
    hold(empty_home, "r1", DAY, 1, hosts={"node-a": 8})
    rows = [
        charge(8, DAY, 1, gpu_h=4, node="node-a", BilledCost="0", CommitmentDiscountStatus="Used",
               CommitmentDiscountId="c"),
        charge(20, DAY, 1, gpu_h=4, node="node-a"),
    ]  # fmt: skip
    load(empty_home, tmp_path, rows)
    assert by(shares(empty_home), "run", "how") == {("r1", "resource"): 28.0}
    assert reconciled(empty_home).figure("bill_over_matched").value == 0


def test_corrections_and_credits_reduce_whom_they_refer_to_on_lines_of_their_own(
    empty_home: Home, tmp_path: Path
) -> None:
    hold(empty_home, "r1", DAY, 18, hosts={"node-a": 8})
    rows = [
        charge(480, gpu_h=192, node="node-a"),
        charge(-48, gpu_h=-19.2, node="node-a", ChargeClass="Correction"),
        charge(-24, node="node-a", ChargeCategory="Credit"),
    ]
    load(empty_home, tmp_path, rows)
    found = shares(empty_home)
    assert by(found, "kind", "run") == {
        ("gpu", "r1"): 324.0,
        ("gpu", None): 108.0,
        ("credit", "r1"): -18.0,
        ("credit", None): -6.0,
    }
    assert gpu_h([s for s in found.shares if s.kind == "gpu"]) == pytest.approx(172.8)
    lines = reconciled(empty_home).tables["lines"]
    told = {r["status"]: r["effective_usd"] for r in lines.to_dict("records")}
    assert told == {"partly": 480.0, "correction": -48.0, "credit": -24.0}


def test_a_line_for_a_month_accrues_where_it_was_held(empty_home: Home, tmp_path: Path) -> None:
    """500 machine-hours of March in one line: 400 held on the first days, the other 100 nobody's."""
    start = datetime(2026, 3, 1)
    hold(empty_home, "r1", start, 400, hosts={"node-a": 8})
    row = charge(2000, start, 744, node="node-a", ConsumedQuantity=500, ConsumedUnit="Hours",
                 ChargeDescription="p5.48xlarge")  # fmt: skip
    load(empty_home, tmp_path, [row])
    found = shares(empty_home)
    assert by(found, "run") == {"r1": 1600.0, None: 400.0}
    mine = {s.day: s.usd for s in found.shares if s.run}
    assert (len(mine), mine[date(2026, 3, 1)], mine[date(2026, 3, 17)]) == (17, D(96), D(64))
    assert min(s.day for s in found.shares if not s.run) == date(2026, 3, 17)


def test_without_a_quantity_the_holders_bear_it_and_that_is_said(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r1", DAY, 18, hosts={"node-a": 8})
    load(empty_home, tmp_path, [charge(480, node="node-a")])
    found = shares(empty_home)
    assert by(found, "run", "gpu_s") == {("r1", None): 480.0}
    assert any(n.code == "no_quantity" for n in found.notices)


def test_lines_beside_the_gpus_follow_the_machine(empty_home: Home, tmp_path: Path) -> None:
    """Cores and disk of the node cost as its GPUs do: three quarters to the run."""
    hold(empty_home, "r1", DAY, 18, hosts={"node-a": 8})
    rows = [
        charge(480, gpu_h=192, node="node-a"),
        charge(40, node="node-a", ChargeDescription="Instance core"),
    ]
    load(empty_home, tmp_path, rows)
    found = by(shares(empty_home), "kind", "run")
    assert found["cpu", "r1"] == 30.0
    assert found["cpu", None] == 10.0


def test_two_pools_share_a_machine_by_their_gpus(empty_home: Home, tmp_path: Path) -> None:
    home = empty_home
    home.add("runs", {"run": "r1", "synthetic": False})
    home.add(
        "attempts", {"run": "r1", "attempt": 1, "started_at": DAY, "ended_at": DAY + timedelta(hours=24)}
    )
    for name, gpus in (("train", 2), ("rollout", 6)):
        row = {"run": "r1", "attempt": 1, "pool": name, "role": name, "platform": "h100-sxm", "gpus": gpus,
               "seconds": 86400.0, "source": "user"}  # fmt: skip
        home.add("allocations", row)
    for n in range(8):
        home.add("gpus", {"gpu_id": f"node-a:{n}", "host": "node-a", "gpu_index": n, "run": "r1"})
    load(home, tmp_path, [charge(480, gpu_h=192, node="node-a")])
    assert by(shares(home), "pool") == {"train": 120.0, "rollout": 360.0}


@pytest.mark.parametrize(
    ("bill", "sampler"),
    [
        ("/subscriptions/1/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/GPU-07", "gpu-07"),
        ("arn:aws:ec2:us-east-1:123456789012:instance/i-0abc", "i-0abc"),
        ("node-3.cluster.local", "node-3:9400"),
        ("10.0.0.7", "10.0.0.7:9400"),
    ],
)
def test_spellings_of_one_machine(bill: str, sampler: str) -> None:
    assert host_names(bill) & host_names(sampler)


def test_machines_that_are_not_the_same() -> None:
    assert not host_names("node-1") & host_names("node-10")
    assert not host_names("10.0.0.7") & host_names("10.0.0.8")
    assert host_names("") == host_names(None) == set()


@pytest.mark.parametrize(
    ("listed", "nodes"),
    [("node-[a-b]", ["node-a", "node-b"]), ("node[01-03,07]", ["node01", "node02", "node03", "node07"])],
)
def test_a_node_list_in_brackets_holds_each_machine_of_the_bill(
    empty_home: Home, tmp_path: Path, listed: str, nodes: list[str]
) -> None:
    """A job over all nodes for half the day: half of the line of each machine is its."""
    job(empty_home, "7", DAY, 12, 8.0 * len(nodes), node_list=listed, nodes=float(len(nodes)))
    load(empty_home, tmp_path, [charge(100, gpu_h=192, node=node) for node in nodes])
    usd = 50.0 * len(nodes)
    assert by(shares(empty_home), "job", "how") == {("7", "job"): usd, (None, "none"): usd}
