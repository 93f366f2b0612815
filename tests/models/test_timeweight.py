"""Left-hold weighting: hand-worked minutes, and properties that any roll-up must keep."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import timeweight as tw

gaps = st.lists(st.floats(0.1, 500), min_size=1, max_size=40)


def test_a_sample_holds_until_the_next_but_not_across_a_gap() -> None:
    # gaps 10, 10, 10, 100, 10: median 10, so at most 30 s are known of the long one
    ts = [0, 10, 20, 30, 130, 140]
    assert tw.hold_seconds(ts).tolist() == [10, 10, 10, 30, 10, 0]
    assert tw.unknown_seconds(ts).tolist() == [0, 0, 0, 70, 0, 0]


def test_the_mean_is_weighted_by_time_not_by_samples() -> None:
    # 100 % for 30 s in one sample, 0 % for 10 s in ten samples of 1 s
    ts = [0, 30, *range(31, 41)]
    values = [1.0] + [0.0] * 11
    assert np.mean(values) < 0.1
    assert tw.weighted_mean(ts, values, factor=1e9) == pytest.approx(0.75)


def test_minutes_split_a_span_at_the_border() -> None:
    found = tw.minutes([50, 70, 90], [1.0, 0.5, 0.0])
    assert [(m.minute, m.known_s, m.weighted_sum, m.n) for m in found] == [
        (0, 10.0, 10.0, 1),
        (1, 30.0, 20.0, 2),
    ]
    assert (found[1].v_min, found[1].v_max) == (0.0, 1.0)
    whole = tw.minutes([50, 70, 90], [1.0, 0.5, 0.0], split=False)
    assert [(m.minute, m.known_s) for m in whole] == [(0, 20.0), (1, 20.0)]


def test_a_missing_value_is_unknown_time() -> None:
    assert tw.weighted_mean([0, 10, 20], [0.2, math.nan, 0.9]) == pytest.approx(0.2)
    assert math.isnan(tw.weighted_mean([0.0], [0.5]))


def test_times_that_fall_are_refused() -> None:
    with pytest.raises(ValueError, match="rising"):
        tw.hold_seconds([0, 10, 5])


@given(gaps)
def test_known_and_unknown_make_up_the_whole_span(steps: list[float]) -> None:
    ts = np.concatenate([[0.0], np.cumsum(steps)])
    held, rest = tw.hold_seconds(ts), tw.unknown_seconds(ts)
    assert (held >= 0).all() and (rest >= -1e-9).all() and held[-1] == 0
    assert held.sum() + rest.sum() == pytest.approx(ts[-1])


@given(gaps, st.data())
def test_minutes_add_up_to_the_weighted_mean(steps: list[float], data: st.DataObject) -> None:
    ts = np.concatenate([[7.0], 7.0 + np.cumsum(steps)])
    values = data.draw(st.lists(st.floats(0, 1), min_size=len(ts), max_size=len(ts)))
    found = tw.minutes(ts, values)
    known = sum(m.known_s for m in found)
    assert known == pytest.approx(tw.hold_seconds(ts).sum())
    assert all(m.known_s <= 60 + 1e-9 for m in found) and sum(m.n for m in found) == len(ts)
    assert sum(m.weighted_sum for m in found) / known == pytest.approx(tw.weighted_mean(ts, values), abs=1e-9)


@given(gaps, st.floats(0, 1))
def test_a_constant_stays_constant(steps: list[float], value: float) -> None:
    ts = np.concatenate([[0.0], np.cumsum(steps)])
    assert tw.weighted_mean(ts, np.full(len(ts), value)) == pytest.approx(value)
