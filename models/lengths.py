"""How long responses are: what decides the tail of a rollout phase. Tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.shapes import Num, where

Floats = npt.NDArray[np.float64]
GRID = 1000
"""Points that stand for a distribution given by quantiles."""


@dataclass(frozen=True)
class Lengths:
    """Response lengths in tokens (rising) with their shares, which add up to 1."""

    tokens: Floats
    share: Floats

    def __post_init__(self) -> None:
        if self.tokens.ndim != 1 or self.tokens.shape != self.share.shape or not self.tokens.size:
            raise ValueError(f"{self.share.shape} shares for {self.tokens.shape} lengths")
        if not (self.tokens > 0).all() or not (np.diff(self.tokens) >= 0).all():
            raise ValueError("lengths must be positive and rising")
        if (self.share < 0).any() or abs(self.share.sum() - 1) > 1e-6:
            raise ValueError(f"shares must add up to 1: {self.share.sum()}")

    @property
    def mean(self) -> float:
        """Mean length."""
        return float(self.tokens @ self.share)

    @property
    def longest(self) -> float:
        """Longest length with a share."""
        return float(self.tokens[self.share > 0][-1])

    @property
    def mean_residual(self) -> float:
        """Tokens left of a response met at a random step: E[L^2] / 2 E[L] (renewal theory, Cox 1962).

        As many lie behind it, so this is also the mean context that responses add while they decode.
        """
        return float(self.tokens**2 @ self.share) / (2 * self.mean)

    def capped(self, cap: float) -> "Lengths":
        """The same lengths cut at `cap` tokens: what lies above is truncated there."""
        return Lengths(np.minimum(self.tokens, cap), self.share)

    def truncated_frac(self, cap: float) -> float:
        """Share that reaches `cap` tokens."""
        return float(self.share[self.tokens >= cap].sum())

    def expected_longest(self, count: Num) -> Num:
        """Mean of the longest of `count` independent responses: sum of x (F(x)^n - F(x-)^n).

        With truncated responses it nears the cap as n grows.
        """
        n = np.asarray(count, dtype=np.float64)
        upto = _along(np.minimum(np.cumsum(self.share), 1.0), n)
        below = np.concatenate([np.zeros_like(upto[:1]), upto[:-1]])
        longest: Num = (_along(self.tokens, n) * (upto**n - below**n)).sum(axis=0)[()]
        return longest

    def expected_longest_residual(self, count: Num) -> Num:
        """Mean of the longest of `count` residual lengths, density P(L > r) / E[L]: integral of 1 - G(r)^n.

        How long a replica drains once its queue is empty. G is linear between two lengths, so the integral is
        exact.
        """
        n = np.asarray(count, dtype=np.float64)
        edges = np.concatenate([[0.0], self.tokens])
        left = np.concatenate([[1.0], 1 - np.minimum(np.cumsum(self.share), 1.0)[:-1]])
        width = np.diff(edges)
        cumulated = np.minimum(np.concatenate([[0.0], np.cumsum(left * width)]) / self.mean, 1.0)
        low, high = _along(cumulated[:-1], n), _along(cumulated[1:], n)
        slope = np.where(high > low, high - low, 1.0)
        power = where(high > low, (high ** (n + 1) - low ** (n + 1)) / ((n + 1) * slope), high**n)
        longest: Num = (_along(width, n) * (1 - np.asarray(power))).sum(axis=0)[()]
        return longest

    def survivors(self, steps: Num, residual: Any = False) -> Num:
        """Responses of one slot still alive, summed over the first `steps` steps: E[min(L, steps)].

        `residual`: of the tokens left at a random step instead of whole lengths (array of truths allowed).
        """
        edges = np.concatenate([[0.0], self.tokens])
        alive = np.concatenate([[1.0], 1 - np.minimum(np.cumsum(self.share), 1.0)])
        width = np.diff(edges)
        whole = np.concatenate([[0.0], np.cumsum(alive[:-1] * width)])
        left = 1 - np.minimum(whole / self.mean, 1.0)
        rest = np.concatenate([[0.0], np.cumsum((left[:-1] + left[1:]) / 2 * width)])
        at = np.asarray(steps, dtype=np.float64)
        return where(residual, np.interp(at, edges, rest), np.interp(at, edges, whole))

    def draw(self, count: int, seed: int) -> Floats:
        """`count` lengths in random order, whole tokens."""
        rng = np.random.default_rng(seed)
        picked: Floats = np.maximum(np.round(rng.choice(self.tokens, size=count, p=self.share)), 1.0)
        return picked


def lengths_of(values: npt.ArrayLike) -> Lengths:
    """Lengths of measured responses, each with the same share. Raises ValueError without a positive one."""
    tokens = np.sort(np.asarray(values, dtype=np.float64).ravel())
    return Lengths(tokens, np.full(tokens.shape, 1 / max(tokens.size, 1)))


def lengths_of_histogram(edges: npt.ArrayLike, counts: npt.ArrayLike, inside: int = 8) -> Lengths:
    """Lengths of a histogram: responses spread evenly over each bin, by `inside` points a bin.

    Raises ValueError unless there is one edge more than counts.
    """
    bounds, seen = np.asarray(edges, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if bounds.size != seen.size + 1 or not seen.sum() > 0:
        raise ValueError(f"{bounds.size} edges do not enclose {seen.size} bins with responses")
    at = (np.arange(inside) + 0.5) / inside
    tokens = (bounds[:-1, None] + np.diff(bounds)[:, None] * at).ravel()
    return Lengths(tokens, np.repeat(seen / seen.sum() / inside, inside))


def lengths_of_quantiles(
    quantiles: Mapping[float, float], cap: float | None = None, truncated_frac: float = 0.0
) -> Lengths:
    """Lengths of quantiles {0.5: tokens, 0.95: tokens, 1: longest}, log-linear between them.

    Below the lowest quantile lengths fall to half of it at 0. `truncated_frac` of the responses end at `cap`,
    which is then the longest. Raises ValueError without a longest length or a cap: a mean alone does not fix
    a tail.
    """
    known = dict(sorted(quantiles.items()))
    if truncated_frac > 0 and cap is None:
        raise ValueError("truncated responses need the cap they were cut at")
    if cap is not None and truncated_frac > 0:
        known = {p: v for p, v in known.items() if p < 1 - truncated_frac} | {
            1 - truncated_frac: cap,
            1.0: cap,
        }
    if len(known) < 2 or 1.0 not in known:
        raise ValueError("a tail needs the longest length (quantile 1) or a cap with its truncated share")
    if 0.0 not in known:
        known = {0.0: next(iter(known.values())) / 2} | known
    at = (np.arange(GRID) + 0.5) / GRID
    logs = np.log(np.array(list(known.values()), dtype=np.float64))
    tokens = np.exp(np.interp(at, list(known), logs))
    tokens[at >= 1 - max(truncated_frac, 1 / GRID)] = known[1.0]
    return Lengths(tokens if cap is None else np.minimum(tokens, cap), np.full(GRID, 1 / GRID))


def _along(values: Floats, counts: Floats) -> Floats:
    return values.reshape((-1,) + (1,) * counts.ndim)
