"""The console log of AReaL: a table of all metrics after each train step."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from data.logs.console_batch import ConsoleLog, batch_of
from data.logs.console_text import LineClock, printed_number
from data.logs.flat import FlatRun, Row
from data.logs.verl_lines import clean, pieces
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.verl_console import numbered_lines

_DONE = re.compile(r"Epoch \d+/\d+ Step \d+/\d+ Train step (\d{1,15})/(\d+) done")
_STATS = re.compile(r"Stats \((\d+)/(\d+)\):")
_KEY = re.compile(r"^[A-Za-z][\w./@+-]*$")
_TELLING = re.compile(r"│ *(?:timeperf/\w+|[\w-]+/(?:n_tokens|task_reward/avg|update/lr|n_seqs)) *│")
_TOP, _BOTTOM, _BAR = "╒", "╘", "│"


@dataclass
class _Table:
    line: int
    step: int | None
    moment: datetime | None
    values: dict[str, float] = field(default_factory=dict)
    cells: list[SetAside] = field(default_factory=list)
    complete: bool = False


@dataclass
class _Scan:
    """Which train step a table belongs to. One commit may hold several tables: each is a step of its own."""

    log: ConsoleLog
    tables: list[_Table] = field(default_factory=list)
    table: _Table | None = None
    moment: datetime | None = None
    train_step: int | None = None
    part: int = 0
    last_step: int = 0

    def done(self, step: int, planned: int) -> None:
        """`Train step N/M done.`"""
        if self.train_step is not None and step <= self.train_step:
            self.last_step = step - 1
        self.train_step, self.part = step, 0
        self.log.planned = planned

    def open(self, line: int) -> None:
        """A table begins."""
        step = None
        if self.train_step is not None:
            self.part += 1
            first = max(self.train_step, self.last_step + 1) if self.part == 1 else self.last_step + 1
            step = self.last_step = first
        self.table = _Table(line, step, self.moment)

    def close(self, complete: bool) -> None:
        """The table is over."""
        if self.table is not None:
            self.table.complete = complete
            self.tables.append(self.table)
        self.table = None


class ArealConsoleReader:
    """Console logs of AReaL's trainers."""

    format = "areal_console"
    title = "AReaL console log"

    def sniff(self, source: Source) -> Sniff:
        """Tables with AReaL's timers or counts, and its line about a finished train step."""
        table, done = _TELLING.search(source.head), _DONE.search(source.head)
        if table and (done or "timeperf/" in source.head):
            return Sniff(0.96, "tables of metrics with AReaL's timers")
        if done and (_STATS.search(source.head) or "StatsLogger" in source.head):
            return Sniff(0.85, "lines 'Train step N/M done.' of AReaL's stats logger")
        return Sniff(0.0, "no table with timeperf/ keys")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all tables; raises UnreadableFileError when there is none."""
        log = ConsoleLog(LineClock(choices.timezone))
        scan = _Scan(log)
        for number, line in numbered_lines(source, progress):
            for piece in pieces(line):
                moment = log.clock.feed(piece)
                _scan_line(scan, number, clean(piece), moment)
        _finish(scan, source)
        log.place_rows()
        log.number_rows()
        run = FlatRun("", [], framework="areal", mode="async")
        return batch_of(log, run, self.format, source, choices, "table of AReaL (│ timeperf/… │)")


def _scan_line(scan: _Scan, number: int, text: str, moment: datetime | None) -> None:
    done = _DONE.search(text)
    if done or _STATS.search(text):
        scan.close(complete=False)
        scan.moment = moment or scan.moment
        if done:
            scan.done(int(done[1]), int(done[2]))
    elif _TOP in text:
        scan.close(complete=False)
        scan.open(number)
    elif _BOTTOM in text:
        scan.close(complete=True)
    elif _BAR in text:
        _row(scan, number, text)
    else:
        scan.log.watch.feed(text)


def _row(scan: _Scan, number: int, text: str) -> None:
    pairs = list(_pairs(text))
    if scan.table is None:
        if not any("/" in key for key, _ in pairs):
            return
        scan.open(number)
    table = scan.table
    if table is None:
        return
    for key, cell in pairs:
        value = printed_number(cell)
        if value is None:
            table.cells.append(SetAside(number, "not a number", cell[:80], key))
        else:
            table.values[key] = value
    scan.log.watch.record()


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    cells = [cell.strip() for cell in text.split(_BAR)[1:-1]]
    for key, cell in zip(cells[::2], cells[1::2], strict=False):
        if _KEY.match(key) and cell:
            yield key, cell


def _finish(scan: _Scan, source: Source) -> None:
    """Tables to rows; a last table without its lower edge, in an unterminated file, is cut and dropped."""
    if scan.table is not None:
        cut = not source.ends_with_newline and scan.table.complete is False
        if cut:
            scan.log.cut_line = source.physical_lines
            scan.table = None
        else:
            scan.close(complete=False)
    for table in scan.tables:
        if table.values:
            scan.log.add(Row(table.step, table.values, table.line), table.moment)
            scan.log.set_aside += table.cells


READERS = (ArealConsoleReader(),)
