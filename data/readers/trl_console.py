"""The console of a TRL trainer: dict literals between the redraws of a progress bar."""

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from data.logs.console_batch import ConsoleLog, batch_of, read_record
from data.logs.console_text import Bar, LineClock, bars_in, read_dict
from data.logs.flat import FlatRun, Row
from data.logs.trl_keys import is_online, is_training, offline_warning, stated_runtime, step_time_warning
from data.logs.verl_lines import clean, pieces
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.verl_console import numbered_lines

_START = re.compile(r"\{\s*['\"](?:loss|eval_[\w/]+|train_runtime)['\"]\s*:")
_OTHER_START = re.compile(
    r"\{\s*['\"](?:reward|rewards/[\w/]+|num_tokens|kl|entropy|grad_norm|step)['\"]\s*:"
)
_TELLING = ("loss", "learning_rate", "grad_norm", "train_runtime", "train_loss", "eval_runtime")
_BARS_KEPT = 8


@dataclass
class _Found:
    """A dict line, the bars (by total) before it, and the first ones behind it."""

    row: Row
    bars: dict[int, Bar]
    behind: dict[int, Bar] = field(default_factory=dict)


@dataclass
class _Scan:
    """Dict lines in file order, and for each the bars (by total) as they stood before it."""

    log: ConsoleLog
    found: list[_Found] = field(default_factory=list)
    bars: dict[int, Bar] = field(default_factory=dict)
    peaks: list[Bar] = field(default_factory=list)

    def bar(self, bar: Bar) -> None:
        """Take note of a bar; a bar that starts again closes the clock of the attempt before."""
        before = self.bars.pop(bar.total, None)
        if before is not None and bar.elapsed_s < before.elapsed_s - 1:
            self.peaks.append(before)
        self.bars[bar.total] = bar
        if self.found:
            self.found[-1].behind.setdefault(bar.total, bar)
        if len(self.bars) > _BARS_KEPT:
            del self.bars[next(iter(self.bars))]


def _dict_start(text: str) -> int | None:
    match = _START.search(text)
    if match is None and (other := _OTHER_START.search(text)) is not None:
        read = read_dict(text, other.start())
        keys = [key for key, _ in read.items] if read else []
        match = other if is_online(keys) and any(key in keys for key in _TELLING) else None
    return match.start() if match else None


class TrlConsoleReader:
    """Console logs of TRL and of Transformers trainers."""

    format = "trl_console"
    title = "TRL console log"

    def sniff(self, source: Source) -> Sniff:
        """Python dicts that begin with a loss; rewards or completions among their keys make it sure."""
        if source.head.lstrip().startswith("{\n") or "Global step " in source.head:
            return Sniff(0.0, "JSON, or dicts of another trainer")
        keys: list[str] = []
        for line in source.head.split("\n"):
            for piece in pieces(line) if "{" in line else ():
                start = _dict_start(piece)
                read = read_dict(piece, start) if start is not None else None
                keys += [key for key, _ in read.items] if read and piece[start or 0 :][1:2] == "'" else []
        if not keys:
            return Sniff(0.0, "no dict that begins with {'loss': …")
        if is_online(keys):
            return Sniff(0.95, "dicts {'loss': …} with rewards or completions")
        if any(key in keys for key in _TELLING):
            return Sniff(0.75, "dicts {'loss': …} of a Transformers trainer")
        return Sniff(0.3, "dicts {'loss': …}, but no key of TRL or Transformers")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all dict lines; raises UnreadableFileError when there is none."""
        scan = _Scan(ConsoleLog(LineClock(choices.timezone)))
        for number, line in numbered_lines(source, progress):
            last = number == source.physical_lines and not source.ends_with_newline
            for piece in pieces(line):
                _scan_piece(scan, number, clean(piece), last)
        log = scan.log
        total = _training_total(scan)
        _place(scan.found, total)
        log.rows = [one.row for one in scan.found]
        log.planned = total
        run = FlatRun("", [], framework="trl")
        wall_s = _wall_seconds(scan, total)
        runtime = stated_runtime(log.rows)
        run.elapsed_s, run.elapsed_basis = (wall_s or runtime), "progress_bar" if wall_s else "clock"
        if runtime is not None:
            run.status = "completed"
        if wall_s or runtime:
            log.facts["run_seconds"] = wall_s or runtime
        log.warnings += [w for w in (offline_warning(log.rows), _timer_warning(log.rows, runtime)) if w]
        log.number_rows()
        return batch_of(log, run, self.format, source, choices, "dict of a TRL trainer ({'loss': …})")


def _scan_piece(scan: _Scan, number: int, text: str, last: bool) -> None:
    start = _dict_start(text) if "{" in text else None
    for bar in bars_in(text[:start] if start is not None else text):
        scan.bar(bar)
    if start is None:
        scan.log.watch.feed(text)
        return
    values = read_record(scan.log, number, text, start, last)
    if values is not None:
        scan.log.watch.record()
        scan.found.append(_Found(Row(None, values, number), dict(scan.bars)))
    read = read_dict(text, start)
    for bar in bars_in(text[read.end :]) if read is not None else ():
        scan.bar(bar)


def _training_total(scan: _Scan) -> int | None:
    """Total of the bar that most often stands last before a training dict: the bar of the trainer."""
    lasts = [next(reversed(one.bars)) for one in scan.found if one.bars and "loss" in one.row.values]
    if not lasts:
        lasts = [next(reversed(one.bars)) for one in scan.found if one.bars]
    return Counter(lasts).most_common(1)[0][0] if lasts else None


def _place(found: list[_Found], total: int | None) -> None:
    """Rows get the step that they name themselves, else that of the trainer's bar before them.

    A bar that is redrawn too seldom is behind its dicts: it says 0 before the first, or the same before two.
    The redraw behind each dict is right then. Without one, only the first of such dicts has a step.
    """
    lags = total is not None and _lags([one for one in found if is_training(one.row)], total)
    taken: dict[Bar, Row] = {}
    for one in found:
        row = one.row
        own = row.values.get("step", row.values.get("global_step"))
        if own is not None and own == own and own >= 0 and own == int(own):
            row.step = int(own)
        if total is None:
            continue
        bar = (one.behind.get(total) if lags else None) or one.bars.get(total)
        if bar is not None:
            row.elapsed_s = bar.elapsed_s
            if row.step is None and not (is_training(row) and _differs(taken.get(bar), row)):
                row.step = bar.done
                if is_training(row):
                    taken[bar] = row


def _differs(before: Row | None, row: Row) -> bool:
    """Whether another training record holds this place already: not the same one printed again."""
    return before is not None and repr(before.values) != repr(row.values)


def _lags(trained: list[_Found], total: int) -> bool:
    bars = [one.bars.get(total) for one in trained]
    if any(bar is not None and bar.done == 0 for bar in bars):
        return True
    shared = [
        b
        for a, b in pairwise(trained)
        if a.bars.get(total) == b.bars.get(total) and a.row.values != b.row.values and total in a.behind
    ]
    return len(shared) > len(trained) / 2


def _wall_seconds(scan: _Scan, total: int | None) -> float | None:
    """Seconds on the trainer's bar, attempts in the same log added up."""
    last = scan.bars.get(total) if total is not None else None
    ends = [bar.elapsed_s for bar in scan.peaks if bar.total == total]
    return sum(ends) + last.elapsed_s if last is not None else None


def _timer_warning(rows: list[Row], runtime: float | None) -> str | None:
    trained = [row for row in rows if is_training(row)]
    at_bar = trained[-1].elapsed_s if trained else None
    return step_time_warning(rows, at_bar or runtime)


READERS = (TrlConsoleReader(),)
