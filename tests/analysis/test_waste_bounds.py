"""What samples do not prove stays open: bounds of productive work, and machines that jobs hold in part."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import month, waste, waste_words
from analysis.frames import records
from analysis.shares import Share
from analysis.waste_inside import Inside
from analysis.waste_owners import Clocks, Owner, Window, read_clocks, step_flags
from analysis.waste_parts import cut_bill, spell_rows
from analysis.waste_samples import Evidence, read_evidence
from analysis.waste_spells import events
from charts.text import interval_parts
from data.queries.filters import Filters
from models.stalls import Thresholds
from models.waste import Split
from tests.analysis.conftest import Home
from tests.analysis.test_waste import READ, hung_run, log, put_samples, view_of


@pytest.fixture
def blank() -> Iterator[Home]:
    home = Home()
    yield home
    home.con.close()


def test_what_nothing_proves_is_in_no_low_bound_of_productive_work(blank: Home, tmp_path: Path) -> None:
    hung_run(blank, logged=False)
    put_samples(blank, tmp_path, [row[:3] for row in log()], READ[:1])
    view = view_of(blank, tmp_path)
    split = waste.compute(view, waste.WasteParams())
    bar = split.tables["waterfall"].set_index("bar").loc["productive"]
    assert bar[["usd", "usd_low", "usd_high"]].to_list() == pytest.approx([96.0, 0.0, 96.0])
    assert "(0 % to 100 %: 100 % looks busy without proof of progress)" in split.answer
    assert split.answer.endswith("coverage 100 %, which is no proof of progress.")
    asked = month.compute(view, month.MonthParams())
    share = asked.figure("month_productive")
    assert (share.value, share.low, share.high) == pytest.approx((1.0, 0.0, 1.0))
    assert "(0 % to 100 %)" in asked.answer
    assert "util_alone" in {notice.code for notice in asked.warnings}


def test_unknown_time_may_be_productive(blank: Home, tmp_path: Path) -> None:
    hung_run(blank)
    put_samples(blank, tmp_path, log(gpus=8))
    view = view_of(blank, tmp_path)
    split = waste.compute(view, waste.WasteParams())
    bar = split.tables["waterfall"].set_index("bar").loc["productive"]
    assert bar[["usd", "usd_low", "usd_high"]].to_list() == pytest.approx([34.8, 34.8, 82.8])
    figure = split.figure("productive_usd")
    assert (figure.low, figure.high) == pytest.approx((34.8, 82.8))
    assert "(36 % to 86 %: 50 % is unknown)" in split.answer and "proof" not in split.answer
    asked = month.compute(view, month.MonthParams())
    assert "coverage_low" in {n.code for n in asked.warnings}
    card = interval_parts(asked.figure("month_productive"))[0]  # 34.8 and 82.8 of $96
    assert card == "36.2 – 86.2 %" and "at least 36.2 % of it" in asked.answer and "86.2 %." in asked.answer


NIGHT = datetime(2026, 3, 3, 8)
BUSY, QUIET = (0.95, 0.8, 0.4, 0.3, 600.0, 700.0), (0.0, 0.0, 0.0, 0.0, 80.0, 700.0)
DAY = date(2026, 3, 3)


def machine(home: Home, folder: Path, jobs: list[tuple[str, int, float, float]], busy: int) -> Evidence:
    """A node of 4 sampled GPUs for an hour, `busy` of them busy; jobs (name, GPUs, first and last minute)."""
    home.add("gpus", *({"gpu_id": f"n:{i}", "host": "n", "gpu_index": i} for i in range(4)))
    ticks = [NIGHT + timedelta(seconds=20 * tick) for tick in range(181)]
    put_samples(
        home, folder, [(f"n:{i}", at, *(BUSY if i < busy else QUIET)) for i in range(4) for at in ticks]
    )
    for name, gpus, first, last in jobs:
        span = {"started_at": NIGHT + timedelta(minutes=first), "ended_at": NIGHT + timedelta(minutes=last)}
        home.add(
            "scheduler_jobs", {"job_id": name, "cluster": "c", "gpus": float(gpus), "node_list": "n", **span}
        )
    return evidence_of(view_of(home, folder))


def evidence_of(view: Any) -> Evidence:
    limits, day = Thresholds(), (NIGHT, NIGHT + timedelta(hours=1))
    return read_evidence(view, Filters(), day, limits, read_clocks(view, Filters(), *day, limits))


def test_a_part_of_a_node_that_does_different_things_is_unknown(blank: Home, tmp_path: Path) -> None:
    found = machine(blank, tmp_path, [("7", 2, 0, 60), ("8", 1, 20, 40)], busy=2)
    assert sum(one.known for one in found.measured.values()) == 0 and not found.spells
    (open_,) = found.unplaced
    assert (open_.host, open_.gpus, open_.gpu_s) == ("n", 4, pytest.approx(2 * 3600 + 1200))
    assert [owner.job for owner in open_.holders] == ["7", "8"]


@pytest.mark.parametrize(("busy", "state"), [(4, "working"), (0, "idle")])
def test_a_part_of_a_node_whose_gpus_all_do_the_same_is_known(
    blank: Home, tmp_path: Path, busy: int, state: str
) -> None:
    found = machine(blank, tmp_path, [("7", 2, 0, 60), ("8", 1, 20, 40)], busy=busy)
    seconds = {owner.job: getattr(one, state) for (owner, _), one in found.measured.items()}
    assert seconds == pytest.approx({"7": 2 * 3600, "8": 1200})
    assert found.unplaced[0].gpu_s == pytest.approx(0, abs=1e-6)
    rows = [{**row, "rate": 1.0} for row in found.spells if row["owner"].job == "7"]
    assert [r["gpus"] for r in records(events(rows, Decimal(7200)))] == ([2] if state == "idle" else [])


def test_a_job_that_holds_the_whole_node_has_its_samples(blank: Home, tmp_path: Path) -> None:
    found = machine(blank, tmp_path, [("7", 4, 0, 30), ("8", 3, 30, 60)], busy=2)
    assert {owner.job: (one.working, one.idle) for (owner, _), one in found.measured.items()} == {
        "7": pytest.approx((3600, 3600))
    }
    assert found.unplaced[0].gpu_s == pytest.approx(3 * 1800)


def test_jobs_that_hold_more_than_the_node_has_are_unknown(blank: Home, tmp_path: Path) -> None:
    found = machine(blank, tmp_path, [("7", 4, 0, 60), ("8", 4, 0, 60)], busy=4)
    assert not found.measured and found.unplaced[0].gpu_s == pytest.approx(8 * 3600)


def test_a_counter_of_one_job_proves_nothing_about_the_other() -> None:
    windows = [Window(0.0, 100.0, Owner("a", 1)), Window(50.0, 200.0, Owner(job="7"))]
    clocks = Clocks({}, {}, {}, {"a": ((0.0, 200.0),)})
    frozen, moves = step_flags(windows, np.array([25.0, 75.0, 150.0]), clocks)
    assert moves.tolist() == [True, False, False] and not frozen.any()


def test_what_the_identity_calls_unknown_is_no_spell(blank: Home, tmp_path: Path) -> None:
    found = machine(blank, tmp_path, [("7", 2, 0, 60), ("8", 4, 60, 90)], busy=0)
    paid = Share(
        charge=1, day=DAY, kind="gpu", platform=None, run=None, attempt=None, pool=None, role=None, job="7",
        campaign=None, team=None, how="job", gpu_s=3600.0, usd=Decimal(3),
    )  # fmt: skip
    bill = cut_bill([paid], True, found, Inside({}, {}, {}, {}, {}))
    # 2 GPU-hours are sampled and 1 is paid
    assert found.spells and bill.contradicted and spell_rows(found, bill, "idle") == []


def test_none_seen_is_no_value_where_most_is_unknown() -> None:
    """$100 paid, $60 of it unknown and $20 without proof: nothing idle was seen, and 80 % may be."""
    usd = Split(unknown=60.0, working=40.0, unproven=20.0)
    share = waste_words._part("waste_share", usd, usd.waste / usd.paid, usd.waste_high / usd.paid)
    assert (share.value, share.low, share.high) == (None, None, None)
    reasons = "60 % is unknown and 20 % looks busy without proof of progress"
    assert share.missing == f"it is at most 80 %: {reasons}"
    stalled = waste_words._part("stalled_usd", usd, 0.0, 80.0)
    assert stalled.missing == f"it is at most $80.0: {reasons}"
    seen = waste_words._part("stalled_usd", Split(stalled=1.0, unknown=60.0, working=39.0), 1.0, 61.0)
    assert (seen.value, seen.low, seen.high) == (1.0, 1.0, 61.0)
    assert waste_words._part("stalled_usd", Split(working=100.0), 0.0, 0.0).value == 0.0
