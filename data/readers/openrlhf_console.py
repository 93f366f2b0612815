"""The console log of OpenRLHF: `Global step N: {dict}` and the results of its evaluations."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from data.logs.console_batch import ConsoleLog, batch_of, coverage_warning, read_record
from data.logs.console_text import LineClock, seconds_between
from data.logs.flat import FlatRun, Row
from data.logs.log_clock import parse_moment
from data.logs.verl_lines import clean, pieces
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.verl_console import numbered_lines

_STEP = re.compile(r"Global step (\d{1,15}): (?=\{)")
_EVAL = re.compile(r"global_step (\d{1,15})\b[^{]{0,40}eval_metrics: (?=\{)")
_TELLING = re.compile(
    r"'(?:policy_loss|actor_lr|timing/ppo_train|timing/make_experience|rollout/num_samples)'"
)
_YEARLESS = re.compile(r"\b(?:INFO|WARNING|ERROR|DEBUG) (\d\d-\d\d) (\d\d:\d\d:\d\d)\b")
_STEP_TIME = "timing/step_total"
_ASYNC = "timing/actor_idle_wait"
_LEAP_YEAR = 2000


class OpenrlhfConsoleReader:
    """Console logs of OpenRLHF's PPO and GRPO trainers."""

    format = "openrlhf_console"
    title = "OpenRLHF console log"

    def sniff(self, source: Source) -> Sniff:
        """Lines `Global step N: {…}` with the keys of a policy update."""
        lines = [line for line in source.head.split("\n") if _STEP.search(line)]
        if any(_TELLING.search(line) for line in lines):
            return Sniff(0.97, f"{len(lines)} lines 'Global step N: {{…}}' with OpenRLHF's keys")
        if lines:
            return Sniff(0.7, "lines 'Global step N: {…}'")
        return Sniff(0.0, "no line 'Global step N: {…}'")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all step lines; raises UnreadableFileError when there is none."""
        log = ConsoleLog(LineClock(choices.timezone))
        yearless = _YearlessClock(LineClock(None, dated=False))
        for number, line in numbered_lines(source, progress):
            last = number == source.physical_lines and not source.ends_with_newline
            for piece in pieces(line):
                stamps = (log.clock.feed(piece), yearless.feed(piece))
                _scan_line(log, number, clean(piece), last, stamps, yearless.clock)
        log.place_rows()
        if not log.clock.dated:
            log.facts["span_s"] = seconds_between(log.clock.first, log.clock.last)
            log.warnings.append("Time stamps in the log name no year: they give durations, no dates.")
        keys = {key for row in log.rows for key in row.values}
        mode = "async" if _ASYNC in keys else "sync" if _STEP_TIME in keys else None
        warning = coverage_warning(log.rows, _STEP_TIME, "what no timer measures")
        log.warnings += [warning] if warning else []
        run = FlatRun("", [], framework="openrlhf", mode=mode)
        return batch_of(log, run, self.format, source, choices, "step of OpenRLHF ('Global step N: {…}')")


@dataclass
class _YearlessClock:
    """`INFO 08-13 12:00:00` as time in some year; a step back of months is the turn of the year."""

    clock: LineClock
    _days: int = 0

    def feed(self, text: str) -> datetime | None:
        """The stamp at the front of a line; None when there is none."""
        match = _YEARLESS.search(text, 0, 200)
        if match is None:
            return None
        moment = parse_moment(f"{_LEAP_YEAR}-{match[1]}T{match[2]}")
        if moment is None:
            return None
        moment += timedelta(days=self._days)
        if self.clock.last is not None and self.clock.last - moment > timedelta(days=180):
            year = 365 if self._days else 366
            self._days += year
            moment += timedelta(days=year)
        self.clock.see(moment)
        return moment


def _scan_line(
    log: ConsoleLog,
    number: int,
    text: str,
    last: bool,
    stamps: tuple[datetime | None, datetime | None],
    yearless: LineClock,
) -> None:
    match = _STEP.search(text) or _EVAL.search(text)
    if match is None:
        log.watch.feed(text)
        return
    values = read_record(log, number, text, match.end(), last, "eval/" if match.re is _EVAL else "")
    if values is None:
        return
    if not log.rows and stamps[0] is None and stamps[1] is not None:
        log.clock = yearless
    log.add(Row(int(match[1]), values, number), stamps[0] if log.clock.dated else stamps[1])


READERS = (OpenrlhfConsoleReader(),)
