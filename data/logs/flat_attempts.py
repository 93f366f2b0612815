"""Rows of one run -> attempts with one merged record a step."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from data.logs.verl_attempts import DUPLICATE

__all__ = ["DUPLICATE", "FlatAttempt", "Row", "Step", "split"]

CLOCK_SLACK_S = 1.0
LONGEST_RUN_S = 1e9
COUNTERS = frozenset(
    {"step", "_step", "global_step", "train/global_step", "training/global_step", "trainer/global_step",
     "training_step", "rollout/step", "train/step", "eval/step", "progress/batch", "episode",
     "_runtime", "_timestamp", "_wandb", "time", "timestamp", "epoch", "train/epoch", "training/epoch",
     "trainer/epoch", "progress/done_frac", "progress"}
)  # fmt: skip
"""Keys that a second record of the same step repeats or moves on: they tell nothing about a restart."""


@dataclass
class Row:
    """One record of a log; NaN stands for a key that is there without a finite number.

    `line`: 1-based line or index; `ts`: UTC without zone; `elapsed_s`: seconds on the run's own clock;
    `x_name`, `x`: the axis of `metric_raw` for a record without a step. `lengths`: response
    lengths as (low, high, count).
    """

    step: int | None
    values: dict[str, float]
    line: int
    ts: datetime | None = None
    elapsed_s: float | None = None
    x_name: str = "step"
    x: float | None = None
    lengths: tuple[tuple[float, float, float], ...] = ()


@dataclass
class Step:
    """All records of one step in one attempt, merged: a later number wins, a missing one never does."""

    step: int
    line: int
    values: dict[str, float]
    ts: datetime | None = None
    elapsed_s: float | None = None
    lengths: tuple[tuple[float, float, float], ...] = ()


@dataclass
class FlatAttempt:
    """Rows of one attempt in file order and their steps."""

    number: int
    rows: list[Row] = field(default_factory=list)
    by_step: dict[int, Step] = field(default_factory=dict)
    resumed_from_step: int | None = None
    """Step before its first one: an inference, no row says it."""
    last_step: int | None = None
    elapsed_s: float | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def first_step(self) -> int | None:
        """Lowest step."""
        return min(self.by_step, default=None)


def split(
    rows: list[Row], once: frozenset[str], training: frozenset[str], per_call: frozenset[str]
) -> tuple[list[FlatAttempt], int]:
    """Attempts in file order and how many rows were equal repetitions.

    A new attempt opens when the run's clock goes back, or a trained step comes that lies before the last one
    or was there with another value of a key that a step has only `once`. `training`: keys of trained steps;
    `per_call`: timers whose values add up inside a step.
    """
    attempts = [FlatAttempt(1)]
    repeated = 0
    for row in _upwards(rows):
        current = attempts[-1]
        verdict = _verdict(row, current, once, training)
        if verdict == "duplicate":
            repeated += 1
            continue
        if verdict == "new":
            first = attempts[0].first_step
            current = FlatAttempt(len(attempts) + 1)
            if row.step is not None and first is not None and row.step > max(first, 1):
                current.resumed_from_step = row.step - 1
            attempts.append(current)
        _store(row, current, training, per_call)
    return attempts, repeated


def _upwards(rows: list[Row]) -> Iterable[Row]:
    """Rows as they were logged: an export with the newest row first is turned round."""
    steps = [row.step for row in rows if row.step is not None]
    falls = len(steps) > 2 and all(a > b for a, b in pairwise(steps))
    return reversed(rows) if falls else rows


def _verdict(row: Row, current: FlatAttempt, once: frozenset[str], training: frozenset[str]) -> str:
    now = math.inf if row.elapsed_s is None else row.elapsed_s
    behind = current.elapsed_s is not None and now < current.elapsed_s - CLOCK_SLACK_S
    if behind and not _seen(row, current):
        return "new" if training & row.values.keys() else "same"
    if row.step is None or current.last_step is None:
        return "same"
    known = current.by_step.get(row.step)
    trained = bool(training & row.values.keys())
    if known is None:
        return "new" if trained and row.step < current.last_step else "same"
    if _seen(row, current):
        return "duplicate"
    clash = [k for k in once & row.values.keys() & known.values.keys() if not _equal(k, row, known)]
    return "new" if clash and trained else "same"


def _seen(row: Row, current: FlatAttempt) -> bool:
    """Whether this very record was there: all of its metrics, and with them its place on the clock."""
    known = current.by_step.get(row.step) if row.step is not None else None
    if known is None:
        return False
    told = [key for key in row.values if key not in COUNTERS]
    if any(key not in known.values or not _equal(key, row, known) for key in told):
        return False
    same_clock = row.elapsed_s is None or known.elapsed_s is None or row.elapsed_s <= known.elapsed_s
    return bool(told) and same_clock


def _equal(key: str, row: Row, known: Step) -> bool:
    a, b = row.values[key], known.values[key]
    return a == b or (a != a and b != b)


def _store(row: Row, attempt: FlatAttempt, training: frozenset[str], per_call: frozenset[str]) -> None:
    attempt.rows.append(row)
    if row.elapsed_s is not None:
        if attempt.started_at is None and row.ts is not None and row.elapsed_s <= LONGEST_RUN_S:
            attempt.started_at = row.ts - timedelta(seconds=row.elapsed_s)
        attempt.elapsed_s = max(row.elapsed_s, attempt.elapsed_s or 0.0)
    if row.step is None:
        return
    known = attempt.by_step.get(row.step)
    if known is None:
        attempt.by_step[row.step] = Step(row.step, row.line, dict(row.values), row.ts, row.elapsed_s)
        attempt.by_step[row.step].lengths = row.lengths
    else:
        for key, value in row.values.items():
            if key in per_call and value == value:
                held = known.values.get(key, 0.0)
                known.values[key] = value + (held if held == held else 0.0)
            elif value == value or key not in known.values:
                known.values[key] = value
        known.ts, known.lengths = row.ts or known.ts, row.lengths or known.lengths
        known.elapsed_s = row.elapsed_s if row.elapsed_s is not None else known.elapsed_s
    if training & row.values.keys():
        attempt.last_step = max(row.step, row.step if attempt.last_step is None else attempt.last_step)
