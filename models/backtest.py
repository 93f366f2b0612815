"""How wrong a prediction was: errors, bias, bands, coverage, and what simple rules would have said."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
BAND = 0.8
"""Mass of the band from p10 to p90."""
DRAWS, SEED = 1000, 0
FEW = 3


@dataclass(frozen=True)
class Error:
    """Predicted over measured of one rule: median |p/m - 1|, geometric mean, and of how many pairs."""

    n: int
    median_abs_error: float | None
    bias: float | None


@dataclass(frozen=True)
class Coverage:
    """`hits` of `n` measured values inside their band, with the exact 95 % binomial interval of the share."""

    hits: int
    n: int
    share: float | None
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """True when the interval contains the nominal mass."""
        return self.low <= BAND <= self.high


def error(log_errors: Floats) -> Error:
    """Summary of log(predicted / measured); NaN are pairs without a prediction. None without any."""
    known = log_errors[np.isfinite(log_errors)]
    if not len(known):
        return Error(0, None, None)
    wrong = float(np.median(np.abs(np.expm1(known))))
    return Error(len(known), wrong, float(np.exp(known.mean())))


def quantiles(log_errors: Floats) -> tuple[float | None, float | None]:
    """p10 and p90 of predicted / measured; None below three pairs."""
    known = log_errors[np.isfinite(log_errors)]
    if len(known) < FEW:
        return None, None
    low, high = np.exp(np.quantile(known, [0.1, 0.9]))
    return float(low), float(high)


def coverage(hits: int, n: int) -> Coverage:
    """Share of hits with its 95 % interval (Clopper and Pearson 1934): quantiles of beta distributions.

    >>> coverage(8, 10).share
    0.8
    """
    if not n:
        return Coverage(0, 0, None, 0.0, 1.0)
    low = float(betaincinv(hits, n - hits + 1, 0.025)) if hits else 0.0
    high = float(betaincinv(hits + 1, n - hits, 0.975)) if hits < n else 1.0
    return Coverage(hits, n, hits / n, low, high)


def band(residuals: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """p10 and p90 of log(measured / predicted) among left-out residuals; NaN below three.

    Order statistics with the (n + 1) correction of split conformal prediction (Lei et al. 2018), by the
    share of the `weights` (None: equal; Tibshirani et al. 2019); the band always contains the prediction.
    """
    known = np.isfinite(residuals)
    n = int(known.sum())
    if n < FEW:
        return float("nan"), float("nan")
    order = np.argsort(residuals[known], kind="stable")
    ordered = residuals[known][order]
    own = np.ones(n) if weights is None else weights[known][order]
    own = own * n / own.sum()
    rank = (1 - BAND) / 2 * (n + 1) + 1e-9
    low, high = (
        side[max(int(np.searchsorted(np.cumsum(mass), rank, side="right")) - 1, 0)]
        for side, mass in ((ordered, own), (ordered[::-1], own[::-1]))
    )
    return min(float(low), 0.0), max(float(high), 0.0)


def class_weights(groups: Sequence[str], own: Mask) -> Floats:
    """Weights of residuals: every model counts once, n models of the class asked for (`own`) n / (n + 1).

    The other class holds the rest, and everything where the class has no model.
    """
    _, model, times = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    weights: Floats = 1 / times[model]
    n = len(set(model[own].tolist()))
    if n > 0 and not own.all():
        weights[own] *= n / (n + 1) / weights[own].sum()
        weights[~own] *= 1 / (n + 1) / weights[~own].sum()
    return weights


def spread_ratio(residuals: Floats, groups: Sequence[str], first: Mask) -> float:
    """Spread of the models of one class over that of the others; 1 where a class has no model.

    A model's spread: the 80 % quantile of |log(measured / predicted)|; a class's: its models' geometric mean.
    """
    names, known = np.array(groups), np.isfinite(residuals)
    found: list[float] = []
    for side in (known & first, known & ~first):
        wide = [np.quantile(np.abs(residuals[side & (names == g)]), BAND) for g in sorted(set(names[side]))]
        logs = [math.log(value) for value in wide if value > 0]
        if not logs:
            return 1.0
        found.append(math.fsum(logs) / len(logs))
    return math.exp(found[0] - found[1])


def bootstrap_median(log_errors: Floats, groups: Sequence[str]) -> tuple[float, float] | None:
    """95 % interval of the median absolute error when whole models are drawn again; None below 3 models."""
    known = np.isfinite(log_errors)
    names, model = np.unique(np.array(groups)[known], return_inverse=True)
    if len(names) < FEW:
        return None
    rng = np.random.default_rng(SEED)
    picks = rng.integers(0, len(names), (DRAWS, len(names)))
    times = np.apply_along_axis(np.bincount, 1, picks, minlength=len(names))
    wrong = np.abs(np.expm1(log_errors[known]))
    low, high = np.quantile(_medians(wrong, times[:, model]), [0.025, 0.975])
    return float(low), float(high)


def _medians(values: Floats, times: npt.NDArray[np.int64]) -> Floats:
    """Median of each row of `times`, which says how often every value is drawn; no row is empty."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(times[:, order], axis=1)
    n = upto[:, -1]
    # the smallest value with more than k draws up to it stands at place k
    lower, upper = ((upto <= k[:, None]).sum(axis=1) for k in ((n - 1) // 2, n // 2))
    medians: Floats = (values[order[lower]] + values[order[upper]]) / 2
    return medians


def left_out(
    groups: Sequence[str], test: Mask, train: Mask, predict: Callable[[Mask, Mask], Floats]
) -> Floats:
    """Predictions of `test`, each from `train` without its group; NaN elsewhere.

    `predict(train, test)` returns as many values as `test` has.
    """
    names = np.array(groups)
    out = np.full(len(names), np.nan)
    for name in sorted(set(names[test])):
        asked = test & (names == name)
        out[asked] = predict(train & (names != name), asked)
    return out


def constant(base: Floats, measured: Floats, kinds: Sequence[str]) -> Callable[[Mask, Mask], Floats]:
    """Rule: one factor on `base` (logs) a kind of metric, the median over pairs it may see; else NaN."""
    names = np.array(kinds)

    def predict(train: Mask, test: Mask) -> Floats:
        out = np.full(int(test.sum()), np.nan)
        for kind in sorted(set(names[test])):
            gap = (measured - base)[train & (names == kind)]
            gap = gap[np.isfinite(gap)]
            if len(gap):
                here = names[test] == kind
                out[here] = base[test][here] + np.log(np.median(np.exp(gap)))
        return out

    return predict


def pair_median(pairs: Sequence[str], measured: Floats) -> Callable[[Mask, Mask], Floats]:
    """Rule: the median ratio of the same platform pair over the pairs it may see; NaN without any."""
    names = np.array(pairs)

    def predict(train: Mask, test: Mask) -> Floats:
        out = np.full(int(test.sum()), np.nan)
        for i, name in enumerate(names[test]):
            same = measured[train & (names == name)]
            if len(same):
                out[i] = np.log(np.median(np.exp(same)))
        return out

    return predict
