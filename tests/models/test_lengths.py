"""Length distributions: what the longest of many is, and what is left at a random step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.lengths import Lengths, lengths_of, lengths_of_histogram, lengths_of_quantiles


def test_longest_of_two_dice():
    dice = lengths_of([1, 2, 3, 4, 5, 6])
    assert dice.mean == pytest.approx(3.5) and dice.longest == 6
    assert dice.expected_longest(1) == pytest.approx(3.5)
    assert dice.expected_longest(2) == pytest.approx(161 / 36)
    assert dice.expected_longest(np.array([1, 2, 1e6])).tolist() == pytest.approx([3.5, 161 / 36, 6])


def test_what_is_left_of_equal_lengths_is_uniform():
    equal = lengths_of([100, 100])
    assert equal.mean_residual == 50
    for count in (1, 3, 9):  # the largest of n uniform ones
        assert equal.expected_longest_residual(count) == pytest.approx(100 * count / (count + 1))


def test_survivors_by_hand():
    two = lengths_of([1, 3])
    assert two.survivors(np.array([0.0, 1.0, 2.0, 3.0, 9.0])).tolist() == [0, 1, 1.5, 2, 2]
    assert two.survivors(100.0, True) == pytest.approx(two.mean_residual)


def test_truncation_makes_the_cap_the_longest():
    cut = lengths_of_quantiles({0.5: 1000, 0.95: 4000}, cap=8192, truncated_frac=0.02)
    assert cut.longest == 8192
    assert cut.truncated_frac(8192) == pytest.approx(0.02, abs=1e-3)
    assert cut.expected_longest(2048) == pytest.approx(8192)


def test_quantiles_come_back():
    got = lengths_of_quantiles({0.5: 1000, 0.95: 4000, 1.0: 9000})
    upto = np.cumsum(got.share)
    for p, tokens in ((0.5, 1000), (0.95, 4000)):
        assert np.interp(p, upto, got.tokens) == pytest.approx(tokens, rel=0.01)
    assert got.longest == 9000


def test_a_mean_or_a_median_does_not_fix_a_tail():
    with pytest.raises(ValueError, match="longest"):
        lengths_of_quantiles({0.5: 1000, 0.9: 3000})
    with pytest.raises(ValueError, match="cap"):
        lengths_of_quantiles({0.5: 1000}, truncated_frac=0.1)


def test_a_histogram_spreads_over_its_bins():
    got = lengths_of_histogram([0, 100, 300], [3, 1], inside=100)
    assert got.mean == pytest.approx(0.75 * 50 + 0.25 * 200)
    assert got.share[got.tokens <= 100].sum() == pytest.approx(0.75)
    with pytest.raises(ValueError, match="edges"):
        lengths_of_histogram([0, 1], [1, 2])


def test_impossible_lengths_are_refused():
    for tokens, share in (([0.0], [1.0]), ([2.0, 1.0], [0.5, 0.5]), ([1.0], [0.5]), ([], [])):
        with pytest.raises(ValueError):
            Lengths(np.array(tokens), np.array(share))


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=40), st.integers(1, 500), st.integers(1, 500))
def test_order_of_means_and_maxima(values, one, other):
    got, few, many = lengths_of(values), min(one, other), max(one, other)
    for longest in (got.expected_longest, got.expected_longest_residual):
        assert longest(few) <= longest(many) + 1e-6 and longest(many) <= got.longest + 1e-6
    assert got.mean - 1e-6 <= got.expected_longest(few)
    assert got.mean / 2 - 1e-6 <= got.mean_residual <= got.longest / 2 + 1e-6
    assert got.survivors(1e9) == pytest.approx(got.mean)
