"""Pareto front against the definition, standing by counted draws, two curves at equal money by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from models.frontier import pareto, score_at, standing, usd_to, versus


def by_definition(cost, score):
    """On the front: nobody costs no more and scores no less and differs in one of both."""
    return [
        not any(
            c <= cost[i] and s >= score[i] and (c < cost[i] or s > score[i])
            for c, s in zip(cost, score, strict=True)
        )
        for i in range(len(cost))
    ]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=12))
def test_front_is_its_definition_with_ties_and_twins(points):
    cost, score = (list(side) for side in zip(*points, strict=True))
    assert pareto(cost, score).tolist() == by_definition(cost, score)


def test_front_of_many_draws_is_that_of_each():
    rng = np.random.default_rng(1)
    cost, score = rng.integers(1, 5, (6, 50)), rng.integers(1, 5, (6, 50))
    got = pareto(cost, score)
    assert [by_definition(cost[:, i], score[:, i]) for i in range(50)] == got.T.tolist()


def test_standing_by_four_draws_counted_by_hand():
    """Draw 1: b scores best. Draw 2: a beats b in both. Draw 3: scores tie. Draw 4: b and c tie for best."""
    cost = [[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]
    score = [[5, 8, 6, 4], [7, 6, 6, 9], [1, 1, 1, 9]]
    got = standing(cost, score, budget=1.5)
    assert got.front.tolist() == [1.0, 0.5, 0.0]
    assert got.best.tolist() == [0.375, 0.5, 0.125]
    assert got.best_within.tolist() == [1.0, 0.0, 0.0]
    assert got.dominated_by.tolist() == [[0, 0, 0], [0.5, 0, 0], [0.75, 1.0, 0]]


def test_probability_of_being_best_is_that_of_two_normals():
    """Gain 1 with se 1 against 0 with se 1: P(first above) = Phi(1 / sqrt 2) = 0.760."""
    rng = np.random.default_rng(2)
    score = np.array([rng.normal(1, 1, 100_000), rng.normal(0, 1, 100_000)])
    got = standing(np.ones_like(score), score)
    known = scipy_stats.norm.cdf(1 / math.sqrt(2))
    assert got.best == pytest.approx([known, 1 - known], abs=0.006)
    assert got.front == pytest.approx(got.best)
    assert got.best.sum() == pytest.approx(1)


def test_noise_that_is_shared_leaves_a_sure_order():
    shared = np.random.default_rng(3).normal(0, 5, 1000)
    got = standing(np.ones((2, 1000)), np.array([0.1 + shared, shared]))
    assert got.best.tolist() == [1.0, 0.0]


def test_nobody_within_the_budget_is_nobody():
    got = standing([[2.0, 2.0], [3.0, 3.0]], [[1.0, 1.0], [2.0, 2.0]], budget=1.0)
    assert got.best_within.tolist() == [0.0, 0.0]


USD = [10.0, 20.0, 40.0]
SCORES = np.array([[0.4, 0.4], [0.6, 0.5], [0.7, 0.45]])


def test_score_at_equal_dollars():
    assert score_at(15, USD, SCORES) == pytest.approx([0.5, 0.45])
    assert score_at(30, USD, SCORES) == pytest.approx([0.65, 0.475])
    assert np.isnan(score_at(5, USD, SCORES)).all() and np.isnan(score_at(41, USD, SCORES)).all()


def test_dollars_at_equal_score():
    """0.55 is passed between $10 and $20 in the first draw, at three quarters; never in the second."""
    assert usd_to(0.55, USD, SCORES).tolist() == [pytest.approx(17.5), math.inf]
    assert usd_to(0.3, USD, SCORES).tolist() == [10.0, 10.0]
    twice = np.array([[10.0, 100.0], [20.0, 200.0], [40.0, 400.0]])
    assert usd_to(0.5, twice, SCORES) == pytest.approx([15.0, 200.0])


def test_versus_counts_who_never_gets_there():
    got = versus([10.0, 12.0, 14.0, math.inf], [9.0, 9.0, math.inf, math.inf])
    assert (got.value, got.low, got.known_frac) == (None, None, 0.5)
    assert got.a_above_frac == pytest.approx(2 / 3)
    sure = versus(np.linspace(1, 2, 1001), np.zeros(1001))
    assert (sure.value, sure.low, sure.high) == pytest.approx((1.5, 1.025, 1.975))
    assert (sure.a_above_frac, sure.known_frac) == (1.0, 1.0)


def test_versus_of_nothing_known_says_nothing():
    got = versus([math.nan, math.inf], [1.0, math.inf])
    assert math.isnan(got.a_above_frac) and got.value is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pareto([1.0], [1.0, 2.0]), "one shape"),
        (lambda: pareto([math.nan, 1.0], [1.0, 2.0]), "cannot be placed"),
        (lambda: standing([1.0, 2.0], [1.0, 2.0]), "draws"),
        (lambda: score_at(1, [2.0, 1.0], [[1.0], [2.0]]), "rise"),
        (lambda: usd_to(1, [1.0, 2.0], [1.0, 2.0]), "points"),
        (lambda: versus([1.0], [1.0, 2.0]), "same draws"),
        (lambda: versus([1.0], [1.0], confidence=95), "confidence"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
