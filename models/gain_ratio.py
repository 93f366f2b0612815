"""Gain per cost from joint draws of both, and what a unit of gain costs as a confidence set. M1, M2, M13.

The ends of two intervals are never divided: every draw of the gain meets a draw of the cost. Costs are
above 0, so gain per cost always has two ends; it is the cost per unit of gain that is unbounded when the gain
cannot be told from 0 (Fieller 1954, JRSS B 16:175).
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from models.clustered import log_odds_quantile, stratified
from models.stats import Interval, z_value

Floats = npt.NDArray[np.float64]
Shape = Literal["interval", "rays", "everything"]

POINTS_PER_KUSD = 100.0 * 1000.0
"""From gain (a fraction) per USD to percentage points per $1,000 (M1)."""
NATS_PER_KUSD = 1000.0
"""From log-odds per USD to nats per $1,000 (M2)."""
POINTS_PER_MWH = 100.0
"""From gain (a fraction) per MWh to percentage points per MWh (M13)."""


@dataclass(frozen=True)
class RatioSet:
    """A confidence set of a ratio: between the ends, outside of them (`rays`), or every number.

    `rays` is the set of values <= low or >= high: a denominator that may be 0 gives two unbounded pieces.
    """

    shape: Shape
    low: float
    high: float

    def contains(self, ratio: float) -> bool:
        """True when the ratio is in the set."""
        if self.shape == "everything":
            return True
        if self.shape == "rays":
            return ratio <= self.low or ratio >= self.high
        return self.low <= ratio <= self.high


@dataclass(frozen=True)
class PerCost:
    """Gain per unit of cost with its interval; `n` as in the interval of the gain.

    `distinguishable`: the interval excludes 0; if not, nothing is ranked by this number. `cost_per_gain`:
    what a unit of gain costs, as a set that says when it is unbounded.
    """

    value: float
    low: float
    high: float
    n: int
    distinguishable: bool
    cost_per_gain: RatioSet
    confidence: float = 0.95

    def scaled(self, factor: float) -> "PerCost":
        """The same in another unit: `POINTS_PER_KUSD` and its like. Raises ValueError on factor <= 0."""
        if not factor > 0:
            raise ValueError(f"a unit factor above 0 is needed: {factor}")
        old = self.cost_per_gain
        return PerCost(
            self.value * factor, self.low * factor, self.high * factor, self.n, self.distinguishable,
            RatioSet(old.shape, old.low / factor, old.high / factor), self.confidence,
        )  # fmt: skip


def per_cost(
    gain: float, gain_draws: npt.ArrayLike, cost: float, cost_draws: npt.ArrayLike, n: int,
    confidence: float = 0.95,
) -> PerCost:  # fmt: skip
    """Gain per cost: the value is gain / cost as stated, the interval that of joint draws, both (draws,).

    The draws must be in independent order (those of `clustered_gain` and `money_draws` are). Infinite draws
    of a log-odds gain stay infinite. Raises ValueError for draws that do not pair up, a cost that is not
    above 0 in every draw, or NaN.
    """
    z_value(confidence)
    top, bottom = np.asarray(gain_draws, dtype=np.float64), np.asarray(cost_draws, dtype=np.float64)
    if top.shape != bottom.shape or top.ndim != 1:
        raise ValueError(f"gain and cost need the same draws: {top.shape}, {bottom.shape}")
    if not (cost > 0 and (bottom > 0).all() and np.isfinite(bottom).all()):
        raise ValueError("every drawn cost must be a number above 0")
    if np.isnan(top).any():
        raise ValueError("a gain without draws has no gain per cost")
    low, high = _ends(top / bottom, confidence)
    return PerCost(
        gain / cost, low, high, n, low > 0 or high < 0, reciprocal(low, high), confidence
    )  # fmt: skip


def _ends(ratios: Floats, confidence: float) -> tuple[float, float]:
    """Central interval of draws of which each stands for the middle of its share, as stratified ones do.

    Between two infinite draws there is no number: an end that falls there is the order statistic.
    """
    shares = [0.5 - confidence / 2, 0.5 + confidence / 2]
    with np.errstate(invalid="ignore"):
        ends = np.quantile(ratios, shares, method="hazen")
    order = np.quantile(ratios, shares, method="inverted_cdf")
    low, high = (float(x) for x in np.where(np.isfinite(ends), ends, order))
    return low, high


def reciprocal(low: float, high: float) -> RatioSet:
    """The set of 1 / x for x in [low, high]: rays when 0 is inside, one unbounded end when 0 is an end."""
    if not low <= high:
        raise ValueError(f"low <= high is needed: {low}, {high}")
    if low > 0 or high < 0:
        return RatioSet("interval", 1 / high, 1 / low)
    under = 1 / low if low < 0 else -math.inf
    over = 1 / high if high > 0 else math.inf
    return RatioSet("rays", under, over)


def fieller(
    top: float, bottom: float, var_top: float, var_bottom: float, covariance: float, critical: float
) -> RatioSet:
    """Confidence set of top / bottom of two normal estimates: |top - r bottom| <= c se(top - r bottom).

    Fieller 1954: all r that a test does not reject. An interval when bottom differs from 0 at that level;
    else two rays, or every number when top cannot be told from 0 either. `critical`: quantile of the normal
    or Student t. Raises ValueError on variances below 0 or a covariance beyond them.
    """
    if not (var_top >= 0 and var_bottom >= 0 and critical > 0):
        raise ValueError("variances of 0 or more and a critical value above 0 are needed")
    if covariance**2 > var_top * var_bottom * (1 + 1e-9):
        raise ValueError("the covariance is larger than the variances allow")
    square = critical * critical
    lead = bottom * bottom - square * var_bottom
    half = top * bottom - square * covariance
    rest = top * top - square * var_top
    inside = half * half - lead * rest
    if inside < 0 or (lead == 0 and half == 0):
        return RatioSet("everything", -math.inf, math.inf)
    if lead == 0:
        end = rest / (2 * half)
        return RatioSet("interval", *((end, math.inf) if half > 0 else (-math.inf, end)))
    ends = sorted(((half - math.sqrt(inside)) / lead, (half + math.sqrt(inside)) / lead))
    return RatioSet("interval" if lead > 0 else "rays", ends[0], ends[1])


def interval_draws(interval: Interval, size: int, seed: int) -> Floats:
    """Draws, shape (size,), of a gain of which only value and interval are known: a two-piece normal.

    Median at the value, central `confidence` between the ends; for gains from totals (`newcombe`,
    `gain_assuming_correlation`). Stratified, so that the draws give the interval back.
    """
    z = z_value(interval.confidence)
    normal = ndtri(stratified(size, seed))
    side = np.where(normal < 0, interval.value - interval.low, interval.high - interval.value)
    draws: Floats = interval.value + normal * side / z
    return draws


def log_odds_from_totals(
    after: float, before: float, n: int, correlation: float, size: int, seed: int, confidence: float = 0.95
) -> tuple[Interval, Floats]:
    """Log-odds gain in nats, and draws (size,), when only two pass rates over the same n tasks are known.

    `correlation` of a task's two results is an assumption, 0 for independent runs. MOVER on Wilson limits,
    see `log_odds_quantile`. Raises ValueError outside shares of 0..1, n > 0, -1..1.
    """
    if not (0 <= after <= 1 and 0 <= before <= 1 and n > 0 and -1 <= correlation <= 1):
        raise ValueError(
            f"shares in 0..1 over n > 0, correlation in -1..1: {after}, {before}, {n}, {correlation}"
        )
    z_value(confidence)
    quantile = log_odds_quantile(after, n, before, n, correlation, lambda share: np.asarray(ndtri(share)))
    low, high = quantile(np.array([0.5 - confidence / 2, 0.5 + confidence / 2]))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.log(after) - np.log1p(-after) - np.log(before) + np.log1p(-before))
    return Interval(value, float(low), float(high), n, confidence), quantile(stratified(size, seed))


def error_cut(after: float, before: float) -> float:
    """Share of the errors that went away: (after - before) / (1 - before); negative when errors were added.

    Raises ValueError outside 0..1 or when there was no error to cut.
    """
    if not (0 <= after <= 1 and 0 <= before < 1):
        raise ValueError(f"scores in 0..1, the one before below 1: {after}, {before}")
    return (after - before) / (1 - before)
