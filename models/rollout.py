"""Time of a rollout phase with a long tail: simulated slot by slot, and in closed form. Seconds.

Which slots are busy at which step follows from the lengths alone, not from the chip. So a phase is simulated
once in steps (`occupancy`) and priced for any number of draws and platforms (`rollout_time`).
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from models.decode import DecodeFactors, DecodeLoad, DecodeStep, decode_step
from models.lengths import Floats, Lengths
from models.machine import Rates
from models.shapes import Llm, Num, at_least, at_most, num, where

StepTime = Callable[[Num, Num], Num]
"""Seconds of a decode step with a batch of sequences at a mean context: `decode_step(...).total_s`."""
PIECES = 12
"""Pieces in which the closed form follows an emptying batch."""


@dataclass(frozen=True)
class Occupancy:
    """Phases of one replica in which the batch stays the same: steps, sequences, mean context in tokens.

    Phases lie along the first axis; further axes are platforms with slots of their own.
    """

    steps: Floats
    batch: Floats
    context: Floats

    @property
    def tokens(self) -> Num:
        """Output tokens of the replica."""
        return num((self.steps * self.batch).sum(axis=0))

    @property
    def total_steps(self) -> Num:
        """Decode steps until the last response ends."""
        return num(self.steps.sum(axis=0))

    @property
    def full_batch(self) -> Num:
        """Sequences while all slots are busy."""
        return num(self.batch.max(axis=0))

    @property
    def mean_context(self) -> Num:
        """Mean context over all output tokens."""
        return num((self.steps * self.batch * self.context).sum(axis=0)) / self.tokens

    def compressed(self, phases: int) -> "Occupancy":
        """At most `phases` phases of about equal steps, of one replica; steps, tokens and reads stay."""
        if len(self.steps) <= phases:
            return self
        middle = np.cumsum(self.steps) - self.steps / 2
        group = np.minimum((middle / float(self.total_steps) * phases).astype(int), phases - 1)
        steps: Floats = np.bincount(group, self.steps, phases).astype(np.float64)
        tokens = np.bincount(group, self.steps * self.batch, phases)
        reads = np.bincount(group, self.steps * self.batch * self.context, phases)
        used = steps > 0
        return Occupancy(steps[used], tokens[used] / steps[used], reads[used] / tokens[used])


@dataclass(frozen=True)
class Rollout:
    """Parts of a rollout phase in seconds: all tokens at the rate of a full batch, the tail, the prompts.

    The tail is what the phase takes longer because the batch empties: more GPUs do not shrink it.
    """

    work_s: Num
    tail_s: Num
    prefill_s: Num = 0.0

    @property
    def total_s(self) -> Num:
        """Sum of the parts."""
        return self.work_s + self.tail_s + self.prefill_s

    @property
    def tail_frac(self) -> Num:
        """Share of the tail in the phase."""
        return self.tail_s / self.total_s


def occupancy(lengths: npt.ArrayLike, slots: int, prompt_tokens: float = 0.0) -> Occupancy:
    """Continuous batching of one replica: responses start in order, each free slot takes the next one.

    `lengths`: output tokens of each response; `slots`: sequences at a time. Every active sequence gains one
    token a step (Orca, OSDI 2022). Raises ValueError for no slot, or a length below 1.
    """
    queue = np.round(np.asarray(lengths, dtype=np.float64)).astype(np.int64).tolist()
    if slots < 1 or not queue or min(queue) < 1:
        raise ValueError(f"{len(queue)} responses of at least one token need at least one slot: {slots}")
    active = [(length, 0) for length in queue[:slots]]
    heapq.heapify(active)
    waiting, now, started = iter(queue[slots:]), 0, 0
    phases: list[tuple[float, float, float]] = []
    while active:
        end = active[0][0]
        batch = len(active)
        phases.append((end - now, batch, prompt_tokens + (now + end) / 2 - started / batch))
        now = end
        while active and active[0][0] == end:
            started -= active[0][1]
            following = next(waiting, None)
            if following is None:
                heapq.heappop(active)
            else:
                heapq.heapreplace(active, (end + following, end))
                started += end
    table = np.array(phases, dtype=np.float64)
    return Occupancy(table[:, 0], table[:, 1], table[:, 2])


def replicas_of(lengths: npt.ArrayLike, replicas: int, slots: int, prompt_tokens: float) -> list[Occupancy]:
    """Occupancy of every replica when responses are dealt out in turn. Raises ValueError below one each."""
    values = np.asarray(lengths, dtype=np.float64)
    if not 1 <= replicas <= values.size:
        raise ValueError(f"{values.size} responses cannot be dealt to {replicas} replicas")
    return [occupancy(values[first::replicas], slots, prompt_tokens) for first in range(replicas)]


def rollout_time(
    replicas: Sequence[Occupancy], step_time: StepTime, prefill_s: Num = 0.0, dims: int = 0
) -> Rollout:
    """Rollout phase of simulated replicas: the slowest one's sum of steps x step time.

    `step_time` is called with phases along the first axis and `dims` axes of length 1 behind it (for draws
    and platforms). work = tokens x step time at the largest batch / batch.
    """
    if not replicas:
        raise ValueError("a rollout phase needs a replica")
    total, work = num(-np.inf), num(0.0)
    for one in replicas:
        shape = (-1,) + (1,) * dims
        steps = one.steps.reshape(shape)
        seconds = (steps * step_time(one.batch.reshape(shape), one.context.reshape(shape))).sum(axis=0)
        ideal = one.tokens / one.full_batch * step_time(one.full_batch, one.mean_context)
        work = where(seconds > total, ideal, work)
        total = where(np.isnan(seconds), seconds, at_least(total, seconds))
    return Rollout(work_s=where(np.isnan(total), total, work), tail_s=total - work, prefill_s=prefill_s)


@dataclass(frozen=True)
class RolloutLoad:
    """Responses and slots of one replica; of `replicas` side by side the slowest ends the phase."""

    requests: Num
    slots: Num
    prompt_tokens: Num = 0.0
    replicas: Num = 1.0


def closed_form_occupancy(lengths: Lengths, load: RolloutLoad) -> Occupancy:
    """Expected occupancy of the slowest replica in PIECES + 1 phases: all slots busy, then an emptying batch.

    One wave (requests <= slots): the longest of all responses sets the steps, E[max L]. More waves: when the
    queue is empty every slot holds a residual length, so the phase drains for E[max residual] steps after
    (tokens - slots x mean residual) / slots full ones. The batch of the draining steps is slots x survival.
    NaN without a whole slot: the model does not fit (see `capacity`).
    """
    slots, full, draining = _drained(lengths, load)
    one_wave = np.asarray(num(load.requests) <= num(load.slots))
    steps, batch, alive = [full], [slots], 0 * draining
    for piece in range(1, PIECES + 1):
        upto = lengths.survivors(draining * (piece / PIECES), ~one_wave)
        steps.append(draining / PIECES)
        batch.append(at_least(slots * (upto - alive) * PIECES / draining, 1.0))
        alive = upto
    shape = np.broadcast_shapes(*(np.shape(part) for part in (*steps, *batch, load.prompt_tokens)))
    context = np.broadcast_to(num(load.prompt_tokens) + lengths.mean_residual, (PIECES + 1, *shape))
    return Occupancy(_stacked(steps, shape), _stacked(batch, shape), context)


def phase_steps(lengths: Lengths, load: RolloutLoad) -> tuple[Num, Num]:
    """Sequences while all slots are busy, and decode steps until the last response of all replicas ends.

    Those of `closed_form_occupancy`, without following the batch as it empties.
    """
    slots, full, draining = _drained(lengths, load)
    return slots, full + draining


def _drained(lengths: Lengths, load: RolloutLoad) -> tuple[Num, Num, Num]:
    """Slots in use, steps in which all are, steps in which the batch empties."""
    requests, offered = num(load.requests), num(load.slots)
    slots = at_most(where(np.asarray(offered < 1), np.nan, offered), requests)
    one_wave = np.asarray(requests <= offered)
    tokens = requests * lengths.mean
    longest = lengths.expected_longest(requests * load.replicas)
    draining = where(one_wave, longest, lengths.expected_longest_residual(slots * load.replicas))
    left = where(one_wave, tokens, at_most(slots * lengths.mean_residual, tokens))
    full = (tokens - left) / slots
    return slots, full, at_least(draining, longest - full)


def rollout_closed_form(
    lengths: Lengths, load: RolloutLoad, step_time: StepTime, prefill_s: Num = 0.0
) -> Rollout:
    """Rollout phase in closed form: sum of steps x step time over `closed_form_occupancy`.

    With one wave and a step time that is linear in the batch this is tokens / rate + (L_max - L_mean) x step
    time of a small batch. Within 9 % of the simulation (median 2 %, mean of ten seeds): log-normal lengths,
    sigma up to 1, capped at eight medians, a quarter to eight waves; step times linear, roofline or of a
    mixture of experts.
    """
    busy = closed_form_occupancy(lengths, load)
    at_full = step_time(busy.full_batch, busy.context[0])
    seconds = busy.steps[0] * at_full
    for steps, batch, context in zip(busy.steps[1:], busy.batch[1:], busy.context[1:], strict=True):
        seconds = seconds + steps * step_time(batch, context)
    work = num(load.requests) * lengths.mean / busy.full_batch * at_full
    return Rollout(work_s=work, tail_s=seconds - work, prefill_s=prefill_s)


def rollout_draws(
    llm: Llm,
    busy: Occupancy,
    engine: DecodeLoad,
    rates: Rates,
    factors: DecodeFactors,
    *,
    tokens: Num | None = None,
) -> Rollout:
    """Rollout phase for many draws of `factors`: shape (draws, 1), against platforms along the last axis.

    The same sum as `rollout_time`, with bytes and FLOP worked out once a phase and platform: sum of steps x
    max(memory / eta, compute / eta) + steps x (c0 + links / eta). `engine` gives everything but batch and
    context; its prompts are priced apart. `tokens` (all of the busy steps when None) set the work.
    """
    alone = DecodeFactors(eta_bandwidth=1.0, eta_flops=1.0, eta_prefill=1.0, eta_link=1.0, layer_s=1.0)
    shaped = replace(engine, batch=busy.batch, context=busy.context, prefill_tokens=0.0)
    ideal = decode_step(llm, shaped, rates, alone)
    full = replace(shaped, batch=busy.full_batch, context=busy.mean_context)
    at_full = decode_step(llm, full, rates, factors).total_s
    slow, fast = 1 / num(factors.eta_bandwidth), 1 / num(factors.eta_flops)
    memory = np.broadcast_to(busy.steps * ideal.memory_s, np.broadcast_shapes(*_shapes(busy, ideal)))
    compute = np.broadcast_to(busy.steps * ideal.compute_s, memory.shape)
    seconds = busy.total_steps * llm.layers * num(factors.layer_s)
    seconds = seconds + num((busy.steps * ideal.link_s).sum(axis=0)) / factors.eta_link
    seconds = seconds + _bound_s(memory, compute, slow, fast)
    work = (busy.tokens if tokens is None else num(tokens)) / busy.full_batch * at_full
    return Rollout(work_s=work, tail_s=seconds - work)


def _bound_s(memory: Floats, compute: Floats, slow: Num, fast: Num) -> Floats:
    """Sum over phases of max(memory x slow, compute x fast), in buffers that are used again."""
    shape = np.broadcast_shapes(memory.shape[1:], np.shape(slow), np.shape(fast))
    total, reads, counts = np.zeros(shape), np.empty(shape), np.empty(shape)
    for one, other in zip(memory, compute, strict=True):
        np.multiply(one, slow, out=reads)
        np.multiply(other, fast, out=counts)
        total += np.maximum(reads, counts, out=reads)
    return total


def _stacked(parts: list[Num], shape: tuple[int, ...]) -> Floats:
    return np.stack([np.broadcast_to(part, shape) for part in parts])


def _shapes(busy: Occupancy, ideal: DecodeStep) -> tuple[tuple[int, ...], ...]:
    return np.shape(busy.steps), np.shape(ideal.memory_s), np.shape(ideal.compute_s)
