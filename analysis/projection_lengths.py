"""Response lengths of a run as logs give them: a histogram, quantiles, mean and longest, or only a mean."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd

from models.lengths import Lengths

Floats = npt.NDArray[np.float64]
ASSUMED_SIGMA = 0.6
"""Spread (log-normal) taken when only a mean is known. An assumption, shown as one."""
INSIDE = 8
NORMAL = NormalDist()


@dataclass(frozen=True)
class FoundLengths:
    """Lengths of a typical step, `None` when no log names any. `known` false: only a mean was there, so the
    tail is assumed. `words`: where they come from; `remedy`: what would make them better, "" for nothing.
    """

    lengths: Lengths | None
    known: bool
    words: str
    remedy: str = ""


def find_lengths(steps: pd.DataFrame, buckets: pd.DataFrame, rollouts: float) -> FoundLengths:
    """Lengths behind `steps` (columns len_*, truncated_frac, tok_gen, rollouts), or `buckets` of a histogram.

    `rollouts`: responses a step, which say what quantile the longest one stands for. Means over steps; where
    responses were cut, the longest is the cap, the largest length of any step.
    """
    if len(buckets):
        return FoundLengths(_of_buckets(buckets), True, "histogram of response lengths")
    mean, middle, high = (_mean(steps[name]) for name in ("len_mean", "len_p50", "len_p95"))
    if math.isnan(mean):
        mean = _mean(steps["tok_gen"] / steps["rollouts"])
    cut = _mean(steps["truncated_frac"])
    cut = cut if 0 < cut < 1 else 0.0
    longest = float(steps["len_max"].max()) if cut else _mean(steps["len_max"])
    top = 1 - cut if cut else 0.5 ** (1 / rollouts) if rollouts > 1 else math.nan
    told = {p: value for p, value in ((0.5, middle), (0.95, high), (top, longest)) if value > 0 and p > 0}
    rising = list(dict(sorted(told.items())).values())
    if longest > 0 and len(told) > 1 and all(a < b for a, b in pairwise(rising)):
        return FoundLengths(quantile_lengths(told, longest), True, "quantiles and the longest response")
    spread = _sigma(mean, longest, top)
    if spread is not None:
        words = "log-normal through the mean and the longest response"
        return FoundLengths(log_normal(mean, spread, longest), True, words)
    if mean > 0:
        words = f"only a mean: a log-normal spread of {ASSUMED_SIGMA:g} is assumed"
        remedy = "Log the longest response (len_max) or quantiles (len_p95), or load a length histogram."
        return FoundLengths(log_normal(mean, ASSUMED_SIGMA, math.inf), False, words, remedy)
    return FoundLengths(None, False, "no response lengths", "Log response lengths or generated tokens.")


def quantile_lengths(quantiles: Mapping[float, float], longest: float) -> Lengths:
    """Lengths through `quantiles` {0.5: tokens, ...}, at least two, cut at `longest`.

    The logarithm is linear in the normal score between two of them, and goes on as it began and ended, so
    quantiles of a log-normal give that log-normal.
    """
    known = dict(sorted(quantiles.items()))
    scores = np.array([NORMAL.inv_cdf(p) for p in known])
    logs = np.log(np.array(list(known.values())))
    slopes = np.diff(logs) / np.diff(scores)
    at, share = _grid()
    found = np.interp(at, scores, logs)
    found = np.where(at < scores[0], logs[0] + slopes[0] * (at - scores[0]), found)
    found = np.where(at > scores[-1], logs[-1] + slopes[-1] * (at - scores[-1]), found)
    return Lengths(np.minimum(np.exp(found), longest), share)


def log_normal(mean: float, sigma: float, longest: float) -> Lengths:
    """Lengths of a log-normal cut at `longest` whose mean after the cut is `mean`.

    Raises ValueError unless 0 < mean < longest.
    """
    if not 0 < mean < longest:
        raise ValueError(f"0 < mean < longest is needed: {mean}, {longest}")
    at, share = _grid()
    shape = np.exp(sigma * at)
    scale = mean / float(shape @ share)
    for _ in range(100):  # the cut shortens the mean, so the scale grows to its fixed point
        scale *= mean / float(np.minimum(scale * shape, longest) @ share)
    return Lengths(np.minimum(scale * shape, longest), share)


def _grid() -> tuple[Floats, Floats]:
    """Normal scores in the middle of their shares; the last points resolve one response in 100,000."""
    edges = np.concatenate([np.linspace(0, 0.98, 197), 1 - np.geomspace(0.02, 1e-5, 60)[1:], [1.0]])
    share = np.diff(edges)
    return np.array([NORMAL.inv_cdf(float(p)) for p in edges[:-1] + share / 2]), share


def _sigma(mean: float, longest: float, top: float) -> float | None:
    """Spread of the log-normal of this mean whose quantile `top` is `longest`; None when there is none.

    ln(longest / mean) = sigma z - sigma^2 / 2, z the normal score of `top`; the smaller root.
    """
    if not (mean > 0 and longest > mean and 0.5 < top < 1):
        return None
    z = NORMAL.inv_cdf(top)
    under = z * z - 2 * math.log(longest / mean)
    return z - math.sqrt(under) if under >= 0 else None


def _of_buckets(buckets: pd.DataFrame) -> Lengths:
    """Responses spread evenly over each bucket; one without an upper bound stands at its lower one."""
    at = (np.arange(INSIDE) + 0.5) / INSIDE
    low = buckets["bucket_low"].to_numpy(dtype=np.float64)
    high = buckets["bucket_high"].astype("float64").fillna(buckets["bucket_low"]).to_numpy()
    tokens = np.maximum((low[:, None] + (high - low)[:, None] * at).ravel(), 1.0)
    share = np.repeat(buckets["n"].to_numpy(dtype=np.float64) / INSIDE, INSIDE)
    order = np.argsort(tokens, kind="stable")
    return Lengths(tokens[order], share[order] / share.sum())


def _mean(values: pd.Series) -> float:
    known = values.astype("float64").dropna()
    return float(known.mean()) if len(known) else math.nan
