"""Which part of an attempt bought nothing, by hand: a clock that starts at 0, steps of 100 s."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.lost import AttemptClock, Step, segments

STEPS = [Step(n, 600 + 100 * n, 100.0) for n in range(1, 11)]  # first starts at 600 s, last ends at 1600 s


def spans(status="failed", kept=-1.0, saved=None, end=3000.0, steps=STEPS, **more):
    clock = AttemptClock(0.0, end, status, steps, kept, saved, **more)
    return {s.kind: (s.start_s, s.end_s, s.sure) for s in segments(clock)}


def test_a_completed_attempt_has_a_start_and_a_hold():
    assert spans("completed", None) == {
        "start_up": (0, 600, True),
        "after_last_step": (1600, 3000, True),
    }


def test_work_after_the_last_checkpoint_is_lost_and_the_saved_part_was_not_used():
    assert spans(saved=6) == {
        "start_up": (0, 600, True),
        "not_used": (600, 1200, True),
        "since_checkpoint": (1200, 1700, True),
        "after_last_step": (1700, 3000, True),
    }


def test_a_resumption_from_an_older_step_decides_over_the_last_checkpoint():
    got = spans(kept=4.0, saved=6)
    assert got["since_checkpoint"] == (1000, 1700, True) and "not_used" not in got


def test_without_any_checkpoint_everything_may_be_lost_and_is_not_sure():
    assert spans()["since_checkpoint"] == (600, 1700, False)
    assert spans(kept=math.nan)["since_checkpoint"][2] is False


def test_the_step_it_died_in_ends_with_the_attempt():
    got = spans(saved=10, end=1650.0)
    assert got["since_checkpoint"] == (1600, 1650, True) and "after_last_step" not in got


def test_an_attempt_that_never_reached_a_step_is_all_start_up():
    assert spans(steps=[]) == {"start_up": (0, 3000, True)}
    assert spans(steps=[], logs_steps=False) == {}
    assert spans("completed", None, steps=[]) == {}


def test_steps_without_a_clock_lose_their_durations_at_the_end():
    bare = [Step(n, math.nan, 100.0) for n in range(1, 11)]
    assert spans(saved=7, steps=bare) == {"since_checkpoint": (2700, 3000, True)}
    assert spans("completed", None, steps=bare) == {}


def test_no_clock_no_segments():
    assert spans(end=math.nan) == {}


@settings(max_examples=50)
@given(
    st.floats(-500, 4000),
    st.one_of(st.none(), st.just(-1.0), st.just(math.nan), st.integers(0, 12).map(float)),
    st.one_of(st.none(), st.integers(0, 12)),
    st.floats(100, 5000),
)
def test_segments_never_overlap_nor_leave_the_attempt(shift, kept, saved, end):
    steps = [Step(s.step, s.end_s + shift, s.step_s) for s in STEPS]
    found = segments(AttemptClock(0.0, end, "failed", steps, kept, saved))
    at = 0.0
    for part in found:
        assert at <= part.start_s < part.end_s <= end
        at = part.end_s


def test_a_contradictory_clock_is_cut_to_the_attempt():
    late = [Step(1, 9000.0, 100.0)]
    assert spans(steps=late, end=3000.0) == {"start_up": (0, 3000, True)}
    assert pytest.approx(3000) == sum(b - a for a, b, _ in spans(steps=late).values())
