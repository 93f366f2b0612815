"""GPUs a replica and its batch on a machine: chosen again for every platform's memory and link domain."""

import math
from dataclasses import dataclass, replace

import numpy as np

from models.decode import DecodeFactors, DecodeLoad, capacity, decode_step, prefill_tokens_per_step
from models.machine import Machine, Rates
from models.shapes import Llm, num


@dataclass(frozen=True)
class Demand:
    """What engines must serve: sequences over all of `gpus` GPUs, their mean context, prompt and output.

    Prompt and output give the prefill in between; no output: prompts are prefilled elsewhere. Bytes are a
    value's; `slowest_step_s` bounds the seconds of a token.
    """

    gpus: int
    sequences: float
    context: float
    weight_bytes: float
    kv_bytes: float
    precision: str
    prompt_tokens: float = 0.0
    output_tokens: float = 0.0
    other_bytes_per_gpu: float = 0.0
    slowest_step_s: float = math.inf


@dataclass(frozen=True)
class Placement:
    """A replica of `replica_gpus` GPUs, its batch, what caps it, and what it gives.

    `batch_cap` is what fits in memory; `tokens_per_s_per_gpu` output tokens; `step_s` seconds a token.
    """

    replica_gpus: int
    replicas: int
    batch: float
    batch_cap: float
    step_s: float
    tokens_per_s_per_gpu: float

    @property
    def capped_by(self) -> str:
        """`memory` when the sequences do not fit at once, else `demand`."""
        return "memory" if self.batch >= self.batch_cap else "demand"


@dataclass(frozen=True)
class Choice:
    """The placement with the highest rate, every one tried, and the facts that are not published."""

    best: Placement | None
    tried: tuple[Placement, ...]
    unknown: tuple[str, ...] = ()


def placements(llm: Llm, machine: Machine, demand: Demand, factors: DecodeFactors) -> Choice:
    """Replicas of 1, 2, 4 ... GPUs inside the link domain, batch = min(memory, demand), best output rate.

    A size is left out when the weights and one sequence do not fit, or its step is slower than
    `slowest_step_s`. Experts are spread over the GPUs of a replica. No best one when facts are unknown or
    nothing fits.
    """
    unknown = machine.missing(demand.precision, "hbm_bytes", "hbm_bytes_per_s", "domain_gpus")
    if not unknown and (machine.domain_gpus or 0) > 1:
        unknown = machine.missing(None, "link_bytes_per_s")
    if unknown:
        return Choice(None, (), unknown)
    found = [_placed(llm, machine, demand, factors, size) for size in replica_sizes(machine, demand.gpus)]
    tried = tuple(placement for placement in found if placement is not None)
    fast = [one for one in tried if one.step_s <= demand.slowest_step_s]
    return Choice(max(fast, key=lambda one: one.tokens_per_s_per_gpu, default=None), tried)


def replica_sizes(machine: Machine, gpus: int) -> tuple[int, ...]:
    """Powers of two up to the link domain and the GPUs at hand, and the whole domain itself."""
    most = min(machine.domain_gpus or 1, gpus)
    powers = [2**power for power in range(int(math.log2(most)) + 1)] if most >= 1 else []
    whole = [most] if most == machine.domain_gpus else []
    return tuple(sorted({*powers, *whole}))


def _placed(
    llm: Llm, machine: Machine, demand: Demand, factors: DecodeFactors, size: int
) -> Placement | None:
    replicas = demand.gpus // size
    rates = Rates.of(machine, demand.precision)
    load = DecodeLoad(
        batch=1.0,
        context=demand.context,
        gpus=size,
        weight_bytes=demand.weight_bytes,
        kv_bytes=demand.kv_bytes,
        attention_tp=1.0 if llm.is_moe else size,
        expert_parallel=llm.is_moe,
    )
    cap = float(capacity(llm, load, rates, demand.other_bytes_per_gpu * size).batch)
    batch = min(cap, float(np.ceil(demand.sequences / replicas)))
    if batch < 1:
        return None
    between = num(0.0)
    if demand.output_tokens:
        between = prefill_tokens_per_step(batch, demand.prompt_tokens, demand.output_tokens)
    served = replace(load, batch=batch, prefill_tokens=between, prompt_tokens=demand.prompt_tokens)
    step = decode_step(llm, served, rates, factors)
    rate = batch * replicas / float(step.total_s) / demand.gpus
    return Placement(size, replicas, batch, cap, float(step.total_s), rate)
