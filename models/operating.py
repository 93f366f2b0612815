"""Where engines operate: GPUs of a replica, batch, and decode steps of a rollout phase with its tail."""

import math
from dataclasses import dataclass

import numpy as np

from models.decode import DecodeFactors, DecodeLoad, capacity
from models.machine import Machine, Rates
from models.placement import Demand, placements
from models.rollout import RolloutLoad, closed_form_occupancy, phase_steps
from models.shapes import Num, num
from models.workload import Floats, Pool, Workload

WIDE_REPLICA = 8
"""A mixture of experts on more GPUs than this keeps experts spread and attention data parallel."""


@dataclass(frozen=True)
class Operating:
    """Engines of a pool: `replicas` in use, each `replica_gpus` GPUs with `batch` sequences while it is full.

    `batch_cap`: sequences that fit. The last response ends after `total_steps` decode steps; all tokens at
    the full batch would take `work_steps`. `domains`: link domains that a replica spans. `kept`: the replica
    is the run's own.
    """

    replica_gpus: int
    replicas: int
    batch: float
    batch_cap: float
    context: float
    work_steps: float
    total_steps: float
    domains: int
    expert_parallel: bool
    kept: bool = True

    @property
    def tail_steps(self) -> float:
        """Steps that the emptying batch adds to those of the work."""
        return max(self.total_steps - self.work_steps, 0.0)

    @property
    def capped_by(self) -> str:
        """`memory` when not all sequences fit at once, else `demand`."""
        return "memory" if self.batch >= self.batch_cap else "demand"


def engine_load(workload: Workload, pool: Pool, at: Operating, batch: Num | None = None) -> DecodeLoad:
    """Decode load of a replica at its full batch, or at `batch`; its prompts are priced apart."""
    return _load(workload, pool, at.replica_gpus, at.expert_parallel, at.batch if batch is None else batch)


def operate(
    workload: Workload,
    pool: Pool,
    replica_gpus: int,
    *,
    kept: bool = True,
    in_flight: float = math.inf,
    spread: bool | None = None,
) -> Operating | None:
    """Replicas of `replica_gpus` GPUs on a pool; None when not one of them, or not one sequence, fits.

    Batch: what is in flight, at most what (0.9 C G - weights) / cache at the mean context holds, at most
    `max_batch`. In sync and one-step-off modes a batch drains (`closed_form_occupancy`). In `async` mode the
    batch stays full, with `in_flight` sequences a replica and those of lag + 1 steps at most; the longest
    response lasts as many steps as it has tokens. Replicas beyond one a response are not used.
    """
    replicas = min(pool.gpus // replica_gpus, int(workload.rollouts))
    if spread is None:
        spread = _usually_spread(workload, replica_gpus)
    load = _load(workload, pool, replica_gpus, spread, 1.0)
    cap = float(capacity(workload.llm, load, Rates.of(pool.machine, pool.precision)).batch)
    cap = cap if workload.max_batch is None else min(cap, workload.max_batch)
    if replicas < 1 or not cap >= 1:
        return None
    batch, work, total = _steps(workload, replicas, cap, in_flight)
    return Operating(
        replica_gpus=replica_gpus,
        replicas=replicas,
        batch=batch,
        batch_cap=cap,
        context=float(load.context),
        work_steps=work,
        total_steps=total,
        domains=-(-replica_gpus // (pool.machine.domain_gpus or replica_gpus)),
        expert_parallel=spread,
        kept=kept,
    )


def _steps(workload: Workload, replicas: int, cap: float, in_flight: float) -> tuple[float, float, float]:
    """Batch of a replica, decode steps of all tokens at it, and those until the last response ends."""
    requests = workload.rollouts / replicas
    if workload.mode == "async":
        batch = min(cap, requests * (workload.lag + 1), in_flight)
        work = requests * workload.lengths.mean / batch
        return batch, work, max(float(workload.lengths.expected_longest(workload.rollouts)), work)
    full, steps = phase_steps(workload.lengths, _slots(workload, replicas, cap))
    return float(full), requests * workload.lengths.mean / float(full), float(steps)


def occupied(workload: Workload, at: Operating) -> tuple[Floats, Floats]:
    """Decode steps of the slowest replica and its sequences in them, part by part of the phase.

    For modes in which a batch drains.
    """
    busy = closed_form_occupancy(workload.lengths, _slots(workload, at.replicas, at.batch_cap))
    return busy.steps, busy.batch


def source_operating(workload: Workload, factors: DecodeFactors) -> tuple[Operating | None, tuple[str, ...]]:
    """The first of `source_options`, or None with what is unknown or does not fit."""
    options, unknown = source_options(workload, factors)
    return (options[0] if options else None), unknown


def source_options(
    workload: Workload, factors: DecodeFactors
) -> tuple[tuple[Operating, ...], tuple[str, ...]]:
    """Where the run's own engines may operate, or none with what is unknown or does not fit.

    The run's replica where it says one, in both layouts if it is wide; else every placement that fits, the
    best rate (`placements`) first.
    """
    pool = workload.engines
    unknown = lacking(pool, workload.replica_gpus or 1)
    if unknown:
        return (), unknown
    size = workload.replica_gpus
    if size is not None:
        sizes = list(dict.fromkeys([(size, _usually_spread(workload, size)), (size, False)]))
    else:
        choice = placements(workload.llm, pool.machine, _demand(workload, pool), factors)
        if choice.best is None:
            return (), _named(pool.machine, *(choice.unknown or ("the weights fit no replica",)))
        ranked = sorted(choice.tried, key=lambda one: -one.tokens_per_s_per_gpu)
        wide = [(one.replica_gpus, one.layout == "expert") for one in ranked]
        tried = [(size, spread and size > WIDE_REPLICA) for size, spread in wide]
        best = choice.best.replica_gpus
        sizes = list(dict.fromkeys([(best, _usually_spread(workload, best)), *tried]))
    found = [operate(workload, pool, size, spread=spread) for size, spread in sizes]
    fitting = tuple(one for one in found if one is not None)
    if not fitting:
        return (), _named(pool.machine, f"no sequence fits a replica of {sizes[0][0]} GPUs on {pool.gpus}")
    if fitting[0].domains > 1 and pool.machine.scaleout_bytes_per_s is None:
        return (), _named(pool.machine, "scaleout_bytes_per_s")
    return fitting, ()


def moved_operating(
    workload: Workload, source: Operating, pool: Pool
) -> tuple[Operating | None, tuple[str, ...]]:
    """The same engines on another pool, or None with what is unknown or does not fit.

    The replica keeps its GPUs, so no gain of a tuned layout is credited to the chip; the batch is chosen anew
    by the pool's memory. Only where that replica does not fit (memory, link domain, GPUs at hand) the size
    nearest to it that fits is taken. A replica may leave its link domain only if the run's does. Streams keep
    their sequences in flight a replica, unless memory was what capped them.
    """
    unknown = lacking(pool, source.replica_gpus)
    if unknown:
        return None, unknown
    domain = pool.machine.domain_gpus
    most = pool.gpus if source.domains > 1 else min(domain or 1, pool.gpus)
    sizes = {source.replica_gpus, most} | {2**power for power in range(most.bit_length())}
    order = sorted((size for size in sizes if size <= most), key=lambda s: _distance(s, source.replica_gpus))
    lagging = (workload.lag + 1) * workload.rollouts / source.replicas
    free = source.capped_by == "memory" or source.batch >= lagging * (1 - 1e-9)
    flight = math.inf if free else source.batch
    for size in order:
        kept = size == source.replica_gpus
        spread = source.expert_parallel if kept else None
        found = operate(workload, pool, size, kept=kept, in_flight=flight, spread=spread)
        if found is not None:
            return found, ()
    if domain is None:
        return None, _named(pool.machine, "domain_gpus")
    return None, _named(pool.machine, f"the model does not fit a replica of up to {most} GPUs")


def lacking(pool: Pool, replica_gpus: int) -> tuple[str, ...]:
    """Facts of a pool's machine that decode needs and nobody published, as `platform: fact`."""
    needed = ["hbm_bytes_per_s", "hbm_bytes"] + (["domain_gpus"] if replica_gpus > 1 else [])
    return _named(pool.machine, *pool.machine.missing(pool.precision, *needed))


def _usually_spread(workload: Workload, replica_gpus: int) -> bool:
    return workload.llm.is_moe and replica_gpus > WIDE_REPLICA


def _slots(workload: Workload, replicas: int, cap: float) -> RolloutLoad:
    return RolloutLoad(workload.rollouts / replicas, cap, workload.prompt_tokens, float(replicas))


def _distance(size: int, wanted: int) -> tuple[float, int]:
    return abs(float(np.log2(size / wanted))), size


def _named(machine: Machine, *facts: str) -> tuple[str, ...]:
    return tuple(f"{machine.platform_id}: {fact}" for fact in facts)


def _demand(workload: Workload, pool: Pool) -> Demand:
    ahead = workload.lag + 1 if workload.mode == "async" else 1.0
    return Demand(
        gpus=pool.gpus,
        sequences=workload.rollouts * ahead,
        context=workload.prompt_tokens + workload.lengths.mean_residual,
        weight_bytes=pool.bytes_per_weight,
        kv_bytes=workload.cached_bytes(pool),
        precision=pool.precision,
    )


def _load(workload: Workload, pool: Pool, gpus: int, spread: bool, batch: Num) -> DecodeLoad:
    return DecodeLoad(
        batch=num(batch),
        context=workload.prompt_tokens + workload.lengths.mean_residual,
        gpus=gpus,
        weight_bytes=pool.bytes_per_weight,
        kv_bytes=workload.cached_bytes(pool),
        attention_tp=1.0 if spread else gpus,
        expert_parallel=spread,
    )
