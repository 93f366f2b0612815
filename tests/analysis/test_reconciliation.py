"""A month beside its invoice: to the cent, and what never changes in any table."""

import json
import re
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from analysis.reconciliation import percent_words, usd
from analysis.result import Result
from models.cents import FULL, cents
from tests import money_month
from tests.analysis.bills import (
    charge,
    hold,
    job,
    load,
    loaded,
    reconciled,
    shares,
)
from tests.analysis.conftest import Home

D = Decimal
MARCH = datetime(2026, 3, 1)


def month_home(home: Home, tmp_path: Path, rows: list[dict[str, str]] | None = None) -> Home:
    """The made-up month of `tests.money_month`, without its GPU samples."""
    for run, campaign, attempts in (
        ("math-v3", "math", (money_month.FAILED, money_month.MATH)),
        ("swe-agent", "agents", (money_month.SWE,)),
    ):
        home.add("runs", {"run": run, "campaign": campaign, "synthetic": False})
        for n, (start, end) in enumerate(attempts, 1):
            seconds = (end - start).total_seconds()
            home.add("attempts", {"run": run, "attempt": n, "started_at": start, "ended_at": end})
            pool = {"run": run, "attempt": n, "pool": "all", "role": "colocated", "platform": "h100-sxm"}
            home.add(
                "allocations", {**pool, "gpus": money_month.GPUS_A_NODE, "seconds": seconds, "source": "file"}
            )
    for number, name, (start, end), node in (
        ("101", "math-v3", money_month.FAILED, "node-a"),
        ("102", "math-v3", money_month.MATH, "node-a"),
        ("103", "swe-agent", money_month.SWE, "node-b"),
        ("104", "notebook", money_month.NOTEBOOK, "node-a"),
    ):
        hours = (end - start).total_seconds() / 3600
        job(home, number, start, hours, money_month.GPUS_A_NODE, name=name, node_list=node)
    loaded(home)
    load(home, tmp_path, rows or month_rows())
    return home


def month_rows() -> list[dict[str, str]]:
    lines = money_month.bill().splitlines()
    names = lines[0].split(",")
    frame = pd.read_csv(pd.io.common.StringIO(money_month.bill()), dtype=str, keep_default_na=False)
    assert list(frame.columns) == names
    return frame.to_dict("records")


def column(result: Result, table: str, name: str) -> Decimal:
    """Sum of a column of cents, exact."""
    return sum((D(str(round(v, 2))) for v in result.tables[table][name].dropna()), D(0))


TRUTH = money_month.TRUTH
GPU_USD = money_month.ALLOCATED_GPU_H * money_month.RATE
MATCHED = GPU_USD + money_month.SANDBOX
OPEN = TRUTH["total"] - MATCHED


def test_a_month_beside_its_invoice(empty_home: Home, tmp_path: Path) -> None:
    """GPU-hours of the plan's jobs and the tagged sandboxes are matched; a credit is open as an amount."""
    result = reconciled(month_home(empty_home, tmp_path))
    assert result.figure("bill_effective").value == float(TRUTH["total"])
    assert result.figure("bill_matched").value == float(MATCHED)
    assert result.figure("bill_unused").value == float(money_month.UNUSED_USD)
    idle = TRUTH["not_allocated"] - money_month.UNUSED_USD
    assert result.figure("bill_unheld").value == float(idle)
    rest = money_month.STORAGE + money_month.CREDIT + money_month.TAX
    rest, charges = rest - money_month.CREDIT, TRUTH["total"] - money_month.CREDIT
    explained, unheld = MATCHED / charges, (idle + money_month.UNUSED_USD) / charges
    assert result.figure("bill_explained").value == pytest.approx(float(explained), abs=1e-15)
    assert result.answer == (
        f"Explains {percent_words(explained)} of the charges of the March 2026 invoice: {usd(MATCHED)} of "
        f"{usd(charges)} before credits; {usd(TRUTH['not_allocated'])} ({percent_words(unheld)}) was billed "
        "but held by nobody "
        f"({usd(money_month.UNUSED_USD)} commitments that nobody used and {usd(idle)} GPU time that no run "
        f"or job held); {usd(rest)} ({percent_words(rest / charges)}) is not explained, in 2 lines. "
        f"After credits of $500.00 it comes to {usd(TRUTH['total'])}."
    )
    assert column(result, "unmatched", "unmatched_usd") == OPEN


def test_every_table_adds_up_to_the_same_cents(empty_home: Home, tmp_path: Path) -> None:
    result = reconciled(month_home(empty_home, tmp_path))
    whole = TRUTH["total"]
    for table, name in (
        ("lines", "effective_usd"), ("lines", "billed_usd"), ("by_how", "usd"), ("by_run", "usd"),
        ("by_day", "effective_usd"), ("by_service", "effective_usd"), ("by_service", "billed_usd"),
    ):  # fmt: skip
        assert column(result, table, name) == whole, (table, name)
    for table in ("lines", "by_day", "by_service"):
        ours, rest = column(result, table, "matched_usd"), column(result, table, "unmatched_usd")
        assert (ours, rest) == (MATCHED, OPEN), table
    how, runs = result.tables["by_how"], result.tables["by_run"]
    assert sum(D(str(v)) for v in how["usd"][how["how"] == "none"]) == OPEN
    nobody = runs[["run", "job", "campaign", "team"]].isna().all(axis=1)
    assert sum(D(str(v)) for v in runs["usd"][nobody]) == OPEN
    exact = sum(D(text) for text in result.tables["lines"]["effective_usd_exact"])
    assert exact == whole
    assert sum(s.usd for s in shares(empty_home).shares) == whole


def test_waste_and_reconciliation_stand_on_the_same_gpu_dollars(empty_home: Home, tmp_path: Path) -> None:
    found = shares(month_home(empty_home, tmp_path))
    gpu = sum(s.usd for s in found.shares if s.kind in ("gpu", "unused"))
    nobody = sum(s.usd for s in found.shares if s.kind in ("gpu", "unused") and s.how == "none")
    assert (gpu, nobody) == (TRUTH["gpu"], TRUTH["not_allocated"])


def test_no_bill_is_said(home: Home) -> None:
    result = reconciled(home, "2026-03")
    assert result.answer.startswith("No bill is loaded for March 2026: load a FOCUS export")
    assert result.headline == ()
    assert all(
        frame.empty or name == "totals" for name, frame in result.tables.items() if name != "other_side"
    )


def test_percent_is_never_rounded_to_all_or_nothing() -> None:
    assert percent_words(D(1)) == "100 %"
    assert percent_words(D("0.99999")) == "99.9 %"
    assert percent_words(D("0.9716")) == "97.2 %"
    assert percent_words(D("0.00001")) == "0.1 %"
    assert percent_words(D(0)) == "0 %"


def answers(home: Home, tmp_path: Path, rows: list[dict[str, str]], **how: Any) -> dict[str, Any]:
    """What a bill says, with its rows loaded in one file or, with `cut`, in two."""
    home.con.execute("DELETE FROM costs")
    cut = how.get("cut", len(rows))
    for upload, part in (("a" * 16, rows[:cut]), ("b" * 16, rows[cut:])):
        if part:
            load(home, tmp_path, part, upload=upload)
    result = reconciled(home, "2026-03")
    return {"answer": result.answer, "shares": shares(home, "2026-03").shares} | {
        name: frame.to_json(double_precision=12) for name, frame in result.tables.items()
    }


def test_splitting_or_shuffling_a_file_changes_nothing(empty_home: Home, tmp_path: Path) -> None:
    home = month_home(empty_home, tmp_path)
    rows = month_rows()
    whole = answers(home, tmp_path, rows)
    assert answers(home, tmp_path, rows, cut=29) == whole
    assert answers(home, tmp_path, rows[::-1]) == whole
    assert answers(home, tmp_path, rows[7:] + rows[:7], cut=50) == whole


def test_doubling_every_cost_doubles_every_share(empty_home: Home, tmp_path: Path) -> None:
    home = month_home(empty_home, tmp_path)
    rows = month_rows()
    once = answers(home, tmp_path, rows)
    doubled = [
        row | {name: str(2 * D(row[name])) for name in ("BilledCost", "EffectiveCost")} for row in rows
    ]
    twice = answers(home, tmp_path, doubled)
    assert sum(s.usd for s in twice["shares"]) == 2 * sum(s.usd for s in once["shares"])
    for one, two in zip(once["shares"], twice["shares"], strict=True):
        assert (two.run, two.day, two.how) == (one.run, one.day, one.how)
        assert abs(two.usd - 2 * one.usd) <= 2 * FULL
    share = re.match(r"Explains [\d.]+ %", once["answer"])
    assert share
    assert twice["answer"].startswith(share[0])


DAILY = "effective_usd"
cell = st.tuples(
    st.integers(0, 47), st.integers(1, 12), st.decimals(-9, 99, places=7),
    st.sampled_from(["node-a", "node-b", "i-1", ""]), st.sampled_from([None, 4.0, 8.0, 24.0]),
    st.sampled_from(["", '{"run": "r1"}', '{"team": "t"}']),
)  # fmt: skip


@settings(max_examples=5, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.lists(cell, min_size=1, max_size=8), st.integers(0, 8))
def test_whatever_the_bill_every_dollar_is_somebodys_or_open_once(
    scratch_home: Home, cells: list[Any], cut: int
) -> None:
    """Parts add up to each charge and tables to the total; files and order do not matter."""
    home = scratch_home
    if not home.con.execute("SELECT count(*) FROM runs").fetchall()[0][0]:
        hold(home, "r1", MARCH + timedelta(hours=30), 20, hosts={"node-a": 8})
        hold(home, "r2", MARCH + timedelta(hours=5), 40, 4)
        job(home, "7", MARCH, 12, node_list="node-b")
    rows = [
        charge(str(amount), MARCH + timedelta(hours=start), hours, gpu_h=gpu_h, node=node, Tags=tags)
        for start, hours, amount, node, gpu_h, tags in cells
    ]
    with TemporaryDirectory() as folder:
        turned = answers(home, Path(folder), rows[::-1], cut=cut)
        whole = answers(home, Path(folder), rows)
    assert turned == whole
    asked = sum((D(row["EffectiveCost"]) for row in rows), D(0))
    assert sum((s.usd for s in whole["shares"]), D(0)) == asked
    for table, name in ("lines", "effective_usd"), ("by_how", "usd"), ("by_run", "usd"), ("by_day", DAILY):
        values = json.loads(whole[table])[name].values()
        assert sum((D(str(round(v, 2))) for v in values), D(0)) == cents(asked), table
    bought = sum(gpu_h or 0 for *_, gpu_h, _ in cells)
    assert sum(s.gpu_s or 0 for s in whole["shares"]) / 3600 == pytest.approx(bought)
