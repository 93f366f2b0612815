"""Credits are in no boundary and in no share: they stand on a line of their own."""

from pathlib import Path

from analysis.campaigns import CampaignsParams, compute
from tests.analysis.bills import DAY, charge, hold, load
from tests.analysis.conftest import Home


def test_a_credit_stands_apart_from_the_boundaries(empty_home: Home, tmp_path: Path) -> None:
    """$192 of GPUs and $10 of storage less a credit of $50: full $202 is not below campaign $192."""
    hold(empty_home, "r1", DAY, 24, hosts={"node-a": 8}, campaign="c1")
    tag = {"Tags": '{"campaign": "c1"}'}
    rows = [
        charge(192, gpu_h=192, node="node-a"),
        charge(10, ServiceName="S3", ServiceCategory="Storage", ChargeDescription="Disk storage", **tag),
        charge(-50, ChargeCategory="Credit", ChargeDescription="Credit", **tag),
    ]
    load(empty_home, tmp_path, rows)
    result = compute(empty_home.view(), CampaignsParams(period="2026-03"))
    (row,) = result.tables["campaigns"].to_dict("records")
    found = [row[f"usd_{name}"] for name in ("full", "campaign", "compute", "credits", "net")]
    assert found == [202.0, 192.0, 192.0, -50.0, 152.0]
    assert "after credits of $50" in result.answer and "100 % of the charges" in result.answer
