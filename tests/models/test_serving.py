"""Build and serve: the worked example to its printed digits, hand-worked costs, open intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.curve import interval_of
from models.serving import (
    Served,
    break_even,
    break_even_successes,
    lifetime_usd_per_success,
    paired_share_draws,
    serving_usd_per_mtok,
    share_draws,
    usd_per_attempt,
    usd_per_success,
)


def test_worked_build_and_serve():
    """$58k campaign, $1.20 an attempt, pass rate .635 > .717."""
    before, after = usd_per_success(1.20, 0.635), usd_per_success(1.20, 0.717)
    assert (f"{before:.2f}", f"{after:.2f}", f"{before - after:.3f}") == ("1.89", "1.67", "0.216")
    solved = break_even_successes(58_000, before, after)
    assert f"{solved / 1e3:.0f}k" == "268k"
    longer = usd_per_success(1.20 * 1.15, 0.717)  # 15 % more tokens an attempt
    assert f"{longer:.2f}" == "1.92"
    assert math.isinf(break_even_successes(58_000, before, longer))


def test_serving_price_by_hand():
    # $2 an hour at 1,000 tokens/s: 3.6 million tokens an hour
    assert serving_usd_per_mtok(2.0, 1000.0) == pytest.approx(2 / 3.6)
    assert serving_usd_per_mtok(2.0, 1000.0, 0.25) == pytest.approx(8 / 3.6)
    assert serving_usd_per_mtok(np.array([2.0, 4.0]), 1000.0) == pytest.approx([2 / 3.6, 4 / 3.6])


def test_attempt_by_hand():
    # 250k prompt tokens at $0.40, 30k generated at $2, sandbox 4 cents
    assert usd_per_attempt(250e3, 30e3, 0.40, 2.0, 0.04) == pytest.approx(0.10 + 0.06 + 0.04)


def test_lifetime_cost_by_hand():
    # (1000 + 500 x 2) / (500 x 0.8)
    assert lifetime_usd_per_success(1000, 500, 2.0, 0.8) == pytest.approx(5.0)
    assert math.isinf(lifetime_usd_per_success(1000, 0, 2.0, 0.8))
    assert math.isinf(usd_per_success(1.2, 0.0)) and math.isinf(lifetime_usd_per_success(1, 10, 1.0, 0.0))


@given(st.floats(1, 1e6), st.floats(0.1, 5), st.floats(0.05, 0.9), st.floats(0.01, 0.1))
def test_at_the_break_even_volume_both_models_cost_the_same(campaign, usd, share, more):
    before = usd_per_success(usd, share)
    solved = break_even_successes(campaign, before, usd_per_success(usd, share + more))
    attempts = solved / (share + more)
    assert lifetime_usd_per_success(campaign, attempts, usd, share + more) == pytest.approx(before)
    assert lifetime_usd_per_success(campaign, attempts * 1.1, usd, share + more) < before


@given(st.floats(1, 1e6), st.floats(0, 1e6))
def test_lifetime_cost_falls_with_volume_to_the_cost_of_pass(attempts, more):
    less, lots = (lifetime_usd_per_success(5e4, n, 1.2, 0.7) for n in (attempts, attempts + more))
    assert lots <= less and lots > usd_per_success(1.2, 0.7)


def test_a_model_that_never_passed_is_paid_back_at_once_and_one_that_never_will_never():
    assert break_even_successes(100, math.inf, 2.0) == 0
    assert math.isinf(break_even_successes(100, 2.0, math.inf))
    assert math.isinf(break_even_successes(100, math.inf, math.inf))


def served(usd: float, share: float, draws: np.ndarray) -> Served:
    return Served(usd, share, np.full(draws.shape, usd), draws)


def test_break_even_with_its_interval():
    """500 tasks cannot rule out that +8.2 points never pay; 50,000 tasks can."""
    made = []
    for n in (500, 50_000):
        before, after = paired_share_draws(0.635 * n, 0.717 * n, n, 0.5, 8000, seed=1)
        prices = np.full(8000, 58_000.0)
        made.append(break_even(58_000, prices, served(1.2, 0.635, before), served(1.2, 0.717, after), n))
    few, many = made
    assert few.successes.value == many.successes.value == pytest.approx(268_368, rel=1e-4)
    assert few.attempts.value == pytest.approx(few.successes.value / 0.717)
    assert few.saving_usd.low > 0 and few.never_frac < 0.001  # z = 3.9 at a correlation of 0.5
    assert few.successes.low < many.successes.low < 268_368 < many.successes.high < few.successes.high
    # dearer attempts: the saving vanishes, and whether it ever pays is open
    before, after = paired_share_draws(317.5, 358.5, 500, 0.5, 8000, seed=1)
    dearer = break_even(
        58_000, np.full(8000, 58_000.0), served(1.2, 0.635, before), served(1.38, 0.717, after), 500
    )
    assert math.isinf(dearer.successes.value) and math.isinf(dearer.successes.high)
    assert 0.5 < dearer.never_frac < 0.975 and math.isfinite(dearer.successes.low)


def test_shares_are_drawn_from_the_jeffreys_interval():
    # Brown, Cai and DasGupta 2001, table 5: n = 10, x = 3 -> 0.093 to 0.606
    found = interval_of(0.3, share_draws(3, 10, 200_000, seed=1), 10)
    assert (found.low, found.high) == pytest.approx((0.093, 0.606), abs=0.004)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_paired_shares_have_the_variance_of_a_paired_difference(correlation):
    """Variance of the difference of means: (p1 q1 + p0 q0 - 2 rho sqrt(p1 q1 p0 q0)) / n."""
    before, after = paired_share_draws(317.5, 358.5, 500, correlation, 100_000, seed=2)
    v0, v1 = 0.635 * 0.365, 0.717 * 0.283
    expected = math.sqrt((v0 + v1 - 2 * correlation * math.sqrt(v0 * v1)) / 500)
    assert (after - before).std() == pytest.approx(expected, rel=0.02)
    assert (after - before).mean() == pytest.approx(0.082, abs=1e-3)


def test_impossible_numbers_are_refused():
    with pytest.raises(ValueError, match="tokens/s above 0"):
        serving_usd_per_mtok(2.0, 0.0)
    with pytest.raises(ValueError, match="tokens/s above 0"):
        serving_usd_per_mtok(2.0, 10.0, 1.2)
    with pytest.raises(ValueError, match="0 or more"):
        serving_usd_per_mtok(math.nan, 10.0)
    with pytest.raises(ValueError, match=r"0\.\.1"):
        usd_per_success(1.0, 71.7)
    with pytest.raises(ValueError, match="passed <= n"):
        share_draws(11, 10, 100, seed=1)
    with pytest.raises(ValueError, match="correlation"):
        paired_share_draws(1, 2, 10, 1.5, 100, seed=1)
