"""Pieces that the console logs of several RL trainers share: dict literals, time stamps, progress bars."""

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from data.logs.log_clock import LogClock, parse_moment
from data.logs.verl_attempts import exception_text
from data.logs.verl_lines import number
from data.parse.timezones import zone_of
from data.readers.base import SetAside

_TOKEN = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|[{}\[\](),:'\"]")
_DEEPEST = 8
_STAMP = re.compile(
    r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)[T -](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?(Z|[+-]\d\d:?\d\d(?![\d:]))?"
)
_LOOK_AT = 200
_BAR = re.compile(r"\|[^|\n]*\| *(\d+)/(\d+) \[(?:(\d+) days?, )?((?:\d+:)?\d+:\d\d)<")
_BEFORE_BAR = 60
_PERCENT_BEFORE = re.compile(r"\d+%$")
_WORDS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class DictText:
    """A dict literal found in a text: where it ends, and (key, value) as printed, in order."""

    end: int
    items: tuple[tuple[str, str], ...]


def read_dict(text: str, start: int = 0) -> DictText | None:
    """The dict literal whose `{` stands at `start`; None when it never closes. Nothing is evaluated."""
    depth, item_from, colon = 0, start + 1, -1
    items: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(text, start):
        mark = match[0]
        if mark in "'\"":
            return None
        if mark in "{[(":
            depth += 1
        elif mark == ":" and depth == 1 and colon < 0:
            colon = match.start()
        elif mark in "}])" or (mark == "," and depth == 1):
            depth -= mark in "}])"
            if depth > 1 or (depth == 1 and mark != ","):
                continue
            if colon >= 0:
                items.append((_key(text[item_from:colon]), text[colon + 1 : match.start()].strip()))
            item_from, colon = match.end(), -1
            if depth <= 0:
                return DictText(match.end(), tuple(items))
    return None


def _key(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]
    if quoted and "\\" in text:
        try:
            return str(ast.literal_eval(text))
        except (ValueError, SyntaxError):
            return text[1:-1]
    return text[1:-1] if quoted else text


def fill_values(
    items: tuple[tuple[str, str], ...],
    line: int,
    values: dict[str, float],
    cells: list[SetAside],
    prefix: str = "",
) -> None:
    """Add the numbers of a dict literal: NaN for None and the like, nested dicts under `key/`.

    Texts and lists are set aside as cells: they are no metric.
    """
    for key, text in items:
        name = f"{prefix}{key}"
        if text.startswith("{"):
            inner = read_dict(text) if prefix.count("/") < _DEEPEST else None
            if inner is not None:
                fill_values(inner.items, line, values, cells, f"{name}/")
                continue
        value = printed_number(text)
        if value is None:
            cells.append(SetAside(line, "not a number", text[:80], name))
        else:
            values[name] = value


def printed_number(text: str) -> float | None:
    """A number as Python or JSON prints it, in quotes or not; NaN for a missing one, None for no number."""
    plain = text.strip()
    if len(plain) > 1 and plain[0] in "'\"" and plain[-1] == plain[0]:
        plain = plain[1:-1].strip()
    if plain.lower() in _WORDS:
        return _WORDS[plain.lower()]
    if "_" in plain and plain.replace("_", "").isdigit():
        return None
    value = number(plain)
    return math.nan if value is not None and not math.isfinite(value) else value


@dataclass(frozen=True)
class Bar:
    """One state of a tqdm progress bar: steps done, steps planned, seconds since its start."""

    done: int
    total: int
    elapsed_s: float


def bars_in(text: str) -> Iterator[Bar]:
    """Bars of a training loop; those with a description ("Loading shards: 3%|") are someone else's."""
    if "<" not in text or "|" not in text:
        return
    for match in _BAR.finditer(text):
        near = text[max(0, match.start() - _BEFORE_BAR) : match.start()].rstrip()
        before = _PERCENT_BEFORE.sub("", near).rstrip()
        if before.endswith(":"):
            continue
        seconds = clock_seconds(match[4]) + 86400 * int(match[3] or 0)
        yield Bar(int(match[1]), int(match[2]), seconds)


def clock_seconds(text: str) -> float:
    """Seconds of `MM:SS` or `H:MM:SS`."""
    seconds = 0
    for part in text.split(":"):
        seconds = seconds * 60 + int(part)
    return float(seconds)


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """Seconds from one stamp to another, both as printed; None where one is missing."""
    if start is None or end is None:
        return None
    return (end.replace(tzinfo=None) - start.replace(tzinfo=None)).total_seconds()


@dataclass
class LineClock:
    """Stamps that a logger prints in front of its messages, placed in time where a zone allows it.

    `first`, `last`: stamps as printed; `dated`: they name a year, else they give durations only.
    """

    timezone: str | None
    dated: bool = True
    first: datetime | None = None
    last: datetime | None = None
    _after_record: datetime | None = None
    _after_pause: datetime | None = None
    _pause_s: float = 0.0
    _record_at: datetime | None = None
    _longest_s: float = 0.0
    _log: LogClock = field(init=False)

    def __post_init__(self) -> None:
        self._log = LogClock((), zone_of(self.timezone), self.timezone)

    def feed(self, text: str) -> datetime | None:
        """The stamp at the front of a line as printed; None when there is none."""
        match = _STAMP.search(text, 0, _LOOK_AT)
        if match is None:
            return None
        year, month, day, clock, part, zone = match.groups()
        moment = parse_moment(f"{year}-{month}-{day}T{clock}" + (f".{part}" if part else "") + (zone or ""))
        if moment is not None:
            self.see(moment)
        return moment

    def see(self, moment: datetime) -> None:
        """Take note of a stamp that was read elsewhere."""
        self.first = self.first or moment
        self._after_record = self._after_record or moment
        pause_s = seconds_between(self.last, moment) or 0.0
        if pause_s > self._pause_s:
            self._pause_s, self._after_pause = pause_s, moment
        self.last = moment

    def start_of(self, moment: datetime | None) -> datetime | None:
        """When an attempt began whose first record was just read; to be asked once for every record.

        The first stamp behind the record before; after a pause longer than any step, the stamp behind it.
        """
        paused = self._record_at is not None and self._pause_s > self._longest_s > 0
        start = self._after_pause if paused else self._after_record
        step_s = seconds_between(self._record_at, moment)
        if step_s is not None and not paused:
            self._longest_s = max(self._longest_s, step_s)
        self._record_at = moment or self._record_at
        self._after_record = self._after_pause = None
        self._pause_s = 0.0
        return start

    def utc(self, moment: datetime | None) -> datetime | None:
        """UTC without tzinfo; None without a zone."""
        if moment is None or not self.dated:
            return None
        try:
            return self._log.utc(moment)
        except (OverflowError, ValueError):
            return None

    def finish(self) -> LogClock:
        """First and last stamp as a `LogClock`: facts, assumed zone, and whether a zone is wanting."""
        ends = [end for end in (self.first, self.last) if end is not None and self.dated]
        return LogClock(tuple((0, end) for end in ends), self._log.chosen, self.timezone)


@dataclass
class ErrorWatch:
    """Whether a log ends in a traceback: `status` is failed then, unless a record came after it."""

    failed: bool = False
    cause: str | None = None
    _open: bool = False

    def feed(self, text: str) -> None:
        """Look at one line of text around records."""
        if "Traceback (most recent call last)" in text:
            self.failed = self._open = True
        elif self._open and ("Error" in text or "Exception" in text or "Interrupt" in text):
            self.cause = exception_text(text.strip()) or self.cause

    def record(self) -> None:
        """A record was read: what failed before it did not end the run."""
        self.failed = self._open = False
        self.cause = None
