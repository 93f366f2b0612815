"""FOCUS cost exports: missing is not zero, negative counts, paid idle capacity stays findable."""

import math
from datetime import date, datetime
from pathlib import Path

import pytest

from data.ingest import ingest_file, rebuild
from data.money.cost_words import bucket_of
from data.readers import choose
from data.readers.base import Batch, Choices
from data.readers.focus import FocusReader
from tests.data.fakes import content
from tests.data.verl_files import spooled

HEADER = (
    "BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,ChargeCategory,ChargePeriodStart,"
    "ChargePeriodEnd,ProviderName,ServiceName,ChargeDescription,ConsumedQuantity,ConsumedUnit,"
    "CommitmentDiscountId,CommitmentDiscountStatus,Tags,x_Team"
)
HOUR = "2026-01-05T08:00:00Z,2026-01-05T09:00:00Z"
USED = f"10,7.5,12,7.5,USD,Usage,{HOUR},Acme,Compute,p5.48xlarge hours,1,Hours,c-1,Used,,a"
IDLE = f"0,2.5,0,2.5,USD,Usage,{HOUR},Acme,Compute,,NULL,null,c-1,Unused,NULL,a"
CREDIT = f"-3,0,0,0,USD,Credit,{HOUR},Acme,Object storage,,,,,NULL,NULL,a"


def read(tmp_path: Path, *rows: str, header: str = HEADER, choices: Choices | None = None) -> Batch:
    text = "\n".join([header, *rows]) + "\n"
    return FocusReader().read(spooled(text, tmp_path, "bill.csv"), choices or Choices(), tmp_path)


def test_sums_count_credits_and_keep_unused_commitments_apart(tmp_path: Path) -> None:
    batch = read(tmp_path, USED, IDLE, CREDIT)
    facts = batch.facts
    assert (facts["billed_cost"], facts["effective_cost"], facts["list_cost"]) == (7.0, 10.0, 12.0)
    assert facts["unused_commitment_cost"] == 2.5
    assert facts["billed_cost[ChargeCategory=Credit]"] == -3.0
    assert facts["records[ProviderName=Acme]"] == 3
    assert facts["missing_cells[ConsumedQuantity]"] == 2
    assert (facts["currency"], facts["time_zone"]) == ("USD", "+00:00")
    assert (facts["charge_period_start"], facts["charge_period_end"]) == (
        "2026-01-05T08:00:00Z",
        "2026-01-05T09:00:00Z",
    )
    costs = batch.tables["costs"]
    assert costs["commitment_status"].tolist() == ["Used", "Unused", None]
    assert math.isnan(costs["quantity"][1])
    assert costs["bucket"].tolist() == ["gpu", "other", "storage"]
    assert costs["instance_type"][0] == "p5.48xlarge"
    assert batch.unmapped == ["x_Team"]
    assert (batch.records, batch.stored, batch.set_aside) == (3, 3, [])
    assert any("paid idle" in text for text in batch.warnings)


def test_a_missing_amount_is_null_and_a_bad_one_is_set_aside_alone(tmp_path: Path) -> None:
    batch = read(tmp_path, USED.replace("10,", "NULL,", 1), CREDIT.replace("-3,", "three,", 1))
    assert "billed_cost" not in batch.facts or batch.facts["billed_cost"] is None
    assert [(s.line, s.column, s.text) for s in batch.set_aside] == [(3, "BilledCost", "three")]
    assert batch.stored == 2


def test_a_row_without_a_value_is_set_aside(tmp_path: Path) -> None:
    digits = "7" * 400
    batch = read(tmp_path, USED, digits, CREDIT)
    assert [(s.line, s.column) for s in batch.set_aside] == [(3, None)]
    assert (batch.records, batch.stored, len(batch.tables["costs"])) == (3, 2, 2)


def test_a_charge_that_ends_before_it_starts_is_set_aside(tmp_path: Path) -> None:
    turned = USED.replace("T09:00:00Z", "T07:00:00Z")
    batch = read(tmp_path, USED, turned, IDLE)
    assert (batch.records, batch.stored, batch.facts["billed_cost"]) == (3, 2, 10.0)
    assert [(one.line, one.column, one.reason) for one in batch.set_aside] == [
        (3, None, "the charge period ends before it starts")
    ]
    moment = read(tmp_path, USED.replace("T09:00:00Z", "T08:00:00Z"))
    assert (moment.stored, moment.set_aside) == (1, [])
    card = f"pool,gpus,start,end,usd_per_gpu_hour\na,8,2026-01-02,2026-01-01,2\nb,8,{HOUR},2\n"
    choices = Choices(format="rate_card_csv")
    source = spooled(card, tmp_path, "rates.csv")
    rates = choose(source, choices).read(source, choices, tmp_path)
    assert rates.facts["billed_cost"] == 16.0
    assert [one.line for one in rates.set_aside] == [2]


def test_stamps_are_utc_whatever_the_zone_of_the_command(tmp_path: Path) -> None:
    plain = USED.replace("T08:00:00Z", " 23:30:00").replace("T09:00:00Z", " 23:45:00")
    batch = read(tmp_path, plain, choices=Choices(timezone="Asia/Tokyo"))
    assert batch.tables["costs"]["charge_start"][0] == datetime(2026, 1, 5, 23, 30)
    assert batch.tables["costs"]["day"][0] == date(2026, 1, 5)
    assert (batch.timezone, batch.timezone_assumed) == ("UTC", False)


def test_a_long_charge_accrues_by_utc_day_and_adds_up(tmp_path: Path) -> None:
    month = USED.replace(HOUR, "2026-01-30T12:00:00Z,2026-02-02T00:00:00Z")
    costs = read(tmp_path, month).tables["costs"]
    assert costs["day"].tolist() == [date(2026, 1, 30), date(2026, 1, 31), date(2026, 2, 1)]
    assert costs["billed_cost"].tolist() == pytest.approx([2.0, 4.0, 4.0])
    assert math.fsum(costs["billed_cost"]) == 10.0
    assert costs["charge_end"].nunique() == 1


def test_broken_tags_are_set_aside_and_the_row_counts(tmp_path: Path) -> None:
    good = USED.replace(",Used,,", ',Used,"{""team"": ""rl""}",')
    bare = USED.replace(",Used,,", ',Used,"""team"": ""rl""",')
    broken = USED.replace(",Used,,", ',Used,"{""team"": ",')
    batch = read(tmp_path, good, bare, broken)
    assert batch.tables["costs"]["tags"].tolist() == ['{"team": "rl"}', '{"team": "rl"}', None]
    assert [(s.line, s.column) for s in batch.set_aside] == [(4, "Tags")]
    assert batch.facts["billed_cost"] == 30.0


def test_two_currencies_are_not_added(tmp_path: Path) -> None:
    batch = read(tmp_path, USED, USED.replace(",USD,", ",EUR,"))
    assert batch.facts["currency"] == "EUR;USD"
    assert batch.facts.get("billed_cost") is None
    assert batch.facts["billed_cost[BillingCurrency=EUR]"] == 10.0


def test_a_provider_that_never_amortises_is_named(tmp_path: Path) -> None:
    batch = read(tmp_path, USED, USED.replace("Acme", "Nova").replace("10,7.5", "4,0"))
    assert any(text.startswith("Nova bills 4.00 but leaves EffectiveCost") for text in batch.warnings)


def test_the_header_tells_it(tmp_path: Path) -> None:
    assert FocusReader().sniff(spooled(HEADER + "\n", tmp_path)).confidence > 0.95
    assert FocusReader().sniff(spooled("billed_cost,day,run\n1,2,3\n", tmp_path)).confidence == 0


def test_a_booked_bill_is_spend_of_its_campaign(store, tmp_path: Path) -> None:
    path = tmp_path / "bill.csv"
    path.write_text("\n".join([HEADER, USED, IDLE, CREDIT]) + "\n", encoding="utf-8")
    receipt = ingest_file(store, path, choices=Choices(campaign="winter"))
    assert receipt.rows_written["costs"] == 3
    with store.view() as view:
        rows = view.rows(
            "SELECT campaign, bucket, effective_cost FROM costs WHERE commitment_status = 'Unused'"
        )
    assert rows == [("winter", "other", 2.5)]


@pytest.mark.parametrize(
    ("row", "bucket"),
    [
        ({"description": "$98.32 per On Demand p5.48xlarge Instance Hour"}, "gpu"),
        ({"instance_type": "Standard_ND96isr_H100_v5"}, "gpu"),
        ({"description": "Nvidia H100 80GB GPU running in Americas"}, "gpu"),
        ({"instance_type": "Standard_DS2_v2", "service": "Virtual Machines"}, "other"),
        ({"sku": "XGPUH100QZZ4T2", "service": "Queues"}, "other"),
        ({"service": "Amazon Simple Storage Service"}, "storage"),
        ({"description": "Virtual Machines NDSH100v5 Series - ND96isrH100v5"}, "gpu"),
        ({"description": "p5 instance"}, "gpu"),
        ({"description": "BoxUsage:p4d.24xl"}, "gpu"),
        ({"description": "NCasT4 v3 Series"}, "gpu"),
        ({"description": "NV36ads A10 v5"}, "gpu"),
        ({"description": "NC24ads A100 v4"}, "gpu"),
        ({"description": "A3 Instance Core running in Americas"}, "gpu"),
        ({"instance_type": "a2-ultragpu-8g"}, "gpu"),
        ({"description": "node with 8xH100"}, "gpu"),
        ({"instance_type": "n2-standard-8"}, "other"),
        ({"instance_type": "Standard_D96s_v5"}, "other"),
        ({"description": "gp3 volume"}, "other"),
        ({"description": "P6 LRS Disk"}, "storage"),
        ({"description": "NVMe v2"}, "other"),
        ({"instance_type": "c5.4xlarge"}, "other"),
        ({"description": "L4 load balancer"}, "other"),
        ({"instance_type": "t4g.large"}, "other"),
    ],
)
def test_what_a_line_is_for(row: dict[str, object], bucket: str) -> None:
    assert bucket_of(row) == bucket


def test_a_draft_name_of_the_currency(tmp_path: Path) -> None:
    text = (
        "ChargePeriodStart,ChargePeriodEnd,ChargeCategory,BilledCost,EffectiveCost,BilledCurrency\n"
        "2026-01-01T00:00:00Z,2026-01-01T01:00:00Z,Usage,1.5,1.25,EUR\n"
    )
    batch = FocusReader().read(spooled(text, tmp_path, "draft.csv"), Choices(), tmp_path)
    assert (batch.facts["currency"], batch.facts["billed_cost"]) == ("EUR", 1.5)


LOG = "".join(f'{{"step": {n}, "data": {{"timing_s/step": 9.0, "timing_s/gen": 4.0}}}}\n' for n in (1, 2))


def _tagged_bill(path: Path, *tags: str) -> Path:
    rows = [f'5,5,5,5,USD,Usage,{HOUR},Acme,Storage,disk,1,GB,,,"{t}",a' for t in tags]
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def _booked_to(store) -> list[tuple]:
    with store.view() as view:
        return view.rows("SELECT run, campaign, billed_cost FROM costs ORDER BY ALL")


def test_a_tag_books_a_row_to_its_run(store, tmp_path: Path) -> None:
    log = tmp_path / "runA.jsonl"
    log.write_text(LOG, encoding="utf-8")
    ingest_file(store, log)
    bill = _tagged_bill(
        tmp_path / "bill.csv", '{""run"": ""runA""}', '{""user:ipd-run"": ""later"", ""Campaign"": ""c""}'
    )
    receipt = ingest_file(store, bill)
    assert _booked_to(store) == [("later", "c", 5.0), ("runA", None, 5.0)]
    said = " ".join(receipt.warnings)
    assert "names no run" not in said and "name no run" not in said
    assert "1 line is booked to run runA" in said and "1 line is of run later, not loaded yet" in said
    with store.view() as view:
        assert view.rows("SELECT run FROM runs") == [("runA",)]
    before = content(store)
    assert rebuild(store) == [] and content(store) == before


def test_overlapping_exports_count_a_charge_once(store, tmp_path: Path) -> None:
    for name, rows in (("a.csv", (USED, IDLE, USED)), ("b.csv", (CREDIT, IDLE, USED, USED, USED))):
        path = tmp_path / name
        path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
        ingest_file(store, path, choices=Choices(campaign="c"))
    with store.view() as view:
        assert view.rows("SELECT count(*), sum(billed_cost) FROM costs") == [(5, 27.0)]


def test_a_chosen_run_wins_over_tags_and_loose_rows_are_counted(store, tmp_path: Path) -> None:
    bill = _tagged_bill(tmp_path / "bill.csv", '{""run"": ""x""}', '{""team"": ""y""}')
    batch = FocusReader().read(spooled(bill.read_text(), tmp_path, "b.csv"), Choices(), tmp_path)
    assert any(text.startswith("1 of 2 lines name no run") for text in batch.warnings)
    ingest_file(store, bill, choices=Choices(run="mine"))
    assert [row[0] for row in _booked_to(store)] == ["mine", "mine"]
