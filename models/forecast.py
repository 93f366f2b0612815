"""Spend and GPU-hours of coming months from days that were, and how good such forecasts turned out.

A draw of the future resamples days in blocks, twice: first the history itself, so that its own shortness
counts, then the days to come from what was drawn. Blocks of a week on a circle keep the week's rhythm and
neighbouring days together (circular block bootstrap: Politis & Romano, in LePage & Billard, Exploring the
Limits of Bootstrap, 1992). On top lie a level that wanders from month to month (log-normal random walk,
median 1) and a trend. All series (campaigns, measures) are drawn on the same days: their draws add up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.workload import Floats

BLOCK_DAYS = 7
QUANTILES = (0.1, 0.5, 0.9)
MONTHS_FOR_LEVEL = 4
"""Whole months from which the spread of their changes is measured: three changes."""

Ints = NDArray[np.int64]


def draw_days(
    history: int, ahead: int, draws: int, rng: np.random.Generator, block: int = BLOCK_DAYS
) -> Ints:
    """Indices of history days that stand for the coming ones, (draws, ahead); ValueError without history.

    A longer horizon begins with the days of a shorter one, so that two forecasts differ by their inputs.
    """
    if history < 1 or ahead < 0 or draws < 1 or block < 1:
        raise ValueError("a forecast needs a day of history, a draw and a block of a day or more")
    block = min(block, history)
    first = _blocks(np.tile(np.arange(history), (draws, 1)), history, block, rng)
    return _blocks(first, ahead, block, rng)


def _blocks(days: Ints, wanted: int, block: int, rng: np.random.Generator) -> Ints:
    """`wanted` entries of every row of `days` (draws, n), in blocks that start anywhere on the circle."""
    draws, n = days.shape
    starts = rng.integers(0, n, size=(math.ceil(wanted / block), draws)).T
    places = (starts[:, :, None] + np.arange(block)).reshape(draws, -1)[:, :wanted] % n
    return np.take_along_axis(days, places, axis=1)


def level_draws(months: int, change_frac: float, draws: int, rng: np.random.Generator) -> Floats:
    """Level of each coming month against today's, (draws, months): random walk, `change_frac` a month.

    `change_frac` is one standard deviation of the logarithm of a month's change; the median stays 1.
    """
    if change_frac < 0:
        raise ValueError("the spread of the level is 0 or more")
    steps: Floats = rng.standard_normal((months, draws)).T
    return np.exp(change_frac * np.cumsum(steps, axis=1))


def level_change(monthly: Sequence[float]) -> float | None:
    """Standard deviation of log changes of whole months, about 0; None below 4 months or with an empty one.

    About 0 and not about their mean: a trend nobody asked for is uncertainty.
    """
    if len(monthly) < MONTHS_FOR_LEVEL or any(value <= 0 for value in monthly):
        return None
    changes = np.diff(np.log(np.array(monthly)))
    return float(np.sqrt(np.mean(changes**2)))


def day_counts(drawn: Ints, month_of: Ints, months: int, history: int) -> Floats:
    """How often each day of history stands in each coming month, (months, draws, history).

    `month_of` (ahead,) is the month 0, 1, … that a coming day belongs to.
    """
    draws = drawn.shape[0]
    out = np.zeros((months, draws, history))
    offset = np.arange(draws)[:, None] * history
    for month in range(months):
        places = (drawn[:, month_of == month] + offset).ravel()
        out[month] = np.bincount(places, minlength=draws * history).reshape(draws, history)
    return out


def month_sums(daily: Floats, counts: Floats) -> Floats:
    """Sums by coming month, (draws, months, k), of `daily` (history, k) with `counts` of `day_counts`."""
    return np.stack([one @ daily for one in counts], axis=1)


def pinball(quantile: float, told: float, actual: float) -> float:
    """Loss of a told quantile, in the unit of the value: `q x max(0, y - x) + (1 - q) x max(0, x - y)`.

    Lowest in expectation at the true quantile (Koenker & Bassett, Econometrica 46, 1978).
    """
    return quantile * max(0.0, actual - told) + (1 - quantile) * max(0.0, told - actual)


def mean_pinball(told: Sequence[float], actual: float, quantiles: Sequence[float] = QUANTILES) -> float:
    """Mean pinball loss over the told quantiles; ValueError when they do not match."""
    if len(told) != len(quantiles):
        raise ValueError("one value a quantile")
    return math.fsum(pinball(q, x, actual) for q, x in zip(quantiles, told, strict=True)) / len(quantiles)


@dataclass(frozen=True)
class Coverage:
    """How many of `n` outcomes fell inside their p10-p90; `low`..`high`: 95 % Wilson interval."""

    n: int
    inside: int
    frac: float
    low: float
    high: float


def coverage(inside: Sequence[bool], z: float = 1.959963984540054) -> Coverage | None:
    """Share of outcomes inside, with the Wilson score interval (Wilson, JASA 22, 1927); None without any."""
    n, k = len(inside), sum(inside)
    if n == 0:
        return None
    p, zz = k / n, z * z / n
    middle = (p + zz / 2) / (1 + zz)
    half = z / (1 + zz) * math.sqrt(p * (1 - p) / n + zz / (4 * n))
    return Coverage(n, k, p, max(0.0, middle - half), min(1.0, middle + half))
