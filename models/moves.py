"""One run on another platform: central seconds of every phase, their bands, what is unknown. Seconds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from models.calibration import Calibration
from models.moved_decode import (
    asked_words,
    decoded_on,
    format_gain,
    format_sigma,
    layout_sigmas,
    no_peak,
    reached_speed,
    wider,
)
from models.operating import Operating
from models.stats import z_value
from models.train_placement import train_placement
from models.transfer import PRIOR_SHARES, StepCase, step_ratio
from models.weight_sync import scaled_rate
from models.workload import Measured, Pool, Workload

PHASES = (
    "rollout_work",
    "rollout_tail",
    "prefill",
    "logprob",
    "train",
    "weight_sync",
    "env",
    "other",
    "unattributed",
)
BAND_MASS = 0.8
"""Mass between p10 and p90: 2.563 sigma of a normal."""


@dataclass(frozen=True)
class Band:
    """Factor on a speed ratio with its p10 and p90; NaN ends: no band could be given."""

    factor: float
    low: float
    high: float

    @property
    def sigmas(self) -> tuple[float, float]:
        """Log spread below and above the factor: log ratio of an end to it / 1.2816; the sides may differ."""
        z = z_value(BAND_MASS)
        return math.log(self.factor / self.low) / z, math.log(self.high / self.factor) / z

    @property
    def known(self) -> bool:
        """True when factor and both ends are positive numbers that contain the factor."""
        return 0 < self.low <= self.factor <= self.high < math.inf


EXACT = Band(1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Target:
    """Pools that a run is carried to, with bands of the pair factors from the run's platforms to theirs.

    `decode` and `prefill` of the engines' platform (prompts: the training factor there), `training` of the
    trainer's, `step` for the step as a whole. `fixed_frac`: share of work that does not follow the count of
    GPUs where it differs from the run's (`models.transfer.fixed_share` of published pairs). `basis` says what
    the bands rest on.
    """

    engines: Pool
    trainer: Pool
    decode: Band
    training: Band
    prefill: Band
    step: Band
    basis: str
    fixed_frac: float = 0.0


@dataclass(frozen=True)
class Move:
    """A target: central seconds a phase (NaN: unknown) and log spread (below, above) of its speed.

    `unknown` names what is not published as `platform: fact`, or why a phase cannot be projected; `cautions`
    are assumptions of this move. `same`: the run itself, to which no uncertainty belongs.
    """

    seconds: Mapping[str, float]
    sigmas: Mapping[str, tuple[float, float]]
    whole_ratio: float
    whole_sigmas: tuple[float, float]
    gpus: int
    operating: Operating | None
    unknown: tuple[str, ...]
    cautions: tuple[str, ...]
    same: bool


@dataclass(frozen=True)
class _Part:
    """Phases of one pool on the target."""

    seconds: Mapping[str, float]
    sigmas: Mapping[str, tuple[float, float]]
    unknown: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    operating: Operating | None = None


ENGINE_PHASES = ("rollout_work", "rollout_tail", "prefill")
TRAINER_PHASES = ("logprob", "train")


def move(workload: Workload, measured: Measured, calibration: Calibration, target: Target) -> Move:
    """Central seconds of the phases on a target: measured seconds x transfer ratio / pair factor.

    rollout: decode steps of work and of tail at the batch that the target's memory holds, each x
    `decode_log_ratios` at its own batch; prompts, log-probs and training x ratio of the dense peaks, each at
    the precision of its pool. weight sync: bytes and copies at the measured GB/s an endpoint. Others stay. On
    the run's own pools nothing is scaled. A refused phase, an unknown fact and a band without ends give NaN.
    """
    made = _engines(workload, calibration, target)
    used = _trainer(workload, measured, calibration, target)
    seconds = {**_kept(measured, calibration), **made.seconds, **used.seconds}
    seconds["weight_sync"] *= _sync_ratio(workload, target, calibration.operating, made.operating)
    unknown, cautions = made.unknown + used.unknown, made.cautions + used.cautions
    same = target.engines == workload.engines and target.trainer == workload.trainer
    if calibration.refused("step") and not same:
        seconds = dict.fromkeys(PHASES, math.nan)
        unknown += ("step: refused, its phases add up to more than it took",)
    whole, whole_sigmas, lacks = _whole(workload, target, same=same)
    if not measured.has_phases:
        unknown = lacks
    gpus = workload.gpus(target.engines, target.trainer)
    if workload.mode == "sync_colocated" and gpus != target.engines.gpus:
        cautions += ("weights now travel between two pools; their seconds are those measured inside one",)
    return Move(
        seconds={phase: seconds[phase] for phase in PHASES},
        sigmas={**dict.fromkeys(PHASES, (0.0, 0.0)), **made.sigmas, **used.sigmas},
        whole_ratio=whole,
        whole_sigmas=whole_sigmas,
        gpus=gpus,
        operating=made.operating,
        unknown=tuple(dict.fromkeys(unknown)),
        cautions=cautions,
        same=same,
    )


def _kept(measured: Measured, calibration: Calibration) -> dict[str, float]:
    """Measured seconds of phases that no peak scales; 0 for what was not timed."""
    names = {"weight_sync": "sync_s", "env": "env_s", "other": "other_s"}
    found = {phase: measured.mean(name) for phase, name in names.items()}
    kept = {phase: value if math.isfinite(value) else 0.0 for phase, value in found.items()}
    return {**kept, "unattributed": calibration.unattributed_s}


def _engines(workload: Workload, calibration: Calibration, target: Target) -> _Part:
    split, at = calibration.split, calibration.operating
    lost = dict.fromkeys(ENGINE_PHASES, math.nan)
    if calibration.refused("rollout"):
        return _Part(lost, {}, ("rollout: refused, see the calibration",))
    if split is None or at is None:
        return _Part(lost, {}, calibration.unknown or ("rollout: not timed",))
    if target.engines == workload.engines:
        parts = (split.work_s, split.tail_s, split.prefill_s)
        return _Part(dict(zip(ENGINE_PHASES, parts, strict=True)), {}, operating=at)
    name = target.engines.machine.platform_id
    bands = {"decode": target.decode, "prefill": target.prefill}
    if unbanded := tuple(f"{name}: band of {what}" for what, band in bands.items() if not band.known):
        return _Part(lost, {}, unbanded)
    own, pool = workload.engines, target.engines
    there, decoded, unknown = decoded_on(workload, split, at, pool)
    if there is None or decoded is None:
        return _Part(lost, {}, unknown)
    work, tail = decoded
    work_s, tail_s = work.seconds / target.decode.factor, tail.seconds / target.decode.factor
    if pool.gpus != own.gpus and target.fixed_frac > 0:
        _, equal, _ = decoded_on(workload, split, at, replace(pool, gpus=own.gpus))
        if equal is not None:
            kept_s = equal[0].seconds / target.decode.factor
            work_s = target.fixed_frac * kept_s + (1 - target.fixed_frac) * work_s
    prefill_s = split.prefill_s / reached_speed(own, pool) / target.prefill.factor
    prefill_s *= _fewer(own, pool, target.fixed_frac)
    guess = layout_sigmas(workload, calibration.layouts, pool, work.seconds + tail.seconds)
    sigmas = {
        "rollout_work": wider(target.decode.sigmas, work, guess),
        "rollout_tail": wider(target.decode.sigmas, tail, guess),
        "prefill": _and_format(target.prefill.sigmas, own, pool),
    }
    parts = (work_s, tail_s, prefill_s)
    cautions = _engine_cautions(workload, target, at, there)
    return _Part(dict(zip(ENGINE_PHASES, parts, strict=True)), sigmas, (), cautions, there)


def _trainer(workload: Workload, measured: Measured, calibration: Calibration, target: Target) -> _Part:
    timed = {"logprob": measured.mean("logprob_s"), "train": measured.mean("train_s")}
    seconds = {phase: value if math.isfinite(value) else 0.0 for phase, value in timed.items()}
    pool, own = target.trainer, workload.trainer
    if pool == own:
        return _Part(seconds, {})
    refused = tuple(phase for phase in TRAINER_PHASES if calibration.refused(phase))
    unknown = tuple(f"{phase}: refused, see the calibration" for phase in refused)
    seconds |= dict.fromkeys(refused, math.nan)
    lacks = [f"{one.machine.platform_id}: {fact}" for one in (own, pool)
             for fact in one.machine.missing(one.precision)]  # fmt: skip
    lacks += no_peak(replace(pool, precision=own.precision))
    if not target.training.known:
        lacks.append(f"{pool.machine.platform_id}: band of training")
    fits, cautions = _memory(workload, pool)
    if lacks or fits:
        return _Part(dict.fromkeys(TRAINER_PHASES, math.nan), {}, (*unknown, *lacks, *fits))
    ratio = _fewer(own, pool, target.fixed_frac) / reached_speed(own, pool) / target.training.factor
    if pool.precision != own.precision:
        cautions += (f"training at {asked_words(own, pool)}",)
    scaled = {phase: value * ratio for phase, value in seconds.items()}
    sigmas = _and_format(target.training.sigmas, own, pool)
    return _Part(scaled, dict.fromkeys(TRAINER_PHASES, sigmas), unknown, cautions)


def _memory(workload: Workload, pool: Pool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Why training states do not fit a pool, and a caution where that cannot be told."""
    own = train_placement(workload.llm, workload.trainer.machine, workload.trainer.gpus, 0.0)
    if own.best is None:
        return _as_much_memory(workload.trainer, pool)
    there = train_placement(workload.llm, pool.machine, pool.gpus, 0.0)
    if there.unknown:
        return (), ("memory of training is not checked: " + ", ".join(there.unknown) + " not published",)
    if there.best is None:
        return (f"{pool.machine.platform_id}: training states do not fit {pool.gpus} GPUs",), ()
    return (), ()


def _as_much_memory(own: Pool, pool: Pool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """States that no model explains (offloaded, adapters) are known to fit the run's bytes and no fewer."""
    held = [(one.machine.hbm_bytes or math.nan) * one.gpus for one in (own, pool)]
    if held[1] < held[0]:
        name = pool.machine.platform_id
        words = f"{name}: {pool.gpus} GPUs hold less than those of the run, whose training states do not fit"
        return (f"{words} by the model",), ()
    return (), ("memory of training is not checked: the run's own states do not fit by the model",)


def _engine_cautions(workload: Workload, target: Target, at: Operating, there: Operating) -> tuple[str, ...]:
    pool, own, found = target.engines, workload.engines, []
    if pool.precision != own.precision:
        found.append(f"generation at {asked_words(own, pool)}")
    if there.replica_gpus != at.replica_gpus:
        found.append(f"engine replicas of {there.replica_gpus} GPUs instead of {at.replica_gpus}: what fits")
    idle = pool.gpus - there.replicas * there.replica_gpus
    if idle > 0:
        found.append(f"{idle} of {pool.gpus} GPUs hold no engine replica")
    if pool.gpus != own.gpus or target.trainer.gpus != workload.trainer.gpus:
        kept = f"; {target.fixed_frac:.0%} of the work stays" if target.fixed_frac > 0 else ""
        found.append(f"data-parallel scaling to another count of GPUs{kept}")
    return tuple(found)


def _whole(
    workload: Workload, target: Target, *, same: bool
) -> tuple[float, tuple[float, float], tuple[str, ...]]:
    """Ratio of the step by the rule for whole steps, its spread, and what is unknown for it."""
    if same:
        return 1.0, (0.0, 0.0), ()
    engines, trainer = (workload.engines, target.engines), (workload.trainer, target.trainer)
    lacks = [
        f"{p.machine.platform_id}: {f}" for p in engines for f in p.machine.missing(None, "hbm_bytes_per_s")
    ]
    lacks += [f"{p.machine.platform_id}: {f}" for p in trainer for f in p.machine.missing(p.precision)]
    if not target.step.known:
        lacks.append(f"{target.engines.machine.platform_id}: band of whole steps")
    if lacks:
        return math.nan, (0.0, 0.0), tuple(lacks)
    bandwidth = _bandwidth(engines[1]) / _bandwidth(engines[0]) * engines[1].gpus / engines[0].gpus
    flops = trainer[1].gpus / trainer[0].gpus * reached_speed(*trainer)
    ratio = step_ratio(StepCase(bandwidth, flops, 1.0), PRIOR_SHARES) / target.step.factor
    return ratio, target.step.sigmas, ()


def _sync_ratio(workload: Workload, target: Target, at: Operating | None, there: Operating | None) -> float:
    """Bytes of all copies over the rate: measured GB/s an endpoint of the scarcer pool is kept."""
    ratio = target.engines.bytes_per_weight / workload.engines.bytes_per_weight
    if at is None or there is None:
        return ratio
    ends = [min(one.engines.gpus, one.trainer.gpus) for one in (workload, target)]
    return ratio * there.replicas / at.replicas / float(scaled_rate(1.0, ends[0], ends[1]))


def _bandwidth(pool: Pool) -> float:
    rate = pool.machine.hbm_bytes_per_s
    return math.nan if rate is None else rate


def _and_format(sigmas: tuple[float, float], own: Pool, pool: Pool) -> tuple[float, float]:
    """Log spread of a factor and of what another precision reaches."""
    more = format_sigma(math.log(format_gain(own, pool)))
    return math.hypot(sigmas[0], more), math.hypot(sigmas[1], more)


def _fewer(own: Pool, pool: Pool, fixed_frac: float) -> float:
    """Seconds with the GPUs of `pool` over those with the GPUs of `own`: a fixed share stays."""
    if pool.gpus == own.gpus:
        return 1.0
    return fixed_frac + (1 - fixed_frac) * own.gpus / pool.gpus
