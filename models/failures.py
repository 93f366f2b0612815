"""Failures of a job and what they take: rates by size, restarts, checkpoints, spares. Hours and seconds."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc

from models.shapes import Num, num, where

Floats = npt.NDArray[np.float64]
SECONDS_PER_HOUR = 3600.0
HOPELESS = 20.0
"""A stretch of work this many mean times to failure long is not reached: 5e8 tries. Its time is infinite."""


@dataclass(frozen=True)
class JobRates:
    """Failures an hour of jobs of two measured sizes, each (low, usual, high).

    The two sizes are two regimes: hardware sets the rate of huge jobs, software and everything beside the
    node that of small ones.
    """

    small_gpus: float
    small_per_h: tuple[float, float, float]
    large_gpus: float
    large_per_h: tuple[float, float, float]

    def __post_init__(self) -> None:
        ends = (*self.small_per_h, *self.large_per_h)
        if not 0 < self.small_gpus < self.large_gpus or not all(rate > 0 for rate in ends):
            raise ValueError(f"two sizes and positive rates are needed: {self}")

    def per_h(self, gpus: Num) -> tuple[Num, Num, Num]:
        """Low, usual and high failures an hour of a job of `gpus` GPUs.

        In proportion to GPUs below the small and above the large size, each from its own measurement; between
        them log-linear in both. High below the small size: the rate of the small size itself, since what is
        not hardware need not shrink with the job. The rate of the huge job is never scaled down.
        """
        size = num(gpus)
        low, usual, high = (
            self._joined(size, small, large)
            for small, large in zip(self.small_per_h, self.large_per_h, strict=True)
        )
        return low, usual, where(size < self.small_gpus, self.small_per_h[2], high)

    def _joined(self, gpus: Num, small: float, large: float) -> Num:
        slope = math.log(large / small) / math.log(self.large_gpus / self.small_gpus)
        between = small * (gpus / self.small_gpus) ** slope
        below, above = small * gpus / self.small_gpus, large * gpus / self.large_gpus
        return where(gpus <= self.small_gpus, below, where(gpus >= self.large_gpus, above, between))


def young_s(stall_s: Num, mttf_s: Num) -> Num:
    """Seconds of work between saves: sqrt(2 x stall x MTTF) (Young 1974, CACM 17:530); stall << MTTF."""
    return num(2.0 * num(stall_s) * mttf_s) ** 0.5


def daly_s(stall_s: Num, mttf_s: Num) -> Num:
    """Seconds of work between saves (Daly 2006, FGCS 22:303, equation 37).

    sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + d / 18M) - d for a stall d below 2 M; the MTTF itself above, where
    saving takes longer than the job lives.
    """
    stall, mttf = num(stall_s), num(mttf_s)
    share = stall / (2 * mttf)
    found = young_s(stall, mttf) * (1 + share**0.5 / 3 + share / 9) - stall
    return where(stall < 2 * mttf, found, mttf)


@dataclass(frozen=True)
class Stretch:
    """Moments of the wall time of work that starts over after each failure.

    `failures` expected, each taking `lost_s` on average (work done again and downtime) with variance
    `lost_var`; `mean_s` and `var` of the whole; `through`: chance 0..1 of no failure.
    """

    mean_s: Num
    var: Num
    failures: Num
    lost_s: Num
    lost_var: Num
    through: Num


def stretch(work_s: Num, mttf_s: Num, down_s: Num) -> Stretch:
    """`work_s` seconds without a save, failures exponential with mean `mttf_s`, `down_s` after each.

    Failures also strike while a job comes back, and it starts to come back again. Mean M e^(R/M) (e^(W/M) -
    1) (Daly 2006, equation 13); the variance follows from a geometric number of failures, each with the
    truncated exponential before it and the time to come back after it. No failures: MTTF infinite.
    """
    work, mttf, down = num(work_s), num(mttf_s), num(down_s)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        w, r = work / mttf, down / mttf
        failures = np.expm1(w)
        before = where(w > 1e-9, mttf - work / failures, work / 2)
        before_var = where(w > 1e-4, mttf**2 - work**2 * np.exp(w) / failures**2, work**2 / 12)
        back = where(r > 1e-9, mttf * np.expm1(r), down)
        back_var = where(r > 1e-3, mttf**2 * (np.exp(2 * r) - 1 - 2 * r * np.exp(r)), down**2 * r / 3)
        lost, lost_var = before + back, before_var + back_var
        mean = work + failures * lost
        var = failures * lost_var + failures * (failures + 1) * lost**2
    hopeless = (w > HOPELESS) | (r > HOPELESS)
    never = np.isinf(mttf)
    return Stretch(
        mean_s=where(never, work, where(hopeless, np.inf, mean)),
        var=where(never, 0.0, where(hopeless, np.inf, var)),
        failures=where(never, 0.0, where(hopeless, np.inf, failures)),
        lost_s=where(never, 0.0, lost),
        lost_var=where(never, 0.0, lost_var),
        through=np.exp(-w),
    )


@dataclass(frozen=True)
class Saving:
    """How a job saves and comes back: steps between saves, seconds of a save and from failure to work."""

    every_steps: Num
    stall_s: Num
    down_s: Num


def saved(steps: Num, step_s: Num, saving: Saving, mttf_s: Num) -> Stretch:
    """Moments of `steps` steps with a save after every `every_steps`: independent stretches add up.

    `mean_s` holds steps, saves, work done again and downtime. Raises ValueError below one step between saves.
    """
    every = num(saving.every_steps)
    if not np.all(every >= 1):
        raise ValueError(f"a save comes after one step at least: {saving.every_steps}")
    each = np.minimum(every, num(steps))
    count = num(steps) / each
    one = stretch(each * step_s + saving.stall_s, mttf_s, saving.down_s)
    return Stretch(
        mean_s=count * one.mean_s,
        var=count * one.var,
        failures=count * one.failures,
        lost_s=one.lost_s,
        lost_var=one.lost_var,
        through=one.through**count,
    )


def goodput_frac(step_s: Num, saving: Saving, mttf_s: Num) -> Num:
    """Share 0..1 of wall time that is steps kept: steps / (steps + saves + work done again + downtime)."""
    return num(saving.every_steps) * step_s / saved(saving.every_steps, step_s, saving, mttf_s).mean_s


def best_steps(step_s: float, stall_s: float, down_s: float, mttf_s: float, most: int) -> int:
    """Whole steps between saves with the highest goodput, 1 to `most`.

    RL saves between steps only, so Daly's seconds are rounded both ways and the exact means compared. Without
    a stall or with steps longer than the optimum: every step. Without failures: `most`.
    """
    if math.isinf(mttf_s):
        return most
    ideal = float(daly_s(stall_s, mttf_s)) / step_s if stall_s > 0 else 1.0
    near = [min(max(int(ideal) + more, 1), most) for more in (0, 1)]
    return max(near, key=lambda every: float(goodput_frac(step_s, Saving(every, stall_s, down_s), mttf_s)))


def lost_draws(steps: Num, step_s: Num, saving: Saving, mttf_s: Num, rng: np.random.Generator) -> Floats:
    """Draws of seconds that failures add: work done again and downtime, saves not counted.

    Exact in the number of failures (negative binomial over the stretches); their sum given the number is
    gamma with the exact mean and variance. Infinite where a stretch is hopeless.
    """
    each = np.minimum(num(saving.every_steps), num(steps))
    one = stretch(each * step_s + saving.stall_s, mttf_s, saving.down_s)
    parts = (num(steps) / each, one.mean_s, one.through, one.lost_s, one.lost_var)
    count, mean, through, lost, var = np.broadcast_arrays(*parts, num(step_s))[:5]
    out = np.where(np.isnan(mean), np.nan, np.where(np.isfinite(mean), 0.0, np.inf))
    fails = np.isfinite(mean) & (through < 1)
    failures = np.zeros_like(out)
    failures[fails] = rng.negative_binomial(count[fails], through[fails])
    some = failures > 0
    out[some] = rng.gamma(failures[some] * lost[some] ** 2 / var[some], var[some] / lost[some])
    return out


def spare_wait_h(failures_per_h: Num, repair_h: Num, spares: Num) -> Num:
    """Mean hours a failed job waits for a node when `spares` are kept and a repair takes `repair_h`.

    Nodes in repair are Poisson with mean rate x repair time (Palm 1943); above `spares` the job waits for the
    first of spares + 1 repairs to end: P(N > spares) x repair / (spares + 1), N with the failed one in it.
    """
    load, kept = num(failures_per_h) * repair_h, np.floor(num(spares))
    short = 1 - poisson_upto(kept - 1, load)
    return short * num(repair_h) / (kept + 1)


def poisson_upto(count: Num, mean: Num) -> Num:
    """P(N <= count) of a Poisson number; 0 below zero."""
    found: Num = gammaincc(np.maximum(num(count), 0.0) + 1, num(mean))
    return where(num(count) < 0, 0.0, found)
