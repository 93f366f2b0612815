"""CSV without guessing: our own header, an exact row reader, and books that must balance.

A quote counts only at the start of a cell. A record with fewer fields than the header keeps what it has; one
with more fields is set aside unless the extra ones are blank. `data.parse.csvscan` is the bulk path.
"""

import io
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from data.errors import UnreadableFileError
from data.parse import last_line
from data.parse.csvcells import best_delimiter as best_delimiter
from data.parse.csvcells import header_cells, quote_end, skip_spaces
from data.parse.csvcells import split_line as split_line
from data.readers.base import Progress, SetAside, Source, no_progress

MAX_RECORD_LINES = 200
HEADER_WITHIN_RECORDS = 200
TEXT_LIMIT = 500
TEXT_LINE = "a line of text, not a row of the table"
HOPELESS_ROWS = 10_000
PROGRESS_EVERY = 20_000


@dataclass(frozen=True)
class CsvLayout:
    """Delimiter, trimmed column names in file order ("" when unnamed), where data starts (lines from 1).

    `open_end`: what it says when the last line has no end.
    """

    delimiter: str
    header: tuple[str, ...]
    header_line: int
    first_data_line: int
    open_end: last_line.OpenEnd = last_line.CUT

    @property
    def columns(self) -> int:
        """Columns that have a name."""
        return sum(1 for name in self.header if name)


class CsvRow(NamedTuple):
    """One record: the line of its first character, its cells as written, at most one per header column."""

    line: int
    cells: tuple[str, ...]


class RawRecord(NamedTuple):
    """The text of one record; `closed` is False when its last quote never closes."""

    line: int
    text: str
    closed: bool


@dataclass
class CsvCounts:
    """The books of one file: `records` = rows handed out + `len(set_aside)`. `last_line`: what to say."""

    records: int = 0
    header_repeated: int = 0
    blank_lines: int = 0
    partial_last_line: int = 0
    ragged_rows: int = 0
    set_aside: list[SetAside] = field(default_factory=list)
    field_counts: Counter[int] = field(default_factory=Counter)
    last_line: str = ""

    def said(self) -> list[str]:
        """The sentence on the last line, if there is one."""
        return [self.last_line] if self.last_line else []


def _open_after(text: str, delimiter: str, is_open: bool) -> bool:
    """Whether a quoted cell is still open at the end of `text`, given its state at the start."""
    at, end = 0, len(text)
    while True:
        if not is_open:
            start = skip_spaces(text, at)
            is_open = text.startswith('"', start)
            at = start + 1 if is_open else at
        if is_open:
            stop = quote_end(text, at)
            if stop >= end:
                return True
            is_open, at = False, stop + 1
        following = text.find(delimiter, at)
        if following < 0 or following >= end:
            return False
        at = following + 1


def raw_records(
    lines: Iterable[str], delimiter: str | Callable[[str], str], width: int = 0
) -> Iterator[RawRecord]:
    """Join lines into records; blank lines come as records with empty text.

    A quote that is still open after MAX_RECORD_LINES, or at the end, gives up its first line alone
    (`closed=False`) and reading resumes on the next line, so one stray quote cannot swallow a file; unless
    the end was reached and no line under it has `width` cells: then the record was cut there.
    """
    source = iter(lines)
    waiting: deque[str] = deque()
    number = 0
    while (line := waiting.popleft() if waiting else next(source, None)) is not None:
        number += 1
        text = line.rstrip("\n")
        if not text.strip():
            yield RawRecord(number, "", True)
            continue
        if '"' not in text:
            yield RawRecord(number, text, True)
            continue
        cut = delimiter if isinstance(delimiter, str) else delimiter(text)
        held, is_open, at_end = _held_open(text, cut, waiting, source)
        was_cut = at_end and not any(len(split_line(piece, cut)) == width for piece in held[1:])
        if is_open and was_cut:
            yield RawRecord(number, "\n".join(held), False)
            return
        if is_open:
            waiting.extendleft(reversed(held[1:]))
            yield RawRecord(number, text, False)
            continue
        yield RawRecord(number, "\n".join(held), True)
        number += len(held) - 1


def _held_open(
    text: str, cut: str, waiting: deque[str], source: Iterator[str]
) -> tuple[list[str], bool, bool]:
    """The lines of a record that begins with `text`; whether its quote is still open, and the input ended."""
    held = [text]
    is_open, at_end = _open_after(text, cut, False), False
    while is_open and not at_end and len(held) < MAX_RECORD_LINES:
        more = waiting.popleft() if waiting else next(source, None)
        at_end = more is None
        if more is not None:
            held.append(more.rstrip("\n"))
            is_open = _open_after(held[-1], cut, True)
    return held, is_open, at_end


def open_lines(source: Source) -> Generator[str, None, None]:
    """Decoded lines; a carriage return inside a line ends it, because no CSV cell of ours means one."""
    with source.path.open(encoding="utf-8", newline=None) as handle:
        yield from handle


def read_layout(
    source: Source, is_header: Callable[[tuple[str, ...]], bool] | None = None, unique: bool = True
) -> CsvLayout:
    """Find the header: the first line that is not blank, or the first that `is_header` accepts.

    An Excel `sep=;` line is obeyed. Raises UnreadableFileError when no header is found within the first
    records, or when `unique` and a column is named twice.
    """
    forced: str | None = None
    in_head = source.path == source.head_path
    with closing(open_lines(source)) as lines:
        for line, text, _closed in _of_head(source.head) if in_head else _first_records(lines):
            bare = text.strip().strip('"')
            if bare.lower().startswith("sep=") and len(bare) == 5:
                forced = bare[4]
                continue
            if not text:
                continue
            delimiter, names = header_cells(text, forced)
            if is_header is not None and not is_header(names):
                continue
            if unique:
                _refuse_twins(names, source.name, line)
            return CsvLayout(delimiter, names, line, line + text.count("\n") + 1)
    raise UnreadableFileError(
        "No header line was found", source.name, "Check that the first line names the columns."
    )


def _first_records(lines: Iterable[str]) -> Iterator[RawRecord]:
    """The records among which a header is looked for."""
    return islice(raw_records(lines, lambda text: header_cells(text)[0]), HEADER_WITHIN_RECORDS)


@lru_cache(maxsize=1)
def _of_head(head: str) -> tuple[RawRecord, ...]:
    """`_first_records` of a file that is its head: some thirty readers look for their header there."""
    return tuple(_first_records(io.StringIO(head, newline=None)))


def _refuse_twins(names: tuple[str, ...], file: str, line: int) -> None:
    twins = [name for name, n in Counter(names).items() if n > 1 and name]
    if twins:
        places = [str(i + 1) for i, name in enumerate(names) if name == twins[0]]
        raise UnreadableFileError(
            f"The column '{twins[0]}' appears {len(places)} times (columns {', '.join(places)})",
            f"{file}, line {line}",
            "Keep one of them, or rename the others, and load the file again.",
        )


def _is_text(cells: list[str], width: int) -> bool:
    """Whether a line under a wider header is a message of some program: one text, or few words.

    Padded with blanks it would name a run, a GPU or a bill that does not exist.
    """
    if width < 3 or len(cells) >= width:
        return False
    if len(cells) == 1 and any(sign.isalpha() for sign in cells[0]):
        return True
    return not any(sign.isdigit() for cell in cells for sign in cell)


class Judge:
    """Decides for each record: a row, a repeated header, a cut last line, or set aside. Keeps the books."""

    def __init__(self, source: Source, layout: CsvLayout) -> None:
        self.counts = CsvCounts()
        self._source = source
        self._layout = layout

    def row(self, record: RawRecord, is_last: bool) -> CsvRow | None:
        """The row in this record, or None when it is none (the books say why)."""
        if not record.text:
            self.counts.blank_lines += 1
            return None
        cells = split_line(record.text, self._layout.delimiter)
        header = self._layout.header
        width = len(header)
        if len(cells) == width and cells[0].strip() == header[0] and tuple(map(str.strip, cells)) == header:
            self.counts.header_repeated += 1
            return None
        if is_last and not self._source.ends_with_newline and self._is_open(record, cells):
            self.counts.partial_last_line = 1
            return None
        self.counts.records += 1
        self.counts.field_counts[len(cells)] += 1
        if len(cells) != width:
            self.counts.ragged_rows += 1
        if not record.closed:
            self._set_aside(record, "a quote is opened and never closed")
            return None
        if len(cells) > width and any(cell.strip() for cell in cells[width:]):
            self._set_aside(record, f"{len(cells)} fields where the header has {width}")
            return None
        if _is_text(cells, width):
            self._set_aside(record, TEXT_LINE)
            return None
        return CsvRow(record.line, tuple(cells[:width]))

    def _is_open(self, record: RawRecord, cells: list[str]) -> bool:
        """Whether the last line, which has no end, is left out: it lacks fields, or the end of a value."""
        if self._is_cut(record, len(cells)):
            self.counts.last_line = last_line.cut_inside(record.line, "row")
            return True
        name = self._layout.header[len(cells) - 1] if len(cells) <= len(self._layout.header) else ""
        end, rule = cells[-1], self._layout.open_end
        if not name or rule == last_line.JOINED or last_line.is_closed(record.text):
            return False
        say = last_line.kept if rule == last_line.BY_HAND else last_line.left_out
        self.counts.last_line = say(record.line, end, "row")
        return rule == last_line.CUT

    def _is_cut(self, record: RawRecord, fields: int) -> bool:
        if not record.closed:
            return True
        width = len(self._layout.header)
        like_this = self.counts.field_counts[fields]
        return fields < width and like_this <= self.counts.field_counts[width]

    def _set_aside(self, record: RawRecord, reason: str) -> None:
        aside = self.counts.set_aside
        aside.append(SetAside(record.line, reason, record.text[:TEXT_LIMIT]))
        if len(aside) > HOPELESS_ROWS and len(aside) * 2 > self.counts.records:
            raise UnreadableFileError(
                f"Most rows do not fit the header: {reason}, first",
                f"{self._source.name}, line {aside[0].line}",
                "Check that the delimiter and the header belong to this data.",
            )


class CsvRows:
    """Iterate once over the rows of a file, exactly and in order; `counts` is complete afterwards."""

    def __init__(self, source: Source, layout: CsvLayout, progress: Progress = no_progress) -> None:
        self._judge = Judge(source, layout)
        self._source = source
        self._layout = layout
        self._progress = progress

    @property
    def counts(self) -> CsvCounts:
        """Books so far; final once the iteration has ended."""
        return self._judge.counts

    def __iter__(self) -> Iterator[CsvRow]:
        skip, total = self._layout.first_data_line - 1, self._source.physical_lines
        with closing(open_lines(self._source)) as lines:
            for _ in range(skip):
                next(lines, None)
            held: RawRecord | None = None
            for record in raw_records(lines, self._layout.delimiter, len(self._layout.header)):
                if held is not None and (row := self._judge.row(_shift(held, skip), False)) is not None:
                    yield row
                held = record
                if record.line % PROGRESS_EVERY == 0:
                    self._progress("read", record.line + skip, total)
            if held is not None and (row := self._judge.row(_shift(held, skip), True)) is not None:
                yield row
        self._progress("read", total, total)


def _shift(record: RawRecord, lines: int) -> RawRecord:
    return RawRecord(record.line + lines, record.text, record.closed)


def read_all(
    source: Source, layout: CsvLayout, progress: Progress = no_progress
) -> tuple[list[CsvRow], CsvCounts]:
    """All rows of a small file with their books; raises UnreadableFileError when there is none."""
    rows = CsvRows(source, layout, progress)
    found = list(rows)
    if not rows.counts.records:
        raise no_rows(source, layout, rows.counts)
    return found, rows.counts


def no_rows(source: Source, layout: CsvLayout, counts: CsvCounts | None = None) -> UnreadableFileError:
    """The refusal of a file that has a header and nothing under it, or one line that may be cut."""
    if counts is not None and counts.last_line:
        return last_line.only_line(source.name, counts.last_line)
    return UnreadableFileError(
        "The file has a header and no data rows",
        f"{source.name}, line {layout.header_line}",
        "Check that the export or the logger had something to write, then load it again.",
    )
