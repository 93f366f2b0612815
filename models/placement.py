"""GPUs a replica and its batch on a machine: chosen again for every platform's memory and link domain."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from models.decode import DecodeFactors, DecodeLoad, capacity, decode_step, prefill_tokens_per_step
from models.machine import Machine, Rates
from models.shapes import Llm, num

Layout = Literal["tensor", "expert"]


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

    `layout`: every matrix split (tensor), or experts spread and attention data parallel (expert).
    `domains`: link domains a replica spans, above 1 its links are the network's. `batch_cap` is what fits in
    memory; `tokens_per_s_per_gpu` output tokens; `step_s` seconds a token.
    """

    layout: Layout
    replica_gpus: int
    domains: int
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

    Where nothing fits a domain, 2, 4, 8 ... domains are tried over the network. A mixture of experts is tried
    in both layouts. A size is left out when weights and one sequence do not fit; it cannot be best when its
    step is slower than `slowest_step_s`. No best one when facts are unknown or nothing fits.
    """
    unknown = machine.missing(demand.precision, "hbm_bytes", "hbm_bytes_per_s", "domain_gpus")
    if not unknown and (machine.domain_gpus or 0) > 1:
        unknown = machine.missing(None, "link_bytes_per_s")
    if unknown:
        return Choice(None, (), unknown)
    tried = _fitting(llm, machine, demand, factors, replica_sizes(machine, demand.gpus))
    wider = _domain_multiples(machine, demand.gpus)
    if not tried and wider:
        if machine.scaleout_bytes_per_s is None:
            return Choice(None, (), ("scaleout_bytes_per_s",))
        tried = _fitting(llm, machine, demand, factors, wider)
    fast = [one for one in tried if one.step_s <= demand.slowest_step_s]
    return Choice(max(fast, key=lambda one: one.tokens_per_s_per_gpu, default=None), tried)


def replica_sizes(machine: Machine, gpus: int) -> tuple[int, ...]:
    """Powers of two up to the link domain and the GPUs at hand, and the whole domain itself."""
    most = min(machine.domain_gpus or 1, gpus)
    powers = [2**power for power in range(int(math.log2(most)) + 1)] if most >= 1 else []
    whole = [most] if most == machine.domain_gpus else []
    return tuple(sorted({*powers, *whole}))


def _domain_multiples(machine: Machine, gpus: int) -> tuple[int, ...]:
    domain = machine.domain_gpus or 1
    return tuple(domain * 2**power for power in range(1, 11) if domain * 2**power <= gpus)


def _fitting(
    llm: Llm, machine: Machine, demand: Demand, factors: DecodeFactors, sizes: tuple[int, ...]
) -> tuple[Placement, ...]:
    layouts: tuple[Layout, ...] = ("tensor", "expert") if llm.is_moe else ("tensor",)
    tried = [(layout, size) for size in sizes for layout in layouts if layout == "tensor" or size > 1]
    found = (_placed(llm, machine, demand, factors, layout, size) for layout, size in tried)
    return tuple(placement for placement in found if placement is not None)


def _placed(
    llm: Llm, machine: Machine, demand: Demand, factors: DecodeFactors, layout: Layout, size: int
) -> Placement | None:
    replicas = demand.gpus // size
    domains = -(-size // (machine.domain_gpus or 1))
    rates = Rates.of(machine, demand.precision)
    if domains > 1:
        rates = replace(rates, link_bytes_per_s=num(machine.scaleout_bytes_per_s))
    load = DecodeLoad(
        batch=1.0,
        context=demand.context,
        gpus=size,
        weight_bytes=demand.weight_bytes,
        kv_bytes=demand.kv_bytes,
        attention_tp=size if layout == "tensor" else 1.0,
        expert_parallel=layout == "expert",
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
    rate = min(batch * replicas, demand.sequences) / float(step.total_s) / demand.gpus
    return Placement(layout, size, domains, replicas, batch, cap, float(step.total_s), rate)
