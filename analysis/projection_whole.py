"""The rule for whole RL steps: beside the phases, or alone where nobody logged them. Seconds."""

import math

import numpy as np

from analysis.projection_money import Floats
from models.moved_decode import reached_speed
from models.moves import Band, Target
from models.projection import FLOOR_SIGMA
from models.transfer import HALF, PRIOR_SHARES, StepCase, step_ratio
from models.workload import Pool


def whole_ratio(engines: Pool, trainer: Pool, target: Target, fixed_frac: float) -> float:
    """Step time on a target over the one on the run's pools, as the back-test of whole steps predicts it.

    `fixed_frac`: share of a step that did not scale in published pairs, whatever the count of GPUs. A move to
    slower pools is the inverse of the one back, as factors of pairs are. NaN where a bandwidth of the
    engines, a peak of the trainers or the band of the pairs is not published.
    """
    if (target.engines, target.trainer) == (engines, trainer):
        return 1.0
    bandwidth, peak = _speeds(engines, trainer, target)
    if math.isnan(bandwidth) or math.isnan(peak) or not target.step.known:
        return math.nan
    if step_ratio(StepCase(bandwidth, peak, 1.0), PRIOR_SHARES) > 1:
        return 1 / step_ratio(StepCase(1 / bandwidth, 1 / peak, 1.0), PRIOR_SHARES, fixed_frac)
    return step_ratio(StepCase(bandwidth, peak, 1.0), PRIOR_SHARES, fixed_frac)


def whole_parts(engines: Pool, trainer: Pool, target: Target, fixed_frac: float) -> dict[str, float]:
    """Shares of the run's step that the rule leaves on a target, by part; they add up to `whole_ratio`.

    `kept`: what followed neither chip nor GPUs in published steps; `rollout`, `compute` (training and
    log-probs) and `rest` of an assumed mix. Empty where the rule gives nothing, or on slower pools.
    """
    ratio = whole_ratio(engines, trainer, target, fixed_frac)
    if not 0 < ratio < 1:
        return {}
    bandwidth, peak = _speeds(engines, trainer, target)
    moving, mix = 1 - fixed_frac, PRIOR_SHARES
    return {
        "kept": fixed_frac,
        "rollout": moving * mix.generation * (HALF + HALF / bandwidth),
        "compute": moving * mix.compute / peak,
        "rest": moving * (1 - mix.generation - mix.compute),
    }


def _speeds(engines: Pool, trainer: Pool, target: Target) -> tuple[float, float]:
    """Bandwidth of all engines and FLOP/s of all trainers on the target over the run's, or NaN."""
    ends = (engines.machine.hbm_bytes_per_s, target.engines.machine.hbm_bytes_per_s)
    if ends[0] is None or ends[1] is None:
        return math.nan, math.nan
    speed = reached_speed(trainer, target.trainer)
    return ends[1] / ends[0] * target.engines.gpus / engines.gpus, speed * target.trainer.gpus / trainer.gpus


def whole_draws(step_s: float, step_sigma: float, ratio: float, band: Band, draws: int, seed: int) -> Floats:
    """Draws (draws,) of a step: mean measured seconds x ratio x two-sided log-normal of the pairs' band.

    Each side is at least as wide as the noise floor of other software; none where nothing moves (ratio 1 in a
    band without width). `step_sigma`: log standard error of the mean. NaN where the ratio is.
    """
    if math.isnan(ratio):
        return np.full(draws, math.nan)
    rng = np.random.default_rng(seed)
    normal, other = rng.standard_normal((2, draws))
    moved = ratio != 1.0 or band.low < band.high
    below, above = (max(side, FLOOR_SIGMA) if moved else 0.0 for side in band.sigmas)
    speed = normal * np.where(normal < 0, below, above)
    out: Floats = step_s * ratio * np.exp(-speed + step_sigma * other)
    return out
