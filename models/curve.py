"""Learning curve of a score against tokens, steps or GPU-hours, with the band of its bootstrap.

R(x) = R0 + (A - R0) / (1 + (x_mid / x)^B): start R0, top A, midpoint x_mid, exponent B (Khatri et al. 2025,
arXiv 2510.13786, "ScaleRL", in GPU-hours). It is fitted in the amount that buys the score.
models/curve_cost.py prices it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from models.curve_fit import Fits, Floats, Levels, Points, fit_many, sigmoid_family
from models.shapes import Num, num
from models.stats import Interval, z_value

DRAWS = 500


@dataclass(frozen=True)
class Sigmoid:
    """Start R0, top A, midpoint and exponent: numbers, or arrays of one shape (draws,)."""

    start: Num
    top: Num
    mid: Num
    exponent: Num

    def score(self, x: Num) -> Floats:
        """R(x) at x >= 0, broadcast against the parameters."""
        return num(self.start) + (num(self.top) - num(self.start)) * self._rise(x)

    def slope(self, x: Num) -> Floats:
        """dR/dx = (A - R0) B g (1 - g) / x with g = 1 / (1 + (x_mid / x)^B), at x > 0."""
        g = self._rise(x)
        slope: Floats = (num(self.top) - num(self.start)) * num(self.exponent) * g * (1 - g) / num(x)
        return slope

    def amount(self, target: Num) -> Floats:
        """x where R(x) = target: x_mid ((R - R0) / (A - R))^(1/B); 0 at or below R0, infinite from A on."""
        start, top, goal = num(self.start), num(self.top), num(target)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.where(goal < top, (goal - start) / (top - goal), math.inf)
            found = num(self.mid) * np.maximum(odds, 0.0) ** (1 / num(self.exponent))
        amount: Floats = np.where(goal <= start, 0.0, found)
        return amount

    def _rise(self, x: Num) -> Floats:
        with np.errstate(divide="ignore"):
            rise: Floats = expit(num(self.exponent) * (np.log(num(x)) - np.log(num(self.mid))))
        return rise


@dataclass(frozen=True)
class Origin:
    """What a curve was fitted on and how, for what the refits alone do not tell."""

    points: Points
    start: float | None
    start_se: float
    floor: float
    noise: str
    seed: int


@dataclass(frozen=True)
class Curve:
    """A fitted curve, its bootstrap refits (draws,) and what it was fitted on.

    `noise_sd`: standard deviation of one evaluation (of mean weight) around the curve; `n` evaluations from
    `x_first` to `x_last`; `free` fitted parameters; `unbounded_frac`: share of refits whose top is only held
    by the end of the scale (`ceiling`).
    """

    fit: Sigmoid
    draws: Sigmoid
    noise_sd: float
    n: int
    free: int
    x_first: float
    x_last: float
    ceiling: float
    unbounded_frac: float
    origin: Origin
    confidence: float = 0.95

    @property
    def top_seen(self) -> bool:
        """True when the evaluations bound the top: its interval ends below the end of the scale."""
        return self.unbounded_frac < (1 - self.confidence) / 2

    def interval(
        self, of: Callable[[Sigmoid], Floats], of_draws: Callable[[Sigmoid], Floats] | None = None
    ) -> Interval:
        """Any number of the curve with its interval; `of_draws` where the draws are priced otherwise."""
        return interval_of(float(of(self.fit)), (of_draws or of)(self.draws), self.n, self.confidence)


@dataclass(frozen=True)
class Band:
    """Pointwise interval of the curve at the amounts x; all of shape (n,)."""

    x: Floats
    score: Floats
    low: Floats
    high: Floats


def fit_curve(
    points: Points,
    start: float | None,
    *,
    seed: int,
    start_se: float = 0.0,
    floor: float = 0.0,
    ceiling: float = 1.0,
    draws: int = DRAWS,
    noise: Literal["residuals", "stated"] = "residuals",
    bootstrap: Literal["parametric", "residual"] = "parametric",
    confidence: float = 0.95,
) -> Curve:
    """Least squares with weights 1/se^2 and a bootstrap of refits (Efron and Tibshirani 1993, ch. 9).

    `start`: the score before any training (R0), drawn with `start_se`; None fits it. Noise is that of the
    residuals, its variance drawn as s^2 (n - p) / chi^2 with n - p degrees of freedom, so that few points
    widen the interval; or as stated by `points.se`. `residual` resamples the residuals of the fit, widened by
    sqrt(n / (n - p)), instead of normal noise. Percentile intervals. The noise is taken as independent from
    one evaluation to the next. Raises ValueError with fewer than p + 2 evaluations or p amounts, or scores
    outside floor..ceiling.
    """
    z_value(confidence)
    levels = Levels(start, None, floor, ceiling)
    family = sigmoid_family(points.x)
    free = family.free + levels.free
    _check(points, start, start_se, levels, free, draws, noise)
    found = fit_many(points.x, points.score[None], points.weights, family, levels)
    fit, rng = _sigmoid(found), np.random.default_rng(seed)
    middle = _at(fit, points.x)[0]
    noise_sd, errors = _errors(points, middle, free, draws, noise, bootstrap, rng)
    known = None if start is None else np.clip(start + start_se * rng.standard_normal(draws), floor, ceiling)
    refits = fit_many(points.x, middle + errors, points.weights, family, Levels(known, None, floor, ceiling))
    return Curve(
        Sigmoid(*(float(np.atleast_1d(num(v))[0]) for v in (fit.start, fit.top, fit.mid, fit.exponent))),
        _sigmoid(refits), noise_sd, len(middle), free, float(points.x[0]), float(points.x[-1]), ceiling,
        float((refits.upper >= ceiling - 1e-9).mean()),
        Origin(points, start, start_se, floor, noise, seed), confidence,
    )  # fmt: skip


def _errors(
    points: Points,
    middle: Floats,
    free: int,
    draws: int,
    noise: str,
    bootstrap: str,
    rng: np.random.Generator,
) -> tuple[float, Floats]:
    """Standard deviation of an evaluation, and errors (draws, n) to add to the fitted scores."""
    shape, root = (draws, len(middle)), np.sqrt(points.weights)
    if noise == "stated" and points.se is not None:
        return float(np.exp(np.log(points.se).mean())), rng.standard_normal(shape) * points.se
    dof = len(middle) - free
    off = (points.score - middle) * root
    noise_sd = math.sqrt(float(off @ off) / dof)
    if bootstrap == "residual":
        unit = rng.choice((off - off.mean()) * math.sqrt(len(off) / dof), size=shape)
    else:
        unit = rng.standard_normal(shape) * noise_sd
    widened = np.sqrt(dof / rng.chisquare(dof, draws))[:, None]
    errors: Floats = unit * widened / root
    return noise_sd, errors


def _sigmoid(fits: Fits) -> Sigmoid:
    return Sigmoid(fits.lower, fits.upper, np.exp(fits.shape[:, 0]), np.exp(fits.shape[:, 1]))


def _at(curve: Sigmoid, x: Floats) -> Floats:
    """Scores (draws, n) of all draws at all amounts."""
    columns = (np.atleast_1d(num(v))[:, None] for v in (curve.start, curve.top, curve.mid, curve.exponent))
    return Sigmoid(*columns).score(x[None])


def _check(
    points: Points, start: float | None, start_se: float, levels: Levels, free: int, draws: int, noise: str
) -> None:
    n, amounts = len(points.x), len(np.unique(points.x))
    if n < free + 2 or amounts < free:
        raise ValueError(
            f"{free + 2} evaluations at {free} or more different amounts are needed to fit the curve: "
            f"{n} at {amounts}"
        )
    if draws < 100:
        raise ValueError(f"at least 100 draws are needed: {draws}")
    if noise == "stated" and points.se is None:
        raise ValueError("stated noise needs the standard errors of the scores")
    if not start_se >= 0 or (start is None and start_se > 0):
        raise ValueError(f"the standard error of a known start must be 0 or more: {start_se}")
    seen = points.score if start is None else np.append(points.score, start)
    if not levels.floor < levels.ceiling or seen.min() < levels.floor or seen.max() > levels.ceiling:
        raise ValueError(
            f"scores must lie in {levels.floor:g}..{levels.ceiling:g}: {seen.min():g} to {seen.max():g}; "
            "give the ends of the scale"
        )


def interval_of(value: float, draws: Floats, n: int, confidence: float = 0.95) -> Interval:
    """Percentile interval by order statistics: draws may be infinite, then an end may be. NaN is refused."""
    z_value(confidence)
    ordered = np.sort(np.asarray(draws, dtype=np.float64))
    if ordered.ndim != 1 or not ordered.size or np.isnan(ordered).any():
        raise ValueError("an interval needs known draws of shape (draws,)")
    tail = (1 - confidence) / 2 * (len(ordered) - 1)
    low, high = ordered[math.floor(tail)], ordered[math.ceil(len(ordered) - 1 - tail)]
    return Interval(value, float(low), float(high), n, confidence)


def band(curve: Curve, x: Floats) -> Band:
    """Pointwise interval of the mean score at the amounts x (n,)."""
    grid = _at(curve.draws, x)
    ends = [interval_of(math.nan, column, curve.n, curve.confidence) for column in grid.T]
    low, high = np.array([e.low for e in ends]), np.array([e.high for e in ends])
    return Band(x, curve.fit.score(x), low, high)


def first_held(x: Floats, low: Floats, high: Floats, target: float) -> float | None:
    """First amount whose whole interval lies at or above the target, with no later one wholly below it.

    The other reading of "cost to target": seen, not fitted. Amounts x with interval ends, all (n,); None if
    the target was not reached and held.
    """
    order = np.argsort(x, kind="stable")
    lost = np.flatnonzero(high[order] < target)
    begin = lost[-1] + 1 if lost.size else 0
    held = np.flatnonzero(low[order][begin:] >= target)
    return float(x[order][begin + held[0]]) if held.size else None
