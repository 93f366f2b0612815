"""Intervals for scores, gains and gains per dollar. All shares are fractions 0..1; all draws are seeded."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit  # scipy.stats takes a second to import

Floats = npt.NDArray[np.float64]
FEW_CLUSTERS = 20
_CHUNK_CELLS = 4_000_000


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval; `n` counts the items (tasks, clusters or draws) behind it."""

    value: float
    low: float
    high: float
    n: int
    confidence: float = 0.95

    @property
    def excludes_zero(self) -> bool:
        """True when the whole interval lies on one side of 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Gain:
    """A difference of two scores from tasks: its interval, standard error, draws and a caution flag."""

    interval: Interval
    se: float
    n_tasks: int
    n_clusters: int
    few_clusters: bool
    draws: Floats

    @property
    def distinguishable(self) -> bool:
        """True when the interval excludes 0."""
        return self.interval.excludes_zero


@dataclass(frozen=True)
class Ratio:
    """A ratio of two uncertain numbers; low and high are None when the ratio cannot be told from 0."""

    value: float
    low: float | None
    high: float | None
    distinguishable: bool
    confidence: float = 0.95


@lru_cache(maxsize=64)
def z_value(confidence: float) -> float:
    """Two-sided normal quantile: 1.96 for 0.95. Raises ValueError outside (0, 1)."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1: {confidence}")
    return float(ndtri(0.5 + confidence / 2))


def se_share(share: float, n: float) -> float:
    """Standard error of a pass rate over n independent tasks: sqrt(p (1 - p) / n)."""
    _check_share(share, n)
    return math.sqrt(share * (1 - share) / n)


def wilson(passed: float, n: float, confidence: float = 0.95) -> Interval:
    """Score interval of a share (Wilson 1927, JASA 22:209). A mean of repeats makes `passed` fractional."""
    _check_share(passed / n if n > 0 else math.nan, n)
    z = z_value(confidence)
    share = passed / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half), round(n), confidence)


def newcombe(
    passed_after: float, n_after: float, passed_before: float, n_before: float, confidence: float = 0.95
) -> Interval:
    """Difference after - before of two independent shares, hybrid score interval.

    Newcombe 1998, Statistics in Medicine 17:873, method 10: from the Wilson limits of both shares.
    """
    after, before = wilson(passed_after, n_after, confidence), wilson(passed_before, n_before, confidence)
    diff = after.value - before.value
    low = diff - math.hypot(after.value - after.low, before.high - before.value)
    high = diff + math.hypot(after.high - after.value, before.value - before.low)
    return Interval(diff, low, high, round(min(n_after, n_before)), confidence)


def gain_assuming_correlation(
    after: float, before: float, n: int, correlation: float, confidence: float = 0.95
) -> Interval:
    """Gain on the same n tasks when only totals are known and the task correlation is assumed.

    Normal interval with variance (p1 q1 + p0 q0 - 2 rho sqrt(p1 q1 p0 q0)) / n (Miller 2024, arXiv
    2411.00640, section on paired differences).
    """
    _check_share(after, n)
    _check_share(before, n)
    if not -1 <= correlation <= 1:
        raise ValueError(f"a correlation must be in -1..1: {correlation}")
    v1, v0 = after * (1 - after), before * (1 - before)
    half = z_value(confidence) * math.sqrt(max(0.0, v1 + v0 - 2 * correlation * math.sqrt(v1 * v0)) / n)
    return Interval(after - before, after - before - half, after - before + half, n, confidence)


def minimum_detectable_difference(
    share: float, n: int, correlation: float = 0.0, confidence: float = 0.95, power: float = 0.8
) -> float:
    """Smallest true gain (a fraction) found with `power`: (z_a + z_b) sqrt(2 p q (1 - rho) / n).

    Correlation 0 is two independent runs, above 0 the same tasks twice. Standard two-sample power formula.
    """
    if not 0 < power < 1:
        raise ValueError(f"power must be between 0 and 1: {power}")
    if not -1 <= correlation <= 1:
        raise ValueError(f"a correlation must be in -1..1: {correlation}")
    spread = se_share(share, n) * math.sqrt(2 * (1 - correlation))
    return (z_value(confidence) + float(ndtri(power))) * spread


def log_odds_gain(after: float, before: float) -> float:
    """logit(after) - logit(before) in nats; infinite at a score of 0 or 1."""
    _check_share(after, 1)
    _check_share(before, 1)
    with np.errstate(divide="ignore"):
        return float(np.log(after) - np.log1p(-after) - np.log(before) + np.log1p(-before))


def paired_bootstrap(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    *,
    seed: int,
    clusters: npt.ArrayLike | None = None,
    draws: int = 10_000,
    confidence: float = 0.95,
) -> Gain:
    """Gain after - before on the same tasks, resampling tasks or whole clusters with replacement.

    `before` and `after` have shape (tasks,) or (tasks, repeats) with values 0..1; repeats may differ in
    number and may hold NaN. The mean over repeats stands for a task, so the draw over tasks carries both the
    item and the sampling variance (Miller 2024, arXiv 2411.00640). Percentile interval (Efron and
    Tibshirani 1993, ch. 13). `few_clusters` warns below 20: such intervals are too narrow (Cameron, Gelbach
    and Miller 2008).
    Raises ValueError when the tasks do not line up or a task has no value.
    """
    old, new = paired_scores(before, after)
    return _cluster_gain(new - old, clusters, seed, draws, confidence)


def _cluster_gain(
    values: Floats, clusters: npt.ArrayLike | None, seed: int, draws: int, confidence: float
) -> Gain:
    if draws < 100:
        raise ValueError(f"at least 100 draws are needed: {draws}")
    n_tasks = len(values)
    labels: npt.NDArray[Any] = np.arange(n_tasks) if clusters is None else np.asarray(clusters)
    if labels.shape != (n_tasks,):
        raise ValueError(f"{labels.size} cluster labels for {n_tasks} tasks")
    _, index = np.unique(labels, return_inverse=True)
    sizes: Floats = np.bincount(index).astype(np.float64)
    sums: Floats = np.bincount(index, weights=values).astype(np.float64)
    means = _resampled_means(sums.tobytes(), sizes.tobytes(), draws, seed)
    low, high = percentile_interval(means, confidence)
    interval = Interval(float(values.mean()), low, high, n_tasks, confidence)
    few = clusters is not None and len(sizes) < FEW_CLUSTERS
    return Gain(interval, float(means.std(ddof=1)), n_tasks, len(sizes), few, means)


@lru_cache(maxsize=256)
def _resampled_means(sums_bytes: bytes, sizes_bytes: bytes, draws: int, seed: int) -> Floats:
    """Means of `draws` resamples, read-only; remembered, because several questions compare the same pairs."""
    sums, sizes = np.frombuffer(sums_bytes), np.frombuffer(sizes_bytes)
    rng, count, equal = np.random.default_rng(seed), len(sizes), bool((sizes == sizes[0]).all())
    if count < 2:
        raise ValueError("at least two tasks or clusters are needed for an interval")
    out = np.empty(draws)
    chunk = max(1, _CHUNK_CELLS // count)
    for start in range(0, draws, chunk):
        pick = rng.integers(0, count, size=(min(chunk, draws - start), count), dtype=np.int32)
        weights = count * sizes[0] if equal else sizes.take(pick).sum(axis=1)
        out[start : start + len(pick)] = sums.take(pick).sum(axis=1) / weights
    out.setflags(write=False)
    return out


def paired_scores(before: npt.ArrayLike, after: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Mean over repeats of every task, before and after, each (tasks,); errors as `paired_bootstrap`."""
    new = _task_means(after, "after")
    return _shaped_like(_task_means(before, "before"), after), new


def _task_means(scores: npt.ArrayLike, name: str) -> Floats:
    grid = np.asarray(scores, dtype=np.float64)
    if grid.ndim == 1:
        grid = grid[:, None]
    if grid.ndim != 2 or grid.size == 0:
        raise ValueError(f"{name} must have shape (tasks,) or (tasks, repeats): {grid.shape}")
    known = ~np.isnan(grid)
    counts = known.sum(axis=1)
    if (counts == 0).any():
        raise ValueError(f"{name}: {int((counts == 0).sum())} tasks have no value")
    if (grid[known] < 0).any() or (grid[known] > 1).any():
        raise ValueError(f"{name} must lie in 0..1")
    means: Floats = np.where(known, grid, 0.0).sum(axis=1) / counts
    return means


def _shaped_like(means: Floats, other: npt.ArrayLike) -> Floats:
    tasks = np.asarray(other).shape[0]
    if len(means) != tasks:
        raise ValueError(f"{len(means)} tasks before and {tasks} after: they must be the same tasks")
    return means


def percentile_interval(draws: npt.ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Central interval of draws, shape (draws,)."""
    z_value(confidence)
    low, high = np.quantile(np.asarray(draws, dtype=np.float64), [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(low), float(high)


def log_normal_draws(low: float, high: float, size: int, seed: int, mass: float = 0.9) -> Floats:
    """Draws of a positive factor whose central `mass` lies between low and high (log-normal)."""
    if not 0 < low <= high:
        raise ValueError(f"0 < low <= high is needed: {low}, {high}")
    centre = (math.log(low) + math.log(high)) / 2
    sigma = (math.log(high) - math.log(low)) / (2 * z_value(mass))
    return np.random.default_rng(seed).lognormal(centre, sigma, size)


def ratio_by_draws(gain: npt.ArrayLike, cost: npt.ArrayLike, confidence: float = 0.95) -> Ratio:
    """Gain per cost from joint draws, both of shape (draws,): the ends of two intervals are never divided.

    The value is the ratio of the means. Not distinguishable when the gain's own interval contains 0: then the
    cost of a unit of gain is unbounded (Fieller 1954) and no ends are given. Raises ValueError on cost <= 0.
    """
    top, bottom = np.asarray(gain, dtype=np.float64), np.asarray(cost, dtype=np.float64)
    if top.shape != bottom.shape or top.ndim != 1:
        raise ValueError(f"gain and cost need the same draws: {top.shape}, {bottom.shape}")
    if not (bottom > 0).all():
        raise ValueError("every drawn cost must be above 0")
    value = float(top.mean() / bottom.mean())
    low, high = percentile_interval(top, confidence)
    if low <= 0 <= high:
        return Ratio(value, None, None, False, confidence)
    low, high = percentile_interval(top / bottom, confidence)
    return Ratio(value, low, high, True, confidence)


def cost_of_pass(usd_per_attempt: float, share: float) -> float:
    """Expected USD for one correct answer = cost / pass rate (Erol et al. 2025, arXiv 2504.13359)."""
    if not 0 < share <= 1:
        raise ValueError(f"the pass rate must be in (0, 1]: {share}")
    return usd_per_attempt / share


def _check_share(share: float, n: float) -> None:
    if not (n > 0 and 0 <= share <= 1):
        raise ValueError(f"a share in 0..1 over n > 0 is needed: {share}, {n}")


def geometric_mean(ratios: npt.ArrayLike, clusters: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Geometric mean of positive ratios that come in clusters (several pairs of one model).

    Mean over clusters of the mean log ratio, with a Student interval over the clusters: k - 1 degrees of
    freedom. With fewer than three clusters the ends are infinite: no interval can be given.
    """
    logs = np.log(np.asarray(ratios, dtype=np.float64))
    if logs.size == 0 or not np.isfinite(logs).all():
        raise ValueError("ratios must be positive numbers")
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    means = np.bincount(index, weights=logs) / np.bincount(index)
    centre, count = float(means.mean()), len(means)
    if count < 3:
        return Interval(math.exp(centre), 0.0, math.inf, logs.size, confidence)
    z_value(confidence)
    half = float(stdtrit(count - 1, 0.5 + confidence / 2) * means.std(ddof=1) / math.sqrt(count))
    return Interval(math.exp(centre), math.exp(centre - half), math.exp(centre + half), logs.size, confidence)
