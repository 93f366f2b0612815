"""Half cents: one line is the same number in every table, and every table adds up to the same totals."""

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analysis.bill import Bill, Charge
from analysis.billlines import Line, add_lines, is_open
from analysis.linebearers import bearers, open_lines
from analysis.linecents import line_cents
from analysis.matching import Matched
from analysis.parts import NONE, WHY, Part
from analysis.reconciled import tables
from analysis.reconciliation import ReconciliationParams, compute
from tests.analysis.bills import DAY, charge, load, loaded, reconciled
from tests.analysis.conftest import Home
from tests.examples import some

D = Decimal
OTHER = "b" * 16
KINDS = ("credit", "owed", "run", "own", "two", "partly", "commitment", "capacity", "idle", "open")
WHYS = {
    "commitment": "unused", "capacity": "idle_capacity", "idle": "nobody", "partly": "nobody", "open": "tax",
    "owed": "credit",
}  # fmt: skip


def made(number: int, usd: Decimal, kind: str, service: str) -> Line:
    """A line borne by run a, by its own run, by two, partly, or by nobody for one of the reasons."""
    blank: dict[str, Any] = dict.fromkeys(field.name for field in fields(Charge))
    unused = kind in ("commitment", "capacity")
    bought = Charge(
        **blank | {"number": number, "start": DAY, "end": DAY + timedelta(days=2), "kind": "gpu",
        "unused": unused, "credit": kind in ("credit", "owed"), "service": service,
        "effective": usd, "billed": usd,
        "own": usd, "currency": "USD"},
    )  # fmt: skip
    names = {
        "run": ["a"],
        "credit": ["a"],
        "own": [f"run {number}"],
        "two": ["a", "b"],
        "partly": ["b", None],
    }.get(kind, [None])
    parts = tuple(
        Part(bought, (DAY + timedelta(days=n)).date(), name, None, None, None, None, None, None, None,
             "tag" if name else NONE, None, usd / len(names))
        for n, name in enumerate(names)
    )  # fmt: skip
    ours = sum((part.usd for part in parts if part.borne), D(0))
    rest = usd - ours
    why = WHY[WHYS[kind]] if rest else ""
    return Line(bought, parts, ours, rest, "tag" if ours else NONE, "", why, kind == "idle")


def cell(value: float) -> Decimal:
    return D(str(round(value, 2)))


def added(values: Iterable[float]) -> Decimal:
    return sum((cell(value) for value in values), D(0))


def all_tables(lines: list[Line]) -> dict[str, pd.DataFrame]:
    sums = add_lines(lines)
    shown = line_cents(lines, sums)
    whole = sum((line.charge.billed or D(0) for line in lines), D(0))
    charges = tuple(line.charge for line in lines)
    bill = Bill("2026-03", datetime(2026, 3, 1), datetime(2026, 4, 1), charges, (), whole, (), ())
    found = tables(bill, Matched((), (), {}, {}, frozenset(), ()), lines, sums, shown)
    return found | {"open": open_lines(lines, shown), "bearers": bearers(lines, found["lines"])}


AMOUNTS = st.integers(-400, 4000).map(lambda n: D(n) / 200)


@settings(max_examples=some(15), deadline=None)
@given(st.lists(st.tuples(AMOUNTS, st.sampled_from(KINDS), st.sampled_from("xyz")), min_size=1, max_size=12))
@example([(D("412.335"), "run", "x"), (D("0.005"), "open", "y"), (D("0.005"), "commitment", "y")])
@example([(D("0.005"), "run", "x"), (D("0.005"), "commitment", "x"), (D("0.005"), "idle", "x")])
@example([(D("0.005"), "credit", "x"), (D("0.01"), "partly", "x")])
@example([(D("0.005"), "own", service) for service in "xxy"])
@example([(D("0.005"), "run", service) for service in "xxyy"])
@example([(D("1.005"), "open", service) for service in "xyz"])
def test_half_cents_are_the_same_in_every_table(drawn: list[tuple[Decimal, str, str]]) -> None:
    lines = [made(n, *one) for n, one in enumerate(drawn, 1)]
    sums, found = add_lines(lines), all_tables(lines)
    assert sums.borne + sums.idle + sums.open == sums.charges
    assert sums.charges + sums.credits == sums.effective
    if sums.explained is not None:
        whole = sums.explained + (sums.idle_frac or 0) + (sums.open_frac or 0)
        assert abs(whole - 1) < D("1e-20")  # each quotient has 28 digits
    for name in ("lines", "by_service", "by_day"):
        assert added(found[name]["matched_usd"]) == sums.matched, name
        assert added(found[name]["unmatched_usd"]) == sums.unmatched, name
        assert added(found[name]["effective_usd"]) == sums.effective, name
    for name in ("bearers", "by_how", "by_run"):
        assert added(found[name]["usd"]) == sums.effective, name
    how, runs = found["by_how"], found["by_run"]
    groups = {"matched": sums.borne, "open": sums.open, "idle": sums.idle, "credits": sums.credits}
    for group, usd in groups.items():
        assert added(how["usd"][how["group"] == group]) == usd, group
    assert added(runs["usd"][runs["run"].notna()]) == sums.matched
    assert added(found["open"]["unmatched_usd"]) == sums.open
    assert added(found["unmatched"]["unmatched_usd"]) == sums.unmatched
    shown = line_cents(lines, sums)
    for row in found["by_service"].to_dict("records"):
        mine = [line for line in lines if line.charge.service == row["service"]]
        assert cell(row["matched_usd"]) == sum((shown[line.charge.number].matched for line in mine), D(0))
        for credit in (False, True):  # rounded apart, as their totals stand apart
            part = [line for line in mine if line.charge.credit is credit]
            exact = sum((line.matched for line in part), D(0))
            assert abs(sum((shown[line.charge.number].matched for line in part), D(0)) - exact) < D("0.01")
    check_lines(lines, found)


def check_lines(lines: list[Line], found: dict[str, pd.DataFrame]) -> None:
    """Each line is one number wherever it is shown, and within a cent of its exact amount."""
    rows = found["lines"].set_index("line")
    for line in lines:
        n = line.charge.number
        ours, rest = cell(rows.loc[n, "matched_usd"]), cell(rows.loc[n, "unmatched_usd"])
        assert abs(ours - line.matched) < D("0.01") > abs(rest - line.unmatched)
        borne = found["bearers"][found["bearers"]["line"] == n]
        assert added(borne["usd"][borne["how"] == "tag"]) == ours
        assert added(borne["usd"][borne["how"] != "tag"]) == rest
        opened = found["open"][found["open"]["line"] == n]["unmatched_usd"]
        assert added(opened) == (rest if is_open(line) else 0)
        assert cell(rows.loc[n, "effective_usd"]) == cell(rows.loc[n, "billed_usd"])
        service = found["by_service"].set_index("service").loc[line.charge.service]
        if service["lines"] == 1:
            assert cell(service["effective_usd"]) == ours + rest
        for run in found["by_run"].dropna(subset=["run"]).to_dict("records"):
            if run["lines"] == 1 and [part.run for part in line.parts] == [run["run"]]:
                assert cell(run["usd"]) == ours


def test_the_answer_is_the_sum_of_the_open_lines(empty_home: Home, tmp_path: Path) -> None:
    """Three open lines of half cents beside a matched one: every exact sum ends on half a cent."""
    rows = [charge("412.335", Tags='{"campaign": "math"}', ServiceName="Disk")]
    rows += [charge(usd, ChargeCategory="Tax") for usd in ("5830.495", "5830.495", "5830.485")]
    empty_home.add("campaigns", {"campaign": "math"})
    load(empty_home, tmp_path, rows)
    result = reconciled(empty_home)
    opened = added(result.tables["open"]["unmatched_usd"])
    assert opened == cell(result.figure("bill_open").value or 0)
    assert f"${opened:,} (97.7 %) is not explained" in result.answer
    disk = result.tables["by_service"].set_index("service").loc["Disk"]
    (line,) = result.tables["bearers"].query("campaign == 'math'")["usd"]
    (run,) = result.tables["by_run"].query("campaign == 'math'")["usd"]
    assert line == run == disk["matched_usd"]


@pytest.mark.parametrize("mine", [False, True])
def test_the_example_in_a_bill_is_said_first(empty_home: Home, tmp_path: Path, mine: bool) -> None:
    loaded(empty_home, OTHER, synthetic=True)
    load(empty_home, tmp_path, [charge("3600.40"), charge(19)], upload=OTHER)
    words = "This bill is synthetic example data."
    if mine:
        loaded(empty_home, "a" * 16)
        load(empty_home, tmp_path, [charge("500.25")])
        words = (
            "$3,619.40 of this bill is synthetic example data, counted because that was asked for: leave the "
            "example out to see yours alone."
        )
    said = compute(empty_home.view(), ReconciliationParams(example="with")).warnings
    assert (said[0].code, said[0].text) == ("synthetic", words)


def test_an_own_bill_says_nothing_of_an_example(empty_home: Home, tmp_path: Path) -> None:
    loaded(empty_home, OTHER, synthetic=True)
    load(empty_home, tmp_path, [charge("3600.40", datetime(2026, 2, 3))], upload=OTHER)
    load(empty_home, tmp_path, [charge("500.25")])
    assert not [n for n in reconciled(empty_home, "2026-03").warnings if n.code == "synthetic"]
