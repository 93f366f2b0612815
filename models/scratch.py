"""A run that nobody measured: seconds of its phases by models with usual efficiencies. A guess, said so."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from models.decode import DecodeFactors, decode_step
from models.logprob import SHARE_OF_TRAINING
from models.machine import Rates
from models.operating import Operating, engine_load, occupied, source_operating
from models.rollout_split import PREFILL_PRIOR, prompts_s, rates_at
from models.step_time import best_split
from models.train_placement import train_placement
from models.training import MFU_PRIORS, TrainLoad, training
from models.workload import Measured, Workload

SCRATCH_SIGMA = math.log(2) / 1.2816
"""Log spread of a step nobody measured: p10 half of it, p90 twice. Published MFU of one class of models
differs twofold, and so do decode shares of mixtures of experts.
"""
DENSE_BF16_MFU = 0.39
"""Taken from dense FP8 rows: none of dense BF16 are published."""


@dataclass(frozen=True)
class Scratch:
    """Phases by name in seconds on the workload's pools, or what is `unknown` or does not fit."""

    seconds: Mapping[str, float]
    operating: Operating | None
    mfu: float
    unknown: tuple[str, ...] = ()

    @property
    def measured(self) -> Measured:
        """The same as three equal steps of a run, to be carried to other platforms."""
        steps = {name: np.full(3, value) for name, value in self.seconds.items()}
        return Measured(**steps)


def scratch(workload: Workload, sync_s: float) -> Scratch:
    """Phases of a step with usual efficiencies, engines placed by `models.placement`.

    rollout: decode steps of `occupied` (async: all tokens at the full batch) + prompts; training at the
    median published MFU of its class; log-probs at the middle measured share of training, a pass; `sync_s`
    as given.
    """
    kind = "moe" if workload.llm.is_moe else "dense"
    pool = workload.trainer
    mfu = MFU_PRIORS.get((kind, pool.precision), (0.0, DENSE_BF16_MFU, 0.0))[1]
    at, unknown = source_operating(workload, DecodeFactors())
    unknown += tuple(f"{pool.machine.platform_id}: {fact}" for fact in pool.machine.missing(pool.precision))
    if train_placement(workload.llm, pool.machine, pool.gpus, 0.0).best is None:
        unknown += (f"training states do not fit {pool.gpus} GPUs of {pool.machine.platform_id}",)
    if at is None or unknown:
        return Scratch({}, None, mfu, unknown or ("no engine replica fits",))
    load = TrainLoad(workload.trained_tokens, workload.mean_seq_len, pool.gpus, updates=workload.updates)
    train_s = float(training(workload.llm, load, Rates.of(pool.machine, pool.precision), mfu).total_s)
    rollout_s = _decode_s(workload, at) + prompts_s(workload, PREFILL_PRIOR[kind][1])
    seconds = {
        "rollout_s": rollout_s,
        "logprob_s": workload.passes * SHARE_OF_TRAINING[1] * train_s,
        "train_s": train_s,
        "sync_s": sync_s,
    }
    return Scratch(seconds, at, mfu)


def split_pools(workload: Workload, gpus: int, unit: int) -> Workload:
    """The workload on two pools of `gpus` GPUs together, split for the shortest cycle in whole units.

    GPU-seconds of either pool as if it had all GPUs. Raises ValueError below two units.
    """
    whole = replace(
        workload,
        engines=replace(workload.engines, gpus=gpus),
        trainer=replace(workload.trainer, gpus=gpus),
    )
    found = scratch(whole, 0.0)
    if not found.seconds:
        half = max(gpus // 2 // unit, 1) * unit
        return _on(workload, half, gpus - half)
    made = found.seconds["rollout_s"] * gpus
    used = (found.seconds["train_s"] + found.seconds["logprob_s"]) * gpus
    split = best_split(gpus, made, used, unit=unit)
    return _on(workload, split.engine_gpus, split.trainer_gpus)


def _on(workload: Workload, engines: int, trainer: int) -> Workload:
    return replace(
        workload,
        engines=replace(workload.engines, gpus=engines),
        trainer=replace(workload.trainer, gpus=trainer),
    )


def _decode_s(workload: Workload, at: Operating) -> float:
    pool, factors, rates = workload.engines, DecodeFactors(), rates_at(workload, at)
    if workload.mode == "async":
        step = decode_step(workload.llm, engine_load(workload, pool, at), rates, factors)
        return float(at.work_steps * step.total_s)
    steps, batch = occupied(workload, at)
    return float(
        sum(
            count
            * float(decode_step(workload.llm, engine_load(workload, pool, at, one), rates, factors).total_s)
            for count, one in zip(np.ravel(steps), np.ravel(batch), strict=True)
        )
    )
