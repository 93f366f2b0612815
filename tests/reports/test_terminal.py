"""Receipts on a terminal say what they leave out."""

import pytest

from reports.terminal import SHOWN_LINES, headline_lines, print_receipt


def receipt(n: int) -> dict[str, object]:
    return {
        "file": "a.csv", "format": "f", "confidence": 1.0, "duplicate_of": None, "records": 20,
        "stored": 20 - n,
        "quarantined": n, "ignored": {}, "runs": (), "warnings": (), "missing_for_cost": (),
        "set_aside": [{"line": i, "reason": "not a number"} for i in range(n)],
    }  # fmt: skip


@pytest.mark.parametrize(("n", "more"), [(SHOWN_LINES, 0), (SHOWN_LINES + 7, 7)])
def test_a_cut_list_says_how_many_more(capsys: pytest.CaptureFixture[str], n: int, more: int) -> None:
    print_receipt(receipt(n))
    out = capsys.readouterr().out
    assert out.count("not a number") == SHOWN_LINES
    assert ("… and 7 more (see --json)" in out) == bool(more)


def test_a_headline_has_the_digits_of_the_page() -> None:
    bill = {"name": "bill_billed", "label": "Invoice", "value": 21347.8530, "unit": "usd_exact"}
    share = {"name": "s", "label": "Worked", "value": 0.25, "unit": "frac"}
    share |= {"low": 0.1, "high": 0.5, "interval": "bounds"}
    gone = {
        "name": "g",
        "label": "Gain",
        "value": None,
        "unit": "points",
        "missing": "no evaluation is loaded",
    }
    assert headline_lines([bill, share, gone]) == [
        "  Invoice: $21,347.85",
        "  Worked: 25.0 %  10.0 – 50.0 % (possible range)",
        "  Gain: no evaluation is loaded",
    ]
