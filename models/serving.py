"""Build and serve: USD per million served tokens, per attempt, per success, and when a campaign is paid back.

All functions take numbers or arrays of joint draws (draws,) that broadcast; `curve.interval_of` makes the
interval. A success is an attempt that a verifier passed; attempts are taken as independent.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtr

from models.curve import interval_of
from models.curve_fit import Floats
from models.shapes import Num, num
from models.stats import Interval

MTOK = 1e6


def serving_usd_per_mtok(usd_per_gpu_h: Num, tok_per_s_per_gpu: Num, util_frac: Num = 1.0) -> Floats:
    """USD per million tokens: (USD per GPU-hour / (tokens/s/GPU x 3600 x share of time in use)) x 1e6.

    NVIDIA, "Rethinking AI TCO", April 2026, with the idle share added: idle GPUs are paid for.
    Raises ValueError on a rate that is not above 0 or a share outside (0, 1].
    """
    rate, used = num(tok_per_s_per_gpu), num(util_frac)
    if not (np.all(rate > 0) and np.all(used > 0) and np.all(used <= 1)):
        raise ValueError("serving needs tokens/s above 0 and a share of time in (0, 1]")
    usd: Floats = _usd(usd_per_gpu_h, "a GPU-hour") / (rate * used * 3600) * MTOK
    return usd


def usd_per_attempt(
    tokens_in: Num, tokens_out: Num, usd_per_mtok_in: Num, usd_per_mtok_out: Num, other_usd: Num = 0.0
) -> Floats:
    """USD of one attempt: prompt and generated tokens at their prices, and what else it needs (sandbox)."""
    prompt = _usd(tokens_in, "prompt tokens") * _usd(usd_per_mtok_in, "prompt tokens")
    generated = _usd(tokens_out, "generated tokens") * _usd(usd_per_mtok_out, "generated tokens")
    usd: Floats = (prompt + generated) / MTOK + _usd(other_usd, "an attempt")
    return usd


def usd_per_success(usd_per_attempt: Num, share: Num) -> Floats:
    """M7, cost of pass: USD per attempt / pass rate (Erol et al. 2025, arXiv 2504.13359); infinite at 0."""
    passed = _share(share)
    with np.errstate(divide="ignore", invalid="ignore"):
        usd = _usd(usd_per_attempt, "an attempt") / passed
    cost: Floats = np.where(passed > 0, usd, math.inf)
    return cost


def lifetime_usd_per_success(campaign_usd: Num, attempts: Num, usd_per_attempt: Num, share: Num) -> Floats:
    """M8: (C + N c) / (N p) over N attempts; infinite when none or none passes."""
    count = _usd(attempts, "attempts")
    spent = _usd(campaign_usd, "the campaign") + count * _usd(usd_per_attempt, "an attempt")
    passed = count * _share(share)
    with np.errstate(divide="ignore", invalid="ignore"):
        usd = spent / passed
    cost: Floats = np.where(passed > 0, usd, math.inf)
    return cost


def break_even_successes(
    campaign_usd: Num, usd_per_success_before: Num, usd_per_success_after: Num
) -> Floats:
    """M8: solved tasks that pay a campaign back, C / (c0/p0 - c1/p1); infinite when it saves nothing.

    In successes, not attempts: both models are asked for the same N solved tasks. A model that never passes
    (infinite cost before) is beaten by the first success.
    """
    before, after = num(usd_per_success_before), num(usd_per_success_after)
    with np.errstate(divide="ignore", invalid="ignore"):
        saving = np.where(np.isinf(after), -math.inf, before - after)
        paid = _usd(campaign_usd, "the campaign") / saving
    count: Floats = np.where(saving > 0, paid, math.inf)
    return count


@dataclass(frozen=True)
class BreakEven:
    """Successes, and attempts with the new model, to pay the campaign back; share of draws that never do.

    An infinite value: it never pays back; an infinite upper end: not ruled out that it never does.
    """

    saving_usd: Interval
    successes: Interval
    attempts: Interval
    never_frac: float


@dataclass(frozen=True)
class Served:
    """One model in service: USD per attempt and pass rate, each as value and joint draws (draws,)."""

    usd_per_attempt: float
    share: float
    usd_draws: Floats
    share_draws: Floats


def break_even(
    campaign_usd: float,
    campaign_draws: Floats,
    before: Served,
    after: Served,
    n: int,
    confidence: float = 0.95,
) -> BreakEven:
    """Break-even volume with intervals from joint draws of the campaign, both prices and both pass rates."""

    def counts(campaign: Num, c0: Num, p0: Num, c1: Num, p1: Num) -> tuple[Floats, Floats, Floats]:
        cost0, cost1 = usd_per_success(c0, p0), usd_per_success(c1, p1)
        solved = break_even_successes(campaign, cost0, cost1)
        with np.errstate(divide="ignore", invalid="ignore"):
            saving = np.where(np.isinf(cost1), -math.inf, cost0 - cost1)
            tried = np.where(np.isfinite(solved), solved / num(p1), math.inf)
        return saving, solved, tried

    values = counts(campaign_usd, before.usd_per_attempt, before.share, after.usd_per_attempt, after.share)
    draws = counts(campaign_draws, before.usd_draws, before.share_draws, after.usd_draws, after.share_draws)
    saving, solved, tried = (
        interval_of(float(v), d, n, confidence) for v, d in zip(values, draws, strict=True)
    )
    return BreakEven(saving, solved, tried, float(np.isinf(draws[1]).mean()))


def share_draws(passed: float, n: int, size: int, seed: int) -> Floats:
    """Draws (size,) of a pass rate over n tasks: Beta(x + 1/2, n - x + 1/2).

    Jeffreys interval of Brown, Cai and DasGupta 2001 (Statistical Science 16:101).
    """
    _count(passed, n)
    draws: Floats = np.random.default_rng(seed).beta(passed + 0.5, n - passed + 0.5, size)
    return draws


def paired_share_draws(
    passed_before: float, passed_after: float, n: int, correlation: float, size: int, seed: int
) -> tuple[Floats, Floats]:
    """Joint draws of two pass rates on the same n tasks: Jeffreys margins, tied by a normal copula.

    `correlation` of the two errors is that of the task results (0 for different tasks), an assumption
    wherever only totals are known. Raises ValueError outside -1..1.
    """
    _count(passed_before, n)
    _count(passed_after, n)
    if not -1 <= correlation <= 1:
        raise ValueError(f"a correlation must be in -1..1: {correlation}")
    first, second = np.random.default_rng(seed).standard_normal((2, size))
    tied = correlation * first + math.sqrt(1 - correlation**2) * second
    before, after = (
        betaincinv(passed + 0.5, n - passed + 0.5, ndtr(normal))
        for passed, normal in ((passed_before, first), (passed_after, tied))
    )
    return before, after


def _usd(value: Num, what: str) -> Floats:
    known: Floats = np.asarray(value, dtype=np.float64)
    if not (known >= 0).all():
        raise ValueError(f"{what}: a number of 0 or more is needed")
    return known


def _share(share: Num) -> Floats:
    known: Floats = np.asarray(share, dtype=np.float64)
    if not ((known >= 0) & (known <= 1)).all():
        raise ValueError("a pass rate must lie in 0..1")
    return known


def _count(passed: float, n: int) -> None:
    if not (n > 0 and 0 <= passed <= n):
        raise ValueError(f"0 <= passed <= n with n > 0 is needed: {passed}, {n}")
