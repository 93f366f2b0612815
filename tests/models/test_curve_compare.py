"""Warm-up found where it was put and nowhere else; rivals told apart on evaluations that no fit saw."""

import numpy as np
import pytest

from models.curve import Sigmoid
from models.curve_compare import BOTH, POWER, POWER_TO_TOP, SIGMOID, compare, warm_up
from models.curve_fit import Points

TRUTH = Sigmoid(0.3, 0.61, 2542.0, 1.92)
HOURS = np.linspace(500, 16000, 32)


def scores(seed: int, x: np.ndarray = HOURS, noise: float = 0.008) -> np.ndarray:
    return TRUTH.score(x) + np.random.default_rng(seed).normal(0, noise, len(x))


def test_a_clean_curve_has_no_warm_up():
    dropped = [warm_up(Points(HOURS, scores(seed)), 0.3).left_out for seed in range(8)]
    assert sum(n > 0 for n in dropped) <= 1  # 1 % each
    exact = warm_up(Points(HOURS, TRUTH.score(HOURS)), 0.3)
    assert (exact.left_out, exact.x_from, exact.settled) == (0, 500.0, True)


def test_a_slow_beginning_is_left_out():
    found = []
    for seed in range(8):
        seen = scores(seed)
        seen[:4] -= np.array([0.06, 0.06, 0.05, 0.05])
        found.append(warm_up(Points(HOURS, seen), 0.3))
    assert np.median([f.left_out for f in found]) == 4
    assert min(f.left_out for f in found) >= 4
    assert found[0].x_from == HOURS[found[0].left_out] and "F test" in found[0].rule


def test_a_run_that_is_no_curve_does_not_settle():
    seen = scores(1)
    seen[:13] += 0.06 * (-1) ** np.arange(13)  # three more than a third of the evaluations
    assert not warm_up(Points(HOURS, seen), 0.3).settled


def test_too_few_evaluations_have_no_warm_up_rule():
    with pytest.raises(ValueError, match="6 evaluations"):
        warm_up(Points(HOURS[:5], scores(1)[:5]), 0.3)


def test_a_sigmoid_is_told_from_power_laws_out_of_sample():
    found = compare(Points(HOURS, scores(3)), 0.3, seed=1, copies=200)
    assert (found.n_fitted, found.n_held_out) == (21, 11)
    assert [r.name for r in found.rivals] == [POWER, POWER_TO_TOP]
    assert [r.verdict for r in found.rivals] == [SIGMOID, SIGMOID]
    assert all(r.rmse > found.rmse for r in found.rivals)
    assert found.rivals[0].difference == pytest.approx(found.rivals[0].rmse ** 2 - found.rmse**2)
    assert found.noise_sd == pytest.approx(0.008, rel=0.35)


def test_a_power_law_is_told_from_a_sigmoid():
    seen = 1 - 0.7 * (HOURS / 500) ** -0.25 + np.random.default_rng(2).normal(0, 0.008, 32)
    found = compare(Points(HOURS, seen), 0.2, seed=1, copies=200)
    assert found.rivals[0].verdict == POWER and found.rivals[0].rmse < found.rmse


def test_few_noisy_evaluations_cannot_tell():
    x = HOURS[:12]
    found = [compare(Points(x, scores(seed, x, 0.03)), 0.3, seed=1, copies=100) for seed in range(3)]
    verdicts = [r.verdict for c in found for r in c.rivals]
    assert verdicts.count(BOTH) >= 4  # each of the six is wrong in about one of twenty


def test_the_held_out_third_is_not_seen_by_the_fit():
    """Held-out scores moved by a constant change the error and not the curve it is measured from."""
    seen = scores(3)
    moved = seen.copy()
    moved[21:] += 0.05
    plain, shifted = (compare(Points(HOURS, s), 0.3, seed=1, copies=100) for s in (seen, moved))
    bias = (shifted.rmse**2 - plain.rmse**2 - 0.05**2) / (2 * 0.05)
    assert abs(bias) <= plain.rmse  # mean of the same residuals
    with pytest.raises(ValueError, match="9 evaluations"):
        compare(Points(HOURS[:8], seen[:8]), 0.3, seed=1)


def test_a_scale_without_an_end_has_no_power_law_to_its_end():
    found = compare(Points(HOURS, 100 * scores(3)), 30.0, seed=1, ceiling=np.inf, copies=100)
    assert [r.name for r in found.rivals] == [POWER_TO_TOP]
