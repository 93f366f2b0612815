"""A weighted mean of gains on several benchmarks; the best of many where the others' tasks are unknown."""

import math
from collections.abc import Sequence

import numpy.typing as npt

from models.clustered import Estimand, clustered_gain
from models.selection import expected_maximum, most_inflation
from models.stats import Interval, newcombe


def weighted_gain(gains: Sequence[Interval], weights: Sequence[float]) -> Interval:
    """Sum of w_i g_i / sum of w_i over gains on different tasks, so that their errors are independent.

    Ends by MOVER: value -+ sqrt(sum (w_i arm_i)^2), each arm that of its own interval (Zou and Donner 2008,
    Statistics in Medicine 27:1693). `n`: tasks of all together. Raises ValueError for no gain, weights that
    do not line up, are below 0 or all 0, or intervals at several levels of confidence.
    """
    if not gains or len(gains) != len(weights):
        raise ValueError(f"a weight for every gain is needed: {len(gains)}, {len(weights)}")
    if any(not w >= 0 for w in weights) or not 0 < math.fsum(weights) < math.inf:
        raise ValueError(f"weights of 0 or more with a sum above 0 are needed: {list(weights)}")
    if len({gain.confidence for gain in gains}) > 1:
        raise ValueError("intervals of one level of confidence are needed")
    total = math.fsum(weights)
    shares = [w / total for w in weights]
    value = math.fsum(w * g.value for w, g in zip(shares, gains, strict=True))
    down = math.hypot(*(w * (g.value - g.low) for w, g in zip(shares, gains, strict=True)))
    up = math.hypot(*(w * (g.high - g.value) for w, g in zip(shares, gains, strict=True)))
    return Interval(value, value - down, value + up, sum(g.n for g in gains), gains[0].confidence)


def best_of_totals(
    after: float, before: float, n_after: float, n_before: float, candidates: int, confidence: float = 0.95
) -> tuple[Interval, float]:
    """Gain of the best of `candidates` checkpoints over the start, from pass rates alone, and the inflation.

    The value is lowered by the most that choosing adds on average (`selection.most_inflation`, tasks of two
    checkpoints taken as unrelated, for totals do not say). Lower end: Newcombe's at 1 - a / candidates, which
    holds for whichever was chosen (Bonferroni); upper end: the ordinary one. Unit: fractions.
    """
    inflation = most_inflation(candidates, after, int(n_after), 0.0) if candidates > 1 else 0.0
    plain = newcombe(after * n_after, n_after, before * n_before, n_before, confidence)
    level = 1 - (1 - confidence) / candidates
    wide = newcombe(after * n_after, n_after, before * n_before, n_before, level)
    value = plain.value - inflation
    return Interval(value, min(wide.low, value), plain.high, plain.n, confidence), inflation


def best_of_paired(
    change: npt.ArrayLike, clusters: npt.ArrayLike | None, candidates: int, confidence: float = 0.95,
    *, estimand: Estimand = "tasks", seed: int = 0,
) -> tuple[Interval, float]:  # fmt: skip
    """Gain of the best of `candidates` checkpoints of which only its own tasks are known, and the inflation.

    Inflation: se E[largest of m independent normals], the most that choosing adds on average among gains of
    this noise, for what they share does not choose. Lower end at 1 - a / candidates (Bonferroni), upper end
    the ordinary one. `change`: (tasks,), as in `clustered_gain`.
    """
    plain = clustered_gain(change, clusters, confidence, estimand=estimand, seed=seed, draws=100)
    level = 1 - (1 - confidence) / candidates
    wide = clustered_gain(change, clusters, level, estimand=estimand, seed=seed, draws=100)
    inflation = plain.se * expected_maximum(candidates) if candidates > 1 else 0.0
    value, was = plain.interval.value - inflation, plain.interval
    return Interval(value, min(wide.interval.low, value), was.high, was.n, confidence), inflation
