"""Cost to hold: by hand, against a simulation of its own, and what cannot be held; USD per million tokens."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.curve import Sigmoid
from models.hold import (
    Cycle,
    Decay,
    cheapest_cycle,
    decay_of,
    gain_per_usd_from_tokens,
    hold,
    hold_interval,
    simulate_hold,
    token_cost,
)

HALVING = Decay("exponential", math.log(2) / 30, 0.4)  # the distance to 0.4 halves in 30 days
LINEAR = Decay("linear", 0.001)
CYCLE = Cycle(gain=0.05, usd=12_000.0, days=2.0, top=0.75)


def test_decay_by_hand():
    assert HALVING.after(0.8, 30) == pytest.approx(0.6) and HALVING.after(0.8, 60) == pytest.approx(0.5)
    assert HALVING.days(0.8, 0.5) == pytest.approx(60)
    assert HALVING.after(0.3, 10) == 0.3  # below the floor nothing is left to lose
    assert LINEAR.after(0.7, 50) == pytest.approx(0.65) and LINEAR.days(0.7, 0.65) == pytest.approx(50)
    assert LINEAR.days(0.6, 0.7) == 0 and math.isinf(HALVING.days(0.8, 0.4))


def test_decay_from_what_was_lost():
    assert decay_of("exponential", 0.8, 0.6, 30, 0.4).rate == pytest.approx(math.log(2) / 30)
    assert decay_of("linear", 0.8, 0.6, 100).rate == pytest.approx(0.002)
    with pytest.raises(ValueError, match="floor < after"):
        decay_of("exponential", 0.8, 0.4, 30, 0.4)
    with pytest.raises(ValueError, match="after <= before"):
        decay_of("linear", 0.6, 0.8, 30)


def test_hold_by_hand():
    # linear: 5 points last 50 days, $12,000 / 50
    found = hold(0.65, LINEAR, CYCLE)
    assert (found.period_days, found.usd_per_day) == (pytest.approx(50), pytest.approx(240))
    assert found.usd_per(7) == pytest.approx(1680)
    # the top leaves 3 of the 5 points
    assert hold(0.72, LINEAR, CYCLE).usd_per_day == pytest.approx(400)
    # exponential: from 0.70 to 0.65 over the floor 0.4: 30 log2(0.30 / 0.25) = 7.891 days
    assert hold(0.65, HALVING, CYCLE).period_days == pytest.approx(7.891, abs=1e-3)
    assert hold(0.65, HALVING, CYCLE).usd_per_day == pytest.approx(12_000 / 7.891, rel=1e-4)


def test_what_cannot_be_held_and_what_holds_itself():
    assert math.isinf(hold(0.75, LINEAR, CYCLE).usd_per_day)  # no room below the top
    assert math.isinf(hold(0.9, Decay("linear", 0.0), CYCLE).usd_per_day)  # above the top even without decay
    assert math.isinf(
        hold(0.65, Decay("linear", 0.03), CYCLE).usd_per_day
    )  # gone in 1.7 days, a cycle takes 2
    assert math.isinf(hold(0.65, LINEAR, Cycle(0.0, 1.0)).usd_per_day)
    assert hold(0.65, Decay("linear", 0.0), CYCLE).usd_per_day == 0
    assert hold(0.39, HALVING, CYCLE).usd_per_day == 0 and math.isinf(hold(0.39, HALVING, CYCLE).period_days)
    with pytest.raises(ValueError, match="0 or more"):
        hold(0.6, LINEAR, Cycle(-0.1, 1.0))
    with pytest.raises(ValueError, match="decay rate"):
        hold(0.6, Decay("linear", -0.1), CYCLE)


def lived(target: float, decay: Decay, cycle: Cycle, days: float, step: float) -> tuple[float, float]:
    """(USD a day, lowest score) from Euler steps of dS/dt, written without the closed form."""
    score, spent, lowest = target + 1e-9, 0.0, math.inf
    for _ in range(round(days / step)):
        rate = decay.rate * (score - decay.floor) if decay.law == "exponential" else decay.rate
        if score - rate * step < target:
            score = min(cycle.top, score + cycle.gain)
            spent += cycle.usd
        score -= rate * step
        lowest = min(lowest, score)
    return spent / days, lowest


@pytest.mark.parametrize("decay", [HALVING, LINEAR], ids=["exponential", "linear"])
@pytest.mark.parametrize("target", [0.60, 0.72])
def test_closed_form_is_what_a_simulated_year_costs(decay, target):
    closed = float(hold(target, decay, CYCLE).usd_per_day)
    period = float(hold(target, decay, CYCLE).period_days)
    days = 19.99 * period  # 20 cycles: the first is paid on day 0
    usd, lowest = lived(target, decay, CYCLE, days, period / 2000)
    assert usd == pytest.approx(closed, rel=0.005) and lowest >= target - 1e-6
    drawn = simulate_hold(target, decay, CYCLE, days, period / 500, target)
    assert drawn.usd / days == pytest.approx(closed, rel=0.01)
    assert drawn.scores.min() >= target - 1e-9 and drawn.scores.max() <= CYCLE.top
    assert len(drawn.cycle_days) * CYCLE.usd == drawn.usd


def test_simulated_score_falls_through_when_cycles_come_too_slowly():
    slow = Cycle(gain=0.05, usd=1.0, days=80.0, top=0.75)
    assert math.isinf(hold(0.65, LINEAR, slow).usd_per_day)
    seen = simulate_hold(0.65, LINEAR, slow, 800, 0.1, 0.65)
    assert seen.scores.min() < 0.60 and np.diff(seen.cycle_days).min() >= 80 - 1e-9
    with pytest.raises(ValueError, match="step"):
        simulate_hold(0.65, LINEAR, CYCLE, 1.0, 2.0, 0.65)


def test_no_other_schedule_is_cheaper():
    """Cycles run earlier, from higher up, never cost less a day."""
    best = float(hold(0.6, HALVING, CYCLE).usd_per_day)
    for early in (0.605, 0.63, 0.68, 0.72):
        assert float(hold(early, HALVING, CYCLE).usd_per_day) > best


@given(st.floats(0.45, 0.7), st.floats(0.001, 0.04), st.floats(0.001, 0.05), st.floats(1.05, 3))
def test_holding_more_against_faster_decay_costs_more(target, more, rate, faster):
    cycle = Cycle(0.05, 1000.0, 0.0, 0.8)
    base = hold(target, Decay("exponential", rate, 0.4), cycle).usd_per_day
    assert hold(target + more, Decay("exponential", rate, 0.4), cycle).usd_per_day > base
    quick = hold(target, Decay("exponential", rate * faster, 0.4), cycle).usd_per_day
    assert quick == pytest.approx(faster * base)


def test_cheapest_cycle_is_the_economic_order_quantity():
    # linear decay, cycle USD = 900 + 10^6 rise^2: USD a day = rate (900 / r + 10^6 r), least at r = 0.03
    peaks = np.linspace(0.601, 0.75, 1491)
    peak, found = cheapest_cycle(0.6, LINEAR, peaks, lambda p: 900 + 1e6 * (p - 0.6) ** 2)
    assert peak == pytest.approx(0.63, abs=1e-4)
    assert found.usd_per_day == pytest.approx(0.001 * (900 / 0.03 + 1e6 * 0.03))
    assert found.period_days == pytest.approx(30, rel=1e-2)


def test_cheapest_cycle_on_a_learning_curve_stays_below_its_top():
    curve = Sigmoid(0.4, 0.72, 8000.0, 1.2)

    def usd(peaks):
        return 2000 + 2.75 * (curve.amount(peaks) - curve.amount(0.6))

    peak, found = cheapest_cycle(0.6, HALVING, np.linspace(0.601, 0.719, 300), usd)
    assert 0.601 < peak < 0.719 and 0 < found.usd_per_day < math.inf
    dearer, _ = cheapest_cycle(0.6, HALVING, np.linspace(0.601, 0.719, 300), lambda p: usd(p) + 20_000)
    assert dearer > peak  # a dearer start is spread over a larger cycle


def test_hold_interval_from_joint_draws():
    rng = np.random.default_rng(1)
    rates, usd = rng.lognormal(math.log(0.001), 0.2, 4000), rng.lognormal(math.log(12_000), 0.1, 4000)
    drawn = (Decay("linear", rates), Cycle(0.05, usd, 2.0, 0.75))
    found = hold_interval(0.65, (LINEAR, CYCLE), drawn, 7, 12)
    assert found.value == pytest.approx(1680) and found.n == 12
    # product of two log-normals: spread sqrt(0.2^2 + 0.1^2)
    spread = 1.96 * math.hypot(0.2, 0.1)
    assert (found.low, found.high) == pytest.approx(
        (1680 * math.exp(-spread), 1680 * math.exp(spread)), rel=0.04
    )
    near = (Decay("linear", rates * 20), Cycle(0.05, usd, 2.0, 0.75))
    assert math.isinf(hold_interval(0.65, (LINEAR, CYCLE), near, 7, 12).high)


def test_token_cost_by_hand():
    # $500 for 2 billion generated tokens of which 1.25 billion were trained on
    found = token_cost(500.0, 2e9, 1.25e9)
    assert (found.usd_per_mtok_generated, found.usd_per_mtok_trained) == pytest.approx((0.25, 0.4))
    assert math.isinf(token_cost(500.0, 2e9, 0.0).usd_per_mtok_trained)
    with pytest.raises(ValueError, match="0 or more"):
        token_cost(-1.0, 1.0, 1.0)


@given(st.floats(1, 1e6), st.floats(1e6, 1e12), st.floats(-0.1, 0.3))
def test_gain_per_dollar_follows_from_the_price_of_tokens(usd, tokens, gain):
    price = token_cost(usd, tokens, tokens).usd_per_mtok_generated
    assert gain_per_usd_from_tokens(gain, tokens, price) == pytest.approx(gain / usd)


def test_gain_per_dollar_needs_tokens():
    with pytest.raises(ValueError, match="above 0"):
        gain_per_usd_from_tokens(0.1, 0.0, 1.0)
