"""Small-sample inference for a mean of tasks that come in clusters: few, unequal, or every task on its own.

The estimate is sum_g w_g m_g over clusters g: m_g the mean of the cluster, w_g its weight. `tasks` weighs a
cluster by its tasks (the score a benchmark reports); `clusters` weighs every cluster the same (a typical
repository). Repeats k are averaged within a task first: they thin the noise of a task, not its number.

Which interval: CR2 with a Student quantile at Satterthwaite degrees of freedom, at the correlation that is
seen within clusters (models/cr2.py), where these are 4 or more;
below that the t approximation is not to be trusted (Pustejovsky and Tipton 2018, JBES 36:672) and the
restricted wild cluster bootstrap-t is inverted. Both are a confidence distribution, from which the interval
and the draws for ratios are read, so that the two agree.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import logit, stdtrit

from models.cr2 import cr2_covariance, cr2_se, intraclass, satterthwaite_df
from models.stats import Interval, paired_scores, z_value
from models.wild import wild_curve

Floats = npt.NDArray[np.float64]
Quantile = Callable[[Floats], Floats]
Estimand = Literal["tasks", "clusters"]
Method = Literal["cr2_t", "wild_bootstrap_t", "no_variation"]

ESTIMANDS: dict[Estimand, str] = {
    "tasks": "mean over tasks: a cluster counts by its tasks",
    "clusters": "mean over clusters: every cluster counts the same",
}
METHODS: dict[Method, str] = {
    "cr2_t": "CR2 variance, Student interval at Satterthwaite degrees of freedom",
    "wild_bootstrap_t": "restricted wild cluster bootstrap-t, Webb weights",
    "no_variation": "no unit differs from another: exact bound on the share that could",
}
LEAST_DF = 4.0
"""Degrees of freedom below which the t approximation of CR2 is not used (Pustejovsky and Tipton 2018)."""


@dataclass(frozen=True)
class ClusteredGain:
    """A mean change with its interval (`n`: tasks) and how it was reached.

    `se`: CR2 standard error; `df`: Satterthwaite degrees of freedom; `effective_clusters`: 1 / sum w_g^2, the
    number of equal clusters that weigh as these do; `draws`: shape (draws,), their central interval is
    `interval`; those of two results must not be paired with each other, `joint_means` is for that. Unit: that
    of the change (fractions 0..1, or nats for log-odds, whose ends may be infinite).
    """

    interval: Interval
    se: float
    df: float
    method: Method
    estimand: Estimand
    n_tasks: int
    n_clusters: int
    effective_clusters: float
    draws: Floats

    @property
    def distinguishable(self) -> bool:
        """True when the interval excludes 0."""
        return self.interval.excludes_zero

    @property
    def verdict(self) -> str:
        """`better`, `worse` or `cannot tell`: the side of 0 on which the whole interval lies."""
        if not self.distinguishable:
            return "cannot tell"
        return "better" if self.interval.low > 0 else "worse"

    def detectable(self, power: float = 0.8) -> float:
        """Smallest true change found with `power`: (t(1 - a/2) + t(power)) se at `df` (Bloom 1995).

        Without variation there is no standard error to scale: the longer arm of the exact interval is given.
        Raises ValueError for a power outside (0, 1).
        """
        if not 0 < power < 1:
            raise ValueError(f"power must be between 0 and 1: {power}")
        if self.method == "no_variation":
            return max(self.interval.high - self.interval.value, self.interval.value - self.interval.low)
        tail = 0.5 + self.interval.confidence / 2
        return float(stdtrit(self.df, tail) + stdtrit(self.df, power)) * self.se


@dataclass(frozen=True)
class JointMeans:
    """Means of several score vectors over the same tasks: `values` and `se` of shape (candidates,).

    `factor`: (candidates, columns), F F' is their CR2 covariance; `df`: Satterthwaite degrees of freedom.
    """

    values: Floats
    factor: Floats
    df: float

    @property
    def se(self) -> Floats:
        """CR2 standard error of every mean."""
        found: Floats = np.sqrt((self.factor**2).sum(axis=1))
        return found

    def noise(self, size: int, seed: int) -> Floats:
        """Joint draws of estimate - truth, shape (candidates, size): multivariate t with that covariance."""
        rng = np.random.default_rng((seed, 2))
        scale = np.sqrt(rng.chisquare(self.df, size) / self.df)
        drawn: Floats = self.factor @ rng.standard_normal((self.factor.shape[1], size)) / scale
        return drawn


@dataclass(frozen=True)
class _Clusters:
    """Clusters of tasks: index of each task's cluster, weight of each task and of each cluster."""

    index: npt.NDArray[np.intp]
    task_weights: Floats
    weights: Floats

    def mean(self, values: Floats) -> float:
        return float(self.task_weights @ values)

    def parts(self, values: Floats) -> Floats:
        """w_g m_g of every cluster; they add up to the mean."""
        sums = np.bincount(self.index, self.task_weights * values, len(self.weights))
        return np.asarray(sums, dtype=np.float64)

    def df(self, values: Floats) -> float:
        """Degrees of freedom; a mean over clusters takes them for alike, whatever their size."""
        sizes: Floats = np.bincount(self.index).astype(np.float64)
        if len(sizes) == len(values) or np.ptp(self.weights) == 0:
            return satterthwaite_df(self.weights)
        return satterthwaite_df(self.weights, 1 + (sizes - 1) * intraclass(values, self.index))

    @property
    def effective(self) -> float:
        return float(1 / (self.weights**2).sum())


def clustered_gain(
    change: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    *,
    estimand: Estimand = "tasks",
    method: Method | None = None,
    seed: int = 0,
    draws: int = 10_000,
) -> ClusteredGain:
    """Mean of `change`, shape (tasks,), each in -1..1: after minus before of a task, repeats averaged.

    `clusters`: a label a task; None makes every task its own cluster, and CR2 is then the paired t interval.
    `method` None chooses by the rule of this module. Limits stay in -1..1, where a gain must lie.
    Raises ValueError for fewer than two clusters, labels that do not line up or changes outside -1..1.
    """
    values = np.asarray(change, dtype=np.float64)
    if values.ndim != 1 or not (np.abs(values) <= 1).all():
        raise ValueError("changes must be one number a task, each in -1..1")
    groups = _grouped(len(values), clusters, estimand)
    mean, parts = groups.mean(values), groups.parts(values)
    se, df = cr2_se(parts, groups.weights), groups.df(values)
    chosen = method or ("cr2_t" if df >= LEAST_DF else "wild_bootstrap_t")
    if se <= 1e-12:
        chosen, quantile = "no_variation", _no_variation(mean, groups.effective)
    elif chosen == "wild_bootstrap_t":
        quantile = _wild(parts, groups.weights, seed)
    else:
        quantile = _student(mean, se, df)

    def within(share: Floats) -> Floats:
        limits: Floats = np.clip(quantile(share), -1.0, 1.0)
        return limits

    return _gain(mean, se, df, chosen, estimand, groups, within, confidence, seed, draws)


def paired_gain(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    *,
    estimand: Estimand = "tasks",
    seed: int = 0,
    draws: int = 10_000,
) -> ClusteredGain:
    """`clustered_gain` of scores 0..1 of the same tasks, shape (tasks,) or (tasks, repeats), NaN allowed."""
    old, new = paired_scores(before, after)
    return clustered_gain(new - old, clusters, confidence, estimand=estimand, seed=seed, draws=draws)


def joint_means(
    scores: npt.ArrayLike, clusters: npt.ArrayLike | None = None, *, estimand: Estimand = "tasks"
) -> JointMeans:
    """Means of `scores`, shape (candidates, tasks), with the CR2 covariance that shared tasks give them."""
    grid = np.asarray(scores, dtype=np.float64)
    if grid.ndim != 2 or not np.isfinite(grid).all():
        raise ValueError("scores of shape (candidates, tasks) without gaps are needed")
    groups = _grouped(grid.shape[1], clusters, estimand)
    parts = np.array([groups.parts(row) for row in grid])
    values = parts.sum(axis=1)
    factor = (parts - groups.weights * values[:, None]) / np.sqrt(1 - groups.weights)
    if factor.shape[1] > len(values):  # the same covariance from fewer columns
        factor = np.transpose(np.asarray(np.linalg.qr(factor.T, mode="r"), dtype=np.float64))
    return JointMeans(values, factor, min(groups.df(row) for row in grid))


def clustered_log_odds(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    *,
    estimand: Estimand = "tasks",
    seed: int = 0,
    draws: int = 10_000,
) -> ClusteredGain:
    """logit(mean after) - logit(mean before) in nats, from the same tasks; shapes as in `paired_gain`.

    Recovered from the limits of both scores and their correlation (MOVER; Zou and Donner 2008, Statistics in
    Medicine 27:1693): Wilson limits at the effective number of tasks p q / se^2, se by CR2, Student quantile
    at Satterthwaite degrees of freedom (as Korn and Graubard 1998 for surveys); the effective number is
    smoothed by half a passed and half a failed task (Jeffreys). Unlike the delta method it holds near scores
    of 0 and 1; there an end, and at 0 or 1 the value, is infinite (NaN when both scores are 0 or both 1).
    """
    old, new = paired_scores(before, after)
    groups = _grouped(len(old), clusters, estimand)
    df = groups.df(new - old)
    sides = [_side(groups, new), _side(groups, old)]
    cross = cr2_covariance(groups.parts(new), groups.parts(old), groups.weights)
    spread = sides[0].se * sides[1].se
    correlation = min(1.0, max(-1.0, cross / spread)) if spread > 1e-24 else 0.0
    quantile = log_odds_quantile(
        sides[0].share, sides[0].n, sides[1].share, sides[1].n, correlation, _student(0.0, 1.0, df)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(logit(sides[0].share) - logit(sides[1].share))
        scale = np.array([s.se / (s.share * (1 - s.share)) if 0 < s.share < 1 else np.inf for s in sides])
    known = bool(np.isfinite(scale).all())
    se = math.sqrt(max(0.0, scale @ scale - 2 * correlation * scale.prod())) if known else math.inf
    return _gain(value, se, df, "cr2_t", estimand, groups, quantile, confidence, seed, draws)


def log_odds_quantile(
    after: float, n_after: float, before: float, n_before: float, correlation: float, critical: Quantile
) -> Quantile:
    """Confidence distribution of logit(after) - logit(before) in nats by MOVER on Wilson limits.

    `n_after`, `n_before`: (effective) tasks behind each share; `critical`: quantile function of the standard
    normal or Student t. Returns a function of shares in (0, 1) to limits; an end that nothing bounds is
    infinite.
    """

    def quantile(share: Floats) -> Floats:
        z = np.abs(critical(share))
        down = share < 0.5
        top, low, high = _logit_limits(after, n_after, z)
        base, base_low, base_high = _logit_limits(before, n_before, z)
        one = np.where(down, top - low, high - top)
        two = np.where(down, base_high - base, base - base_low)
        both = np.sqrt(np.maximum(0.0, one**2 + two**2 - 2 * correlation * one * two))
        limits = np.where(down, (top - base) - both, (top - base) + both)
        if not (math.isfinite(top) and math.isfinite(base)):
            limits = np.where(down, low - base_high, high - base_low)
        return np.asarray(limits, dtype=np.float64)

    def safe(share: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return quantile(share)

    return safe


def stratified(draws: int, seed: int) -> Floats:
    """The shares (i + 1/2) / draws in random order: a quantile function of them gives its interval back.

    The order is of its own stream, so a cost drawn from the same seed stays independent of it.
    """
    return _grid(draws)[_order(draws, seed)]


def _grid(draws: int) -> Floats:
    if draws < 100:
        raise ValueError(f"at least 100 draws are needed: {draws}")
    shares: Floats = (np.arange(draws) + 0.5) / draws
    return shares


def _order(draws: int, seed: int) -> npt.NDArray[np.intp]:
    return np.random.default_rng((seed, 3)).permutation(draws)  # (seed, 0) is seed itself


@dataclass(frozen=True)
class _Side:
    share: float
    se: float
    n: float


def _side(groups: _Clusters, scores: Floats) -> _Side:
    share = round(min(1.0, max(0.0, groups.mean(scores))), 12)  # 30 right of 30 is 1, not 1 - 1e-16
    se = cr2_se(groups.parts(scores), groups.weights)
    if se <= 1e-12:
        return _Side(share, se, groups.effective)
    # With half a task passed and half a task failed added, or a few tasks at the edge decide their own noise.
    n = 1 / float((groups.task_weights**2).sum())
    centre = (n * share + 0.5) / (n + 1)
    squares = se * se * n * (n - 1) + n * (share - centre) ** 2 + 0.5 * (centre**2 + (1 - centre) ** 2)
    return _Side(share, se, centre * (1 - centre) * (n + 1) * (n - 1) / squares)


def _logit_limits(share: float, n: float, z: Floats) -> tuple[float, Floats, Floats]:
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = np.where(share <= 0, 0.0, np.maximum(0.0, centre - half))
    high = np.where(share >= 1, 1.0, np.minimum(1.0, centre + half))
    return float(logit(share)), logit(low), logit(high)


def _grouped(n_tasks: int, clusters: npt.ArrayLike | None, estimand: Estimand) -> _Clusters:
    labels: npt.NDArray[Any] = np.arange(n_tasks) if clusters is None else np.asarray(clusters)
    if labels.shape != (n_tasks,):
        raise ValueError(f"{labels.size} cluster labels for {n_tasks} tasks")
    _, index = np.unique(labels, return_inverse=True)
    sizes: Floats = np.bincount(index).astype(np.float64)
    if len(sizes) < 2:
        raise ValueError("at least two tasks or clusters are needed for an interval")
    if estimand not in ESTIMANDS:
        raise ValueError(f"the estimand is one of {', '.join(ESTIMANDS)}: {estimand}")
    each = sizes / n_tasks if estimand == "tasks" else np.full(len(sizes), 1 / len(sizes))
    return _Clusters(index, (each / sizes)[index], each)


def _student(mean: float, se: float, df: float) -> Quantile:
    def quantile(share: Floats) -> Floats:
        found: Floats = mean + se * _student_at(df, share.tobytes())
        return found

    return quantile


@lru_cache(maxsize=32)
def _student_at(df: float, shares: bytes) -> Floats:
    """Quantiles of Student's t; remembered, because every score on the same tasks asks for the same ones."""
    found: Floats = stdtrit(df, np.frombuffer(shares))
    found.setflags(write=False)
    return found


def _no_variation(value: float, n: float) -> Quantile:
    """Every one of n units shows `value`: another has at most the share u = 1 - a^(1/n) and lies in -1..1.

    Clopper and Pearson 1934, Biometrika 26:404, with none seen.
    """

    def quantile(share: Floats) -> Floats:
        tail = 2 * np.minimum(share, 1 - share)
        most = 1 - tail ** (1 / n)
        found: Floats = np.where(share < 0.5, value - most * (1 + value), value + most * (1 - value))
        return found

    return quantile


def _wild(parts: Floats, weights: Floats, seed: int) -> Quantile:
    means, below = wild_curve(parts, weights, cr2_se(parts, weights), seed)

    def quantile(share: Floats) -> Floats:
        level = 1 - share
        found = np.interp(-level, -below, means)
        found = np.where(level > below[0], -np.inf, found)
        limits: Floats = np.where(level < below[-1], np.inf, found)
        return limits

    return quantile


def _gain(
    value: float, se: float, df: float, method: Method, estimand: Estimand, groups: _Clusters,
    quantile: Quantile, confidence: float, seed: int, draws: int,
) -> ClusteredGain:  # fmt: skip
    z_value(confidence)
    low, high = quantile(np.array([0.5 - confidence / 2, 0.5 + confidence / 2]))
    drawn = quantile(_grid(draws))[_order(draws, seed)]
    interval = Interval(value, float(low), float(high), len(groups.index), confidence)
    return ClusteredGain(
        interval, se, df, method, estimand, len(groups.index), len(groups.weights), groups.effective, drawn
    )
