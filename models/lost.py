"""Parts of an attempt that bought nothing: start-up, work since the last checkpoint, holds after the end."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from models.cost import AttemptStatus

Kind = Literal["start_up", "since_checkpoint", "not_used", "after_last_step"]
KINDS: tuple[Kind, ...] = ("start_up", "since_checkpoint", "not_used", "after_last_step")


@dataclass(frozen=True)
class Step:
    """One step: its number, end (seconds since 1970) and duration in s; NaN where it is not known."""

    step: int
    end_s: float
    step_s: float


@dataclass(frozen=True)
class AttemptClock:
    """What is known about the time of an attempt, seconds since 1970; steps in rising order.

    `kept_step`: last step that a surviving attempt or a used checkpoint stands on (None: all of it; -1:
    nothing; NaN: something, but not where). `saved_step`: last step in any checkpoint, None when none is
    known. `logs_steps`: some attempt of the run has steps.
    """

    start_s: float
    end_s: float
    status: AttemptStatus
    steps: Sequence[Step]
    kept_step: float | None
    saved_step: int | None
    logs_steps: bool = True


@dataclass(frozen=True)
class Segment:
    """Half-open time that bought nothing. Not `sure`: it may also have bought something (low bound 0)."""

    kind: Kind
    start_s: float
    end_s: float
    sure: bool
    why: str


def segments(clock: AttemptClock) -> list[Segment]:
    """Segments of one attempt in order of time; they do not overlap, and none where a clock is missing.

    Start-up: start to the first step's start. An interrupted attempt lost what it did after its kept step, or
    after its last checkpoint when nothing stands on it (before that: saved, not used); the step it died in
    is taken as one median step. Holds: after that, or after the last step of an attempt that was not
    interrupted.
    """
    if not (math.isfinite(clock.start_s) and math.isfinite(clock.end_s)) or clock.end_s <= clock.start_s:
        return []
    if not clock.steps:
        return _without_steps(clock)
    usual = _usual(clock.steps)
    timed = [step for step in clock.steps if math.isfinite(step.end_s)]
    if not timed:
        return _without_clock(clock)
    first = timed[0]
    begin = first.end_s - (first.step_s if math.isfinite(first.step_s) else usual)
    out = []
    if math.isfinite(begin) and begin > clock.start_s:
        until = min(begin, clock.end_s)
        out.append(Segment("start_up", clock.start_s, until, True, "before its first step"))
    begin = begin if math.isfinite(begin) else first.end_s
    last = min(max(timed[-1].end_s, clock.start_s), clock.end_s)
    if clock.kept_step is None:
        return [*out, *_hold(last, clock.end_s, "after its last step")]
    died = min(clock.end_s, last + (usual if math.isfinite(usual) else 0.0))
    out += _lost(clock, timed, max(begin, clock.start_s), died)
    return [*out, *_hold(died, clock.end_s, "after its last step and one more")]


def _usual(steps: Sequence[Step]) -> float:
    known = [step.step_s for step in steps if math.isfinite(step.step_s)]
    return median(known) if known else math.nan


def _hold(start_s: float, end_s: float, why: str) -> list[Segment]:
    return [Segment("after_last_step", start_s, end_s, True, why)] if end_s > start_s else []


def _without_steps(clock: AttemptClock) -> list[Segment]:
    """An interrupted attempt of a run that logs steps elsewhere never reached one."""
    if clock.kept_step is None or not clock.logs_steps:
        return []
    return [Segment("start_up", clock.start_s, clock.end_s, True, "no step was logged before it ended")]


def _without_clock(clock: AttemptClock) -> list[Segment]:
    """Steps that only have durations: what followed the kept step ended with the attempt."""
    if clock.kept_step is None:
        return []
    cut, sure, why = _cut(clock)
    lost = math.fsum(s.step_s for s in clock.steps if s.step > cut and math.isfinite(s.step_s))
    start = max(clock.start_s, clock.end_s - lost)
    return [Segment("since_checkpoint", start, clock.end_s, sure, why)] if start < clock.end_s else []


def _cut(clock: AttemptClock) -> tuple[float, bool, str]:
    """Last step that was not lost, whether that is sure, and a sentence."""
    kept = clock.kept_step
    if kept is None or math.isnan(kept):
        return -1, False, "a later attempt resumed from it, the step is not known"
    if kept >= 0:
        return kept, True, f"after step {int(kept)}, on which later work stands"
    if clock.saved_step is None:
        return -1, False, "no checkpoint of it is known"
    return clock.saved_step, True, f"after its last checkpoint at step {clock.saved_step}"


def _lost(clock: AttemptClock, timed: Sequence[Step], begin_s: float, died_s: float) -> list[Segment]:
    cut, sure, why = _cut(clock)
    ends = [step.end_s for step in timed if step.step <= cut]
    edge = min(max(ends[-1] if ends else begin_s, begin_s), died_s)
    out = []
    if clock.kept_step == -1 and edge > begin_s:
        words = "saved in a checkpoint that nothing stands on so far"
        out.append(Segment("not_used", begin_s, edge, True, words))
    if died_s > edge:
        out.append(Segment("since_checkpoint", edge, died_s, sure, why))
    return out
