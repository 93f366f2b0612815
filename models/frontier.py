"""Who is on the Pareto front of cost and score, how surely, and who is best; two curves at equal money.

Costs and scores come as joint draws, shape (candidates, draws): a draw is one world in which every candidate
has a cost and a score. Candidates measured on the same tasks must share the noise of a draw
(`clustered.joint_means`), or a sure order looks unsure.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Standing:
    """Shares of draws, each of shape (candidates,).

    `front`: not dominated; `best`: highest score, a tie shared; `best_within`: highest score among those
    whose cost is within the budget (0 for all in draws where nobody is); `dominated_by`: shape (candidates,
    candidates), share of draws in which the column's candidate dominates the row's.
    """

    front: Floats
    best: Floats
    best_within: Floats
    dominated_by: Floats


@dataclass(frozen=True)
class Versus:
    """Difference a - b in draws: median, interval, share of draws with a above b, and the draws that count.

    `known_frac`: share of draws in which both sides have a number; the rest never got there, so that median
    and ends are of the draws that did, and None below `LEAST_KNOWN` of them.
    """

    value: float | None
    low: float | None
    high: float | None
    a_above_frac: float
    known_frac: float
    confidence: float = 0.95


LEAST_KNOWN = 0.975
"""Share of draws with a number on both sides below which no interval is given."""


def pareto(cost: npt.ArrayLike, score: npt.ArrayLike) -> Bools:
    """True for candidates that nobody dominates: no other costs no more, scores no less and differs in one.

    Shape (candidates,) or (candidates, draws); equal candidates do not dominate each other.
    Raises ValueError for shapes that differ or a NaN: an unknown cost or score has no place on a front.
    """
    spend, value = _pair(cost, score)
    if spend.ndim == 1:
        return pareto(spend[:, None], value[:, None])[:, 0]
    # By rising cost, then falling score: on the front is who beats all before, or equals one who did.
    order = np.lexsort((-value, spend), axis=0)
    sorted_cost = np.take_along_axis(spend, order, axis=0)
    sorted_score = np.take_along_axis(value, order, axis=0)
    highest = np.maximum.accumulate(sorted_score, axis=0)
    before = np.vstack([np.full((1, spend.shape[1]), -np.inf), highest[:-1]])
    kept = sorted_score > before
    for row in range(1, len(kept)):  # a twin of one on the front is on it too
        twin = (sorted_cost[row] == sorted_cost[row - 1]) & (sorted_score[row] == sorted_score[row - 1])
        kept[row] |= twin & kept[row - 1]
    front = np.empty_like(kept)
    np.put_along_axis(front, order, kept, axis=0)
    return front


def standing(cost: npt.ArrayLike, score: npt.ArrayLike, budget: float = math.inf) -> Standing:
    """Probability of being on the front, of being best, and of being best within a budget.

    `cost`, `score`: (candidates, draws), costs in any one unit; `budget` in that unit. Ranks are given by
    these shares only, never by two point estimates. Raises ValueError as `pareto`.
    """
    spend, value = _pair(cost, score)
    if spend.ndim != 2 or not spend.shape[1]:
        raise ValueError(f"(candidates, draws) are needed: {spend.shape}")
    fits = np.where(spend <= budget, value, -np.inf)
    count = len(spend)
    beaten = np.zeros((count, count))
    for one in range(count):
        no_worse = (spend <= spend[one]) & (value >= value[one])
        beaten[one] = (no_worse & ((spend < spend[one]) | (value > value[one]))).mean(axis=1)
    return Standing(pareto(spend, value).mean(axis=1), _share_best(value), _share_best(fits), beaten)


def score_at(usd: float, curve_usd: npt.ArrayLike, curve_score: npt.ArrayLike) -> Floats:
    """Score at a spend on measured curves, shape (draws,): linear between evaluations, NaN outside of them.

    `curve_usd`: (points,) or (points, draws), rising; `curve_score`: (points, draws). Never extrapolated.
    """
    spend, value = _curve(curve_usd, curve_score)
    found: Floats = np.array(
        [np.interp(usd, spend[:, i], value[:, i], np.nan, np.nan) for i in range(value.shape[1])]
    )
    return found


def usd_to(score: float, curve_usd: npt.ArrayLike, curve_score: npt.ArrayLike) -> Floats:
    """Spend at which measured curves first reach a score, shape (draws,): linear in between, inf if never.

    A curve that starts at or above the score took no more than its first spend, which is given. Shapes as in
    `score_at`.
    """
    spend, value = _curve(curve_usd, curve_score)
    there = value >= score
    first = there.argmax(axis=0)
    draws = np.arange(value.shape[1])
    before = np.maximum(first - 1, 0)
    rise = value[first, draws] - value[before, draws]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(first > 0, (score - value[before, draws]) / rise, 0.0)
    at = spend[before, draws] + part * (spend[first, draws] - spend[before, draws])
    found: Floats = np.where(there.any(axis=0), at, np.inf)
    return found


def versus(a: npt.ArrayLike, b: npt.ArrayLike, confidence: float = 0.95) -> Versus:
    """Two modes by joint draws: scores at equal dollars (NaN unknown), dollars at equal score (inf never).

    One side that never gets there is above the other in dollars; a draw in which neither does says nothing.
    Raises ValueError for draws that do not pair up.
    """
    one, two = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if one.shape != two.shape or one.ndim != 1 or not one.size:
        raise ValueError(f"both sides need the same draws: {one.shape}, {two.shape}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1: {confidence}")
    known = np.isfinite(one) & np.isfinite(two)
    said = ~(np.isnan(one) | np.isnan(two)) & ~(np.isinf(one) & np.isinf(two))
    above = float((one[said] > two[said]).mean()) if said.any() else math.nan
    share = float(known.mean())
    if share < LEAST_KNOWN:
        return Versus(None, None, None, above, share, confidence)
    ends = [0.5 - confidence / 2, 0.5, 0.5 + confidence / 2]
    low, middle, high = (float(x) for x in np.quantile(one[known] - two[known], ends))
    return Versus(middle, low, high, above, share, confidence)


def _share_best(value: Floats) -> Floats:
    top = value.max(axis=0)
    first = (value == top) & np.isfinite(top)
    shares: Floats = (first / np.maximum(first.sum(axis=0), 1)).mean(axis=1)
    return shares


def _pair(cost: npt.ArrayLike, score: npt.ArrayLike) -> tuple[Floats, Floats]:
    spend, value = np.asarray(cost, dtype=np.float64), np.asarray(score, dtype=np.float64)
    if spend.shape != value.shape or spend.ndim not in (1, 2) or not spend.size:
        raise ValueError(f"costs and scores must have one shape: {spend.shape}, {value.shape}")
    if np.isnan(spend).any() or np.isnan(value).any():
        raise ValueError("a candidate without cost or score cannot be placed; leave it out and say so")
    return spend, value


def _curve(curve_usd: npt.ArrayLike, curve_score: npt.ArrayLike) -> tuple[Floats, Floats]:
    value = np.asarray(curve_score, dtype=np.float64)
    spend = np.asarray(curve_usd, dtype=np.float64)
    if value.ndim != 2 or spend.shape[:1] != value.shape[:1] or not value.size:
        raise ValueError(f"(points,) of dollars and (points, draws) of scores: {spend.shape}, {value.shape}")
    spend = np.broadcast_to(spend[:, None] if spend.ndim == 1 else spend, value.shape)
    if not (np.diff(spend, axis=0) > 0).all():
        raise ValueError("dollars along a curve must rise")
    return spend, value
