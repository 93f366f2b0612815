"""CR2, its degrees of freedom and the wild bootstrap against hand-worked numbers and naive matrices."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from models.clustered import (
    clustered_gain,
    clustered_log_odds,
    joint_means,
    paired_gain,
)
from models.cr2 import intraclass, satterthwaite_df
from models.stats import log_odds_gain, wilson
from models.wild import DRAWS, WEBB, wild_curve

SWE_BENCH_VERIFIED = (231, 75, 44, 34, 32, 22, 22, 19, 10, 8, 2, 1)
"""Tasks a repository: 500 tasks, 12 repositories."""


def labelled(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


def inverse_root(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(values**-0.5) @ vectors.T


def dense(change, clusters, alike=0.0):
    """CR2 variance and Satterthwaite df of an intercept as Bell and McCaffrey write them: full matrices.

    `alike`: correlation of the tasks of a cluster for the df, as Imbens and Kolesar take it.
    """
    y, n = np.asarray(change, float), len(change)
    x = np.ones((n, 1))
    bread = np.linalg.inv(x.T @ x)
    keep = np.eye(n) - x @ bread @ x.T
    residual, variance, columns = keep @ y, 0.0, []
    for label in np.unique(clusters):
        rows = np.flatnonzero(clusters == label)
        adjust = inverse_root(keep[np.ix_(rows, rows)])
        score = bread @ x[rows].T @ adjust @ residual[rows]
        variance += float(score[0] ** 2)
        columns.append(keep[:, rows] @ adjust @ x[rows] @ bread)
    same = np.asarray(clusters)[:, None] == np.asarray(clusters)
    omega = (1 - alike) * np.eye(n) + alike * same
    gram = np.hstack(columns).T @ omega @ np.hstack(columns)
    eigen = np.linalg.eigvalsh(gram)
    return math.sqrt(variance), eigen.sum() ** 2 / (eigen**2).sum()


def test_three_clusters_by_hand():
    """w = 1/6, 1/3, 1/2; r = 5/36, 4/36, -9/36; V = (30 + 24 + 162)/1296 = 1/6; df = 900/540 = 5/3."""
    got = clustered_gain([1, 0, 1, 0, 0, -1], list("abbccc"), method="cr2_t")
    assert got.interval.value == pytest.approx(1 / 6)
    assert got.se == pytest.approx(math.sqrt(1 / 6))
    assert satterthwaite_df(np.array([1, 2, 3]) / 6) == pytest.approx(5 / 3)
    assert got.effective_clusters == pytest.approx(18 / 7)
    assert (got.n_tasks, got.n_clusters, got.interval.n) == (6, 3, 6)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=8), st.integers(0, 2**20))
def test_closed_forms_are_the_dense_matrices(sizes, seed):
    clusters = labelled(sizes)
    change = np.random.default_rng(seed).uniform(-1, 1, len(clusters))
    se, df = dense(change, clusters)
    got = clustered_gain(change, clusters, method="cr2_t", draws=100)
    assert got.se == pytest.approx(se, rel=1e-9)
    assert satterthwaite_df(np.array(sizes) / sum(sizes)) == pytest.approx(df, rel=1e-9)
    alike = dense(change, clusters, intraclass(change, clusters))[1]
    assert got.df == pytest.approx(alike, rel=1e-6)
    half = scipy_stats.t.ppf(0.975, alike) * se
    assert got.interval.low == pytest.approx(max(-1, change.mean() - half))
    assert got.interval.high == pytest.approx(min(1, change.mean() + half))


def test_repositories_of_swe_bench_weigh_as_fewer_than_four():
    weights = np.array(SWE_BENCH_VERIFIED) / 500
    _, df = dense(np.random.default_rng(1).normal(size=500), labelled(SWE_BENCH_VERIFIED))
    assert satterthwaite_df(weights) == pytest.approx(df)
    assert 3.3 < df < 3.4
    change = np.random.default_rng(2).choice([-1.0, 0.0, 1.0], 500, p=[0.05, 0.8, 0.15])
    got = clustered_gain(change, labelled(SWE_BENCH_VERIFIED))
    assert got.method == "wild_bootstrap_t"
    assert got.effective_clusters == pytest.approx(1 / (weights**2).sum())


def test_tasks_on_their_own_are_the_paired_t_interval():
    change = np.random.default_rng(3).choice([-1.0, 0.0, 1.0], 40, p=[0.1, 0.6, 0.3])
    known = scipy_stats.ttest_1samp(change, 0).confidence_interval(0.9)
    got = clustered_gain(change, confidence=0.9)
    assert (got.interval.low, got.interval.high) == pytest.approx((known.low, known.high))
    assert (got.method, got.df) == ("cr2_t", pytest.approx(39))


@given(st.integers(5, 40), st.integers(1, 5))
def test_equal_clusters_have_one_degree_less_than_their_number(count, size):
    assert satterthwaite_df(np.full(count, 1 / count)) == pytest.approx(count - 1)
    means = np.random.default_rng(count).uniform(-1, 1, count)
    got = clustered_gain(np.repeat(means, size), labelled([size] * count), draws=100)
    assert got.se == pytest.approx(means.std(ddof=1) / math.sqrt(count))


def test_the_estimand_is_what_is_weighed():
    """A repository of 90 gains 0.2, nine of one task lose 0.1: tasks rise, clusters fall on average."""
    clusters = labelled([90] + [1] * 9)
    change = np.where(clusters == 0, 0.2, -0.1) + np.linspace(-0.01, 0.01, 99)
    tasks, each = clustered_gain(change, clusters), clustered_gain(change, clusters, estimand="clusters")
    means = np.array([change[clusters == c].mean() for c in range(10)])
    known = scipy_stats.ttest_1samp(means, 0).confidence_interval()
    assert tasks.interval.value == pytest.approx(change.mean()) and tasks.interval.value > 0
    assert (each.interval.value, each.interval.low, each.interval.high) == pytest.approx(
        (means.mean(), known.low, known.high)
    )
    assert (tasks.estimand, each.estimand, each.df) == ("tasks", "clusters", pytest.approx(9))


def every_bootstrap_t(change, clusters, tested):
    """All 6^G wild resamples with the null imposed, each refitted from its tasks."""
    labels = np.unique(clusters)
    for signs in itertools.product(WEBB, repeat=len(labels)):
        y = tested + (change - tested) * np.array(signs)[clusters]
        residual = y - y.mean()
        variance = (
            sum(residual[clusters == c].sum() ** 2 / (1 - (clusters == c).mean()) for c in labels)
            / len(y) ** 2
        )
        yield (y.mean() - tested) / math.sqrt(variance) if variance > 1e-20 else math.inf * np.sign(
            y.mean() - tested
        )  # fmt: skip


def test_wild_bootstrap_against_all_resamples_of_four_clusters():
    clusters = labelled([6, 3, 2, 2])
    change = np.random.default_rng(5).uniform(-0.5, 0.9, 13)
    sizes = np.bincount(clusters) / 13
    parts = np.bincount(clusters, change) / 13
    se, _ = dense(change, clusters)
    means, below = wild_curve(parts, sizes, se, seed=1)
    for tested in (change.mean() - 2 * se, change.mean() - 0.5 * se, change.mean() + se):
        known = np.array(list(every_bootstrap_t(change, clusters, tested)))
        seen = (change.mean() - tested) / se
        share = ((known < seen - 1e-9).mean() + (known < seen + 1e-9).mean()) / 2
        error = 4 * math.sqrt(0.25 / (2 * DRAWS))
        assert np.interp(tested, means, below) == pytest.approx(share, abs=error)


def test_wild_ends_are_the_means_that_are_just_not_rejected():
    change = np.random.default_rng(6).choice([-1.0, 0.0, 1.0], 500, p=[0.05, 0.8, 0.15])
    clusters = labelled(SWE_BENCH_VERIFIED)
    got = clustered_gain(change, clusters, seed=4)
    weights = np.bincount(clusters) / 500
    means, below = wild_curve(np.bincount(clusters, change) / 500, weights, got.se, seed=4)
    assert np.interp([got.interval.low, got.interval.high], means, below) == pytest.approx(
        [0.975, 0.025], abs=1e-6
    )
    flipped = clustered_gain(-change, clusters, seed=4)
    assert flipped.interval.low == pytest.approx(-got.interval.high, abs=1e-9)
    ends = np.array([clustered_gain(change, clusters, seed=s).interval.high for s in range(20)])
    assert ends.std() < 0.25 * got.se


def test_two_clusters_bound_a_gain_only_by_what_a_gain_can_be():
    """36 resamples of two clusters cannot reject anything at 2.5 %: the ends are those of the scale."""
    got = clustered_gain([0.1, 0.3, 0.2, 0.4], [0, 0, 1, 1])
    assert got.method == "wild_bootstrap_t"
    assert (got.interval.low, got.interval.high) == (-1, 1)
    assert got.verdict == "cannot tell"


@pytest.mark.parametrize("sizes", [[1] * 30, SWE_BENCH_VERIFIED, [5] * 40])
def test_draws_give_the_interval_back(sizes):
    clusters = labelled(sizes)
    change = np.random.default_rng(7).choice([-1.0, 0.0, 1.0], len(clusters), p=[0.04, 0.36, 0.6])
    got = clustered_gain(change, clusters)
    low, high = np.quantile(got.draws, [0.025, 0.975])
    assert (low, high) == pytest.approx((got.interval.low, got.interval.high), abs=0.02 * got.se)
    same = clustered_gain(change, clusters)
    assert np.array_equal(got.draws, same.draws)
    assert got.verdict == "better"
    assert clustered_gain(-change, clusters).verdict == "worse"


def test_repeats_are_averaged_within_their_task():
    before = np.array([[1, 0, np.nan], [0, 0, 0], [1, 1, 0], [0, 1, 1]], float)
    after = np.array([[1, 1], [0, 1], [1, 1], [1, 0]], float)
    got = paired_gain(before, after, draws=100)
    assert got.interval.value == pytest.approx(np.mean([0.5, 0.5, 1 / 3, -1 / 6]))
    assert got.n_tasks == 4


def test_nothing_changed_is_not_certainty():
    """None of 30 tasks changed: at most 1 - 0.05^(1/30) = 9.50 % of such tasks do (rule of three: 10 %)."""
    got = clustered_gain(np.zeros(30))
    assert got.method == "no_variation"
    assert (got.interval.low, got.interval.high) == pytest.approx((-0.0950, 0.0950), abs=5e-5)
    assert np.quantile(got.draws, 0.975) == pytest.approx(0.0950, abs=1e-3)
    all_won = clustered_gain(np.ones(30))
    assert (all_won.interval.low, all_won.interval.high) == pytest.approx((1 - 2 * 0.0950, 1), abs=1e-4)


def test_log_odds_of_independent_totals_is_square_and_add_on_logit_wilson_limits():
    rng = np.random.default_rng(8)
    before, after = rng.permutation([1.0] * 60 + [0.0] * 40), rng.permutation([1.0] * 85 + [0.0] * 15)
    got = clustered_log_odds(before, after)
    t = scipy_stats.t.ppf(0.975, 99)
    level = 2 * scipy_stats.norm.cdf(t) - 1
    # Variance s^2 / n with n - 1 below the bar: the effective tasks are n - 1.
    new, old = wilson(0.85 * 99, 99, level), wilson(0.60 * 99, 99, level)
    rho = np.corrcoef(before, after)[0, 1]
    up, down = log_odds_gain(new.value, new.low), log_odds_gain(old.high, old.value)
    low = log_odds_gain(0.85, 0.60) - math.sqrt(up**2 + down**2 - 2 * rho * up * down)
    assert got.interval.value == pytest.approx(log_odds_gain(0.85, 0.60))
    assert got.interval.low == pytest.approx(low)
    back = clustered_log_odds(after, before)
    assert (back.interval.low, back.interval.high) == pytest.approx((-got.interval.high, -got.interval.low))
    assert np.quantile(got.draws, [0.025, 0.975]) == pytest.approx(
        [got.interval.low, got.interval.high], abs=0.02 * got.se
    )


def test_log_odds_with_many_tasks_is_the_delta_method():
    rng = np.random.default_rng(9)
    before = (rng.random(50_000) < 0.6).astype(float)
    after = np.where(rng.random(50_000) < 0.3, rng.random(50_000) < 0.8, before).astype(float)
    got = clustered_log_odds(before, after, draws=100)
    p, q = after.mean(), before.mean()
    influence = (after - p) / (p * (1 - p)) - (before - q) / (q * (1 - q))
    se = influence.std(ddof=1) / math.sqrt(50_000)
    assert got.se == pytest.approx(se, rel=1e-6)
    assert got.interval.high - got.interval.low == pytest.approx(2 * 1.96 * se, rel=1e-3)


def test_log_odds_at_the_ends_of_the_scale_are_unbounded_there_only():
    before = np.array([1.0] * 20 + [0.0] * 10)
    got = clustered_log_odds(before, np.ones(30))
    assert (got.interval.value, got.interval.high) == (math.inf, math.inf)
    assert math.isfinite(got.interval.low)
    # Below what 30 of 30 at its low would give against 20 of 30 as seen.
    assert got.interval.low < log_odds_gain(wilson(30, 30).low, 20 / 30)
    neither = clustered_log_odds(np.ones(30), np.ones(30))
    assert math.isnan(neither.interval.value)
    assert (neither.interval.low, neither.interval.high) == (-math.inf, math.inf)


def test_candidates_share_the_noise_of_their_tasks():
    rng = np.random.default_rng(10)
    clusters = labelled([7, 3, 5, 2, 8, 4, 6, 5])
    scores = rng.uniform(0, 1, (3, 40))
    scores[2] = scores[0]
    joint = joint_means(scores, clusters)
    alone = [clustered_gain(row, clusters, method="cr2_t", draws=100) for row in scores]
    assert joint.values == pytest.approx([a.interval.value for a in alone])
    assert joint.se == pytest.approx([a.se for a in alone])
    noise = joint.noise(200_000, seed=1)
    assert np.allclose(noise[0], noise[2])
    wide = joint.df / (joint.df - 2)
    assert np.cov(noise) == pytest.approx(joint.factor @ joint.factor.T * wide, rel=0.1, abs=1e-4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: clustered_gain([0.1, 0.2], [0, 0]), "at least two"),
        (lambda: clustered_gain([0.1]), "at least two"),
        (lambda: clustered_gain([0.1, 0.2, 0.3], [0, 1]), "2 cluster labels for 3 tasks"),
        (lambda: clustered_gain([0.1, 1.2]), "-1..1"),
        (lambda: clustered_gain([0.1, math.nan]), "-1..1"),
        (lambda: clustered_gain([0.1, 0.2], estimand="repos"), "estimand"),
        (lambda: clustered_gain([0.1, 0.2], confidence=95), "confidence"),
        (lambda: clustered_gain([0.1, 0.2], draws=10), "draws"),
        (lambda: paired_gain([0.1, 0.2], [0.1, 0.2, 0.3]), "same tasks"),
        (lambda: joint_means([[0.1, math.nan]]), "without gaps"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
