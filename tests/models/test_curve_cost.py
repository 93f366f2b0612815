"""Money on a known curve to printed digits, and the properties that every cost of a point must have."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.curve import Curve, Origin, Sigmoid, band, fit_curve
from models.curve_cost import (
    GO_ON,
    STOP,
    amount_for,
    amount_to_target,
    cost_to_target,
    forecast,
    marginal_cost,
    stop_amount,
    stop_line,
    usd_per_point,
    usd_to,
)
from models.curve_fit import Points

# Worked example: R0 .40, A .72, B 1.2, midpoint 8,000 GPU-hours at $2.75
WORKED = Sigmoid(0.40, 0.72, 8000.0, 1.2)
HOURS = np.linspace(1500, 16000, 27)
TRUTH = Sigmoid(0.3, 0.61, 2542.0, 1.92)


def neocloud(hours):
    return 2.75 * hours


@pytest.fixture(scope="module")
def fitted() -> Curve:
    scores = TRUTH.score(HOURS) + np.random.default_rng(11).normal(0, 0.008, 27)
    return fit_curve(Points(HOURS, scores), 0.3, seed=3)


def test_worked_cost_to_target():
    usd = [float(usd_to(WORKED, target, neocloud)) for target in (0.50, 0.60, 0.65, 0.70, 0.71)]
    assert [f"{v / 1e3:.1f}" for v in usd[:3]] == ["11.4", "33.7", "63.6"]
    assert [f"{v / 1e3:.0f}" for v in usd[3:]] == ["210", "385"]


def test_worked_marginal_cost_against_the_average():
    early, middle = (float(usd_per_point(WORKED, hours, neocloud)) for hours in (5e3, 20e3))
    late = float(usd_per_point(WORKED, 80e3, neocloud))
    # printed as $1.6k: the 1.55 was rounded once more
    assert (f"{early / 1e3:.2f}", f"{middle / 1e3:.1f}", f"{late / 1e3:.0f}") == ("1.55", "7.6", "103")
    spent = neocloud(80e3) / 1e3
    average = 100 * (WORKED.score(80e3) - WORKED.start) / spent
    assert (f"{spent:.0f}", f"{average:.2f}", f"{1e3 / late:.3f}") == ("220", "0.14", "0.010")


def test_where_a_hundredth_of_a_point_is_left_the_curve_is_flat():
    """Refits of a step that is over have slopes of 1e-14: $200,000B a point is no answer."""
    # 0.32 (8000 / h)^1.2 = 1e-4 at h = 6.7e6
    dear, flat = (float(usd_per_point(WORKED, hours, neocloud)) for hours in (6e6, 7e6))
    assert math.isfinite(dear) and math.isinf(flat)
    steps = Sigmoid(*(np.array(v) for v in ([0.4, 0.4], [0.72, 0.72], [8000.0, 8000.0], [1.2, 60.0])))
    assert np.isinf(usd_per_point(steps, 20e3, neocloud)).tolist() == [False, True]
    percent = Sigmoid(40.0, 72.0, 8000.0, 1.2)
    assert math.isfinite(float(usd_per_point(percent, 6e6, neocloud, point=1.0)))


@given(st.floats(0.41, 0.71), st.floats(0.001, 0.009))
def test_cost_to_target_rises_with_the_target(target, more):
    assert usd_to(WORKED, target + more, neocloud) > usd_to(WORKED, target, neocloud)


@given(st.floats(200, 2e5))
def test_marginal_cost_is_the_derivative_of_the_cost_to_target(hours):
    score, h = WORKED.score(hours), 1e-7
    numeric = (usd_to(WORKED, score + h, neocloud) - usd_to(WORKED, score - h, neocloud)) / (2 * h)
    assert float(usd_per_point(WORKED, hours, neocloud)) == pytest.approx(0.01 * float(numeric), rel=1e-3)


def test_cost_to_target_of_a_fit(fitted):
    found = cost_to_target(fitted, 0.55, neocloud)
    assert found.interval.low < usd_to(TRUTH, 0.55, neocloud) < found.interval.high
    assert found.reachable and found.bounded and found.reachable_frac == 1
    assert found.beyond == pytest.approx(found.interval.value / 2.75 / 16000)
    # where the top is well seen, the profile agrees with the bootstrap band read sideways
    ends = band(fitted, np.array([found.interval.low, found.interval.high]) / 2.75)
    assert (ends.high[0], ends.low[1]) == pytest.approx((0.55, 0.55), abs=2e-3)


def test_a_target_above_the_top_is_not_reachable_and_one_near_it_has_no_upper_end(fitted):
    above = cost_to_target(fitted, 0.70, neocloud)
    assert not above.reachable and above.reachable_frac < 0.01 and math.isinf(above.interval.low)
    near = cost_to_target(fitted, fitted.fit.top - 0.002, neocloud)
    assert near.reachable and not near.bounded
    assert 0.3 < near.reachable_frac < 0.975 and math.isfinite(near.interval.low)


def test_one_curve_is_priced_again_on_another_platform(fitted):
    """Tokens buy the score; a platform turns tokens into dollars."""

    def fixed_and_slower(hours):
        return 5000 + 4.10 * hours

    amount = amount_to_target(fitted, 0.55)
    for price in (neocloud, fixed_and_slower):
        usd = cost_to_target(fitted, 0.55, price)
        ends = [float(price(np.float64(v))) for v in (amount.interval.low, amount.interval.high)]
        assert [usd.interval.low, usd.interval.high] == pytest.approx(ends)


def test_draws_of_the_price_are_joint_with_those_of_the_curve(fitted):
    rates = np.random.default_rng(1).lognormal(math.log(2.75), 0.2, 500)
    plain = cost_to_target(fitted, 0.5, neocloud).interval
    joint = cost_to_target(fitted, 0.5, neocloud, lambda hours: rates * hours).interval
    assert joint.value == plain.value
    # product of two nearly log-normal numbers: their log spreads add in squares
    amount = amount_to_target(fitted, 0.5).interval
    spreads = [
        math.log(high / low) for low, high in ((amount.low, amount.high), np.quantile(rates, [0.025, 0.975]))
    ]
    assert math.log(joint.high / joint.low) == pytest.approx(math.hypot(*spreads), rel=0.1)
    assert joint.high - joint.low > 2 * (plain.high - plain.low)


def test_marginal_cost_of_a_fit_and_of_a_flat_curve(fitted):
    found = marginal_cost(fitted, 10e3, neocloud)
    assert found.low < float(usd_per_point(TRUTH, 10e3, neocloud)) < found.high
    # a price that bends at 10,000 h charges what lies ahead
    ahead = marginal_cost(fitted, 10e3, lambda h: 2.75 * h + 2.75 * np.maximum(h - 10e3, 0))
    assert ahead.value == pytest.approx(2 * found.value, rel=1e-6)
    assert math.isinf(float(usd_per_point(Sigmoid(0.4, 0.4, 10.0, 1.0), 5.0, neocloud)))


@given(st.floats(1, 1e9))
def test_a_budget_buys_the_amount_that_costs_it(usd):
    def price(x):
        return 3.0 * x + 0.5 * x**1.5

    found = amount_for(usd, price, 1000.0)
    assert float(price(found)) == pytest.approx(usd, rel=1e-9)


def test_a_budget_below_the_fixed_part_buys_nothing_and_a_free_amount_is_refused():
    assert amount_for(900.0, lambda x: 1000 + x, 10.0) == 0
    with pytest.raises(ValueError, match="check the price"):
        amount_for(900.0, lambda x: 0 * x, 10.0)
    with pytest.raises(ValueError, match="number of USD"):
        usd_to(WORKED, 0.5, lambda x: -x)


def test_forecast_at_a_budget(fitted):
    found = forecast(fitted, 2.75 * 30e3, neocloud, seed=1)
    assert found.amount.value == pytest.approx(30e3) and found.amount.low == found.amount.high
    assert found.score.value == pytest.approx(float(fitted.fit.score(30e3)))
    assert found.score.low < TRUTH.score(30e3) < found.score.high
    # one evaluation more carries its own noise: about 2 x 1.96 x 0.008 wide
    assert found.evaluation.high - found.evaluation.low > max(found.score.high - found.score.low, 0.024)
    dearer = forecast(fitted, 2.75 * 30e3, neocloud, lambda h: np.full(500, 5.5) * h)
    assert dearer.amount.low == pytest.approx(15e3)


def test_stop_line_is_where_a_point_costs_what_it_is_worth():
    worth = float(usd_per_point(WORKED, 20e3, neocloud))
    assert float(stop_amount(WORKED, neocloud, worth, 10, 1e9)) == pytest.approx(20e3, rel=1e-6)
    assert stop_amount(WORKED, neocloud, 1.0, 10, 1e9) == 0
    assert math.isinf(stop_amount(WORKED, lambda h: 0 * h, 1.0, 10, 1e9))


def test_stop_line_takes_the_later_crossing_of_an_s_shape():
    steep = Sigmoid(0.1, 0.9, 1000.0, 4.0)  # the marginal cost falls to the steepest stretch, then rises
    at = float(stop_amount(steep, neocloud, 100.0, 1, 1e8))
    costs = [float(usd_per_point(steep, x, neocloud)) for x in (at * 0.99, at * 1.01)]
    assert at > 1000 and costs[0] < 100 < costs[1]
    assert float(usd_per_point(steep, 200.0, neocloud)) > 100


def test_stop_line_of_a_fit_and_its_verdict(fitted):
    dear = stop_line(fitted, 60_000, neocloud)
    assert dear.verdict == GO_ON and dear.amount.low > 16e3
    assert dear.amount.low < float(stop_amount(TRUTH, neocloud, 60_000, 10, 1e9)) < dear.amount.high
    assert dear.usd.value == pytest.approx(2.75 * dear.amount.value)
    assert dear.score.value == pytest.approx(float(fitted.fit.score(dear.amount.value)))
    cheap = stop_line(fitted, 5_000, neocloud)
    assert cheap.verdict == STOP and cheap.amount.high < 16e3
    never = stop_line(fitted, 1.0, neocloud)
    assert never.amount.high == 0 and never.score.value == pytest.approx(0.3) and never.verdict == STOP
    assert stop_line(fitted, 5_000, neocloud, spent=2000.0).verdict == GO_ON
    with pytest.raises(ValueError, match="more than 0"):
        stop_line(fitted, 0.0, neocloud)


def test_going_on_does_not_pay_when_a_dear_flat_stretch_lies_before_the_points():
    """The line lies ahead, yet what is won up to it is worth less than it costs."""
    late = Sigmoid(*(np.full(200, v) for v in (0.1, 0.2, 50_000.0, 6.0)))
    seen = Origin(Points(np.array([100.0, 1000.0]), np.array([0.1, 0.1])), 0.1, 0.0, 0.0, "residuals", 1)
    curve = Curve(Sigmoid(0.1, 0.2, 50_000.0, 6.0), late, 0.01, 20, 3, 100.0, 1000.0, 1.0, 0.0, seen)
    worth = 1.2 * float(min(usd_per_point(late, x, neocloud)[0] for x in np.linspace(2e4, 9e4, 200)))
    found = stop_line(curve, worth, neocloud)
    assert found.amount.low > 1000 and found.stop_frac == 1
