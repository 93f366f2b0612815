"""Price of a GPU-hour on a target below which moving pays. USD."""

import math
from dataclasses import dataclass

import numpy as np

from models.shapes import Num, num
from models.workload import Floats

SURE = 0.9
"""Share of draws at which a verdict is given: p10 of the break-even price."""
ROUNDING = 1e-9
"""Prices that differ by less are equal: the run's own GPUs at their own price neither pay nor do not."""
PAYS, NOT, UNSURE = "pays", "does not pay", "cannot tell"


@dataclass(frozen=True)
class Verdict:
    """`pays`, `does not pay` or `cannot tell`, with the share of draws in which moving is cheaper."""

    words: str
    pays_frac: float


def break_even_draws(source_usd_per_gpu_h: Num, source_gpu_s: Num, target_gpu_s: Floats) -> Floats:
    """USD per GPU-hour on the target at which a step costs what it costs at the source.

    p_target = p_source x (GPUs x step seconds at the source) / (those at the target): both sides pay for the
    same step, so cost per step, rollout and point break even together. `target_gpu_s`: (draws,) or (draws,
    targets); the price and the seconds of the source are numbers or (draws,). NaN stays. Raises ValueError
    unless the source's price and GPU-seconds are positive.
    """
    price, spent = num(source_usd_per_gpu_h), num(source_gpu_s)
    if not (np.all(price > 0) and np.all(spent > 0)):
        raise ValueError("the source needs a price and GPU-seconds above 0")
    target = np.asarray(target_gpu_s, dtype=np.float64)
    worth = np.asarray(price * spent)
    if worth.ndim == 1 and target.ndim == 2:
        worth = worth[:, None]
    draws: Floats = worth / target
    return draws


def verdict(break_even_usd_per_gpu_h: Floats, quote_usd_per_gpu_h: float, sure: float = SURE) -> Verdict:
    """Whether moving pays at a quote: in at least `sure` of the draws it is below the break-even price.

    Does not pay when it is above in as many; else, or with unknown draws, it cannot be told. Raises
    ValueError unless the quote is positive and `sure` in (0.5, 1].
    """
    if not quote_usd_per_gpu_h > 0 or not 0.5 < sure <= 1:
        raise ValueError(f"a quote above 0 and a share in (0.5, 1]: {quote_usd_per_gpu_h}, {sure}")
    draws = np.asarray(break_even_usd_per_gpu_h, dtype=np.float64)
    if not draws.size or not np.isfinite(draws).all():
        return Verdict(UNSURE, math.nan)
    share = float((draws > quote_usd_per_gpu_h * (1 + ROUNDING)).mean())
    dearer = float((draws < quote_usd_per_gpu_h * (1 - ROUNDING)).mean())
    words = PAYS if share >= sure else NOT if dearer >= sure else UNSURE
    return Verdict(words, share)
