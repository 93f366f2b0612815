"""Forecasts: worked sums, what a constant history says, pinball and coverage by hand, known variance."""

import math

import numpy as np
import pytest

from models.forecast import (
    coverage,
    day_counts,
    draw_days,
    level_change,
    level_draws,
    mean_pinball,
    month_sums,
    pinball,
)


def one_month(daily: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    counts = day_counts(drawn, np.zeros(drawn.shape[1], dtype=int), 1, len(daily))
    return month_sums(daily[:, None], counts)[:, 0, 0]


def test_month_sums_by_hand() -> None:
    """History 10, 20, 30; two draws of four days, of which three lie in the first month."""
    drawn = np.array([[0, 1, 2, 0], [2, 2, 1, 1]])
    counts = day_counts(drawn, np.array([0, 0, 0, 1]), 2, 3)
    sums = month_sums(np.array([[10.0, 1.0], [20.0, 2.0], [30.0, 3.0]]), counts)
    assert sums[:, :, 0].tolist() == [[60.0, 10.0], [80.0, 20.0]]
    assert sums[:, :, 1].tolist() == [[6.0, 1.0], [8.0, 2.0]]


def test_a_constant_history_has_no_spread_of_its_own() -> None:
    drawn = draw_days(20, 30, 50, np.random.default_rng(1))
    assert one_month(np.full(20, 7.0), drawn).tolist() == [210.0] * 50


def test_days_come_in_weeks() -> None:
    """Inside a block the next day follows, on the circle of the days that were drawn first."""
    drawn = draw_days(70, 70, 200, np.random.default_rng(2))
    follows = np.mean(np.diff(drawn, axis=1) % 70 == 1)
    assert 0.70 < follows < 0.78  # 6 of 7 steps stay in a block, twice: 0.857^2 = 0.735


def test_a_short_history_widens_the_interval() -> None:
    """Independent days, blocks of one: var of the sum of A days = A s2 (1 + (A-1)/n) about, so that a month
    from 30 days varies twice as much as one from endless history.
    """
    rng = np.random.default_rng(3)
    daily = rng.standard_normal(30)
    drawn = draw_days(30, 30, 40_000, rng, block=1)
    got = one_month(daily, drawn).var() / (30 * daily.var())
    assert got == pytest.approx(1 + 29 / 30, rel=0.03)


def test_levels_wander_about_one() -> None:
    levels = level_draws(4, 0.2, 40_000, np.random.default_rng(4))
    assert np.median(levels, axis=0) == pytest.approx(1, abs=0.01)
    assert np.log(levels[:, 3]).std() == pytest.approx(0.2 * 2, rel=0.02)
    assert level_draws(3, 0.0, 5, np.random.default_rng(4)).tolist() == [[1.0] * 3] * 5


def test_change_of_level_by_hand() -> None:
    """Doubles, halves, doubles: every log change is ln 2."""
    assert level_change([1, 2, 1, 2]) == pytest.approx(math.log(2))
    assert level_change([1, 2, 1]) is None and level_change([1, 2, 0, 1]) is None


def test_pinball_by_hand() -> None:
    """p10 8, p50 10, p90 14, and it was 12: 0.1 x 4, 0.5 x 2, 0.1 x 2."""
    assert [pinball(q, x, 12) for q, x in ((0.1, 8), (0.5, 10), (0.9, 14))] == pytest.approx([0.4, 1.0, 0.2])
    assert mean_pinball((8, 10, 14), 12) == pytest.approx(1.6 / 3)
    with pytest.raises(ValueError, match="one value"):
        mean_pinball((8, 10), 12)


def test_pinball_is_lowest_at_the_quantile() -> None:
    values = np.random.default_rng(5).gamma(2, 3, 4000)
    at = {x: np.mean([pinball(0.9, x, y) for y in values]) for x in np.quantile(values, [0.8, 0.9, 0.97])}
    assert min(at, key=at.get) == np.quantile(values, 0.9)


def test_coverage_by_hand() -> None:
    """8 of 10 inside: Wilson 95 % 49.0 % to 94.3 % (Newcombe, Stat. Med. 17, 1998 uses the same formula)."""
    found = coverage([True] * 8 + [False] * 2)
    assert found is not None and (found.n, found.inside, found.frac) == (10, 8, 0.8)
    assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=5e-5)
    assert coverage([]) is None
