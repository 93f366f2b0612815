"""The console log of SkyRL: `Step N:` and a pretty-printed dict of texts, over several lines.

Some trainers print the dict alone: its `trainer/global_step` is the step then.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from data.logs.console_batch import ConsoleLog, batch_of, coverage_warning
from data.logs.console_text import LineClock, fill_values, read_dict
from data.logs.flat import FlatRun, Row
from data.logs.verl_lines import clean, pieces
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.verl_console import numbered_lines

_HEADER = re.compile(r"(?:^|[\s-])Step (\d{1,15}):\s*(\{.*)?$")
_TELLING = re.compile(
    r"'(?:timing/(?:generate|sync_weights|policy_train|train_critic_and_policy|step)"
    r"|generate/(?:avg_num_tokens|batch_num_seq)|reward/avg_raw_reward|trainer/global_step)'"
)
_ALONE = re.compile(r"^\{'[a-z_]+/[^']+':")
_STEP_KEY = "trainer/global_step"
_MOST_CHARACTERS = 100_000
_STEP_TIME = "timing/step"


@dataclass
class _Open:
    line: int
    step: int | None
    moment: datetime | None
    parts: list[str] = field(default_factory=list)
    size: int = 0
    braces: int = 0

    @property
    def hopeless(self) -> bool:
        """A dict that has closed without being one, or grew beyond any."""
        return bool(self.parts) and (self.braces <= 0 or self.size > _MOST_CHARACTERS)

    def add(self, text: str) -> None:
        """One more line of the dict."""
        self.parts.append(text)
        self.size += len(text)
        self.braces += text.count("{") - text.count("}")


@dataclass
class _Scan:
    """Puts the lines of a dict together. `alone`: dicts stand without `Step N:` before them."""

    log: ConsoleLog
    alone: bool
    held: _Open | None = None

    def feed(self, number: int, text: str, moment: datetime | None) -> None:
        """One line of the log."""
        header = _HEADER.search(text)
        if header is not None:
            self._open(_Open(number, int(header[1]), moment), header[2])
        elif self.alone and _ALONE.match(text):
            self._open(_Open(number, None, moment), text)
        elif self.held is not None and text[:1] in ("{", "'"):
            self.held.add(text)
        else:
            self.log.watch.feed(text)
            return
        if self.held is not None and _complete(self.log, self.held):
            self.held = None
        elif self.held is not None and self.held.hopeless:
            _give_up(self.log, self.held)
            self.held = None

    def _open(self, fresh: _Open, text: str | None) -> None:
        _give_up(self.log, self.held)
        self.held = fresh
        if text:
            fresh.add(text)


class SkyrlConsoleReader:
    """Console logs of SkyRL's trainers with `trainer.logger=console`."""

    format = "skyrl_console"
    title = "SkyRL console log"

    def sniff(self, source: Source) -> Sniff:
        """A line `Step N:` before a dict with SkyRL's keys."""
        told = len(_TELLING.findall(source.head))
        if told >= 2 and _has_headers(source):
            return Sniff(0.95, "'Step N:' before dicts with SkyRL's keys")
        if told >= 3 and f"'{_STEP_KEY}'" in source.head and _has_dicts(source):
            return Sniff(0.9, "dicts with SkyRL's keys and the step among them")
        return Sniff(0.0, "no 'Step N:' before a dict with SkyRL's keys")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all dicts; raises UnreadableFileError when there is none."""
        log = ConsoleLog(LineClock(choices.timezone))
        scan = _Scan(log, alone=not _has_headers(source))
        for number, line in numbered_lines(source, progress):
            for piece in pieces(line):
                scan.feed(number, clean(piece), log.clock.feed(piece))
        _last(log, scan.held, source)
        log.place_rows()
        warning = coverage_warning(log.rows, _STEP_TIME, "evaluation and saving")
        log.warnings += [warning] if warning else []
        run = FlatRun("", [], framework="skyrl")
        return batch_of(log, run, self.format, source, choices, "step of SkyRL ('Step N:' and a dict)")


def _has_headers(source: Source) -> bool:
    return any(_HEADER.search(clean(line)) for line in source.head.split("\n") if "Step " in line)


def _has_dicts(source: Source) -> bool:
    return any(_ALONE.match(clean(line)) for line in source.head.split("\n") if "{'" in line)


def _step_among(values: Mapping[str, float]) -> int | None:
    step = values.get(_STEP_KEY)
    return int(step) if step is not None and step == step and step >= 0 and step.is_integer() else None


def _complete(log: ConsoleLog, held: _Open) -> bool:
    """Whether the dict is whole now; its row is kept then."""
    if not held.parts or held.braces > 0:
        return False
    text = " ".join(held.parts)
    read = read_dict(text) if text.startswith("{") else None
    if read is None:
        return False
    values: dict[str, float] = {}
    cells: list[SetAside] = []
    fill_values(read.items, held.line, values, cells)
    step = _step_among(values) if held.step is None else held.step
    if step is None or not any(value == value for value in values.values()):
        return False
    log.set_aside += cells
    log.add(Row(step, values, held.line), held.moment)
    return True


def _give_up(log: ConsoleLog, held: _Open | None) -> None:
    """A dict that never closes is damaged; a header without a dict is text around records."""
    if held is not None and held.parts and held.parts[0].startswith("{"):
        stepless = held.step is None and held.braces <= 0
        why = "the dict names no step" if stepless else "the dict breaks off"
        log.damaged(held.line, why, " ".join(held.parts))


def _last(log: ConsoleLog, held: _Open | None, source: Source) -> None:
    if held is None or not held.parts:
        return
    if source.ends_with_newline:
        _give_up(log, held)
    else:
        log.cut_line = source.physical_lines


READERS = (SkyrlConsoleReader(),)
