"""Gain per cost against the worked examples A and D of the definitions in use, and Fieller sets by search."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr

from models import cost
from models.claims import implied_speed
from models.draws import money_draws
from models.gain_ratio import (
    NATS_PER_KUSD,
    POINTS_PER_KUSD,
    POINTS_PER_MWH,
    error_cut,
    fieller,
    interval_draws,
    log_odds_from_totals,
    per_cost,
    reciprocal,
)
from models.stats import Interval, gain_assuming_correlation, log_odds_gain
from models.step_time import Phases, amdahl, step_time

SIZE = 40_000
POINTS_PER_10_KUSD = 10 * POINTS_PER_KUSD

STAGE_USD = cost.rent_usd(cost.gpu_hours(1024, 178 * 7 * 60) / 0.75, 2.75)
"""Example A: 1 024 GPUs, 178 steps of 7 minutes, 75 % goodput, $2.75 a GPU-hour."""

EXAMPLE_A = [
    # benchmark, n, before, after | gain, low, high (pp) | pp per $10k, low, high | nats, error cut (%)
    ("SWE-bench Verified", 500, 63.5, 65.8, 2.3, -1.9, 6.5, 0.29, -0.24, 0.83, 0.10, 6),
    ("TauBench Telecom", 114, 55.7, 82.7, 27.0, 18.8, 35.2, 3.46, 2.40, 4.52, 1.34, 61),
    ("LiveCodeBench v6", 454, 85.5, 87.4, 1.9, -1.2, 5.0, 0.24, -0.16, 0.65, 0.16, 13),
    ("HLE no tools", 2158, 19.7, 25.6, 5.9, 4.1, 7.7, 0.76, 0.53, 0.98, 0.34, 7),
    ("IMOAnswerBench", 400, 85.1, 84.5, -0.6, -4.1, 2.9, -0.08, -0.53, 0.37, -0.05, -4),
]


def printed(value, digits):
    """A match to the digits that are printed, half a unit of the last one either way."""
    return pytest.approx(value, abs=0.5 * 10**-digits + 1e-9)


@pytest.mark.parametrize("row", EXAMPLE_A, ids=[row[0] for row in EXAMPLE_A])
def test_example_a_one_stage_on_five_benchmarks(row):
    _, n, before, after, gain, low, high, rate, rate_low, rate_high, nats, cut = row
    assert pytest.approx(77_972, abs=0.5) == STAGE_USD
    got = gain_assuming_correlation(after / 100, before / 100, n, 0.5)
    assert [100 * x for x in (got.value, got.low, got.high)] == printed([gain, low, high], 1)
    spent = money_draws(STAGE_USD, STAGE_USD, STAGE_USD, SIZE, seed=1)
    per = per_cost(got.value, interval_draws(got, SIZE, seed=1), STAGE_USD, spent, n)
    points = per.scaled(POINTS_PER_10_KUSD)
    assert [points.value, points.low, points.high] == printed([rate, rate_low, rate_high], 2)
    assert per.distinguishable is (low > 0)
    assert per.cost_per_gain.shape == ("interval" if low > 0 else "rays")
    assert log_odds_gain(after / 100, before / 100) == printed(nats, 2)
    assert 100 * error_cut(after / 100, before / 100) == printed(cut, 0)


@pytest.mark.parametrize(
    ("before", "after", "gain", "low", "high"), [(63.5, 71.7, 8.2, 4.1, 12.3), (70.1, 71.7, 1.6, -2.4, 5.6)]
)
def test_example_a_later_stages(before, after, gain, low, high):
    got = gain_assuming_correlation(after / 100, before / 100, 500, 0.5)
    assert [100 * x for x in (got.value, got.low, got.high)] == printed([gain, low, high], 1)
    assert got.excludes_zero is (low > 0)


def test_example_a_with_a_price_that_is_not_sure():
    """$400k, price log-normal 0.8 to 1.25 in its central 90 %: 0.20 pp per $10k (0.10, 0.34).

    The printed upper end came from draws; by quadrature it is 0.3345, within their Monte Carlo error.
    """
    got = gain_assuming_correlation(0.717, 0.635, 500, 0.5)
    spent = money_draws(4e5, 0.8 * 4e5, 1.25 * 4e5, SIZE, seed=1)
    per = per_cost(got.value, interval_draws(got, SIZE, seed=1), 4e5, spent, 500).scaled(POINTS_PER_10_KUSD)
    assert [per.value, per.low] == printed([0.20, 0.10], 2)
    se, spread = (got.high - got.low) / (2 * 1.96), math.log(1.25) / 1.645

    def below(rate):
        def inner(z):
            return math.exp(-z * z / 2) * ndtr((rate * 0.4 * math.exp(spread * z) - got.value) / se)

        return quad(inner, -8, 8)[0] / math.sqrt(2 * math.pi)

    low, high = (brentq(lambda rate, p=p: below(rate) - p, 0.01, 0.6) for p in (0.025, 0.975))
    assert high == pytest.approx(0.3345, abs=2e-4) and high == pytest.approx(0.34, abs=0.006)
    assert (per.low, per.high) == pytest.approx((low, high), abs=0.004)
    assert per.distinguishable


def test_example_d_a_vendor_claim_as_a_scenario():
    """A quarter of the GPUs in the same time: 4x, $2.75 breaks even at $11.00; 2.5x, $6.88; Amdahl 1.29x."""
    assert implied_speed("gpu_count_ratio", 0.25) == 4
    assert cost.break_even_usd_per_gpu_h(2.75, implied_speed("gpu_count_ratio", 0.25)) == printed(11.00, 2)
    assert cost.break_even_usd_per_gpu_h(2.75, 2.5) == printed(6.88, 2)
    step = step_time(
        Phases(work_s=60.0, tail_s=0.0, logprob_s=0.0, train_s=30.0, sync_s=10.0), "sync_colocated"
    )
    assert float(step.total_s) == pytest.approx(100)
    assert 100 / float(amdahl(step, 30.0, 4.0)) == printed(1.29, 2)


def test_the_ends_of_two_intervals_are_not_divided():
    """Dividing ends would give 0.04/1.25 to 0.12/0.8; the joint interval lies well inside."""
    gain = interval_draws(Interval(0.08, 0.04, 0.12, 500), SIZE, seed=2)
    got = per_cost(0.08, gain, 1.0, money_draws(1.0, 0.8, 1.25, SIZE, seed=2), 500)
    assert got.low > 1.15 * 0.04 / 1.25
    assert got.high < 0.97 * 0.12 / 0.8


def test_draws_of_one_seed_are_independent():
    """Gain and cost drawn from the same seed: |correlation| of 40 000 pairs below 4 standard errors."""
    gain = interval_draws(Interval(0.08, 0.04, 0.12, 500), SIZE, seed=3)
    spent = np.log(money_draws(1.0, 0.8, 1.25, SIZE, seed=3))
    assert abs(np.corrcoef(gain, spent)[0, 1]) < 4 / math.sqrt(SIZE)


@pytest.mark.parametrize("factor", [POINTS_PER_KUSD, NATS_PER_KUSD, POINTS_PER_MWH])
def test_units_scale_the_number_and_what_it_costs(factor):
    """8 points for $20 000 are 0.4 points per $1k, $2 500 a point; for 50 MWh 0.16 points per MWh."""
    gain = interval_draws(Interval(0.08, 0.04, 0.12, 500), SIZE, seed=2)
    got = per_cost(0.08, gain, 2e4, np.full(SIZE, 2e4), 500)
    scaled = got.scaled(factor)
    assert scaled.value == pytest.approx(0.08 / 2e4 * factor)
    assert scaled.cost_per_gain.low == pytest.approx(1 / scaled.high)
    assert scaled.cost_per_gain.high == pytest.approx(1 / scaled.low)
    assert per_cost(0.08, gain, 50, np.full(SIZE, 50.0), 500).scaled(POINTS_PER_MWH).value == pytest.approx(
        0.16
    )
    assert got.scaled(POINTS_PER_KUSD).value == pytest.approx(0.4)


def test_a_gain_that_may_be_nothing_costs_without_bound():
    """Between -1 and +3 points for $1 000: a point costs $333 or more, or is not to be had by spending."""
    gain = interval_draws(Interval(0.01, -0.01, 0.03, 500), SIZE, seed=2)
    got = per_cost(0.01, gain, 1000, np.full(SIZE, 1000.0), 500)
    price = got.cost_per_gain
    assert not got.distinguishable and price.shape == "rays"
    assert (price.low, price.high) == pytest.approx((-1000 / 0.01, 1000 / 0.03), rel=1e-3)
    assert price.contains(math.inf) and price.contains(1e9) and not price.contains(1000.0)


def test_infinite_log_odds_stay_infinite():
    gain = np.concatenate([np.linspace(0.5, 3, 900), np.full(100, np.inf)])
    got = per_cost(math.inf, gain, 10.0, np.full(1000, 10.0), 30)
    assert math.isinf(got.value) and math.isinf(got.high) and math.isfinite(got.low)
    assert got.cost_per_gain.low == 0


SIZES = st.floats(-3, 3)


@settings(max_examples=60, deadline=None)
@given(SIZES, SIZES, st.floats(0.01, 2), st.floats(0.01, 2), st.floats(-0.95, 0.95))
def test_fieller_sets_hold_exactly_what_a_test_does_not_reject(top, bottom, se_top, se_bottom, rho):
    cov = rho * se_top * se_bottom
    got = fieller(top, bottom, se_top**2, se_bottom**2, cov, 1.96)
    for ratio in np.tan(np.linspace(-1.56, 1.56, 301)):
        spread = math.sqrt(se_top**2 + ratio**2 * se_bottom**2 - 2 * ratio * cov)
        distance = abs(top - ratio * bottom) - 1.96 * spread
        if abs(distance) > 1e-6 * (1 + ratio**2):
            assert got.contains(float(ratio)) is bool(distance < 0)


def test_fieller_of_a_sure_cost_is_the_reciprocal_of_gain_per_cost():
    for gain in (0.08, 0.01, -0.05):
        exact = fieller(1000.0, gain, 0.0, 0.02**2, 0.0, 1.96)
        other = reciprocal((gain - 1.96 * 0.02) / 1000, (gain + 1.96 * 0.02) / 1000)
        assert exact.shape == other.shape
        assert (exact.low, exact.high) == pytest.approx((other.low, other.high))


def test_fieller_at_the_edge_has_one_open_end():
    got = fieller(2.0, 1.96, 0.01, 1.0, 0.0, 1.96)
    assert got.shape == "interval" and got.high == math.inf
    assert got.low == pytest.approx((4 - 1.96**2 * 0.01) / (2 * 2 * 1.96))
    assert fieller(0.1, 0.1, 1.0, 1.0, 0.0, 1.96).shape == "everything"


def test_log_odds_from_totals_narrow_with_the_assumed_correlation():
    near, near_draws = log_odds_from_totals(0.658, 0.635, 500, 0.5, SIZE, seed=1)
    far, _ = log_odds_from_totals(0.658, 0.635, 500, 0.0, SIZE, seed=1)
    # Delta method: sqrt((1 / (500 p q) + 1 / (500 p0 q0)) (1 - rho)), nearly.
    half = 1.96 * math.sqrt((1 / (500 * 0.658 * 0.342) + 1 / (500 * 0.635 * 0.365)) * 0.5)
    assert near.value == printed(0.10, 2)
    assert (near.high - near.low) / 2 == pytest.approx(half, rel=0.01)
    assert (far.high - far.low) / (near.high - near.low) == pytest.approx(math.sqrt(2), rel=0.01)
    assert np.quantile(near_draws, [0.025, 0.975]) == pytest.approx([near.low, near.high], abs=1e-3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: per_cost(0.1, np.ones(5), 1.0, np.ones(4), 9), "same draws"),
        (lambda: per_cost(0.1, np.ones(5), 1.0, np.zeros(5), 9), "above 0"),
        (lambda: per_cost(0.1, np.ones(5), 0.0, np.ones(5), 9), "above 0"),
        (lambda: per_cost(math.nan, np.full(5, math.nan), 1.0, np.ones(5), 9), "no gain per cost"),
        (lambda: per_cost(0.1, np.ones(5), 1.0, np.ones(5), 9).scaled(0), "factor"),
        (lambda: reciprocal(2.0, 1.0), "low <= high"),
        (lambda: fieller(1, 1, -1, 1, 0, 1.96), "variances"),
        (lambda: fieller(1, 1, 1, 1, 2, 1.96), "covariance"),
        (lambda: error_cut(0.9, 1.0), "below 1"),
        (lambda: log_odds_from_totals(0.5, 1.5, 10, 0, 100, 1), "shares"),
        (lambda: interval_draws(Interval(0, -1, 1, 9), 10, 1), "draws"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
