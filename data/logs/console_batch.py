"""What one pass over a console log collected, and the way from there to a batch."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from data.errors import UnreadableFileError
from data.logs.console_text import ErrorWatch, LineClock, fill_values, read_dict, seconds_between
from data.logs.flat import FlatFile, FlatRun, Row, make_batch
from data.logs.verl_batch import run_name
from data.parse.last_line import cut_inside
from data.readers.base import Batch, Choices, SetAside, Source

UNNUMBERED = "The log prints no step numbers: its blocks are numbered in the order of the file."
_COVERED_ENOUGH = 0.75


@dataclass
class ConsoleLog:
    """Rows of a log and what stands around them.

    `cut_line`: the last line when the file ends inside a record; `unnumbered`: steps are places in the file.
    """

    clock: LineClock
    rows: list[Row] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    watch: ErrorWatch = field(default_factory=ErrorWatch)
    cut_line: int | None = None
    planned: int | None = None
    unnumbered: bool = False
    warnings: list[str] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    _stamps: list[tuple[datetime | None, datetime | None]] = field(default_factory=list)

    def add(self, row: Row, moment: datetime | None = None) -> None:
        """Keep one record with the stamp it was printed at; what failed before it did not end the run."""
        self.rows.append(row)
        self._stamps.append((moment, self.clock.start_of(moment)))
        self.watch.record()

    def place_rows(self) -> None:
        """Give rows the time of their stamps: UTC where a zone allows it, and seconds since their start.

        The start is the first stamp of the log; after a restart see `LineClock.start_of`.
        """
        zero, last = self.clock.first, -1
        for row, (moment, start) in zip(self.rows, self._stamps, strict=True):
            if row.step is not None and row.step < last:
                zero = start or moment
            last = row.step if row.step is not None else last
            row.ts = self.clock.utc(moment)
            row.elapsed_s = seconds_between(zero, moment)

    def number_rows(self) -> None:
        """Rows without a step get their place in the file, where no row has a number; else the next step."""
        if not self.rows or all(row.step is not None for row in self.rows):
            return
        if all(row.step is None for row in self.rows):
            self.unnumbered = True
            for place, row in enumerate(self.rows, start=1):
                row.step = place
            self.warnings.append(UNNUMBERED)
            return
        inferred = lost = 0
        for before, row, after in zip([None, *self.rows], self.rows, [*self.rows[1:], None], strict=False):
            if row.step is not None:
                continue
            step = _between(before, after)
            row.step = step
            inferred, lost = inferred + (step is not None), lost + (step is None)
        if inferred:
            self.warnings.append(
                f"{inferred} records print no step: each is taken as the one after the last."
            )
        if lost:
            self.warnings.append(f"{lost} records print no step and are kept as raw metrics only.")

    def damaged(self, number: int, reason: str, text: str) -> None:
        """Set one whole record aside."""
        self.set_aside.append(SetAside(number, reason, text[:200]))

    def whole_aside(self) -> int:
        """Records set aside as a whole."""
        return sum(1 for item in self.set_aside if item.column is None)


def _between(before: Row | None, after: Row | None) -> int | None:
    """The step of a record that prints none; None where its neighbours leave no room for it."""
    if before is not None and before.step is not None:
        step = before.step + 1
        return step if after is None or after.step is None or after.step > step else None
    return after.step - 1 if after is not None and after.step is not None and after.step > 1 else None


def batch_of(
    log: ConsoleLog, run: FlatRun, format: str, source: Source, choices: Choices, wanted: str
) -> Batch:
    """The reconciled batch of one log; raises UnreadableFileError when it holds no record.

    `wanted`: what the log should hold, for the refusal.
    """
    records = len(log.rows) + log.whole_aside() + sum(log.ignored.values())
    if not records:
        raise UnreadableFileError(
            f"The log holds no {wanted}",
            source.name,
            "Load the log of the process that trains, or wait for its first step.",
        )
    ends = log.clock.finish()
    warnings = list(log.warnings)
    if log.cut_line is not None:
        warnings.append(cut_inside(log.cut_line, "record"))
    if ends.unplaced:
        warnings.append("Time stamps in the log name no time zone: choose one to place the run in time.")
    file = FlatFile(
        format=format,
        source_name=format,
        records=records,
        ignored=log.ignored,
        set_aside=log.set_aside,
        partial_last_line=int(log.cut_line is not None),
        warnings=warnings,
        facts=ends.facts() | log.facts | _position_facts(log),
    )
    run.run = run_name(choices, source)
    run.rows = log.rows
    if run.elapsed_basis is None and log.clock.first is not None:
        run.elapsed_basis = "clock"
    if run.status == "unknown":
        run.status = _status(log)
    batch = make_batch(file, [run], source)
    batch.timezone = ends.zone
    return batch


def _position_facts(log: ConsoleLog) -> dict[str, object]:
    return {"step_first": None, "step_last": None} if log.unnumbered else {}


def _status(log: ConsoleLog) -> str:
    last = max((row.step for row in log.rows if row.step is not None), default=None)
    if last is not None and log.planned and not log.unnumbered and last >= log.planned:
        return "completed"
    return "failed" if log.watch.failed else "unknown"


def read_record(
    log: ConsoleLog, number: int, text: str, start: int, last: bool, prefix: str = ""
) -> dict[str, float] | None:
    """The numbers of the dict literal at `start`; None when it is cut or damaged, which the log then holds.

    `last`: the line is the unterminated end of the file.
    """
    read = read_dict(text, start)
    if read is None:
        if last:
            log.cut_line = number
        else:
            log.damaged(number, "the dict breaks off", text[start:])
        return None
    values: dict[str, float] = {}
    cells: list[SetAside] = []
    fill_values(read.items, number, values, cells, prefix)
    if not any(value == value for value in values.values()):
        log.damaged(number, "a dict without any number", text[start:])
        return None
    log.set_aside += cells
    return values


def coverage_warning(rows: Sequence[Row], key: str, left_out: str) -> str | None:
    """A sentence when the step timer `key` covers much less than the wall clock between records."""
    timed = [row for row in rows if row.values.get(key, 0.0) > 0 and row.elapsed_s is not None]
    gaps = [
        (float(b.elapsed_s or 0.0) - float(a.elapsed_s or 0.0), b.values[key]) for a, b in pairwise(timed)
    ]
    gaps = [(wall, seconds) for wall, seconds in gaps if wall > 0]
    if len(gaps) < 2:
        return None
    wall, seconds = (statistics.median(values) for values in zip(*gaps, strict=True))
    if seconds / wall >= _COVERED_ENOUGH:
        return None
    return (
        f"{key} covers {seconds / wall:.0%} of the wall clock ({seconds:.1f} s of {wall:.1f} s a step): "
        f"it leaves out {left_out}."
    )
