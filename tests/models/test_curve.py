"""The sigmoid by hand, its fit against an independent optimiser, its band against simulation."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit, lsq_linear

from models.curve import Sigmoid, band, first_held, fit_curve, interval_of
from models.curve_fit import Levels, Points, fit_many, power_family, sigmoid_family, sigmoid_rise

TRUTH = Sigmoid(0.3, 0.61, 2542.0, 1.92)
HOURS = np.linspace(1500, 16000, 27)
sigmoids = st.builds(Sigmoid, st.floats(0, 0.5), st.floats(0.6, 1), st.floats(10, 1e5), st.floats(0.3, 5))


def noisy(seed: int, x: np.ndarray = HOURS, noise: float = 0.008, truth: Sigmoid = TRUTH) -> np.ndarray:
    return truth.score(x) + np.random.default_rng(seed).normal(0, noise, len(x))


def test_sigmoid_by_hand():
    # (x_mid / x)^B: 1 at the midpoint, 4 at half of it and 1/9 at three times it for B = 2
    curve = Sigmoid(0.2, 0.7, 100.0, 2.0)
    assert curve.score(100.0) == pytest.approx(0.45)
    assert curve.score(50.0) == pytest.approx(0.2 + 0.5 / 5)
    assert curve.score(300.0) == pytest.approx(0.2 + 0.5 * 0.9)
    assert curve.score(0.0) == 0.2 and curve.score(np.inf) == 0.7
    assert curve.amount(0.65) == pytest.approx(300.0)
    assert curve.amount(0.2) == 0 and curve.amount(0.1) == 0
    assert np.isinf(curve.amount(0.7)) and np.isinf(curve.amount(0.9))
    # dR/dx at the midpoint: (A - R0) B / (4 x_mid)
    assert curve.slope(100.0) == pytest.approx(0.5 * 2 / 400)


@given(sigmoids, st.floats(0.02, 0.98))
def test_amount_inverts_the_score(curve, part):
    target = curve.start + part * (curve.top - curve.start)
    assert curve.score(curve.amount(target)) == pytest.approx(target, abs=1e-9)


@given(sigmoids, st.floats(0.1, 10))
def test_slope_is_the_derivative(curve, times):
    x, h = curve.mid * times, curve.mid * times * 1e-5
    numeric = (curve.score(x + h) - curve.score(x - h)) / (2 * h)
    assert curve.slope(x) == pytest.approx(float(numeric), rel=1e-4)


@pytest.mark.parametrize("start", [0.3, None])
def test_fit_is_the_least_squares_of_scipy(start):
    for seed in range(3):
        scores = noisy(seed)
        found = fit_many(HOURS, scores[None], np.ones(27), sigmoid_family(HOURS), Levels(start, None))

        def model(x, top, mid, exponent, low=0.3):
            return low + (top - low) / (1 + (mid / x) ** exponent)

        first = [0.6, 2500.0, 1.9] + ([0.3] if start is None else [])
        theirs, _ = curve_fit(model, HOURS, scores, p0=first, xtol=1e-12, ftol=1e-12)
        rss = float(((scores - model(HOURS, *theirs)) ** 2).sum())
        assert found.rss[0] == pytest.approx(rss, rel=1e-6)
        assert found.upper[0] == pytest.approx(theirs[0], abs=1e-4)
        assert np.exp(found.shape[0]) == pytest.approx(theirs[1:3], rel=2e-3)


def test_exact_scores_give_the_curve_back():
    got = fit_curve(Points(HOURS, TRUTH.score(HOURS)), 0.3, seed=1, draws=100).fit
    assert (got.start, got.top) == pytest.approx((0.3, 0.61), abs=1e-6)
    assert (got.mid, got.exponent) == pytest.approx((2542, 1.92), rel=1e-4)


def test_copies_are_fitted_each_for_itself():
    scores = np.stack([noisy(seed) for seed in range(1203)])
    family, levels = sigmoid_family(HOURS), Levels(0.3, None)
    together = fit_many(HOURS, scores, np.ones(27), family, levels)
    for row in (0, 999, 1000, 1202):  # both sides of a chunk
        alone = fit_many(HOURS, scores[row : row + 1], np.ones(27), family, levels)
        assert together.upper[row] == pytest.approx(alone.upper[0], abs=1e-9)
        assert together.rss[row] == pytest.approx(alone.rss[0], rel=1e-9)


@given(st.integers(0, 10_000), st.booleans())
def test_levels_are_the_bounded_least_squares(seed, wild):
    """Against scipy's bounded linear solver; below lower = upper only the common level is left."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(1, 100, 12))
    shape = np.array([[np.log(20.0), np.log(1.5)]])
    scores = rng.uniform(-0.5, 1.5, 12) if wild else rng.uniform(0, 1, 12)
    weights = rng.uniform(0.2, 3, 12)
    family = sigmoid_family(x)
    frozen = type(family)("one shape", family.rise, np.repeat(shape.T, 2, axis=1), (1, 1), 2)
    found = fit_many(x, scores[None], weights, frozen, Levels(None, None))
    rise, root = sigmoid_rise(x, shape)[0], np.sqrt(weights)
    box = lsq_linear(np.stack([1 - rise, rise], axis=1) * root[:, None], scores * root, (0, 1), tol=1e-14).x
    if box[0] > box[1]:
        box = np.full(2, np.clip(np.average(scores, weights=weights), 0, 1))
    best = float((weights * (scores - box[0] - (box[1] - box[0]) * rise) ** 2).sum())
    assert found.rss[0] == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert 0 <= found.lower[0] <= found.upper[0] <= 1


def test_power_law_by_hand():
    # distance to 1 halves with every fourfold amount: k = 0.5
    x = np.array([1.0, 4.0, 16.0, 64.0, 256.0])
    scores = 1 - 0.8 * x**-0.5
    found = fit_many(x, scores[None], np.ones(5), power_family(x), Levels(None, 1.0))
    assert (found.lower[0], np.exp(found.shape[0, 0])) == pytest.approx((0.2, 0.5), rel=1e-5)


def test_a_worthless_evaluation_does_not_move_the_fit():
    scores, se = noisy(3), np.full(27, 0.008)
    scores[10], se[10] = 0.9, 1e3
    rest = np.arange(27) != 10
    with_it = fit_curve(Points(HOURS, scores, se), 0.3, seed=1, draws=100).fit
    without = fit_curve(Points(HOURS[rest], scores[rest]), 0.3, seed=1, draws=100).fit
    assert with_it.top == pytest.approx(without.top, abs=1e-5)


def test_scores_that_never_rise_are_flat_and_early_ones_do_not_bound_the_top():
    flat = fit_curve(Points(HOURS, 0.3 - 1e-6 * HOURS), 0.3, seed=1)
    assert flat.fit.top == flat.fit.start == 0.3
    early = np.linspace(200, 1500, 14)
    open_ended = fit_curve(Points(early, noisy(5, early, 0.01)), 0.3, seed=1)
    assert not open_ended.top_seen and interval_of(0, open_ended.draws.top, 14).high == 1.0
    assert fit_curve(Points(HOURS, noisy(5)), 0.3, seed=1).top_seen


def test_band_narrows_with_noise_and_widens_with_an_uncertain_start():
    at = np.array([500.0, 5000.0, 50000.0])

    def width(noise: float = 0.008, start_se: float = 0.0, **more: str) -> np.ndarray:
        made = fit_curve(Points(HOURS, noisy(7, noise=noise)), 0.3, seed=2, start_se=start_se, **more)
        found = band(made, at)
        assert (found.low <= found.score).all() and (found.score <= found.high).all()
        return found.high - found.low

    assert (width(0.016) > 1.6 * width(0.008)).all()
    assert width(start_se=0.05)[0] > 2 * width()[0]
    assert width(bootstrap="residual") == pytest.approx(width(), rel=0.4)


def test_stated_noise_is_taken_as_it_stands():
    scores = noisy(7)
    widths = []
    for factor in (1, 3):
        points = Points(HOURS, scores, np.full(27, 0.008 * factor))
        made = fit_curve(points, 0.3, seed=2, noise="stated")
        assert made.noise_sd == pytest.approx(0.008 * factor)
        found = band(made, np.array([16000.0]))
        widths.append(float((found.high - found.low)[0]))
    assert widths[1] / widths[0] == pytest.approx(3, rel=0.15)


def test_the_same_seed_gives_the_same_band():
    made = [fit_curve(Points(HOURS, noisy(7)), 0.3, seed=s, draws=100).draws.top for s in (4, 4, 5)]
    assert (made[0] == made[1]).all() and (made[0] != made[2]).any()


def test_interval_by_order_statistics_may_be_open():
    draws = np.append(np.arange(1.0, 100.0), np.inf)
    found = interval_of(50.0, draws, 7, 0.9)
    assert (found.low, found.high, found.n) == (5.0, 96.0, 7)
    assert np.isinf(interval_of(50.0, draws, 7, 0.99).high)
    with pytest.raises(ValueError, match="known draws"):
        interval_of(1.0, np.array([1.0, np.nan]), 2)


@pytest.mark.parametrize(
    ("campaigns", "least"), [(60, 0.85), pytest.param(400, 0.915, marks=pytest.mark.full)]
)
def test_top_and_amount_to_target_are_covered(campaigns, least):
    """Nominal 95 %, noise not told to the fit; 60 campaigns of 95 % rarely fall under 0.85."""
    tops, amounts = [], []
    for seed in range(campaigns):
        made = fit_curve(Points(HOURS, noisy(seed)), 0.3, seed=seed, draws=200)
        top = interval_of(0, made.draws.top, 27)
        amount = interval_of(0, made.draws.amount(0.58), 27)
        tops.append(top.low <= 0.61 <= top.high)
        amounts.append(amount.low <= TRUTH.amount(0.58) <= amount.high)
    assert np.mean(tops) >= least and np.mean(amounts) >= least


def test_the_interval_of_an_amount_inverts_the_band():
    """The curves rise, so x(R) <= x in as many draws as R(x) >= R: both intervals are one."""
    made = fit_curve(Points(HOURS, noisy(7)), 0.3, seed=2)
    amount = interval_of(0, made.draws.amount(0.55), 27)
    ends = band(made, np.array([amount.low, amount.high]))
    assert (ends.high[0], ends.low[1]) == pytest.approx((0.55, 0.55), abs=2e-4)


def test_five_hundred_refits_are_quick():
    started = time.process_time()
    fit_curve(Points(np.linspace(1500, 16000, 30), noisy(1, np.linspace(1500, 16000, 30))), None, seed=1)
    assert time.process_time() - started < 1.5


def test_first_held_reads_the_evaluations_themselves():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    low, high = np.array([0.4, 0.52, 0.45, 0.6]), np.array([0.5, 0.6, 0.55, 0.7])
    assert first_held(x, low, high, 0.5) == 2.0
    assert first_held(x, low, np.array([0.5, 0.6, 0.48, 0.7]), 0.5) == 4.0
    assert first_held(x[::-1], low[::-1], high[::-1], 0.5) == 2.0
    assert first_held(x, low, high, 0.65) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": HOURS - 1500}, "above 0"),
        ({"score": HOURS[:3]}, "one shape"),
        ({"score": np.full(27, np.nan)}, "known numbers"),
        ({"se": np.zeros(27)}, "standard errors"),
    ],
)
def test_points_that_cannot_be_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        Points(**{"x": HOURS, "score": noisy(1), **change})


def test_what_cannot_be_fitted_is_refused():
    points = Points(HOURS, noisy(1))
    with pytest.raises(ValueError, match="5 evaluations at 3 or more"):
        fit_curve(points.part(0, 4), 0.3, seed=1)
    with pytest.raises(ValueError, match="5 evaluations at 3 or more"):
        fit_curve(Points(np.repeat([10.0, 20.0], 5), np.full(10, 0.5)), 0.3, seed=1)
    with pytest.raises(ValueError, match=r"0\.\.1: .* give the ends"):
        fit_curve(Points(HOURS, 100 * noisy(1)), 30.0, seed=1)
    with pytest.raises(ValueError, match="standard errors"):
        fit_curve(points, 0.3, seed=1, noise="stated")
    with pytest.raises(ValueError, match="known start"):
        fit_curve(points, None, seed=1, start_se=0.1)
    with pytest.raises(ValueError, match="100 draws"):
        fit_curve(points, 0.3, seed=1, draws=10)


def test_percent_scales_are_fitted_with_their_own_ends():
    in_points = fit_curve(Points(HOURS, 100 * noisy(1)), 30.0, seed=1, ceiling=100.0)
    fractions = fit_curve(Points(HOURS, noisy(1)), 0.3, seed=1)
    assert in_points.fit.top == pytest.approx(100 * fractions.fit.top, rel=1e-4)
