"""Attempts of a made-up run on the wall clock: start-up, steps, the failure and the resume."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from data.examples.plan import CHECKPOINT_EVERY, Plan
from data.examples.steps import Step, make_step


@dataclass
class Attempt:
    """One attempt: its steps with the second (since `start`) at which each begins."""

    number: int
    start: datetime
    steps: list[Step] = field(default_factory=list)
    begins_s: list[float] = field(default_factory=list)
    end_s: float = 0.0
    status: str = "completed"
    cause: str | None = None
    resumed_from: int | None = None
    hang_from_s: float | None = None

    @property
    def last_checkpoint(self) -> int:
        """Step of the newest checkpoint that this attempt saved; 0 when none."""
        return max((s.step for s in self.steps if s.step % CHECKPOINT_EVERY == 0), default=0)

    def at(self, seconds: float) -> datetime:
        """Wall clock, to the second, `seconds` after the start."""
        return self.start + timedelta(seconds=round(seconds))

    @property
    def ended(self) -> datetime:
        """When the allocation was given back."""
        return self.at(self.end_s)


@dataclass
class History:
    """A run as it went: attempts, and tokens trained on at the end of each step of the surviving lineage."""

    plan: Plan
    attempts: list[Attempt]
    tokens_after: dict[int, float]

    def rows(self) -> Iterator[tuple[Attempt, Step, float]]:
        """Every logged step with the second at which it ends."""
        for attempt in self.attempts:
            for step, begin in zip(attempt.steps, attempt.begins_s, strict=True):
                yield attempt, step, begin + step.step_s


def simulate(plan: Plan, rng: np.random.Generator) -> History:
    """Run the plan; a failing plan hangs in a step, loses the work since its checkpoint, and resumes."""
    tokens: dict[int, float] = {0: 0.0}
    attempts = [Attempt(1, plan.start)]
    _run(plan, attempts[0], 1, plan.fails_in_step or plan.steps + 1, tokens, rng)
    if plan.fails_in_step is not None:
        attempts.append(_resume(plan, attempts[0]))
        _run(plan, attempts[1], attempts[0].last_checkpoint + 1, plan.steps + 1, tokens, rng)
    return History(plan, attempts, tokens)


def _run(
    plan: Plan, attempt: Attempt, first: int, stop: int, tokens: dict[int, float], rng: np.random.Generator
) -> None:
    clock = round(plan.startup_s * float(rng.lognormal(0, 0.04)), 3)
    for number in range(first, stop):
        step = make_step(plan, number, tokens[number - 1], rng)
        attempt.steps.append(step)
        attempt.begins_s.append(clock)
        clock = round(clock + step.step_s, 3)
        tokens[number] = tokens[number - 1] + step.tok_total
    attempt.end_s = clock + plan.shutdown_s


def _resume(plan: Plan, failed: Attempt) -> Attempt:
    into_step = 0.62 * failed.steps[-1].step_s
    failed.hang_from_s = failed.end_s - plan.shutdown_s + into_step
    failed.end_s = failed.hang_from_s + plan.hang_s
    failed.status = "failed"
    failed.cause = "collective timed out during weight sync; watchdog stopped the job after 30 minutes"
    start = failed.at(failed.end_s + plan.repair_s)
    return Attempt(2, start, resumed_from=failed.last_checkpoint)
