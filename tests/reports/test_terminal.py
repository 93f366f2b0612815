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


def test_what_dollars_lack_comes_with_its_proposal(capsys: pytest.CaptureFixture[str]) -> None:
    lacking = {"run": "r", "field": "gpus", "text": "How many?", "how": "by its rates"}
    for proposal, words in (
        (16, "r: How many? Proposed: 16 (by its rates)."),
        (7.586644691802059, "r: How many? Its log counts 7.59, which is not whole, so say what was held"),
        ({"train": 32, "rollout": 16}, "Proposed: train 32, rollout 16 (by its rates)."),
        (None, "r: How many?\n"),
    ):
        print_receipt({**receipt(0), "missing_for_cost": [{**lacking, "proposal": proposal}]})
        assert words in capsys.readouterr().out


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
