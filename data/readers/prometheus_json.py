"""Series out of Prometheus and VictoriaMetrics as JSON: query_range and query answers, and export lines."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.gpu.long import EPOCH, LongTable, microseconds
from data.gpu.long_build import build_points
from data.parse.csvio import TEXT_LIMIT, open_lines
from data.parse.prom_series import Pods, describe_series, series_of, shown_series, warn_of_step
from data.parse.wide import long_table
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress

_RESULT = re.compile(r'"result"\s*:\s*\[')
_ERROR = re.compile(r'"status"\s*:\s*"error"[^{}]*')
_TYPE = re.compile(r'"resultType"\s*:\s*"(?:matrix|vector)"')
_METRIC = re.compile(r'\{\s*"metric"\s*:')
_BETWEEN = re.compile(r"[\s,]*")
CHUNK = 1 << 20
TAIL = 4096
"""Text kept between chunks while looking for the next answer: no marker is longer."""
GAPS_SEEN = 200


@dataclass
class _Found:
    """What one pass found: points, cut series, answers that are errors, and the steps between points."""

    records: int = 0
    partial: int = 0
    errors: list[SetAside] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    longest: int = 0
    histograms: int = 0


class _Series:
    """Adds the points of one series to the table, and checks each."""

    def __init__(self, table: LongTable, choices: Choices) -> None:
        self.found, self.pods = _Found(), Pods()
        self._table, self._choices = table, choices
        self._known: dict[str, int] = {}

    def number(self, labels: dict[str, Any]) -> int:
        """Number of the series with these labels; the same labels in a later answer are the same series."""
        plain = {str(k): str(v) for k, v in labels.items()}
        shown = shown_series(plain)
        if shown not in self._known:
            self.pods.add(plain)
            series = series_of(plain.get("__name__"), plain, shown or "value", self._choices)
            self._known[shown] = self._table.add_series(series)
        return self._known[shown]

    def points(self, line: int, labels: dict[str, Any], pairs: list[tuple[Any, Any]], scale: float) -> None:
        """Add (time, value) pairs; `scale` turns their times into seconds."""
        series, found = self.number(labels), self.found
        found.records += len(pairs)
        arrays = _arrays(pairs, scale)
        if arrays is not None:
            self._table.add_points(line, arrays[0], series, arrays[1])
            times = (arrays[0] / 1e6).tolist()
        else:
            times = self._one_by_one(line, series, pairs, scale)
        gaps = [b - a for a, b in pairwise(times[:GAPS_SEEN]) if b > a]
        if gaps:
            found.steps.append(median(gaps))
        found.longest = max(found.longest, len(times))

    def _one_by_one(self, line: int, series: int, pairs: list[tuple[Any, Any]], scale: float) -> list[float]:
        times: list[float] = []
        for at, text in pairs:
            try:
                stamp, value = _time(at, scale), _value(text)
            except ValueError as error:
                shown = json.dumps([at, text])[:TEXT_LIMIT]
                self.found.set_aside.append(SetAside(line, str(error), shown))
                continue
            times.append(stamp / 1e6)
            self._table.add(line, stamp, series, value)
        return times


def _arrays(
    pairs: list[tuple[Any, Any]], scale: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]] | None:
    """Microseconds and values of points without any doubt, None when some need a look one by one."""
    if not pairs:
        return None
    times, texts = zip(*pairs, strict=True)
    plain = set(map(type, times)) <= {int, float} and len(kinds := set(map(type, texts))) == 1
    if not plain or not kinds <= {int, float, str} or (kinds == {str} and any("_" in text for text in texts)):
        return None
    try:
        seconds = np.array(times, dtype=np.float64) * scale
        values = np.array(texts).astype(np.float64)
    except (ValueError, OverflowError):
        return None
    if not ((seconds > 0) & (seconds < 1e10)).all():
        return None
    values[np.isinf(values)] = np.nan
    return np.round(seconds * 1e6).astype(np.int64), values


def _time(at: Any, scale: float) -> int:
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 < at * scale < 1e10:
        raise ValueError("no time stamp")
    return microseconds(EPOCH + timedelta(microseconds=round(at * scale * 1e6)))


def _value(text: Any) -> float | None:
    """The number, None for NaN, infinity and null; ValueError for what is no number."""
    if text is None:
        return None
    if isinstance(text, bool) or not isinstance(text, str | int | float) or "_" in str(text):
        raise ValueError("not a number")
    try:
        value = float(text)
    except ValueError as error:
        raise ValueError("not a number") from error
    return value if abs(value) < float("inf") else None


class _Answers:
    """Walks through answers of any size and number, one series at a time."""

    def __init__(self, source: Source) -> None:
        self._handle = source.path.open(encoding="utf-8", newline="")
        self._buffer, self._at, self._ended = "", 0, False
        self.line = 1
        self.cut = False
        self.errors: list[tuple[int, str]] = []

    def series(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Line and object of every series; `cut` is set when the file ends inside an answer."""
        with closing(self._handle):
            while self._seek():
                while (item := self._item()) is not None:
                    yield item

    def _more(self) -> bool:
        chunk = "" if self._ended else self._handle.read(max(CHUNK, len(self._buffer) - self._at))
        self._ended = not chunk
        self.line += self._buffer.count("\n", 0, self._at)
        self._buffer, self._at = self._buffer[self._at :] + chunk, 0
        return bool(chunk)

    def _seek(self) -> bool:
        """Go behind the next `"result": [`."""
        while True:
            match = _RESULT.search(self._buffer, self._at)
            if match:
                self._note_errors(match.start())
                self._at = match.end()
                return True
            self._note_errors(max(self._at, len(self._buffer) - TAIL))
            self._at = max(self._at, len(self._buffer) - TAIL)
            if not self._more():
                self._note_errors(len(self._buffer))
                return False

    def _note_errors(self, end: int) -> None:
        for match in _ERROR.finditer(self._buffer, self._at, end):
            place = self.line + self._buffer.count("\n", 0, match.start())
            if place not in {line for line, _ in self.errors}:
                self.errors.append((place, match[0][:TEXT_LIMIT]))

    def _item(self) -> tuple[int, dict[str, Any]] | None:
        decoder = json.JSONDecoder()
        while True:
            self._at = _BETWEEN.match(self._buffer, self._at).end()  # type: ignore[union-attr]
            if self._buffer.startswith("]", self._at):
                self._at += 1
                return None
            try:
                value, end = decoder.raw_decode(self._buffer, self._at)
            except (json.JSONDecodeError, RecursionError):
                if self._more():
                    continue
                return self._skip_broken()
            line = self.line + self._buffer.count("\n", 0, self._at)
            self._at = end
            return line, value if isinstance(value, dict) else {}

    def _skip_broken(self) -> tuple[int, dict[str, Any]] | None:
        """A series that cannot be read: go to the next one, or say that the file was cut here."""
        line = self.line + self._buffer.count("\n", 0, self._at)
        following = _METRIC.search(self._buffer, self._at + 1)
        self.cut = following is None
        start, self._at = self._at, following.start() if following else len(self._buffer)
        return None if following is None else (line, {"": self._buffer[start : start + TEXT_LIMIT]})


def _read_answers(source: Source, work: _Series, progress: Progress) -> None:
    answers = _Answers(source)
    for done, (line, item) in enumerate(answers.series()):
        progress("read", done, None)
        labels = item.get("metric")
        pairs = item.get("values", [item["value"]] if "value" in item else [])
        work.found.histograms += len(item.get("histograms") or ())
        if not isinstance(labels, dict) or not isinstance(pairs, list):
            work.found.records += 1
            work.found.set_aside.append(SetAside(line, "no series of points", json.dumps(item)[:TEXT_LIMIT]))
            continue
        good = [tuple(p) if isinstance(p, list) and len(p) == 2 else (None, p) for p in pairs]
        work.points(line, labels, good, 1.0)
    work.found.partial = int(answers.cut)
    for line, text in answers.errors:
        work.found.records += 1
        work.found.set_aside.append(SetAside(line, "the server answered with an error", text))


def _read_export(source: Source, work: _Series, progress: Progress) -> None:
    total = source.physical_lines
    with closing(open_lines(source)) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            progress("read", number, total)
            try:
                item = json.loads(line)
                labels, values, stamps = item["metric"], item["values"], item["timestamps"]
                pairs = list(zip(stamps, values, strict=True))
                if not isinstance(labels, dict):
                    raise TypeError("labels are no object")
            except (ValueError, KeyError, TypeError, RecursionError):
                if number == total and not source.ends_with_newline:
                    work.found.partial = 1
                    continue
                work.found.records += 1
                work.found.set_aside.append(SetAside(number, "no exported series", line[:TEXT_LIMIT]))
                continue
            work.points(number, labels, pairs, 1e-3)


def _times(table: LongTable) -> dict[str, object]:
    """First stamp, span and gaps of series none of which is a GPU's; all stamps are UTC."""
    first, last = table.con.execute("select min(stamp), max(stamp) from long").fetchone() or (None, None)
    if first is None:
        return {}
    gaps = table.con.execute(
        "select max(gap), median(gap) from (select epoch(stamp) - epoch(lag(stamp) over "
        "(partition by series order by stamp)) as gap from long) where gap is not null"
    ).fetchone() or (None, None)
    return {
        "time_first_epoch_s": (first - EPOCH).total_seconds(),
        "span_s": (last - first).total_seconds(),
        "gap_max_s": gaps[0],
        "gap_median_s": gaps[1],
    }


class _JsonReader:
    """What both readers share: a pass over the file, then samples, facts and warnings."""

    format = ""
    title = ""
    _pass: Callable[[Source, _Series, Progress], None]

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all points; times are UTC. Raises UnreadableFileError when there is no point."""
        with long_table(scratch) as table:
            work = _Series(table, choices)
            type(self)._pass(source, work, progress)
            return self._batch(table, work, source, choices, scratch)

    def _batch(
        self, table: LongTable, work: _Series, source: Source, choices: Choices, scratch: Path
    ) -> Batch:
        found = work.found
        if not found.records + found.histograms:
            raise UnreadableFileError(
                "The answer holds no point",
                source.name,
                "Check the query and its time range, then export again.",
            )
        facts = source_facts(source)
        facts |= {
            "format": self.format,
            "records": found.records + found.histograms,
            "partial_last_line": found.partial,
        }
        batch = Batch(
            self.format, found.records + found.histograms, set_aside=list(found.set_aside), facts=facts
        )
        if found.histograms:
            batch.ignored["native histogram"] += found.histograms
        describe_series(table, batch)
        build_points(table, batch, source, choices, scratch)
        if batch.facts.get("span_s") is None:
            batch.facts |= _times(table)
        work.pods.tell(batch)
        warn_of_step(batch, found.steps, found.longest)
        if found.partial:
            batch.warnings.append("The file ends in the middle of a series; that series was dropped.")
        batch.reconcile()
        return batch


class PrometheusJsonReader(_JsonReader):
    """Answers of /api/v1/query_range (matrix) and /api/v1/query (vector), one or several in a file."""

    format = "prometheus_query_range"
    title = "Prometheus query_range or query JSON"
    _pass = staticmethod(_read_answers)

    def sniff(self, source: Source) -> Sniff:
        """Judge by resultType and result of the API's answer."""
        if _TYPE.search(source.head) and _RESULT.search(source.head):
            return Sniff(0.98, "an answer of the Prometheus API with resultType matrix or vector")
        return Sniff(0.0, "no answer of the Prometheus API")


class VictoriaMetricsReader(_JsonReader):
    """Lines of VictoriaMetrics /api/v1/export."""

    format = "victoriametrics_jsonl"
    title = "VictoriaMetrics export (JSON lines)"
    _pass = staticmethod(_read_export)

    def sniff(self, source: Source) -> Sniff:
        """Judge by the keys of the first object: metric, values, timestamps."""
        first = next((line for line in source.head.split("\n") if line.strip()), "").lstrip()
        keys = all(re.search(rf'"{key}"\s*:\s*[\[{{]', first) for key in ("metric", "values"))
        keys = keys and not _TYPE.search(first)
        if first.startswith("{") and keys and ('"timestamps"' in first or len(first) > CHUNK // 32):
            return Sniff(0.97, "JSON lines with metric, values and timestamps")
        return Sniff(0.0, "no objects with metric, values and timestamps")


READERS = (PrometheusJsonReader(), VictoriaMetricsReader())
