"""Which records of a log belong to which attempt, and how each attempt ended."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from data.logs.verl_lines import Record

_TRAINING_KEYS = (
    "timing_s/step",
    "perf/time_per_step",
    "actor/pg_loss",
    "actor/loss",
    "training/global_step",
)
_EXCEPTION = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout)\b.*")
DUPLICATE = "the same record again"


@dataclass(frozen=True)
class Mark:
    """Something a console says between records.

    kind: resume (`value` = step, None for a start from scratch), bar (`value`, `total`, `elapsed_s`), final
    (last validation), traceback, exception (`text`), cancel (`text`), job_failed, job_ok, stamp (`text`).
    """

    line: int
    kind: str
    value: int | None = None
    total: int | None = None
    elapsed_s: float | None = None
    text: str = ""


@dataclass
class Attempt:
    """Records of one attempt in file order, merged by step, and what the marks say about it."""

    number: int
    start_line: int = 0
    records: list[Record] = field(default_factory=list)
    by_step: dict[int, Record] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    resumed_from_step: int | None = None
    resumed_assumed: bool = False
    """`resumed_from_step` is the step before its first one: no line of the log says it."""
    last_training_step: int | None = None

    @property
    def last_line(self) -> int:
        """Line of the last record."""
        return self.records[-1].line if self.records else 0


def is_training(record: Record) -> bool:
    """A record of a trained step, not one that only carries a validation."""
    return any(key in record.values for key in _TRAINING_KEYS)


def split_attempts(
    records: Iterable[Record], marks: Sequence[Mark] = ()
) -> tuple[list[Attempt], Counter[str], int]:
    """Split records (file order) into attempts; also (reason -> ignored records), and records kept.

    A new attempt opens when a trained step comes again with other values, when the step number goes back, or
    after an explicit start or resume. A repeated, equal record is ignored; a second record of the same step
    with other keys belongs to it (validation is logged apart in some trainers).
    """
    attempts = [Attempt(1)]
    ignored: Counter[str] = Counter()
    kept = 0
    queue = list(marks)
    position = 0
    pending: list[Mark] = []
    for record in records:
        while position < len(queue) and queue[position].line <= record.line:
            _take_mark(queue[position], attempts[-1], pending)
            position += 1
        current = attempts[-1]
        verdict = _verdict(record, current, pending)
        if verdict == "duplicate":
            ignored[DUPLICATE] += 1
            if is_training(record):
                pending.clear()
            continue
        if verdict == "new":
            attempts.append(_open(len(attempts) + 1, record, pending))
        elif pending:
            _adopt(current, pending)
        _store(record, attempts[-1])
        kept += 1
    for mark in queue[position:]:
        _take_mark(mark, attempts[-1], pending)
    attempts[-1].marks.extend(pending)
    return attempts, ignored, kept


def _starts(mark: Mark) -> bool:
    return mark.kind == "resume" or (mark.kind == "bar" and mark.elapsed_s == 0.0)


def _take_mark(mark: Mark, current: Attempt, pending: list[Mark]) -> None:
    if pending or _starts(mark):
        pending.append(mark)
    else:
        current.marks.append(mark)


def _verdict(record: Record, current: Attempt, pending: list[Mark]) -> str:
    training = is_training(record)
    restarted = bool(pending) and current.last_training_step is not None
    known = current.by_step.get(record.step)
    if known is None:
        back = (
            training and current.last_training_step is not None and record.step < current.last_training_step
        )
        return "new" if back or restarted else "same"
    common = [key for key in record.values if key in known.values]
    if common and all(_equal(known.values[key], record.values[key]) for key in common):
        return "duplicate" if len(common) == len(record.values) else "same"
    return "new" if restarted or (common and training) else "same"


def _equal(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


def _open(number: int, record: Record, pending: list[Mark]) -> Attempt:
    attempt = Attempt(number, start_line=record.line)
    _adopt(attempt, pending)
    if attempt.resumed_from_step is None and record.step > 1 and not attempt.marks:
        attempt.resumed_from_step, attempt.resumed_assumed = record.step - 1, True
    return attempt


def _adopt(attempt: Attempt, pending: list[Mark]) -> None:
    """Give an attempt the start marks that came before its first trained step."""
    if attempt.number > 1 and attempt.records == [] and pending:
        attempt.start_line = pending[0].line
    for mark in pending:
        if mark.value and _starts(mark):
            attempt.resumed_from_step, attempt.resumed_assumed = mark.value, False
    attempt.marks.extend(pending)
    pending.clear()


def _store(record: Record, attempt: Attempt) -> None:
    attempt.records.append(record)
    known = attempt.by_step.get(record.step)
    if known is None:
        attempt.by_step[record.step] = record
    else:
        fresh = {k: v for k, v in record.values.items() if v == v or k not in known.values}
        attempt.by_step[record.step] = Record(known.line, known.step, known.values | fresh)
    if is_training(record):
        attempt.last_training_step = max(record.step, attempt.last_training_step or 0)


@dataclass(frozen=True)
class Ending:
    """How an attempt ended, and the sentence that says how we know."""

    status: str
    cause: str | None


def ending(attempt: Attempt, following: Attempt | None, total_steps: int | None) -> Ending:
    """completed: last bar full, final validation or the last planned step seen; failed or cancelled: the log
    ends in a traceback or a stop, or a later attempt in the same log goes on with the work; else unknown.
    """
    after = [m for m in attempt.marks if m.line >= attempt.last_line]
    bars = [m for m in attempt.marks if m.kind == "bar" and m.total]
    full = bool(bars) and bars[-1].value == bars[-1].total
    planned = total_steps or (bars[-1].total if bars else None)
    reached = planned is not None and (attempt.last_training_step or -1) >= planned
    final = any(m.kind == "final" for m in attempt.marks) or any(m.kind == "job_ok" for m in after)
    if full or reached or final:
        return Ending("completed", None)
    exceptions = [m.text for m in after if m.kind == "exception"]
    cancelled = next((m.text for m in after if m.kind == "cancel"), None)
    if cancelled is not None:
        return Ending("cancelled", cancelled)
    if any(m.kind in ("traceback", "job_failed") for m in after):
        return Ending("failed", exceptions[-1] if exceptions else "the log ends in an error")
    if following is not None:
        step = following.records[0].step
        return Ending(
            "failed", f"ended before its last step; a later attempt in the same log starts at step {step}"
        )
    return Ending("unknown", None)


def exception_text(line: str) -> str | None:
    """The closing line of a traceback, at most 200 characters; None for any other line."""
    match = _EXCEPTION.match(line)
    return match[0][:200] if match else None
