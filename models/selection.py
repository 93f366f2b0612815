"""The best of many checkpoints on one evaluation: how much choosing inflates its gain, what is left of it.

The maximum of m noisy gains is above the truth of the one it picks. The value is lowered by the expected
inflation; the lower end is simultaneous over all candidates, so that it holds for whichever was picked.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

from models.clustered import Estimand, JointMeans, clustered_gain, joint_means
from models.stats import Interval, se_share, z_value

Floats = npt.NDArray[np.float64]
SIZE = 10_000


@dataclass(frozen=True)
class BestOf:
    """The candidate with the highest gain out of `candidates` on the same evaluation.

    `chosen`: its place; `seen`: its gain as if it had been the only one; `inflation`: expected part of it
    that is due to choosing; `corrected`: value less inflation, an interval that allows for the choice. Unit:
    that of the scores (fractions 0..1).
    """

    chosen: int
    candidates: int
    seen: Interval
    inflation: float
    corrected: Interval

    @property
    def flagged(self) -> bool:
        """True when a choice among several was made."""
        return self.candidates > 1

    @property
    def verdict(self) -> str:
        """`better`, `worse` or `cannot tell`, by the corrected interval."""
        if not self.corrected.excludes_zero:
            return "cannot tell"
        return "better" if self.corrected.low > 0 else "worse"


def best_of(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    *,
    estimand: Estimand = "tasks",
    seed: int = 0,
    draws: int = SIZE,
) -> BestOf:
    """Gain of the best of several checkpoints over the one they started from, corrected for the choice.

    `before`: (tasks,), `after`: (candidates, tasks), repeats averaged. Inflation by the parametric bootstrap
    of the maximum (joint t draws, CR2 covariance) around gains shrunk to their mean by the part of their
    spread that noise explains (Efron 2011, JASA 106:1602, on winners; without shrinking, ties are taken for
    differences). Lower end: value - c se, c the quantile of the largest t of all candidates (Berk, Brown,
    Buja, Zhang and Zhao 2013, Annals of Statistics 41:802); upper end: the ordinary one, because choosing
    pushes upward. A second evaluation on held-out tasks needs none of this.
    Raises ValueError when shapes do not line up or a score is missing or outside 0..1.
    """
    z_value(confidence)
    old, new = _scores(before, after)
    joint = joint_means(new - old, clusters, estimand=estimand)
    noise = joint.noise(draws, seed)
    chosen = int(joint.values.argmax())
    change = new[chosen] - old
    seen = clustered_gain(change, clusters, confidence, estimand=estimand, method="cr2_t", draws=100)
    single = float(stdtrit(joint.df, 0.5 + confidence / 2))
    # A candidate without variation has no t; its own exact bound stands in `seen`.
    ratios = noise[joint.se > 0] / joint.se[joint.se > 0][:, None]
    most = float(np.quantile(ratios.max(axis=0), 0.5 + confidence / 2)) if len(ratios) > 1 else single
    inflation = expected_inflation(joint, noise)
    value, was = seen.interval.value - inflation, seen.interval
    low = max(-1.0, min(was.low, was.value - most * seen.se, value))
    corrected = Interval(value, low, was.high, was.n, confidence)
    return BestOf(chosen, len(new), was, inflation, corrected)


def _scores(before: npt.ArrayLike, after: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Both as arrays. Raises ValueError when shapes do not line up or a score is missing or outside 0..1."""
    old, new = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if new.ndim != 2 or not len(new) or old.shape != new.shape[1:]:
        raise ValueError(
            f"(tasks,) before and (candidates, tasks) after are needed: {old.shape}, {new.shape}"
        )
    if not (((old >= 0) & (old <= 1)).all() and ((new >= 0) & (new <= 1)).all()):
        raise ValueError("every task needs a score in 0..1 for every candidate")
    return old, new


def expected_inflation(joint: JointMeans, noise: Floats) -> float:
    """Mean of (best estimate - its truth) over draws, truths being the gains shrunk to their common mean.

    Shrinkage 1 - noise / spread (at least 0): spread is the variance of the gains between candidates, noise
    what their covariance alone would give, trace(C S) / (m - 1) with C the centring matrix. `noise`:
    (candidates, draws). One candidate: 0.
    """
    count = len(joint.values)
    if count < 2:
        return 0.0
    centred = joint.factor - joint.factor.mean(axis=0)
    expected = float((centred**2).sum() / (count - 1))
    spread = float(joint.values.var(ddof=1))
    kept = max(0.0, 1 - expected / spread) if spread > 0 else 0.0
    mean = float(joint.values.mean())
    truth = mean + kept * (joint.values - mean)
    picked = (truth[:, None] + noise).argmax(axis=0)
    # The noise all candidates share does not choose; without it the mean settles sooner.
    own = noise - noise.mean(axis=0)
    return max(0.0, float(own[picked, np.arange(noise.shape[1])].mean()))


def most_inflation(candidates: int, share: float, n: int, correlation: float) -> float:
    """Expected inflation of the best of equally good candidates when only totals over n tasks are known.

    se sqrt(1 - correlation) E[largest of m standard normals]: what candidates share on a task does not choose
    between them. The most that choosing adds on average; differences that are real make it less. Unit:
    fraction 0..1. Raises ValueError for fewer than one candidate or a correlation outside 0..1.
    """
    if candidates < 1 or not 0 <= correlation <= 1:
        raise ValueError(f"candidates >= 1 and a correlation in 0..1: {candidates}, {correlation}")
    return se_share(share, n) * math.sqrt(1 - correlation) * expected_maximum(candidates)


def expected_maximum(count: int) -> float:
    """Mean of the largest of m independent standard normals: integral of 1 - F^m - (1 - F)^m over x > 0."""
    if count < 1:
        raise ValueError(f"at least one number is needed: {count}")
    # For x > 0: P(max > x) - P(max < -x) = 1 - F(x)^m - F(-x)^m.
    x = np.linspace(0.0, 12.0, 12_001)
    tail = 1 - ndtr(x) ** count - ndtr(-x) ** count
    return float(np.trapezoid(tail, x))


__all__ = ["BestOf", "best_of", "expected_inflation", "expected_maximum", "most_inflation"]
