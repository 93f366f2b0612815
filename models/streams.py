"""Engines that never drain (asynchronous runs): sequences in flight and the longest response."""

from dataclasses import replace

from models.decode import DecodeFactors, decode_step
from models.factors import Factor, prior
from models.machine import Rates
from models.operating import Operating, engine_load
from models.workload import Workload

HALVINGS = 80


def in_flight(
    workload: Workload, at: Operating, rates: Rates, factors: DecodeFactors, work_s: float
) -> Operating:
    """Engines with the sequences in flight at which usual `factors` need `work_s` seconds for a step.

    Little's law: rollouts x mean length x step(batch) / (replicas x batch) = seconds, which fall with the
    batch; at least one sequence, at most those of `at`. Where the run's `max_batch` caps it, that is in
    flight.
    """
    if workload.max_batch is not None and at.batch >= workload.max_batch:
        return at

    def needed_s(batch: float) -> float:
        load = engine_load(workload, workload.engines, at, batch)
        step_s = float(decode_step(workload.llm, load, rates, factors).total_s)
        return at.work_steps * at.batch / batch * step_s

    if not needed_s(at.batch) < work_s:
        return at
    low, high = 1.0, at.batch
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if needed_s(middle) > work_s else (low, middle)
    work_steps = at.work_steps * at.batch / high
    return replace(at, batch=high, work_steps=work_steps, total_steps=max(_longest(workload), work_steps))


def flight_factor(at: Operating, most: Operating) -> Factor:
    """Sequences of a replica in flight, between one and what fits or the lag allows."""
    words = "what usual engines need for the measured seconds; give the engines' cap of running sequences"
    return prior("rollout", "in_flight", "sequences a replica", (1.0, at.batch, most.batch), words)


def longest_factor(workload: Workload, at: Operating, step_s: float, engines_s: float) -> Factor:
    """Time of the longest response over lag + 1 measured steps."""
    value = at.total_steps * step_s / ((workload.lag + 1) * engines_s)
    words = "longest response over lag + 1 steps"
    if value > 1:
        words += ": late ones are dropped or older than the lag, so they hold up no step"
    return Factor(
        "rollout", "longest_response", value, value, value, "of lag + 1 steps", 0, False, "measured", words
    )


def _longest(workload: Workload) -> float:
    return float(workload.lengths.expected_longest(workload.rollouts))
