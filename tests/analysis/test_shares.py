"""Who bears which dollars, by hand: allocations at a price, and a bill that is whole in every month."""

from datetime import date, datetime
from decimal import Decimal

import pytest

from analysis.moneyparams import MoneyParams
from analysis.shares import Shares, load_shares
from analysis.spend import compute_spend
from data.errors import UserError
from tests.analysis.conftest import Home, pool

D = Decimal


def shares(home: Home, period: str = "") -> Shares:
    return load_shares(home.view(), MoneyParams(period=period))


def test_without_a_bill_allocations_times_price(home: Home) -> None:
    """160 + 12 + 24 + 2 + 6 dollars of GPUs as in the fixture, and the cores of the sandbox."""
    found = shares(home)
    assert (found.period, found.basis, found.invoice_usd) == ("2026-03", "rate", None)
    assert not found.has_scheduler
    by_run = {run: sum(s.usd for s in found.shares if s.run == run and s.kind == "gpu") for run in
              ("steady", "broken", "apart")}  # fmt: skip
    assert by_run == {"steady": D(160), "broken": D(36), "apart": D(8)}
    spend = compute_spend(home.view(), MoneyParams())
    assert float(found.usd) == pytest.approx(spend.runs["usd"].sum())
    assert {s.how for s in found.shares} == {"allocation"}


def test_an_allocation_over_midnight_accrues_on_both_days(home: Home) -> None:
    """48 GPU-hours at $2: 2 h of 24 h before midnight of 31 March cost $8, 22 h after it $88."""
    start = datetime(2026, 3, 31, 22)
    home.add("attempts", {"run": "late", "attempt": 1, "started_at": start})
    home.add("runs", {"run": "late", "synthetic": False})
    home.add("allocations", pool("late", 1, "all", "colocated", "h100-sxm", 86400, gpus=2, started_at=start))
    march = [s for s in shares(home, "2026-03").shares if s.run == "late"]
    april = [s for s in shares(home, "2026-04").shares if s.run == "late"]
    assert [(s.day, s.usd, s.gpu_s) for s in march] == [(date(2026, 3, 31), D(8), 14400.0)]
    assert [(s.day, s.usd, s.gpu_s) for s in april] == [(date(2026, 4, 1), D(88), 158400.0)]
    assert sum(s.usd for s in shares(home, "all").shares if s.run == "late") == D(96)


def test_no_clock_no_month(home: Home) -> None:
    home.add("runs", {"run": "loose", "synthetic": False})
    home.add("allocations", pool("loose", 1, "all", "colocated", "h100-sxm", 3600, gpus=1))
    found = shares(home, "2026-03")
    assert not [s for s in found.shares if s.run == "loose"]
    assert any(n.code == "no_clock" and "loose" in n.text for n in found.notices)
    assert [s.usd for s in shares(home, "all").shares if s.run == "loose"] == [D(2)]


def test_a_period_that_is_no_month_is_refused(home: Home) -> None:
    from pydantic import ValidationError

    from analysis.registry import _refusal

    with pytest.raises(ValidationError) as refused:
        MoneyParams(period="March")
    error = _refusal(MoneyParams, refused.value)
    assert isinstance(error, UserError)
    assert "2026-03" in str(error.remedy)
