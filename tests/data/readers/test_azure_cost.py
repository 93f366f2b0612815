"""Azure cost exports: header sets of several ages, dates, amounts that must not be added to each other."""

import json
from datetime import date
from pathlib import Path

import pytest

from data.readers.azure_cost import AzureCostReader, folded
from data.readers.base import Batch, Choices
from tests.data.verl_files import spooled

OLD = (
    "SubscriptionGuid,UsageDateTime,MeterCategory,MeterId,UsageQuantity,PreTaxCost,Currency,AdditionalInfo,"
    "Tags"
)
NEW = (
    "subscriptionId,date,meterCategory,meterId,quantity,costInBillingCurrency,costInUsd,"
    "paygCostInBillingCurrency,billingCurrency,chargeType,additionalInfo"
)


def read(tmp_path: Path, header: str, *rows: str) -> Batch:
    text = "\n".join([header, *rows]) + "\n"
    return AzureCostReader().read(spooled(text, tmp_path, "azure.csv"), Choices(), tmp_path)


def test_only_the_billing_currency_is_summed(tmp_path: Path) -> None:
    info = '"{""ServiceType"": ""Standard_ND96isr_H100_v5""}"'
    batch = read(
        tmp_path,
        NEW,
        f"s,01/31/2026,Virtual Machines,m,1,90,100,120,EUR,Usage,{info}",
        "s,02/01/2026,Storage,m,1,10,11,10,EUR,Usage,",
    )
    assert (batch.facts["billed_cost"], batch.facts["list_cost"]) == (100.0, 130.0)
    assert (batch.facts["currency"], batch.facts["charge_period_start"]) == ("EUR", "2026-01-31")
    assert batch.facts["effective_cost"] is None
    costs = batch.tables["costs"]
    assert costs["day"].tolist() == [date(2026, 1, 31), date(2026, 2, 1)]
    assert costs["bucket"].tolist() == ["gpu", "storage"]
    assert "costInUsd" in batch.unmapped


@pytest.mark.parametrize(
    ("first", "second", "day", "unclear"),
    [
        ("01/02/2026", "01/31/2026", date(2026, 1, 2), False),
        ("01/02/2026", "31/01/2026", date(2026, 2, 1), False),
        ("01/02/2026", "03/02/2026", date(2026, 1, 2), True),
        ("1/2/26", "1/31/26", date(2026, 1, 2), False),
    ],
)
def test_the_order_of_day_and_month(
    first: str, second: str, day: date, unclear: bool, tmp_path: Path
) -> None:
    rows = [f"s,{text},Storage,m,1,1,1,1,USD,Usage," for text in (first, second)]
    batch = read(tmp_path, NEW, *rows)
    assert batch.tables["costs"]["day"][0] == day
    assert any("month first" in text for text in batch.warnings) == unclear


def test_blank_cost_is_missing_and_a_mark_in_front_is_no_column_name(tmp_path: Path) -> None:
    source = spooled("\ufeff" + OLD + "\r\ng,2026-01-03,,,,,,,\r\n", tmp_path, "a.csv")
    assert AzureCostReader().sniff(source).confidence > 0.9
    batch = AzureCostReader().read(source, Choices(), tmp_path)
    assert (batch.facts["billed_cost"], batch.facts["currency"], batch.facts["records"]) == (None, None, 1)
    assert "SubscriptionGuid" in batch.mapped
    assert batch.facts["encoding"] == "utf-8-bom"


def test_localised_headers_carry_the_english_name(tmp_path: Path) -> None:
    assert folded("Kategorie der Verbrauchseinheit (MeterCategory)") == "metercategory"
    header = (
        "Datum (Date),Kosten (CostInBillingCurrency),Kategorie (MeterCategory),Zähler (MeterId),"
        "Währung (BillingCurrencyCode)"
    )
    batch = read(tmp_path, header, '2026-01-03,"1,5",Storage,m,EUR')
    assert batch.facts["billed_cost"] == 1.5
    assert batch.facts["billed_cost[Kategorie (MeterCategory)=Storage]"] == 1.5


def test_short_rows_are_kept_and_counted(tmp_path: Path) -> None:
    batch = read(tmp_path, OLD, "g,2026-01-03,Storage,m,1,2.5,USD,{}", "g,2026-01-03,Storage,m,1,2.5,USD,{}")
    assert (batch.facts["ragged_rows"], batch.facts["billed_cost"]) == (2, 5.0)
    assert batch.facts["missing_cells[Tags]"] == 0


def test_broken_json_still_names_the_machine(tmp_path: Path) -> None:
    info = json.dumps('{"ServiceType": "Standard_NC24ads_A100_v4", ').replace('\\"', '""')
    batch = read(tmp_path, NEW, f"s,01/31/2026,VM,m,1,9,9,9,USD,UnusedReservation,{info}")
    assert batch.tables["costs"]["instance_type"][0] == "Standard_NC24ads_A100_v4"
    assert batch.tables["costs"]["commitment_status"][0] == "Unused"


def test_other_tables_with_a_cost_are_not_taken(tmp_path: Path) -> None:
    assert AzureCostReader().sniff(spooled("date,cost,run\n2026-01-01,2,a\n", tmp_path)).confidence < 0.2


def test_a_person_may_say_which_column_is_the_cost(tmp_path: Path) -> None:
    text = f"{NEW}\ns,01/31/2026,VM,m,1,90,100,120,EUR,Usage,\n"
    choices = Choices(columns={"costInUsd": "billed_cost", "quantity": "upload_id"})
    batch = AzureCostReader().read(spooled(text, tmp_path, "a.csv"), choices, tmp_path)
    assert batch.facts["billed_cost"] == 100.0
    assert batch.mapped["quantity"] == "costs.quantity"


def test_an_amortised_export_is_cost_and_no_invoice(tmp_path: Path) -> None:
    batch = read(
        tmp_path,
        NEW + ",billingPeriodStartDate",
        "s,01/31/2026,Virtual Machines,m,1,90,100,120,USD,Usage,,01/01/2026",
        "s,01/31/2026,Virtual Machines,m,1,10,10,10,USD,UnusedReservation,,01/01/2026",
    )
    costs = batch.tables["costs"]
    assert costs["effective_cost"].tolist() == [90.0, 10.0]
    assert costs["billed_cost"].isna().all()
    assert costs["billing_start"].dt.date.tolist() == [date(2026, 1, 1)] * 2
    assert any("amortised" in text for text in batch.warnings)
