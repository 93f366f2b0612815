"""The price below which moving pays, and when that can be told."""

import math

import numpy as np
import pytest

from models.breakeven import break_even_draws, verdict


def test_half_the_gpu_seconds_are_worth_twice_the_price():
    """64 GPUs x 95 s at 2.50 USD = 4.22 USD a step; 64 x 41 s cost that at 5.79 USD per GPU-hour."""
    got = break_even_draws(2.5, 64 * 95.0, np.array([64 * 47.5, 64 * 95.0, 64 * 41.0]))
    assert got == pytest.approx([5.0, 2.5, 2.5 * 95 / 41])
    cost = 64 * 41 / 3600 * got[2]
    assert cost == pytest.approx(64 * 95 / 3600 * 2.5)


def test_quantiles_turn_over():
    """A slow draw on the target is a low break-even price."""
    seconds = np.random.default_rng(0).lognormal(4, 0.2, 10_001)
    got = break_even_draws(2.0, 6000.0, seconds)
    low, high = np.percentile(seconds, [10, 90])
    assert np.percentile(got, [10, 90]) == pytest.approx([12_000 / high, 12_000 / low], rel=1e-3)


def test_draws_of_the_source_meet_those_of_every_target():
    price, spent = np.array([1.0, 2.0]), np.array([100.0, 300.0])
    got = break_even_draws(price, spent, np.array([[50.0, 100.0, math.nan], [50.0, 100.0, 10.0]]))
    assert got[:, :2].tolist() == [[2.0, 1.0], [12.0, 6.0]]
    assert math.isnan(got[0, 2]) and got[1, 2] == 60


def test_a_source_without_price_or_seconds_is_refused():
    for price, spent in ((0.0, 1.0), (math.nan, 1.0), (1.0, -1.0)):
        with pytest.raises(ValueError, match="source"):
            break_even_draws(price, spent, np.ones(3))


def test_a_verdict_needs_nine_draws_in_ten():
    draws = np.arange(1.0, 101.0)
    assert verdict(draws, 10.0).words == "pays" and verdict(draws, 10.0).pays_frac == 0.9
    assert verdict(draws, 10.5).pays_frac == 0.9
    assert verdict(draws, 11.0).words == "cannot tell"
    assert verdict(draws, 50.0).words == "cannot tell" and verdict(draws, 50.0).pays_frac == 0.5
    assert verdict(draws, 89.5).words == "cannot tell" and verdict(draws, 90.5).words == "does not pay"


def test_an_unknown_step_gives_no_verdict():
    got = verdict(np.array([1.0, math.nan]), 0.5)
    assert got.words == "cannot tell" and math.isnan(got.pays_frac)
    with pytest.raises(ValueError, match="quote"):
        verdict(np.ones(3), 0.0)
    with pytest.raises(ValueError, match="share"):
        verdict(np.ones(3), 1.0, sure=0.5)


def test_equal_prices_neither_pay_nor_do_not():
    """0.1 x 3 / 3 is not 0.1 in binary: the run's own GPUs at their own price."""
    draws = break_even_draws(1.3, 12 * 300.4, np.full(100, 12 * 300.4) * (1 + 2e-16))
    assert verdict(draws, 1.3).words == "cannot tell"
    assert verdict(draws * (1 - 1e-15), 1.3).words == "cannot tell"
    assert verdict(draws * 0.999, 1.3).words == "does not pay"
