"""OpenCost exports and rate cards as cost rows."""

import math
from datetime import date
from pathlib import Path

import pytest

from data.ingest import ingest_file
from data.readers.base import Choices
from data.readers.opencost import OpenCostReader
from data.readers.rate_card import RateCardReader
from tests.data.verl_files import spooled

OPENCOST = (
    "Date,Namespace,ControllerKind,ControllerName,Pod,Container,CPUCoreUsageAverage,GPUs,"
    "CPUCost,RAMCost,NetworkCost,PVCost,GPUCost,TotalCost,Label_team\n"
    "2026-01-05,rl,job,train,train-0,main,1,8,1,0.5,0.25,2,40,43.75,a\n"
    "2026-01-05,__idle__,,,,,0,0,3,0,0,0,9,12,\n"
    "2026-01-06,web,deployment,site,site-0,main,1,0,1,,0,0,0,1,b\n"
)
CARD = (
    "pool,gpu_model,gpus,start,end,usd_per_gpu_hour\n"
    "train,H100,8,2026-01-05T12:00:00Z,2026-01-06T12:00:00Z,$2.50\n"
    "rollout,H100,16,2026-01-05,2026-01-06,2\n"
    "rollout,H100,16,2026-01-06,,2\n"
)


def test_opencost_splits_gpu_from_the_rest(tmp_path: Path) -> None:
    source = spooled(OPENCOST, tmp_path, "cost.csv")
    assert OpenCostReader().sniff(source).confidence > 0.9
    batch = OpenCostReader().read(source, Choices(campaign="c"), tmp_path)
    costs = batch.tables["costs"]
    sums = costs.groupby("bucket")["effective_cost"].sum().to_dict()
    assert sums == {"gpu": 49.0, "other": 5.75, "storage": 2.0}
    assert batch.facts["effective_cost"] == 56.75
    assert (batch.facts["billed_cost"], batch.facts["currency"]) == (None, None)
    assert batch.facts["charge_period_start"] == "2026-01-05"
    assert set(costs[costs["category"] == "Idle"]["effective_cost"]) == {3.0, 9.0}
    assert any("idle capacity" in text for text in batch.warnings)
    assert (batch.records, batch.stored) == (3, 3)
    assert "Label_team" in batch.unmapped
    assert "GPUCost" not in batch.unmapped


def test_a_rate_card_is_gpus_times_hours_times_rate(tmp_path: Path) -> None:
    source = spooled(CARD, tmp_path, "card.csv")
    assert RateCardReader().sniff(source).confidence > 0.9
    batch = RateCardReader().read(source, Choices(run="mine"), tmp_path)
    costs = batch.tables["costs"]
    assert math.fsum(costs["billed_cost"].dropna()) == 8 * 24 * 2.5 + 16 * 24 * 2
    assert batch.facts["gpu_hours"] == 24 * 24
    assert costs[costs["resource_name"] == "train"]["day"].tolist() == [date(2026, 1, 5), date(2026, 1, 6)]
    assert costs["bucket"].unique().tolist() == ["gpu"]
    assert costs["billed_cost"].isna().sum() == 1
    assert any("1 rows have no amount" in text for text in batch.warnings)
    proposed = {p.field: p.value for p in batch.proposals}
    assert (proposed["gpus_train"], proposed["gpus_rollout"], proposed["gpus"]) == (8, 16, 24)


@pytest.mark.parametrize(
    "header", ["run,pool,role,gpus,started_at,ended_at\n", "step,gpus,rate\n", "Date,TotalCost\n"]
)
def test_other_tables_are_not_taken(header: str, tmp_path: Path) -> None:
    source = spooled(header + "1,2,3\n", tmp_path)
    assert RateCardReader().sniff(source).confidence == 0
    assert OpenCostReader().sniff(source).confidence == 0


def test_both_are_stored(store, tmp_path: Path) -> None:
    for name, text in (("cost.csv", OPENCOST), ("card.csv", CARD)):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        assert ingest_file(store, path, choices=Choices(campaign="c")).rows_written["costs"] > 3
