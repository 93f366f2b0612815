"""Bills with parts of a cent: every face of one month shows the same cents."""

import random
from decimal import Decimal
from pathlib import Path

import pytest

from analysis.campaigns import CampaignsParams
from analysis.campaigns import compute as campaigns_of
from analysis.frames import Row, records
from analysis.waste import WasteParams
from analysis.waste import compute as waste_of
from tests.analysis.bills import DAY, charge, hold, job, load, reconciled
from tests.analysis.conftest import Home
from tests.examples import in_turn

PERIOD = "2026-03"


def cents(rows: list[Row], column: str) -> Decimal:
    return sum((Decimal(f"{row[column]:.2f}") for row in rows), Decimal(0))


def agree(home: Home) -> None:
    lines = records(reconciled(home, PERIOD).tables["lines"])
    gpu = cents([row for row in lines if row["kind"] in ("gpu", "unused")], "effective_usd")
    other = cents([row for row in lines if row["kind"] not in ("gpu", "unused")], "effective_usd")
    wasted = waste_of(home.view(), WasteParams(period=PERIOD))
    bars = {row["bar"]: Decimal(f"{row['usd']:.2f}") for row in records(wasted.tables["waterfall"])}
    paid = records(wasted.tables["ladder"])[0]
    assert (Decimal(f"{paid['usd']:.2f}"), bars["other"]) == (gpu, other)
    assert bars["bill"] == gpu + other
    assert (
        bars["bill"] - sum(v for n, v in bars.items() if n not in ("bill", "productive"))
        == bars["productive"]
    )
    assert cents(records(wasted.tables["identity"]), "usd") == gpu
    found = campaigns_of(home.view(), CampaignsParams(period=PERIOD)).tables
    assert cents(records(found["campaigns"]), "usd_net") == gpu + other
    nobody = [row for row in records(found["campaigns"]) if not row["campaign"]]
    for label, column in (("Unused commitments and reservations", "usd_unused"), ("Storage", "usd_storage")):
        mine = [row for row in records(found["unallocated"]) if row["what"] == label]
        assert cents(mine, "usd") == cents(nobody, column), label


def test_half_a_cent_of_a_commitment_is_rounded_once(empty_home: Home, tmp_path: Path) -> None:
    """$1,556.685 of GPUs less $912.13 of a credit, tax and storage are $644.56 and not $644.55."""
    unused = {"CommitmentDiscountId": "rsv", "CommitmentDiscountStatus": "Unused"}
    rows = [
        charge("1506.68", gpu_h=192, node="node-a"),
        charge("50.005", **unused),
        charge("-1000", ChargeCategory="Credit"),
        charge("77.77", ChargeCategory="Tax"),
        charge("10.10", ServiceName="S3", ChargeDescription="Object storage", ServiceCategory="Storage"),
    ]
    load(empty_home, tmp_path, rows)
    job(empty_home, "1", DAY, 18, node_list="node-a")
    agree(empty_home)


@pytest.mark.parametrize("seed", in_turn(range(12), of=6))
def test_random_parts_of_cents(empty_home: Home, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)

    def usd(low: int, high: int) -> str:
        return f"{rng.uniform(low, high):.{rng.randint(3, 9)}f}"

    rows = [charge(usd(10, 90), hours=1, gpu_h=8, node=rng.choice(["node-a", "node-b"])) for _ in range(9)]
    rows += [charge(usd(-40, -1), ChargeCategory="Credit", ResourceId=rng.choice(["node-a", ""]))]
    rows += [charge(usd(1, 9), CommitmentDiscountId="rsv", CommitmentDiscountStatus="Unused")]
    rows += [charge(usd(1, 9), ServiceName="S3", ChargeDescription="storage", ServiceCategory="Storage")]
    rows += [charge(usd(-30, 0), ChargeClass="Correction", ResourceId="node-b")]
    load(empty_home, tmp_path, rows)
    hold(empty_home, "r1", DAY, 0.7, hosts={"node-a": 8}, campaign="c1")
    job(empty_home, "1", DAY, 0.4, node_list="node-b")
    agree(empty_home)
