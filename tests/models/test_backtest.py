"""How errors, bands and coverage are counted, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.backtest import (
    _medians,
    band,
    bootstrap_median,
    constant,
    coverage,
    error,
    left_out,
    pair_median,
    quantiles,
)


def test_error_by_hand():
    found = error(np.log([1.1, 0.8, 1.0, np.nan]))
    assert (found.n, found.median_abs_error) == (3, pytest.approx(0.1))
    assert found.bias == pytest.approx((1.1 * 0.8) ** (1 / 3))
    assert error(np.array([np.nan])).median_abs_error is None


def test_coverage_is_the_exact_binomial_interval():
    found = coverage(7, 9)
    assert (found.low, found.high) == (pytest.approx(0.3999, abs=1e-4), pytest.approx(0.9719, abs=1e-4))
    assert found.holds and not coverage(30, 60).holds
    assert coverage(0, 5).low == 0 and coverage(5, 5).high == 1 and coverage(0, 0).share is None


def test_band_takes_the_outer_order_statistics():
    residuals = np.arange(-9, 10) / 10  # 19 values: ranks 2 and 18
    assert band(residuals) == (pytest.approx(-0.8), pytest.approx(0.8))
    assert band(np.array([0.1, 0.2, 0.3])) == (0.0, pytest.approx(0.3))
    assert np.isnan(band(np.array([0.1, np.nan, 0.2]))).all()


def test_left_out_hides_the_whole_group():
    groups = ["m", "m", "n", "n"]
    seen = {}

    def predict(train, test):
        seen[tuple(test)] = train.tolist()
        return np.full(int(test.sum()), float(train.sum()))

    every = np.ones(4, dtype=bool)
    assert left_out(groups, every, every, predict).tolist() == [2, 2, 2, 2]
    assert seen[(True, True, False, False)] == [False, False, True, True]


def test_naive_rules_see_other_models_only():
    measured = np.log(np.array([2.0, 4.0, 3.0, 8.0]))
    train, test = np.array([True, True, True, False]), np.array([False, False, False, True])
    one = constant(np.zeros(4), measured, ["k"] * 4)(train, test)
    assert np.exp(one) == pytest.approx([3.0])
    assert np.isnan(constant(np.zeros(4), measured, ["k", "k", "k", "other"])(train, test)).all()
    pair = pair_median(["p", "p", "q", "p"], measured)(train, test)
    assert np.exp(pair) == pytest.approx([3.0])


@given(
    st.lists(st.tuples(st.sampled_from([-1.0, -0.2, 0.0, 0.1, 0.1, 0.7]), st.integers(0, 4)), min_size=1),
    st.integers(0, 4),
)
def test_medians_of_draws_are_those_of_the_drawn_values(pairs, certain):
    values = np.abs(np.array([value for value, _ in pairs]))
    times = np.array([[n for _, n in pairs], [n % 2 for _, n in pairs], [certain + 1] * len(pairs)])
    times = times[times.sum(axis=1) > 0]
    assert _medians(values, times).tolist() == [np.median(np.repeat(values, row)) for row in times]


def test_bootstrap_draws_models_and_repeats():
    wrong = np.log([1.1, 1.1, 1.3, 1.2])
    found = bootstrap_median(wrong, ["a", "a", "b", "c"])
    assert found == bootstrap_median(wrong, ["a", "a", "b", "c"])
    assert found[0] == pytest.approx(0.1) and found[1] == pytest.approx(0.3)
    assert bootstrap_median(wrong, ["a", "a", "b", "b"]) is None


def test_quantiles_need_three():
    assert quantiles(np.zeros(2)) == (None, None)
    assert quantiles(np.zeros(3)) == (1.0, 1.0)
