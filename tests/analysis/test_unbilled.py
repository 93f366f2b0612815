"""Evaluations and token bills: charges of their own without a bill, beside it with one, never twice."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from analysis.campaigns import CampaignsParams, compute
from analysis.shares import Shares
from models.cents import cents, total
from tests.analysis.bills import DAY, charge, hold, load, shares
from tests.analysis.conftest import Home, evaluation
from tests.analysis.test_metered_spend import load as load_log
from tests.analysis.test_metered_spend import rl

D = Decimal


def dollars(found: Shares, kind: str) -> Decimal:
    return total([s.usd for s in found.shares if s.kind == kind])


def evaluate(home: Home, name: str, run: str | None, usd: float, at: datetime | None) -> None:
    home.add("evals", {**evaluation(name, run, 1, 10, 0.5), "usd": usd, "at": at})


def test_without_a_bill_evaluations_are_charges_of_their_own(empty_home: Home) -> None:
    """8 GPUs x 10 h at $2, and $12.50 + $3 of evaluations, the second a month later."""
    hold(empty_home, "r", DAY, 10, campaign="c", started_at=DAY)
    evaluate(empty_home, "first", "r", 12.5, DAY)
    evaluate(empty_home, "late", "r", 3.0, datetime(2026, 4, 2))
    march, april, every = (shares(empty_home, period) for period in ("2026-03", "2026-04", "all"))
    assert (march.basis, dollars(march, "evals"), dollars(march, "gpu")) == ("rate", D("12.5"), D(160))
    assert [(s.run, s.campaign, s.how, s.gpu_s) for s in march.shares if s.kind == "evals"] == [
        ("r", "c", "booked", None)
    ]
    assert (dollars(april, "evals"), every.usd) == (D(3), march.usd + april.usd)
    assert len({s.charge for s in every.shares}) == 3
    assert (every.start, every.end) == (DAY, datetime(2026, 4, 3))
    table = compute(empty_home.view(), CampaignsParams(period="2026-03")).tables["campaigns"].iloc[0]
    assert (table["usd_evals"], table["usd_full"], table["usd_campaign"]) == (12.5, 172.5, 160.0)


def test_an_evaluation_without_a_time_is_in_no_month(empty_home: Home) -> None:
    hold(empty_home, "r", DAY, 10, started_at=DAY)
    evaluate(empty_home, "e", "r", 5.0, None)
    march = shares(empty_home, "2026-03")
    assert not dollars(march, "evals")
    assert [n.text for n in march.notices if n.code == "no_clock" and n.text.startswith("r: evaluations")]
    assert dollars(shares(empty_home, "all"), "evals") == D(5)


@pytest.mark.parametrize(
    ("owner", "counted"),
    [({"run": "r"}, D(0)), ({"campaign": "c"}, D(0)), ({}, D(0)), ({"run": "other"}, D("12.5"))],
)
def test_what_a_cost_row_bills_is_not_counted_again(
    empty_home: Home, owner: dict[str, str], counted: Decimal
) -> None:
    hold(empty_home, "r", DAY, 10, campaign="c", started_at=DAY)
    evaluate(empty_home, "e", "r", 12.5, DAY)
    row = {"bucket": "evals", "charge_start": DAY, "charge_end": DAY.replace(day=11), "currency": "USD"}
    empty_home.add("costs", {**row, "billed_cost": 11.0, "effective_cost": 11.0, **owner})
    found = shares(empty_home, "2026-03")
    assert found.basis == "rate" and dollars(found, "evals") == D(11) + counted
    said = [n.text for n in found.notices if n.code == "billed_already"]
    assert bool(said) == (counted == 0) and all("$12.50" in text for text in said)


def test_a_bill_stays_the_bill_and_what_stands_beside_it_is_said(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r", DAY, 24, campaign="c", hosts={"n1": 8}, started_at=DAY)
    load(empty_home, tmp_path, [charge("384.37", gpu_h=192, node="n1")])
    evaluate(empty_home, "e", "r", 12.5, DAY)
    found = shares(empty_home, "2026-03")
    assert (found.basis, cents(found.usd), dollars(found, "evals")) == ("bill", D("384.37"), D(0))
    assert ["$12.50 of evaluations" in n.text for n in found.notices if n.code == "beside_the_bill"] == [True]
    result = compute(empty_home.view(), CampaignsParams(period="2026-03"))
    assert result.figure("spend_total").value == 384.37


def test_tokens_of_a_hosted_run_are_borne_by_its_campaign(tmp_path: Path) -> None:
    """1.2 M prompt, 0.8 M sampled and 2.0 M trained tokens; the log has no clock, so no month has them."""
    from analysis.moneyparams import MoneyParams
    from analysis.shares import load_shares
    from data.store import Store

    store = Store.open(tmp_path / "home")
    load_log(store, tmp_path, [rl(0), rl(1)], "trial", "Qwen/Qwen3-8B")
    usd = 1.2 * 0.195 + 0.8 * 0.60 + 2.0 * 0.44
    with store.view() as view:
        found = load_shares(view, MoneyParams(period="all"))
        campaigns = compute(view, CampaignsParams(period="all"))
    assert [(s.kind, s.run, s.attempt, s.gpu_s) for s in found.shares] == [("tokens", "trial", 1, None)]
    assert float(found.usd) == pytest.approx(usd)
    row = campaigns.tables["campaigns"].iloc[0]
    assert row["usd_tokens"] == row["usd_campaign"] == row["usd_compute"] == pytest.approx(usd, abs=0.005)
    assert any("tinker-qwen3-8b" in a.name for a in found.assumptions)


def test_what_survived_is_bounded_where_a_bill_names_no_attempt(empty_home: Home, tmp_path: Path) -> None:
    """The run lost its only attempt and bought twice what it held: half of the line names no attempt."""
    hold(empty_home, "r", DAY, 12, campaign="c", hosts={"n1": 8}, started_at=DAY)
    empty_home.con.execute("UPDATE attempts SET status = 'failed'")
    load(empty_home, tmp_path, [charge(100, gpu_h=192, node="n1", Tags='{"run": "r"}')])
    result = compute(empty_home.view(), CampaignsParams(period="2026-03"))
    figure = result.figure("spend_compute")
    assert figure.interval == "bounds" and figure.value == figure.low
    assert figure.high - figure.low == pytest.approx(50) and figure.high <= 100
    assert any(n.code == "lineage_of_bill_unknown" for n in result.warnings)
