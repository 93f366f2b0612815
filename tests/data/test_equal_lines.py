"""Lines that stand in two files count once, and the receipt and the answer say so."""

import json
from pathlib import Path

import pytest

from analysis import run
from data.ingest import ingest_file
from data.money.cost_tags import named_in
from data.readers.base import Choices
from data.store import Store
from tests.analysis.bills import charge, text


def test_equal_lines_of_two_files_count_once_and_are_said(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "home")
    first = [charge(10, gpu_h=4, node="node-b", hours=48), charge(5, gpu_h=2, node="node-c")]
    for n, rows in enumerate((first, [first[0], first[0], charge(7, gpu_h=2, node="node-d")])):
        path = tmp_path / f"bill{n}.csv"
        path.write_text(text(rows))
        receipt = ingest_file(store, path, path.name, Choices())
    # the second copy inside one file is a line of its own; the first is the stored one
    assert dict(receipt.equal_lines) == {
        "lines": 1, "money": "10.00 USD", "first": "2026-03-10", "last": "2026-03-11",
    }  # fmt: skip
    assert any("1 line (10.00 USD) equals a stored line of another file" in w for w in receipt.warnings)
    assert any("The file names no run" in w for w in receipt.warnings)
    with store.view() as view:
        result = run("reconciliation", view, {"period": "2026-03"})
        later = run("reconciliation", view, {"period": "2026-04"})
    store.close()
    assert result.figure("bill_effective").value == 32.0
    (said,) = [n.text for n in result.warnings if n.code == "lines_counted_once"]
    assert said.startswith("1 line of bill1.csv (10.00 USD) equals a line of a file loaded before")
    assert not [n for n in later.warnings if n.code == "lines_counted_once"]


@pytest.mark.parametrize(("value", "told"), [(77, "77"), (True, "true"), (1.5, "1.5"), (" a ", "a")])
def test_numbers_and_truth_values_of_tags_are_text(value: object, told: str) -> None:
    assert named_in(json.dumps({"run": value})) == {"run": told}


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, ""])
def test_a_tag_without_a_value_names_nothing(value: object) -> None:
    assert named_in(json.dumps({"run": value})) == {}
