"""Weighted gains and the best of many from totals, by hand."""

import math

import pytest

from models.clustered import clustered_gain
from models.stats import Interval, newcombe
from models.weighting import best_of_paired, best_of_totals, weighted_gain


def test_two_gains_by_hand() -> None:
    """3 : 1 of +4 (1 to 7) and -2 (-4 to 1): 3 - 0.5; arms hypot(2.25, 0.5) and hypot(2.25, 0.75)."""
    found = weighted_gain([Interval(4, 1, 7, 500), Interval(-2, -4, 1, 100)], [3, 1])
    assert (found.value, found.n) == (2.5, 600)
    assert found.low == pytest.approx(2.5 - math.sqrt(2.25**2 + 0.5**2))
    assert found.high == pytest.approx(2.5 + math.sqrt(2.25**2 + 0.75**2))


def test_one_benchmark_keeps_its_interval_at_any_weight() -> None:
    one = Interval(0.08, 0.03, 0.12, 500)
    found = weighted_gain([one, Interval(0.5, 0.1, 0.9, 10)], [7, 0])
    assert (found.value, found.low, found.high) == pytest.approx((0.08, 0.03, 0.12))


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, 2.0], [1.0], [math.nan, 1.0]])
def test_weights_that_mean_nothing_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weight"):
        weighted_gain([Interval(0.1, 0, 0.2, 9)] * 2, weights)


def test_best_of_totals_by_hand() -> None:
    """Two of 500 tasks at 0.7: se 0.020494; E max of two normals 1 / sqrt(pi): 1.156 points less."""
    got, inflation = best_of_totals(0.7, 0.6, 500, 500, 2)
    assert inflation == pytest.approx(math.sqrt(0.21 / 500) / math.sqrt(math.pi), rel=1e-6)
    assert got.value == pytest.approx(0.1 - inflation)
    assert got.low == pytest.approx(newcombe(350, 500, 300, 500, 0.975).low)
    assert got.high == pytest.approx(newcombe(350, 500, 300, 500).high)


def test_a_single_candidate_is_not_corrected() -> None:
    got, inflation = best_of_totals(0.7, 0.6, 500, 500, 1)
    assert inflation == 0
    assert (got.low, got.high) == pytest.approx(
        (newcombe(350, 500, 300, 500).low, newcombe(350, 500, 300, 500).high)
    )


def test_best_of_paired_by_hand() -> None:
    """Eight changes of mean 0.15, two candidates: E max is 1 / sqrt(pi); one candidate is not corrected."""
    got, inflation = best_of_paired([1, 0, 0, 0.2], None, 1)
    assert (got.value, inflation) == pytest.approx((0.3, 0.0))
    changes = [0.5, 0.1, 0.1, -0.1, 0.2, 0.0, 0.3, 0.1]
    se = math.sqrt(sum((c - 0.15) ** 2 for c in changes) / 7 / 8)
    got, inflation = best_of_paired(changes, None, 2)
    assert inflation == pytest.approx(se / math.sqrt(math.pi))
    assert got.value == pytest.approx(0.15 - inflation)
    assert got.low == pytest.approx(0.15 - 2.841244 * se, rel=1e-5)  # t(0.9875) at 7 degrees of freedom
    assert got.high == pytest.approx(0.15 + 2.364624 * se, rel=1e-5)


def test_detectable_change_of_paired_tasks_by_hand() -> None:
    """Changes 1, 0, 0, -1: sd sqrt(2/3), se 0.408; df 3: t(0.975) 3.1824, t(0.8) 0.97847."""
    found = clustered_gain([1, 0, 0, -1], method="cr2_t", draws=100)
    assert found.detectable() == pytest.approx((3.182446 + 0.978472) * math.sqrt(2 / 3) / 2, rel=1e-5)
    nothing = clustered_gain([0.0] * 30, draws=100)
    assert nothing.detectable() == pytest.approx(1 - 0.05 ** (1 / 30))
