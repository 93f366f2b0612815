"""The clock of a log that stamps its records: a stamp ends a step, so the first step lies before it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from data.logs.flat_attempts import FlatAttempt

LONGEST_LEAD_S = 7 * 86400.0
"""No step takes longer; a larger number is another unit."""
_STAMP_STEP_S = 1.0
_ROUNDING = 0.01


def clock_of_stamps(attempts: Sequence[FlatAttempt]) -> bool:
    """Give attempts without any clock the time since their first stamp; whether all of them have one now.

    Only where every step has a stamp and later steps have later ones: what lies between two attempts is no
    attempt's time, and stamps out of order are not those of the steps.
    """
    if not attempts or not all(_in_order(attempt) for attempt in attempts):
        return False
    for attempt in attempts:
        stamps = [row.ts for row in attempt.rows if row.ts is not None]
        start = min(stamps)
        for step in attempt.by_step.values():
            step.elapsed_s = (step.ts - start).total_seconds() if step.ts is not None else None
        attempt.started_at, attempt.ended_at = start, max(stamps)
        attempt.elapsed_s = (max(stamps) - start).total_seconds()
    return True


def _in_order(attempt: FlatAttempt) -> bool:
    if any(row.elapsed_s is not None for row in attempt.rows) or not attempt.by_step:
        return False
    stamps: list[datetime] = []
    for number in sorted(attempt.by_step):
        at = attempt.by_step[number].ts
        if at is None:
            return False
        stamps.append(at)
    return all((b - a).total_seconds() >= -_STAMP_STEP_S for a, b in pairwise(stamps))


def begin_with_first_step(
    attempt: FlatAttempt, steps: Sequence[dict[str, Any]], phases: Sequence[dict[str, Any]]
) -> None:
    """Move the start of a stamped attempt back until its first timed step fits before its stamp.

    A step takes its `step_s` (s), the sum of its phases where no step of the attempt has one. A stamp of the
    log that is earlier by that much stays the start. `steps`, `phases`: rows of the tables of this attempt;
    the `elapsed_s` of steps move along.
    """
    timed = any(row.get("step_s") is not None for row in steps)
    for first in steps:
        seconds = first.get("step_s") if timed else _phases_of(first["step"], phases)
        if seconds and first.get("elapsed_s") is not None:
            break
    else:
        return
    lead = seconds - first["elapsed_s"]
    if lead <= 0 or seconds > LONGEST_LEAD_S:
        return
    for row in steps:
        if row.get("elapsed_s") is not None:
            row["elapsed_s"] += lead
    attempt.elapsed_s = (attempt.elapsed_s or 0.0) + lead
    if attempt.started_at is not None:
        attempt.started_at -= timedelta(seconds=lead)


def _phases_of(step: int, phases: Sequence[dict[str, Any]]) -> float:
    return sum(float(row["seconds"]) for row in phases if row["step"] == step and row["kind"] != "busy")


def not_below_steps(elapsed_s: float, step_sum_s: float | None) -> tuple[float, str]:
    """(seconds, basis) of a stamped attempt: the steps of one clock cannot take longer than all of it.

    Stamps of whole seconds may fall short of the sum by as little; by more, they are not the clock of the
    steps and the sum is what is known.
    """
    if step_sum_s is None or elapsed_s >= step_sum_s:
        return elapsed_s, "clock"
    near = step_sum_s - elapsed_s <= max(_STAMP_STEP_S, _ROUNDING * step_sum_s)
    return step_sum_s, "clock" if near else "step_sum"
