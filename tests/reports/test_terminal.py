"""Receipts on a terminal say what they leave out."""

import pytest

from reports.terminal import SHOWN_LINES, print_receipt


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
