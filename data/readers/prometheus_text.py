"""Prometheus text exposition, as dcgm-exporter serves it: one scrape, or several one after another."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.gpu.long import EPOCH, LongTable, microseconds
from data.gpu.long_build import build_points
from data.gpu.metrics import metric
from data.parse.csvio import PROGRESS_EVERY, TEXT_LIMIT, open_lines
from data.parse.last_line import left_out, only_line
from data.parse.prom_series import Pods, describe_series, parse_labels, series_of
from data.parse.timezones import Stamp, parse_stamp
from data.parse.wide import long_table
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress

_SAMPLE = re.compile(
    r"^(?:(?P<lead>\d{10,13}(?:\.\d+)?|\d{4}-\d\d-\d\dT\S+)\s+)?(?P<name>[A-Za-z_:][\w:.]*)?"
    r'(?:\{(?P<labels>(?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?'
    r"\s+(?P<value>[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|NaN|nan|[Ii]nf|Inf(?:inity)?))"
    r"(?:\s+(?P<stamp>-?\d+(?:\.\d+)?))?(?:\s+#\s.*)?\s*$"
)
_TAIL = re.compile(r"^\s+([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?:\s+(-?\d+(?:\.\d+)?))?$")
_BROKEN = re.compile(r"^(?:\d{10,13}(?:\.\d+)?\s+)?[A-Za-z_:][\w:]*(?:\{.*|\s+\S+(?:\s+-?\d+)?)$")
_COMMENT = re.compile(r"^#\s*(?:HELP|TYPE|UNIT|EOF)\b")
_HEADING = re.compile(
    r"^#*\s*(?:(?:time(?:stamp)?|date|scraped?(?:\s+at)?|sample)\s*[:=]?\s*)?"
    r"(\d{10}(?:\.\d+)?|\d{13}"
    r"|\d{4}[-/]\d\d?[-/]\d\d?[T ]\d\d?:\d\d\S*(?:\s*(?:Z|UTC|[+-]\d\d:?\d\d))?)\s*#*$",
    re.IGNORECASE,
)
MILLISECONDS_FROM = 1e11
"""Plain text counts milliseconds, OpenMetrics seconds: no stamp of one is a sensible time in the other."""


class PrometheusTextReader:
    """Scrapes in the Prometheus or OpenMetrics text format, and `promtool tsdb dump`."""

    format = "prometheus_text"
    title = "Prometheus text (dcgm-exporter and other GPU exporters)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the lines: samples `name{labels} value`, HELP and TYPE comments."""
        lines = [text for text in source.head.split("\n")[:400] if text.strip()]
        if len(source.head) < source.size_bytes and len(lines) > 1:
            lines = lines[:-1]
        comments = sum(bool(_COMMENT.match(text)) for text in lines)
        samples = [match for text in lines if (match := _SAMPLE.match(text)) and _is_sample(match)]
        labelled = sum(match["labels"] is not None for match in samples)
        if not samples or len(samples) + comments < 0.5 * len(lines):
            return Sniff(0.0, "no lines of the form name{labels} value")
        why = f"{len(samples)} sample lines, {comments} HELP, TYPE or EOF comments"
        if any(metric(match["name"]) for match in samples):
            return Sniff(0.98, f"{why}, with metrics of GPUs")
        if comments or labelled > 0.5 * len(samples):
            return Sniff(0.92, why)
        return Sniff(0.25, f"{why}, but no labels")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all sample lines. One scrape has no time: means are known, nothing can be placed in time.

        Raises UnreadableFileError when no line is a sample.
        """
        with long_table(scratch) as table:
            work = _Work(source, choices, table, progress)
            work.run()
            return _batch(work, source, choices, scratch)


def _is_sample(match: re.Match[str]) -> bool:
    return (
        match["name"] is not None or "__name__" in (match["labels"] or "") or '"' in (match["labels"] or "")
    )


class _Work:
    """One pass over the lines into a LongTable."""

    def __init__(self, source: Source, choices: Choices, table: LongTable, progress: Progress) -> None:
        self.table, self.pods = table, Pods()
        self.records = self.partial = 0
        self.set_aside: list[SetAside] = []
        self.text: Counter[str] = Counter()
        self.first_text = 0
        self.last_text = ""
        self._source, self._choices, self._progress = source, choices, progress
        self._known: dict[tuple[str | None, str], int | None] = {}
        self._heads: dict[str, int] = {}
        self._heading: Stamp | None = None

    def run(self) -> None:
        """Read every line."""
        total = self._source.physical_lines
        for number, text in self._lines():
            if number % PROGRESS_EVERY == 0:
                self._progress("read", number, total)
            self._take(number, text, number == total and not self._source.ends_with_newline)
        self._progress("read", total, total)

    def _lines(self) -> Iterator[tuple[int, str]]:
        with closing(open_lines(self._source)) as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if text:
                    yield number, text

    def _take(self, number: int, text: str, may_be_cut: bool) -> None:
        if may_be_cut and not text.startswith("#"):
            self.partial, self.last_text = 1, text.rpartition("}")[2] or text
            return
        head, _, rest = text.rpartition("}")
        if (series := self._heads.get(head)) is not None and self._again(number, series, rest):
            return
        match = None if text.startswith("#") else _SAMPLE.match(text)
        if match is not None and _is_sample(match):
            self._sample(number, text, match)
        elif (found := _HEADING.match(text)) and (stamp := parse_stamp(found[1])):
            self._heading = stamp
        elif text.startswith("#"):
            return
        elif "{" in text and _BROKEN.match(text):
            self.records += 1
            self.set_aside.append(SetAside(number, "not a sample line", text[:TEXT_LIMIT]))
        else:
            self.text[text[:40]] += 1
            self.first_text = self.first_text or number

    def _again(self, number: int, series: int, rest: str) -> bool:
        """A series that is known by its text up to the brace: the value and stamp behind it."""
        match = _TAIL.match(rest)
        if match is None:
            return False
        self.records += 1
        self.table.add(number, self._stamp(match[2], None), series, _number(match[1]))
        return True

    def _sample(self, number: int, text: str, match: re.Match[str]) -> None:
        self.records += 1
        key = (match["name"], match["labels"] or "")
        if key not in self._known:
            self._known[key] = self._series(*key)
        series = self._known[key]
        if series is None:
            self.set_aside.append(SetAside(number, "the labels cannot be read", text[:TEXT_LIMIT]))
            return
        if match["labels"] is not None and match["lead"] is None:
            self._heads[text[: match.end("labels")]] = series
        self.table.add(number, self._stamp(match["stamp"], match["lead"]), series, _number(match["value"]))

    def _series(self, name: str | None, labels_text: str) -> int | None:
        labels = parse_labels(labels_text)
        if labels is None:
            return None
        self.pods.add(labels)
        shown = (name or labels.get("__name__", "")) + (f"{{{labels_text}}}" if labels_text else "")
        return self.table.add_series(series_of(name, labels, shown, self._choices))

    def _stamp(self, own: str | None, lead: str | None) -> int | None:
        stamp = _epoch(own) or (parse_stamp(lead) if lead else self._heading)
        if stamp is None:
            return None
        if not self.table.naive and stamp.offset is None:
            self.table.naive = True
        return microseconds(stamp.at) if (stamp.offset is None) == self.table.naive else None


def _epoch(text: str | None) -> Stamp | None:
    if text is None:
        return None
    number = float(text)
    seconds = number / 1000 if number >= MILLISECONDS_FROM else number
    return Stamp(EPOCH + timedelta(microseconds=round(seconds * 1e6)), "") if 0 < seconds < 1e10 else None


def _number(text: str) -> float | None:
    value = float(text)
    return value if abs(value) != float("inf") and value == value else None


def _batch(work: _Work, source: Source, choices: Choices, scratch: Path) -> Batch:
    said = left_out(source.physical_lines, work.last_text, "sample")
    if work.partial and not work.records:
        raise only_line(source.name, said)
    if not work.records:
        raise UnreadableFileError(
            "No line is a sample of the form name{labels} value",
            source.name,
            "Save the answer of the exporter's /metrics page.",
        )
    facts = source_facts(source) | {
        "format": PrometheusTextReader.format,
        "records": work.records,
        "partial_last_line": work.partial,
    }
    batch = Batch(PrometheusTextReader.format, work.records, set_aside=work.set_aside, facts=facts)
    describe_series(work.table, batch)
    build_points(work.table, batch, source, choices, scratch)
    work.pods.tell(batch)
    if work.partial:
        batch.warnings.append(said)
    if n := sum(work.text.values()):
        batch.warnings.append(
            f"{n} line(s) of other text were passed over, first line {work.first_text}: "
            f"{next(iter(work.text))!r}."
        )
    batch.reconcile()
    return batch


READERS = (PrometheusTextReader(),)
