"""Rules of the run-details forms that need no page: which run opens first, what an edit of attempts means."""

import pandas as pd

from data.run_details import RunDetails
from pages.parts.details_tab import first_run
from pages.parts.run_form import edited_attempts

RUNS = pd.DataFrame(
    {
        "run": ["example", "mine", "open"],
        "synthetic": [True, False, False],
        "complete": [False, True, False],
    }
)


def test_the_run_that_was_open_last_stays_and_the_example_never_comes_before_an_own_run() -> None:
    assert first_run(RUNS, "example") == "example"
    assert first_run(RUNS, None) == first_run(RUNS, "gone") == "open"
    assert first_run(RUNS[:2], None) == "mine"
    assert first_run(RUNS[:1], None) == "example"


def test_an_edited_step_is_kept_and_an_emptied_one_is_left_to_the_files() -> None:
    before = pd.DataFrame({"attempt": [1, 2, 3], "status": ["failed"] * 3, "resumed": [None, 4.0, 7.0]})
    after = before.assign(status=["failed", "completed", "failed"], resumed=[0.0, 4.0, None])
    details = RunDetails(run="a", status={1: "failed"}, resumed={3: 7})
    assert edited_attempts(before, after, details) == {
        "status": {1: "failed", 2: "completed"}, "resumed": {1: 0},
    }  # fmt: skip
