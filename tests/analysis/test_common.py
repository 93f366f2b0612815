"""What every answer carries: one notice for many runs, and runs in the order in which they came."""

from analysis.common import one_a_text
from analysis.result import Notice


def test_notices_that_differ_only_in_the_run_become_one() -> None:
    runs = ["a", "b", "c", "d", "e", "f"]
    notices = [Notice("cost_unknown", f"{run} has no cost: fill in a pool.", run) for run in runs]
    (joined,) = one_a_text(notices)
    assert joined.text == "Each of a, b, c, d and 2 more has no cost: fill in a pool."
    assert joined.where == "a; b; c; d; e; f"


def test_other_words_and_other_codes_stay_apart() -> None:
    notices = [
        Notice("cost_unknown", "a has no cost: fill in pools.", "a"),
        Notice("cost_unknown", "b has no cost: fill in times.", "b"),
        Notice("other", "c has no cost: fill in pools.", "c"),
        Notice("plain", "Two sentences.", "costs"),
        Notice("plain", "Two sentences.", "prices"),
    ]
    assert one_a_text(notices) == notices


def test_a_run_name_inside_a_word_is_no_run() -> None:
    notices = [Notice("x", "Allocated twice: cat.", "cat"), Notice("x", "Allodoged twice: dog.", "dog")]
    assert one_a_text(notices) == notices
