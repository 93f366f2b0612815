"""Measured seconds made from the phase models at known factors, so that calibration can be asked for them."""

from dataclasses import replace

import numpy as np

from models.calibration import calibrate
from models.decode import DecodeFactors, DecodeLoad, capacity, decode_step
from models.lengths import Lengths, lengths_of_quantiles
from models.logprob import LogprobLoad, logprob
from models.machine import Machine, Rates
from models.prefill import PrefillLoad, prefill
from models.projection import Band, Projection, Target, project
from models.rollout import Rollout, RolloutLoad, rollout_closed_form
from models.training import TrainLoad, training
from models.weight_sync import SyncLoad, SyncRates, weight_sync
from models.workload import Measured, Pool, Workload
from tests.models.llms import DENSE, ROUND

LENGTHS = lengths_of_quantiles({0.5: 2000, 0.95: 8000, 1.0: 16384})
EXACT = Band(1.0, 1.0, 1.0)
ETA_TRAIN, ETA_LOGPROB, SYNC_BYTES_PER_S = 0.31, 0.17, 40e9
ETA_PREFILL = {True: 0.12, False: 0.40}
"""By whether the model is a mixture of experts: the priors, because prompts are not timed apart."""


def workload(llm=DENSE, mode="sync_colocated", gpus=64, **changed) -> Workload:
    """A run on ROUND, engines of 8 GPUs in FP8 and a trainer in BF16."""
    base = Workload(
        llm=llm,
        mode=mode,
        lag=2.0,
        rollouts=1024,
        group=16,
        prompt_tokens=500,
        lengths=LENGTHS,
        trained_tokens=1024 * (500 + LENGTHS.mean),
        updates=4,
        engines=Pool(ROUND, gpus, "fp8"),
        trainer=Pool(ROUND, gpus, "bf16"),
        replica_gpus=8,
    )
    return replace(base, **changed)


def decoded(run: Workload, factors: DecodeFactors) -> tuple[Rollout, float]:
    """Rollout of a synchronous run by `rollout_closed_form`, and the seconds of a step at its full batch."""
    context = run.prompt_tokens + run.lengths.mean_residual
    size = run.replica_gpus
    load = DecodeLoad(
        batch=1.0, context=context, gpus=size, weight_bytes=1.0, kv_bytes=1.0, attention_tp=size
    )
    rates = Rates.of(run.engines.machine, "fp8")
    replicas = run.engines.gpus // size
    slots = min(float(capacity(run.llm, load, rates).batch), run.max_batch or np.inf)

    def step_s(batch, at):
        return decode_step(run.llm, replace(load, batch=batch, context=at), rates, factors).total_s

    prompts = PrefillLoad(run.rollouts / run.group, run.prompt_tokens, run.engines.gpus, 1.0, group=run.group)
    read = prefill(run.llm, prompts, rates, ETA_PREFILL[run.llm.is_moe], 1.0).total_s
    requests = RolloutLoad(run.rollouts / replicas, slots, run.prompt_tokens, replicas)
    made = rollout_closed_form(run.lengths, requests, step_s, prefill_s=float(read))
    full = min(slots, run.rollouts / replicas)
    return made, float(step_s(full, context))


def trained_s(run: Workload, eta: float = ETA_TRAIN) -> float:
    load = TrainLoad(run.trained_tokens, run.mean_seq_len, run.trainer.gpus)
    return float(training(run.llm, load, Rates.of(run.trainer.machine, "bf16"), eta).total_s)


def scored_s(run: Workload, eta: float = ETA_LOGPROB) -> float:
    load = LogprobLoad(run.trained_tokens, run.mean_seq_len, run.trainer.gpus, run.passes)
    return float(logprob(run.llm, load, Rates.of(run.trainer.machine, "bf16"), eta).total_s)


def synced_s(run: Workload) -> float:
    load = SyncLoad(run.llm.params_total, 1.0, copies=run.engines.gpus // run.replica_gpus)
    return float(weight_sync(load, SyncRates(SYNC_BYTES_PER_S)).total_s)


def measured(run: Workload, factors: DecodeFactors | None = None, **seconds: float) -> Measured:
    """One step of a synchronous run at the factors, 3 s unattributed; `seconds` replace columns."""
    made, _ = decoded(run, factors or DecodeFactors(eta_bandwidth=0.62))
    columns = {
        "rollout_s": float(made.total_s),
        "logprob_s": scored_s(run),
        "train_s": trained_s(run),
        "sync_s": synced_s(run),
        "env_s": 6.0,
        "other_s": 2.0,
        **seconds,
    }
    columns.setdefault("step_s", sum(columns.values()) + 3.0)
    return Measured(**{name: np.array([value]) for name, value in columns.items()})


def over_steps(run: Measured, factors: np.ndarray) -> Measured:
    """Every timed second times `factors` (steps,)."""
    return Measured(**{name: column[0] * factors for name, column in run.known.items()})


def target(machine: Machine, gpus=64, trainer=None, precisions=("fp8", "bf16"), **changed) -> Target:
    """The same counts of GPUs on another machine, without factors or bands of their own."""
    base = Target(
        engines=Pool(machine, gpus, precisions[0]),
        trainer=Pool(trainer or machine, gpus, precisions[1]),
        decode=EXACT,
        training=EXACT,
        prefill=EXACT,
        step=EXACT,
        basis="published pairs",
    )
    return replace(base, **changed)


def point(tokens: float) -> Lengths:
    """All responses as long as each other."""
    return Lengths(np.array([tokens]), np.array([1.0]))


def projected(run, *targets, seen=None, draws=2000, seed=0) -> Projection:
    """The run, calibrated on its own seconds, on the targets."""
    seen = measured(run) if seen is None else seen
    return project(run, seen, calibrate(run, seen), targets, draws, seed)


def middle(found: Projection, phase: str, at: int = 0) -> float:
    """Central seconds of a phase."""
    return found.moves[at].seconds[phase]
