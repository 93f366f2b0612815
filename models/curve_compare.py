"""Is it a sigmoid? Warm-up by a stated rule, and power laws compared on evaluations that no fit has seen."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from models.curve_fit import (
    Family,
    Fits,
    Floats,
    Levels,
    Points,
    fit_many,
    power_family,
    sigmoid_family,
)

SIGMOID, POWER, POWER_TO_TOP = "sigmoid", "power law", "power law to a top"
BOTH, NEITHER = "cannot tell", "neither"
HELD_OUT = 1 / 3
COPIES = 300
WARM_UP_CHANCE = 0.01
WARM_UP_RULE = (
    "leading evaluations, a third of all at most, are left out when they miss the curve of the rest by more "
    "than chance allows (F test at 1 % for all lengths together); how many, by the Bayesian information "
    "criterion"
)


@dataclass(frozen=True)
class WarmUp:
    """`left_out` leading evaluations; the fit starts at the amount `x_from`; `rule`: the criterion in words.

    `settled` is False when as many were left out as the rule allows: the curve may be no sigmoid, or the run
    changed on its way.
    """

    left_out: int
    x_from: float
    settled: bool
    rule: str = WARM_UP_RULE


@dataclass(frozen=True)
class Rival:
    """One family against the sigmoid on the held-out evaluations.

    `rmse` of the rival; `better_if_sigmoid` and `better_if_rival` are central intervals of the difference of
    mean squares (rival - sigmoid) when the one or the other family is true; `difference` is the one seen.
    """

    name: str
    rmse: float
    difference: float
    better_if_sigmoid: tuple[float, float]
    better_if_rival: tuple[float, float]
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """Errors on the last `n_held_out` evaluations of curves fitted to the first `n_fitted`."""

    n_fitted: int
    n_held_out: int
    rmse: float
    noise_sd: float
    rivals: tuple[Rival, ...]


def warm_up(points: Points, start: float | None, floor: float = 0.0, ceiling: float = 1.0) -> WarmUp:
    """How many leading evaluations do not belong to the curve of the rest: `WARM_UP_RULE`.

    Leaving k out is the same as giving each of them a free shift (mean-shift outliers: Cook and Weisberg
    1982, section 2.2), hence F = ((RSS_0 - RSS_k) / k) / (RSS_k / (n - k - p)); information:
    n ln RSS_k + k ln n (Schwarz 1978). Published practice cuts at a fixed amount (1.5k GPU-hours, arXiv
    2510.13786): cut the points by hand for that. With a fitted start a slow beginning can pass for a low
    start and stay in. Raises ValueError with too few evaluations.
    """
    n, levels = len(points.x), Levels(start, None, floor, ceiling)
    family = sigmoid_family(points.x)
    free = family.free + levels.free
    most = min(n // 3, n - free - 2)
    if most < 1:
        raise ValueError(f"{free + 3} evaluations are needed to judge a warm-up: {n}")
    rss = np.empty(most + 1)
    for left_out in range(most + 1):
        rest = slice(left_out, None)
        weights = points.weights[rest]
        fits = fit_many(points.x[rest], points.score[None, rest], weights, family, levels)
        rss[left_out] = fits.rss[0]
    chosen = _chosen(rss, n, free)
    return WarmUp(chosen, float(points.x[chosen]), chosen < most)


def _chosen(rss: Floats, n: int, free: int) -> int:
    """The number left out, from the sums of squares with 0, 1, 2 ... left out."""
    left_out = np.arange(1, len(rss))
    dof = n - left_out - free
    rest = np.maximum(rss[1:], 1e-12 * max(rss[0], 1e-12))  # an exact fit has no noise to compare with
    ratio = np.maximum(rss[0] - rest, 0.0) / left_out / (rest / dof)
    sure = fdtrc(left_out, dof, ratio) < WARM_UP_CHANCE / len(left_out)
    information = np.where(sure, n * np.log(rest) + left_out * math.log(n), math.inf)
    return int(left_out[information.argmin()]) if sure.any() else 0


def _scores(fits: Fits, family: Family, x: Floats) -> Floats:
    scores: Floats = fits.lower[:, None] + (fits.upper - fits.lower)[:, None] * family.rise(x, fits.shape)
    return scores


def compare(
    points: Points,
    start: float | None,
    *,
    seed: int,
    floor: float = 0.0,
    ceiling: float = 1.0,
    copies: int = COPIES,
    confidence: float = 0.95,
) -> Comparison:
    """The sigmoid against power laws, fitted on the first two thirds and tried on the last.

    Rivals: score = ceiling - E x^-k (error as a power of the amount, arXiv 2509.25300), and top - E x^-k with
    a fitted top. They are told apart by the parametric bootstrap cross-fitting of Wagenmakers, Ratcliff,
    Gomez and Iverson 2004 (J. Math. Psychology 48:28): copies made by each family are fitted by both, and the
    difference of squared errors seen is looked up in both distributions. Verdicts: the family whose interval
    alone holds it, `cannot tell` when both do, `neither` when none does. Raises ValueError with too few
    evaluations.
    """
    n = len(points.x)
    fitted = n - max(2, round(n * HELD_OUT))
    ours = _Candidate(SIGMOID, sigmoid_family(points.x), Levels(start, None, floor, ceiling))
    power = power_family(points.x)
    others = [
        _Candidate(POWER, power, Levels(None, ceiling, floor, ceiling)),
        _Candidate(POWER_TO_TOP, power, Levels(None, None, floor, ceiling)),
    ]
    if not math.isfinite(ceiling):
        others = others[1:]
    if fitted < 6:
        raise ValueError(f"9 evaluations are needed to hold a third of them out: {n}")
    split = _Split(points, fitted)
    rng = np.random.default_rng(seed)
    seen = float(split.error(ours, points.score[None])[0])
    rivals = tuple(_rival(split, ours, other, seen, rng, copies, confidence) for other in others)
    return Comparison(fitted, n - fitted, math.sqrt(seen), split.made(ours)[1], rivals)


@dataclass(frozen=True)
class _Candidate:
    name: str
    family: Family
    levels: Levels

    @property
    def free(self) -> int:
        return self.family.free + self.levels.free


@dataclass(frozen=True)
class _Split:
    points: Points
    fitted: int

    def error(self, candidate: _Candidate, scores: Floats) -> Floats:
        """Weighted mean square of the held-out evaluations of every copy (copies, n), fitted on the rest."""
        x, w, cut = self.points.x, self.points.weights, self.fitted
        fits = fit_many(x[:cut], scores[:, :cut], w[:cut], candidate.family, candidate.levels)
        off = scores[:, cut:] - _scores(fits, candidate.family, x[cut:])
        mean: Floats = (off * off) @ w[cut:] / w[cut:].sum()
        return mean

    def made(self, candidate: _Candidate) -> tuple[Floats, float]:
        """The candidate fitted to all evaluations: its scores (n,) and the noise around them."""
        x, w = self.points.x, self.points.weights
        fits = fit_many(x, self.points.score[None], w, candidate.family, candidate.levels)
        dof = len(x) - candidate.free
        return _scores(fits, candidate.family, x)[0], math.sqrt(float(fits.rss[0]) / dof)


def _rival(
    split: _Split, ours: _Candidate, other: _Candidate, seen: float, rng: np.random.Generator, copies: int,
    confidence: float,
) -> Rival:  # fmt: skip
    theirs = float(split.error(other, split.points.score[None])[0])
    spans = []
    for maker in (ours, other):
        middle, noise = split.made(maker)
        errors = rng.standard_normal((copies, len(middle))) * noise / np.sqrt(split.points.weights)
        made = middle + errors
        gap = split.error(other, made) - split.error(ours, made)
        low, high = np.quantile(gap, [0.5 - confidence / 2, 0.5 + confidence / 2])
        spans.append((float(low), float(high)))
    difference = theirs - seen
    holds = [low <= difference <= high for low, high in spans]
    verdict = {(True, True): BOTH, (False, False): NEITHER, (True, False): ours.name}.get(
        (holds[0], holds[1]), other.name
    )
    return Rival(other.name, math.sqrt(theirs), difference, spans[0], spans[1], verdict)
