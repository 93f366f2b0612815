"""Factors of a run's phases: measured seconds against what the models say. Never clipped, refused instead."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.decode import DecodeFactors
from models.factors import Factor, Refusal, over_steps
from models.logprob import LogprobLoad, logprob
from models.machine import Rates
from models.operating import Operating, source_options
from models.rollout_split import RolloutSplit, fit_replica
from models.step_time import Phases, step_time
from models.training import MFU_PRIORS, TrainLoad, training
from models.weight_sync import SyncLoad, wire_bound
from models.workload import EnginePoint, Floats, Measured, Workload

MOST_OVERLAP = 1.1
"""Phases that compose to more than this times the step are refused: their timers contradict the mode."""
TRAIN_CAUSES = (
    "the count of GPUs is too low: that of one node, or seconds of a cluster beside tokens of one GPU",
    "the peak is one with sparsity, or of another precision than the matrices ran at",
    "trained tokens count padding, or all generated tokens where only some were trained",
    "the seconds are those of one update and not of the step",
)
LOGPROB_CAUSES = (
    "the count of GPUs is too low: that of one node, or seconds of a cluster beside tokens of one GPU",
    "the peak is one with sparsity, or of another precision than the matrices ran at",
    "fewer models scored the tokens than stated, or some tokens only",
)
SYNC_CAUSES = (
    "only the part that nothing else hides was timed",
    "adapters or changed weights were sent, not the whole model",
    "the count of GPUs is too low, or it is that of one node",
)
STEP_CAUSES = (
    "a phase holds another one, so that seconds are counted twice",
    "phases of parallel workers were added up",
    "phases overlap: the run's mode is not the stated one",
)


@dataclass(frozen=True)
class Calibration:
    """What a run says about its phases: factors, refusals, facts that are `unknown` (`platform: fact`).

    `split` and `operating` are None where engines cannot be placed or their phase is refused.
    `step_s`: mean step, composed where it was not timed. `unattributed_s`: mean seconds of it that no timed
    phase explains in the run's mode; `overlap`: measured over composed step, 1 unless phases overlap.
    """

    factors: tuple[Factor, ...]
    refusals: tuple[Refusal, ...]
    unknown: tuple[str, ...]
    split: RolloutSplit | None
    operating: Operating | None
    step_s: float
    unattributed_s: float
    overlap: float
    layouts: tuple[tuple[RolloutSplit, Operating], ...] = ()

    def refused(self, *phases: str) -> bool:
        """True when one of `phases` (rollout, logprob, train, weight_sync, step) is refused."""
        return any(refusal.phase in phases for refusal in self.refusals)


def calibrate(workload: Workload, measured: Measured, points: Sequence[EnginePoint] = ()) -> Calibration:
    """Factors of every timed phase with their spread over steps, of a run in its own mode.

    rollout: eta of the HBM bandwidth with the constant of a layer at its prior (see `fit_rollout`); `points`
    of an engine's log at two batches tell both. train, logprob: model FLOP / (GPUs x dense peak x seconds).
    weight_sync: GB/s of all copies. Others: seconds. A share above 1 is a refusal with likely causes. Raises
    ValueError without a step in which every timed phase is known.
    """
    seconds = measured.known
    if not measured.n_steps:
        raise ValueError("no step in which every timed phase is known")
    split: RolloutSplit | None = None
    at: Operating | None = None
    layouts: tuple[tuple[RolloutSplit, Operating], ...] = ()
    unknown: tuple[str, ...] = ()
    factors: list[Factor] = []
    refusals: list[Refusal] = []
    if "rollout_s" in seconds:
        options, unknown = source_options(workload, DecodeFactors())
        if options:
            fit = fit_replica(workload, options, seconds["rollout_s"], points)
            split, at, layouts = fit.split, fit.operating, fit.others
            factors += fit.factors
            refusals += fit.refusals
    for solve in (_trained, _scored, _synced):
        found = solve(workload, seconds, at)
        factors += [one for one in found if isinstance(one, Factor)]
        refusals += [one for one in found if isinstance(one, Refusal)]
    factors += _constants(seconds)
    step_s, unattributed_s, overlap, composed = _composition(workload, measured, split)
    if overlap * MOST_OVERLAP < 1:
        refusals.append(Refusal("step", "phases over step", 1 / overlap, STEP_CAUSES))
    factors += composed
    unknown += _unknown_peak(workload, seconds)
    return Calibration(
        tuple(factors), tuple(refusals), unknown, split, at, step_s, unattributed_s, overlap, layouts
    )


def _trained(
    workload: Workload, seconds: Mapping[str, Floats], _: Operating | None
) -> tuple[Factor | Refusal, ...]:
    pool = workload.trainer
    load = TrainLoad(workload.trained_tokens, workload.mean_seq_len, pool.gpus, updates=workload.updates)
    rates = Rates.of(pool.machine, pool.precision)
    ideal = float(training(workload.llm, load, rates, 1.0).total_s)
    prior = MFU_PRIORS.get(("moe" if workload.llm.is_moe else "dense", pool.precision))
    words = "model FLOP of the trained tokens over the dense peak; recomputation counts as lost"
    if prior is not None:
        words += f"; published pretraining {prior[0]:.2f} to {prior[2]:.2f}"
    return _achieved("train", "eta_train", ideal, seconds.get("train_s"), words, TRAIN_CAUSES)


def _scored(
    workload: Workload, seconds: Mapping[str, Floats], _: Operating | None
) -> tuple[Factor | Refusal, ...]:
    pool = workload.trainer
    load = LogprobLoad(workload.trained_tokens, workload.mean_seq_len, pool.gpus, workload.passes)
    ideal = float(logprob(workload.llm, load, Rates.of(pool.machine, pool.precision), 1.0).total_s)
    words = f"FLOP of {workload.passes:g} forward passes over the trained tokens over the dense peak"
    return _achieved("logprob", "eta_logprob", ideal, seconds.get("logprob_s"), words, LOGPROB_CAUSES)


def _achieved(
    phase: str, name: str, ideal_s: float, taken_s: Floats | None, words: str, causes: tuple[str, ...]
) -> tuple[Factor | Refusal, ...]:
    if taken_s is None or not math.isfinite(ideal_s) or not taken_s.mean() > 0:
        return ()
    value = ideal_s / float(taken_s.mean())
    if value > 1:
        return (Refusal(phase, "share of dense peak", value, causes),)
    with np.errstate(divide="ignore"):
        return (over_steps(phase, name, "of dense peak", ideal_s / taken_s, value, words),)


def _synced(
    workload: Workload, seconds: Mapping[str, Floats], at: Operating | None
) -> tuple[Factor | Refusal, ...]:
    taken = seconds.get("sync_s")
    if taken is None or not taken.mean() > 0:
        return ()
    mean_s = float(taken.mean())
    copies = 1.0 if at is None else float(at.replicas)
    load = SyncLoad(workload.llm.params_total, workload.engines.bytes_per_weight, copies)
    moved_gb = float(load.payload_bytes) * copies / 1e9
    words = f"{copies:g} copies of all weights at the engines' precision; seconds that nothing hides"
    with np.errstate(divide="ignore"):
        rate = over_steps("weight_sync", "sync_rate", "GB/s", moved_gb / taken, moved_gb / mean_s, words)
    least_s = _least_sync_s(workload, load)
    if least_s > mean_s:
        return rate, Refusal("weight_sync", "share of link rate", least_s / mean_s, SYNC_CAUSES)
    return (rate,)


def _least_sync_s(workload: Workload, load: SyncLoad) -> float:
    """Seconds one copy needs on the fastest link that both pools have; 0 on the same GPUs or when unknown."""
    machines = (workload.engines.machine, workload.trainer.machine)
    links = [max(m.link_bytes_per_s or 0.0, m.scaleout_bytes_per_s or 0.0) for m in machines]
    if workload.mode == "sync_colocated" or not min(links) > 0:
        return 0.0
    once = SyncLoad(load.params, load.sent_bytes)
    bound = wire_bound(once, workload.trainer.gpus, workload.engines.gpus, min(links))
    return float(bound.total_s)


def _constants(seconds: Mapping[str, Floats]) -> list[Factor]:
    """Phases that do not follow the GPU: their seconds are the factor."""
    words = "seconds stay: they do not follow the GPU"
    return [
        over_steps(name.removesuffix("_s"), "seconds", "s", seconds[name], float(seconds[name].mean()), words)
        for name in ("env_s", "other_s")
        if name in seconds
    ]


def _composition(
    workload: Workload, measured: Measured, split: RolloutSplit | None
) -> tuple[float, float, float, list[Factor]]:
    """Step seconds, those that no phase explains, measured over composed step, and both as factors."""
    step_s = measured.mean("step_s")
    if not measured.has_phases:
        return step_s, 0.0, 1.0, []
    composed = float(step_time(_phases(measured, split), workload.mode, workload.lag).total_s)
    if not math.isfinite(step_s):
        left = measured.mean("unattributed_s")
        left = left if math.isfinite(left) else 0.0
        return composed + left, left, 1.0, []
    if step_s >= composed:
        words = "step less its phases, composed in the run's mode; stays as it is"
        found = _mean("unattributed", "seconds", step_s - composed, "s", measured.n_steps, words)
        return step_s, step_s - composed, 1.0, [found]
    words = "measured step over its composed phases: they overlap more than the mode says; kept"
    found = _mean("step", "overlap", step_s / composed, "ratio", measured.n_steps, words)
    return step_s, 0.0, step_s / composed, [found]


def _mean(phase: str, name: str, value: float, unit: str, n: int, words: str) -> Factor:
    return Factor(phase, name, value, math.nan, math.nan, unit, n, True, "measured", words)


def _phases(measured: Measured, split: RolloutSplit | None) -> Phases:
    """Mean phases of a step; untimed ones are 0 here and part of what is unattributed."""

    def mean(name: str) -> float:
        value = measured.mean(name)
        return value if math.isfinite(value) else 0.0

    whole = mean("rollout_s")
    return Phases(
        work_s=whole if split is None else split.work_s + split.prefill_s,
        tail_s=0.0 if split is None else split.tail_s,
        logprob_s=mean("logprob_s"),
        train_s=mean("train_s"),
        sync_s=mean("sync_s"),
        tools_s=mean("env_s"),
        other_s=mean("other_s"),
    )


def _unknown_peak(workload: Workload, seconds: Mapping[str, Floats]) -> tuple[str, ...]:
    pool = workload.trainer
    if not {"train_s", "logprob_s"} & set(seconds):
        return ()
    return tuple(f"{pool.machine.platform_id}: {fact}" for fact in pool.machine.missing(pool.precision))
