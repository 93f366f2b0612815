"""A provider's export of actual costs and its amortised one, both loaded: the same hours count once."""

from pathlib import Path

from analysis.frames import records
from analysis.result import Result
from data.money.cost_tags import tagged
from data.readers.azure_cost import AzureCostReader
from data.readers.base import Choices
from tests.analysis.bills import DAY as MID_MARCH
from tests.analysis.bills import job, loaded, reconciled, shares
from tests.analysis.conftest import Home
from tests.data.verl_files import spooled

HEADER = (
    "SubscriptionId,Date,ChargeType,MeterCategory,MeterName,MeterId,Quantity,UnitOfMeasure,CostInBillingCurrency,"
    "BillingCurrency,ResourceId,ReservationId,BillingPeriodStartDate,AdditionalInfo"
)
NODE = "/subscriptions/s/virtualMachines/node-a"
TYPE = '"{""ServiceType"": ""Standard_ND96isr_H100_v5""}"'
GPUS = "Virtual Machines,ND96isr H100 v5,m1"
ACTUAL = [
    "s,2026-03-01,Purchase,Virtual Machines,Reservation 1y,m0,1,1,1000.00,USD,,rid,2026-03-01,",
    f"s,2026-03-10,Usage,{GPUS},24,1 Hour,0,USD,{NODE},rid,2026-03-01,{TYPE}",
    f"s,2026-03-11,Usage,{GPUS},24,1 Hour,555.55,USD,{NODE},,2026-03-01,{TYPE}",
    f"s,2026-03-12,Refund,{GPUS},0,1 Hour,-55.55,USD,{NODE},,2026-03-01,{TYPE}",
]
AMORTISED = [
    f"s,2026-03-10,Usage,{GPUS},24,1 Hour,600.00,USD,{NODE},rid,2026-03-01,{TYPE}",
    f"s,2026-03-10,UnusedReservation,{GPUS},16,1 Hour,400.00,USD,,rid,2026-03-01,{TYPE}",
    *ACTUAL[2:],
]


def load(home: Home, tmp_path: Path, rows: list[str], upload: str) -> None:
    source = spooled("\n".join([HEADER, *rows]) + "\n", tmp_path, f"{upload[:4]}.csv")
    batch = AzureCostReader().read(source, Choices(), tmp_path)
    assert batch.stored == len(rows), batch.set_aside
    frame = tagged(batch.tables["costs"])
    frame = frame.astype(object).where(frame.notna(), None)
    home.add("costs", *({**row, "upload_id": upload} for row in frame.to_dict("records")))
    loaded(home, upload, name=f"{upload[:4]}.csv", format="azure_cost_export")


def dollars(found: Result) -> tuple[float | None, float | None]:
    return tuple(found.figure(f"bill_{name}").value for name in ("billed", "effective"))  # type: ignore[return-value]


def test_actual_and_amortised_costs_are_two_views_of_one_month(empty_home: Home, tmp_path: Path) -> None:
    """Billed 1,000 + 555.55 - 55.55; amortised 600 + 400 + 555.55 - 55.55: $1,500 each, never $3,000."""
    load(empty_home, tmp_path, ACTUAL, "a" * 16)
    load(empty_home, tmp_path, AMORTISED, "b" * 16)
    found = reconciled(empty_home, "2026-03")
    assert dollars(found) == (1500.0, 1500.0)
    assert found.figure("bill_unused").value == 400.0
    totals = {row["part"]: row["usd"] for row in records(found.tables["totals"])}
    assert totals == {"invoice": 1500.0, "effective": 1500.0}
    (said,) = [n.text for n in found.warnings if n.code == "actual_and_amortised"]
    assert "4 lines" in said and "$1,500.00" in said
    assert not [n for n in found.warnings if n.code in ("not_invoiced", "effective_from_billed")]


def test_hours_of_both_exports_are_bought_once(empty_home: Home, tmp_path: Path) -> None:
    """A job holds the node's 8 GPUs for the 24 hours of the 10th: nothing of these 192 GPU-hours is idle."""
    load(empty_home, tmp_path, ACTUAL, "a" * 16)
    load(empty_home, tmp_path, AMORTISED, "b" * 16)
    job(empty_home, "7", MID_MARCH, 24, node_list="node-a")
    mine = [s for s in shares(empty_home, "2026-03").shares if s.job == "7"]
    assert sum(float(s.usd) for s in mine) == 600.0
    assert sum(s.gpu_s or 0 for s in mine) == 192 * 3600


def test_actual_costs_that_no_amortised_export_covers_count(empty_home: Home, tmp_path: Path) -> None:
    """Another subscription, and another month of the same one, are in no amortised file."""
    april = [row.replace("2026-03-", "2026-04-") for row in ACTUAL[2:3]]
    other = ["t" + ACTUAL[2][1:]]
    load(empty_home, tmp_path, [*ACTUAL, *other, *april], "a" * 16)
    load(empty_home, tmp_path, AMORTISED, "b" * 16)
    assert dollars(reconciled(empty_home, "2026-03")) == (2055.55, 2055.55)
    assert dollars(reconciled(empty_home, "2026-04")) == (555.55, 555.55)


def test_a_reservation_used_to_the_last_hour_is_an_amortised_export_too(
    empty_home: Home, tmp_path: Path
) -> None:
    """No unused row tells it, but covered usage costs nothing in an export of actual costs."""
    load(empty_home, tmp_path, ACTUAL, "a" * 16)
    load(empty_home, tmp_path, [AMORTISED[0].replace("600.00", "1000.00"), *AMORTISED[2:]], "b" * 16)
    assert dollars(reconciled(empty_home, "2026-03")) == (1500.0, 1500.0)


def test_each_export_alone_is_what_it_says(empty_home: Home, tmp_path: Path) -> None:
    load(empty_home, tmp_path, AMORTISED, "b" * 16)
    found = reconciled(empty_home, "2026-03")
    assert dollars(found) == (None, 1500.0)
    assert [n.code for n in found.warnings if n.code == "not_invoiced"]
