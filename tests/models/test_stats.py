"""Intervals against published figures, hand calculations and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from models import stats

counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_standard_error_of_a_pass_rate() -> None:
    assert stats.se_share(0.635, 500) == pytest.approx(0.0215, abs=5e-5)
    assert stats.se_share(0.717, 500) == pytest.approx(0.0201, abs=5e-5)


def test_wilson_of_a_printed_score() -> None:
    found = stats.wilson(0.717 * 500, 500)
    assert (round(100 * found.low, 1), round(100 * found.high, 1)) == (67.6, 75.5)


@given(counts)
def test_wilson_agrees_with_scipy(pair: tuple[int, int]) -> None:
    passed, n = pair
    ours = stats.wilson(passed, n)
    theirs = reference.binomtest(passed, n).proportion_ci(method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert ours.low - 1e-12 <= ours.value <= ours.high + 1e-12


def test_newcombe_textbook() -> None:
    # Newcombe 1998, table II: 56/70 against 48/80, method 10
    found = stats.newcombe(56, 70, 48, 80)
    assert (round(found.value, 4), round(found.low, 4), round(found.high, 4)) == (0.2, 0.0524, 0.3339)
    assert found.excludes_zero
    # and its small table: 9/10 against 3/10
    small = stats.newcombe(9, 10, 3, 10)
    assert (round(small.low, 4), round(small.high, 4)) == (0.1705, 0.8090)


@given(counts, counts)
def test_newcombe_is_antisymmetric(a: tuple[int, int], b: tuple[int, int]) -> None:
    one, two = stats.newcombe(*a, *b), stats.newcombe(*b, *a)
    assert (one.low, one.high) == pytest.approx((-two.high, -two.low), abs=1e-12)
    assert -1 - 1e-9 <= one.low <= one.value + 1e-12 and one.value <= one.high + 1e-12


@pytest.mark.parametrize(
    ("n", "before", "after", "low", "high"),
    [
        (500, 0.635, 0.658, -1.9, 6.5),
        (114, 0.557, 0.827, 18.8, 35.2),
        (454, 0.855, 0.874, -1.2, 5.0),
        (2158, 0.197, 0.256, 4.1, 7.7),
        (400, 0.851, 0.845, -4.1, 2.9),
    ],
)
def test_worked_example_of_published_scores(
    n: int, before: float, after: float, low: float, high: float
) -> None:
    found = stats.gain_assuming_correlation(after, before, n, 0.5)
    assert (round(100 * found.low, 1), round(100 * found.high, 1)) == (low, high)
    assert found.excludes_zero == (low > 0)


def test_log_odds_of_published_scores() -> None:
    assert stats.log_odds_gain(0.658, 0.635) == pytest.approx(0.10, abs=0.005)
    assert stats.log_odds_gain(0.827, 0.557) == pytest.approx(1.34, abs=0.005)
    assert stats.log_odds_gain(1.0, 0.5) == math.inf


def test_detectable_difference_near_seventy_percent() -> None:
    share = 0.7
    assert 100 * stats.minimum_detectable_difference(share, 500) == pytest.approx(8.1, abs=0.05)
    assert 100 * stats.minimum_detectable_difference(share, 500, 0.5) == pytest.approx(5.7, abs=0.05)
    assert 100 * stats.minimum_detectable_difference(share, 500, 0.7) == pytest.approx(4.4, abs=0.05)


def test_a_difference_of_that_size_is_found_four_times_in_five() -> None:
    n, before = 500, 0.6
    size = stats.minimum_detectable_difference(0.635, n)
    rng = np.random.default_rng(5)
    first, second = rng.binomial(n, before, 2000), rng.binomial(n, before + size, 2000)
    found = [stats.newcombe(b, n, a, n).excludes_zero for a, b in zip(first, second, strict=True)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)


def test_paired_bootstrap_is_as_wide_as_theory_says() -> None:
    rng = np.random.default_rng(1)
    before = rng.random(400) < 0.6
    after = np.where(rng.random(400) < 0.8, before, rng.random(400) < 0.7)
    gain = stats.paired_bootstrap(before, after, seed=3)
    change = after.astype(float) - before
    assert gain.interval.value == pytest.approx(change.mean())
    assert gain.se == pytest.approx(change.std(ddof=1) / 20, rel=0.03)
    assert not gain.few_clusters and gain.n_clusters == 400


def test_the_seed_decides_the_draws() -> None:
    before, after = [0, 1, 0, 1, 1], [1, 1, 0, 1, 1]
    one, two = (stats.paired_bootstrap(before, after, seed=s).draws for s in (1, 1))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, stats.paired_bootstrap(before, after, seed=2).draws)


def test_clusters_that_move_together_widen_the_interval() -> None:
    rng = np.random.default_rng(7)
    cluster = np.repeat(np.arange(40), 25)
    shift = rng.normal(0, 0.2, 40)[cluster]
    before = np.full(1000, 0.5)
    after = np.clip(0.5 + shift, 0, 1)
    naive = stats.paired_bootstrap(before, after, seed=1)
    honest = stats.paired_bootstrap(before, after, seed=1, clusters=cluster)
    assert honest.se == pytest.approx(naive.se * 5, rel=0.15)
    assert honest.n_clusters == 40 and not honest.few_clusters


def test_few_clusters_are_flagged() -> None:
    clusters = [f"repo{i % 12}" for i in range(120)]
    gain = stats.paired_bootstrap(np.zeros(120), np.ones(120) * 0.3, seed=1, clusters=clusters)
    assert gain.few_clusters and gain.n_clusters == 12


def test_clusters_of_one_task_are_tasks() -> None:
    rng = np.random.default_rng(2)
    before, after = rng.random(50), rng.random(50)
    plain = stats.paired_bootstrap(before, after, seed=9)
    named = stats.paired_bootstrap(before, after, seed=9, clusters=np.arange(50))
    assert np.array_equal(plain.draws, named.draws)


def test_repeats_stand_for_their_mean() -> None:
    before = np.array([[1, 0], [0, 0], [1, 1], [0, 1.0]])
    after = np.array([[1, 1, np.nan], [0, 1, 0], [1, 1, 1], [1, 1, 1.0]])
    gain = stats.paired_bootstrap(before, after, seed=4)
    assert gain.interval.value == pytest.approx(np.mean([1, 1 / 3, 1, 1]) - np.mean([0.5, 0, 1, 0.5]))


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ([0, 1], [0, 1, 1], "same tasks"),
        ([0, np.nan, 1], [0, 1, 1], "no value"),
        ([0, 50], [1, 70], "0..1"),
        ([0], [1], "at least two"),
        ([], [], "shape"),
    ],
)
def test_tasks_that_do_not_line_up_are_refused(before: list[float], after: list[float], word: str) -> None:
    with pytest.raises(ValueError, match=word.replace(".", r"\.")):
        stats.paired_bootstrap(before, after, seed=1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_two_identical_checkpoints_never_differ(seed: int) -> None:
    scores = np.random.default_rng(seed).random(30)
    gain = stats.paired_bootstrap(scores, scores, seed=seed, draws=200)
    assert (gain.interval.low, gain.interval.high, gain.distinguishable) == (0.0, 0.0, False)


def test_the_interval_covers_the_truth() -> None:
    rng = np.random.default_rng(11)
    hits = 0
    for trial in range(200):
        ability = rng.random(120)
        before, after = rng.random(120) < ability * 0.9, rng.random(120) < np.minimum(1, ability * 0.9 + 0.08)
        truth = float((np.minimum(1, ability * 0.9 + 0.08) - ability * 0.9).mean())
        found = stats.paired_bootstrap(before, after, seed=trial, draws=1000).interval
        hits += found.low <= truth <= found.high
    assert hits / 200 >= 0.90


def test_gain_per_dollar_with_price_uncertainty() -> None:
    # +8.2 points, SE of +-4.1 at 95 %, 400k USD with 0.8-1.25x at 90 %: 0.20 (0.10, 0.34) points per 10k
    gain = np.random.default_rng(1).normal(8.2, 4.1 / 1.96, 200_000)
    cost = 40 * stats.log_normal_draws(0.8, 1.25, 200_000, seed=2)
    ratio = stats.ratio_by_draws(gain, cost)
    assert ratio.distinguishable and ratio.low is not None and ratio.high is not None
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((0.20, 0.10, 0.34), abs=0.012)


def test_a_gain_that_may_be_nothing_gets_no_price() -> None:
    gain = np.random.default_rng(1).normal(2.3, 2.1, 10_000)
    ratio = stats.ratio_by_draws(gain, np.full(10_000, 7.8))
    assert not ratio.distinguishable and ratio.low is None and ratio.high is None
    assert ratio.value == pytest.approx(0.29, abs=0.01)


def test_a_cost_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="cost"):
        stats.ratio_by_draws([1.0, 2.0], [0.0, 1.0])


def test_log_normal_draws_hold_the_named_mass() -> None:
    draws = stats.log_normal_draws(0.8, 1.25, 100_000, seed=3)
    assert np.mean((draws > 0.8) & (draws < 1.25)) == pytest.approx(0.9, abs=0.005)
    assert np.median(draws) == pytest.approx(1.0, abs=0.005)


def test_cost_of_pass() -> None:
    assert stats.cost_of_pass(1.20, 0.635) == pytest.approx(1.89, abs=0.005)
    assert stats.cost_of_pass(1.20, 0.717) == pytest.approx(1.67, abs=0.005)
    with pytest.raises(ValueError):
        stats.cost_of_pass(1.20, 0.0)
