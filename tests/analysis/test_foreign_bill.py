"""A bill in a currency without a rate is loaded, though it is in no sum of dollars."""

from pathlib import Path

from analysis.month import MonthParams
from analysis.month import compute as month_of_home
from tests.analysis.bills import DAY, charge, hold, load, reconciled
from tests.analysis.conftest import Home

EUR = {"BillingCurrency": "EUR"}


def test_a_bill_in_euros_alone_is_loaded_but_has_no_rate(empty_home: Home, tmp_path: Path) -> None:
    load(empty_home, tmp_path, [charge("200.05", gpu_h=192, node="node-a", **EUR)])
    found = reconciled(empty_home, "2026-03")
    assert "No bill is loaded" not in found.answer
    assert "200.05 EUR in 1 line" in found.answer and "rate" in found.answer
    assert "no_bill" not in {n.code for n in found.warnings}


def test_dollars_of_a_mixed_bill_are_not_called_the_whole_invoice(empty_home: Home, tmp_path: Path) -> None:
    """$100 explained to the cent beside 7.5 EUR without a rate: nobody may read 'no line is left'."""
    hold(empty_home, "r1", DAY, 24, hosts={"node-a": 8})
    rows = [charge(100, gpu_h=192, node="node-a"), charge("5", **EUR), charge("2.50", **EUR)]
    load(empty_home, tmp_path, rows)
    answer = reconciled(empty_home, "2026-03").answer
    share = "Explains 100 % of the charges in US dollars of the March 2026 invoice: $100.00 of $100.00"
    assert answer.startswith(share)
    assert "7.50 EUR in 2 lines" in answer
    whole = month_of_home(empty_home.view(), MonthParams(period="2026-03")).answer
    assert "no rate into US dollars" in whole


def test_a_bill_in_dollars_says_nothing_of_currencies(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r1", DAY, 24, hosts={"node-a": 8})
    load(empty_home, tmp_path, [charge(100, gpu_h=192, node="node-a")])
    answer = reconciled(empty_home, "2026-03").answer
    share = "Explains 100 % of the charges of the March 2026 invoice: $100.00 of $100.00"
    assert answer == f"{share}; no line is left."
    whole = month_of_home(empty_home.view(), MonthParams(period="2026-03")).answer
    assert "rate" not in whole
