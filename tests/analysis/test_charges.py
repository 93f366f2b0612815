"""Lines of a bill: commitments, months, corrections, currencies, files, and versions of the format."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from analysis import run
from analysis.bill import load_bill
from analysis.moneyparams import MoneyParams
from data.readers.base import Choices
from data.readers.focus import FocusReader
from data.workspace import Decision
from tests.analysis.bills import (
    COLUMNS,
    DAY,
    by,
    charge,
    hold,
    load,
    reconciled,
    shares,
    text,
)
from tests.analysis.conftest import Home
from tests.data.verl_files import spooled

D = Decimal
MARCH = datetime(2026, 3, 1)


@pytest.mark.parametrize("used_h", [24, 18, 12, 0])
def test_a_commitment_is_its_used_and_its_unused_hours(empty_home: Home, tmp_path: Path, used_h: int) -> None:
    """A node-hour committed for $80 over a day, bought for $700,000 upfront: used + unused = 24 x $80."""
    hold(empty_home, "r1", DAY, used_h or 1, hosts={"node-a": 8})
    commitment = {"CommitmentDiscountId": "plan-1", "BilledCost": "0.00"}
    buy = charge(0, DAY, 24, ChargeCategory="Purchase", **(commitment | {"BilledCost": "700000"}))
    rows = [buy]
    for hour in range(24):
        at, used = DAY + timedelta(hours=hour), hour < used_h
        gpu_h = 8 if used else None
        status = {"CommitmentDiscountStatus": "Used" if used else "Unused", "CommitmentDiscountQuantity": 1}
        node = "node-a" if used else ""
        more = {"CommitmentDiscountUnit": "Hours", **status, **commitment}
        rows.append(charge(80, at, 1, gpu_h=gpu_h, node=node, **more))
    load(empty_home, tmp_path, rows)
    found, result = shares(empty_home), reconciled(empty_home)
    kinds = by(found, "kind")
    assert kinds.get("gpu", 0) == 80 * used_h
    assert kinds.get("unused", 0) == 80 * (24 - used_h)
    assert kinds["purchase"] == 0
    assert result.figure("bill_billed").value == 700000
    assert result.figure("bill_effective").value == 1920
    assert result.figure("bill_unused").value == 80 * (24 - used_h)
    bridge = {row["part"]: row["usd"] for row in result.tables["totals"].to_dict("records")}
    assert bridge == {"invoice": 700000, "purchase": -700000, "commitment": 1920, "effective": 1920}
    assert "the invoice asks for $700,000.00, $698,080.00 more" in result.answer


def test_an_unused_commitment_of_something_else_is_no_idle_gpu(empty_home: Home, tmp_path: Path) -> None:
    database = {"CommitmentDiscountId": "db", "ChargeDescription": "Database hours"}
    rows = [
        charge(480, gpu_h=192),
        charge(5, CommitmentDiscountStatus="Used", **database),
        charge(3, CommitmentDiscountStatus="Unused", **database),
    ]
    load(empty_home, tmp_path, rows)
    assert by(shares(empty_home), "kind") == {"gpu": 480.0, "other": 8.0}
    assert "unused" in set(reconciled(empty_home).tables["lines"]["status"])


def test_an_unused_reservation_states_its_gpu_seconds(empty_home: Home, tmp_path: Path) -> None:
    row = charge(
        480, CommitmentDiscountId="r", CommitmentDiscountStatus="Unused", CommitmentDiscountQuantity=24,
        CommitmentDiscountUnit="Hours", ChargeDescription="p5.48xlarge reservation",
    )  # fmt: skip
    load(empty_home, tmp_path, [row])
    (share,) = shares(empty_home).shares
    assert (share.kind, share.how, share.gpu_s, share.usd) == ("unused", "none", 24 * 8 * 3600.0, D(480))


def test_a_run_across_two_months_is_split_and_the_months_are_the_whole(
    empty_home: Home, tmp_path: Path
) -> None:
    """31 March 00:00 to 1 April 07:00, $3.10 an hour and one line: $74.40 and $21.70."""
    start = datetime(2026, 3, 31)
    hold(empty_home, "r1", start, 31, hosts={"node-a": 8})
    load(empty_home, tmp_path, [charge("96.10", start, 31, gpu_h=248, node="node-a")])
    march, april = shares(empty_home, "2026-03"), shares(empty_home, "2026-04")
    assert (march.usd, april.usd) == (D("74.40"), D("21.70"))
    assert (march.invoice_usd, april.invoice_usd) == (D("74.40"), D("21.70"))
    assert {s.day for s in april.shares} == {date(2026, 4, 1)}
    assert shares(empty_home, "all").usd == D("96.10")
    assert shares(empty_home).period == "2026-04"


def test_thirds_of_a_cent_over_months_are_not_lost(empty_home: Home, tmp_path: Path) -> None:
    start = datetime(2026, 1, 31, 23)
    load(empty_home, tmp_path, [charge("0.01", start, 24 * 28 + 2, gpu_h=8)])
    parts = [shares(empty_home, f"2026-0{n}").usd for n in (1, 2, 3)]
    assert sum(parts) == D("0.01")
    assert all(part > 0 for part in parts)


def test_the_invoice_of_a_billing_period_holds_its_corrections_of_other_months(
    empty_home: Home, tmp_path: Path
) -> None:
    """April's invoice takes back $48 of 10 March: it reduces March's run on April's invoice."""
    hold(empty_home, "r1", DAY, 24, hosts={"node-a": 8})
    rows = [
        charge(480, gpu_h=192, node="node-a", month="2026-03"),
        charge(-48, gpu_h=-19.2, node="node-a", month="2026-04", ChargeClass="Correction"),
    ]
    load(empty_home, tmp_path, rows)
    assert by(shares(empty_home, "2026-03"), "run", "day") == {("r1", DAY.date()): 480.0}
    assert by(shares(empty_home, "2026-04"), "run", "day") == {("r1", DAY.date()): -48.0}
    april = reconciled(empty_home, "2026-04")
    assert april.tables["lines"]["status"].tolist() == ["correction"]
    assert april.answer.startswith("The April 2026 invoice comes to -$48.00, so no share of it is explained")


def test_ends_are_exclusive_and_a_leap_day_counts(empty_home: Home, tmp_path: Path) -> None:
    load(empty_home, tmp_path, [charge(29, datetime(2028, 2, 1), 24 * 29, gpu_h=8)])
    february = shares(empty_home, "2028-02")
    assert february.usd == D(29)
    assert {s.usd for s in february.shares} == {D(1)}
    assert february.shares[-1].day == date(2028, 2, 29)
    assert shares(empty_home, "2028-03").shares == ()


def test_cost_without_an_invoice_amount_counts_as_cost(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r1", DAY, 24, hosts={"node-a": 8})
    load(empty_home, tmp_path, [charge(480, gpu_h=192, node="node-a", BilledCost="0")])
    result = reconciled(empty_home)
    assert result.answer.startswith(
        "Explains 100 % of the charges of the March 2026 invoice: $480.00 of $480.00; no line is left. These "
        "are effective (amortised) costs; the invoice asks for $0.00, $480.00 less."
    )


def test_a_provider_that_states_no_effective_cost_is_taken_at_its_bill(
    empty_home: Home, tmp_path: Path
) -> None:
    load(
        empty_home,
        tmp_path,
        [charge(480, gpu_h=192, EffectiveCost="0"), charge(20, gpu_h=8, EffectiveCost="0")],
    )
    result = reconciled(empty_home)
    assert result.figure("bill_effective").value == 500
    assert any(n.code == "effective_from_billed" and "Atlas" in n.text for n in result.warnings)


def test_a_currency_without_a_rate_is_listed_outside_the_dollars(empty_home: Home, tmp_path: Path) -> None:
    rows = [charge(480, gpu_h=192), charge(100, gpu_h=192, BillingCurrency="EUR")]
    load(empty_home, tmp_path, rows)
    result = reconciled(empty_home)
    assert result.figure("bill_effective").value == 480
    assert result.tables["foreign"].to_dict("records")[0]["own_cost"] == 100
    assert any(n.code == "currency_left_out" and "EUR" in n.text for n in result.warnings)


def test_a_dated_rate_turns_a_currency_into_dollars(empty_home: Home, tmp_path: Path) -> None:
    load(empty_home, tmp_path, [charge(100, gpu_h=192, BillingCurrency="EUR")])
    view = empty_home.view()
    told = {"action": "set", "code": "EUR", "usd_per_unit": "1.085", "date": "2026-03-01", "source": "bank"}
    one = Decision(1, MARCH, "currency_rate", None, None, told, None)
    object.__setattr__(view, "money", (one,))
    bill = load_bill(view, MoneyParams(period="2026-03"))
    assert [c.effective for c in bill.charges] == [D("108.5")]
    assert [a.source for a in bill.assumptions] == ["bank"]


def test_a_line_in_two_files_is_said_and_counts(empty_home: Home, tmp_path: Path) -> None:
    row = charge(480, gpu_h=192, node="node-a")
    load(empty_home, tmp_path, [row])
    load(empty_home, tmp_path, [row, charge(1, gpu_h=8, node="node-b")], upload="b" * 16)
    result = reconciled(empty_home)
    assert result.figure("bill_effective").value == 961
    assert any(n.code == "charges_twice" and n.text.startswith("1 line, $480.00 ") for n in result.warnings)


SINCE_1_1 = ("CommitmentDiscountQuantity", "CommitmentDiscountUnit", "SkuPriceDetails")
HEADERS = {
    "1.0": [c for c in COLUMNS if c not in SINCE_1_1],
    "1.1": COLUMNS,
    "1.2": [*COLUMNS, "InvoiceId", "PricingCurrency"],
    "1.3": [*COLUMNS, "InvoiceId", "ServiceProviderName", "HostProviderName", "AllocatedMethodId"],
    "1.4": [c.replace("ProviderName", "ServiceProviderName") for c in [*COLUMNS, "InvoiceId"]],
}  # fmt: skip


@pytest.mark.parametrize("version", HEADERS)
def test_every_version_of_focus_gives_the_same_charge(tmp_path: Path, version: str) -> None:
    row = charge(480, gpu_h=192, node="node-a", month="2026-03", InvoiceId="inv-1")
    row |= {"ServiceProviderName": "Atlas", "HostProviderName": "Atlas"}
    source = spooled(text([row], HEADERS[version]), tmp_path, "bill.csv")
    assert FocusReader().sniff(source).confidence > 0.9
    (cost,) = FocusReader().read(source, Choices(), tmp_path).tables["costs"].to_dict("records")
    told = {name: cost[name] for name in ("provider", "billed_cost", "quantity", "resource_id", "line")}
    assert told == {
        "provider": "Atlas", "billed_cost": 480.0, "quantity": 192.0, "resource_id": "node-a", "line": 2,
    }  # fmt: skip
    assert cost["billing_end"] == datetime(2026, 4, 1)
    assert cost.get("invoice") == (None if version in ("1.0", "1.1") else "inv-1")


def test_a_bill_in_two_versions_is_said_with_its_dollars(empty_home: Home, tmp_path: Path) -> None:
    rows = [charge(96, gpu_h=48), charge(96, gpu_h=48), charge("12.34", ChargeCategory="Tax"), charge(0)]
    load(empty_home, tmp_path, rows)
    load(empty_home, tmp_path, [row | {"SubAccountId": "7"} for row in rows], upload="b" * 16)
    (said,) = [n.text for n in reconciled(empty_home).warnings if n.code == "charges_twice"]
    assert said.startswith("3 lines, $204.34 of effective cost, stand in more than one file")


def test_two_months_of_a_currency_add_up_to_all_of_it(empty_home: Home, tmp_path: Path) -> None:
    """600 EUR over five days of February and five of March 2028, at the rate of 25 February in both."""
    load(empty_home, tmp_path, [charge(600, datetime(2028, 2, 25), 240, BillingCurrency="EUR")])
    rates = [
        {"code": "EUR", "usd_per_unit": value, "date": day, "source": "test", "action": "set"}
        for value, day in (("1.10", "2028-02-01"), ("1.30", "2028-03-01"))
    ]
    money = tuple(Decision(n, MARCH, "currency_rate", None, None, rate, None) for n, rate in enumerate(rates))
    view = empty_home.view()
    object.__setattr__(view, "money", money)
    usd_of = {
        period: load_bill(view, MoneyParams(period=period)).invoice_usd
        for period in ("2028-02", "2028-03", "all")
    }
    assert usd_of == {"2028-02": D(330), "2028-03": D(330), "all": D(660)}


def test_idle_capacity_is_not_called_a_commitment(empty_home: Home, tmp_path: Path) -> None:
    load(empty_home, tmp_path, [charge(96, gpu_h=48)])
    empty_home.con.execute("UPDATE costs SET category = 'Idle'")
    result = reconciled(empty_home)
    assert (
        "$96.00 (100 %) was billed but held by nobody (idle capacity that no workload used)" in result.answer
        and "commitment" not in result.answer
    )


def test_a_capacity_reservation_is_used_or_reserved_and_unused_and_never_both(
    empty_home: Home, tmp_path: Path
) -> None:
    """FOCUS 1.2: 18 of 24 hours ran in the reservation ($360), 6 did not ($120), under a used commitment."""
    hold(empty_home, "r1", DAY, 18, hosts={"node-a": 8})
    mine = {"CapacityReservationId": "cr-1"}
    mine |= {"CommitmentDiscountId": "cd-1", "CommitmentDiscountStatus": "Used"}
    rows = [
        charge(360, hours=18, gpu_h=144, node="node-a", CapacityReservationStatus="Used", **mine),
        charge(120, DAY + timedelta(hours=18), 6, gpu_h=48, CapacityReservationStatus="Unused", **mine),
    ]
    load(empty_home, tmp_path, rows)
    result = reconciled(empty_home)
    assert result.figure("bill_effective").value == 480.0
    lines = result.tables["lines"].set_index("effective_usd")
    assert lines.loc[120.0, "why"].startswith("reserved and unused: ")
    assert by(shares(empty_home), "run", "kind") == {("r1", "gpu"): 360.0, (None, "unused"): 120.0}


def test_an_unused_reservation_is_no_unused_commitment_in_any_headline(
    empty_home: Home, tmp_path: Path
) -> None:
    """$120.01 of a reservation in which nothing ran and $30.02 of a commitment: two words, one total."""
    hold(empty_home, "r1", DAY, 18, hosts={"node-a": 8})
    rows = [
        charge(360, hours=18, gpu_h=144, node="node-a"),
        charge("120.01", gpu_h=48, CapacityReservationId="cr-1", CapacityReservationStatus="Unused"),
        charge("30.02", CommitmentDiscountId="cd-1", CommitmentDiscountStatus="Unused"),
    ]
    load(empty_home, tmp_path, rows)
    result = reconciled(empty_home)
    assert result.figure("bill_unused").value == 30.02
    assert result.figure("bill_reserved").value == 120.01
    words = "($30.02 commitments that nobody used and $120.01 reserved capacity in which nothing ran)"
    assert f"$150.03 (29.4 %) was billed but held by nobody {words}" in result.answer
    found = run("month", empty_home.view(), {})
    parts = dict(zip(found.tables["parts"]["part"], found.tables["parts"]["usd"], strict=True))
    assert parts == {"matched": 360.0, "unused": 30.02, "reserved": 120.01, "not_held": 0.0, "open": 0.0}
    assert found.figure("bill_idle").value == 150.03
    first = found.tables["idle"]["label"].iloc[0]
    assert first == "paid and idle, borne by nobody ($30.02 unused commitments, $120.01 unused reservations)"
