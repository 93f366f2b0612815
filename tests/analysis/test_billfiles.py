"""What the card of a bill says of the lines that are matched already."""

from pathlib import Path

from analysis.billfiles import file_bill, file_words
from tests.analysis.bills import DAY, charge, hold, load
from tests.analysis.conftest import Home

FILE = "a" * 16


def test_a_file_says_what_is_matched_what_is_not_and_what_is_left_to_book(
    empty_home: Home, tmp_path: Path
) -> None:
    """24 h of 8 GPUs for $480, held for 18 h: $360 matched; a support fee of $20 that nothing explains."""
    hold(empty_home, "r1", DAY, 18, hosts={"node-a": 8})
    rows = [charge(480, gpu_h=192, node="node-a"), charge(20, ServiceName="Support", ChargeDescription="fee")]
    load(empty_home, tmp_path, rows)
    found = file_bill(empty_home.view(), FILE)
    assert file_bill(empty_home.view(), "another") is None
    assert found is not None
    said = file_words(found)
    assert "$360.00 of its $500.00 is matched to r1 by the machine or pool that the run held." in said
    assert "Not matched: $140.00 that no run or job explains." in said
    assert "Only that last amount is worth booking" in said


def test_a_file_that_is_matched_whole_asks_for_nothing(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r1", DAY, 24, hosts={"node-a": 8})
    load(empty_home, tmp_path, [charge(480, gpu_h=192, node="node-a")])
    found = file_bill(empty_home.view(), FILE)
    assert found is not None
    assert file_words(found) == (
        "$480.00 of its $480.00 is matched to r1 by the machine or pool that the run held. "
        "Nothing has to be booked by hand."
    )


def test_a_file_of_which_nothing_is_matched_says_so(empty_home: Home, tmp_path: Path) -> None:
    load(empty_home, tmp_path, [charge(480, gpu_h=192, node="node-a")])
    found = file_bill(empty_home.view(), FILE)
    assert found is not None
    assert file_words(found).startswith("None of its $480.00 is matched to a run or job yet.")
