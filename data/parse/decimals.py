"""Which sign of a table is the decimal mark: told by the whole table, and asked where nothing in it tells."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from data.errors import UnreadableFileError
from data.parse.csvio import CsvLayout, CsvRow, CsvRows
from data.parse.values import DOUBTFUL, column_decimal, is_ambiguous, is_missing, parse_number
from data.readers.base import Source

LEARN_ROWS = 1000
_COMMA = ","
_CHUNK_BYTES = 4 << 20
_IN_NUMBER = re.compile(r"\d,\d")
_WITH_COMMA = re.compile(r"^(\s*[+\-−]?)(\d[\d.' ]*)?,(\d+)(.*)$", re.DOTALL)
_GROUPED = re.compile(r"^\s*[+\-−]?\d{1,3}(?:\.\d{3})+(?!\d)")


def table_decimals(columns: Sequence[Sequence[str | None]], delimiter: str) -> list[str | None]:
    """Decimal mark of each column: "," or "." by its own cells, else that of all other columns.

    A delimiter that leaves commas free (`;`, tab) is typical of decimal commas and proves nothing: where no
    column tells, or they contradict each other, the mark is DOUBTFUL. Between commas a column without a mark
    of its own has None: a quoted `1,024` groups thousands.
    """
    own = [column_decimal(cells) for cells in columns]
    if delimiter == _COMMA:
        return list(own)
    known = {mark for mark in own if mark}
    rest = known.pop() if len(known) == 1 else DOUBTFUL
    return [mark or rest for mark in own]


def rows_that_tell(
    source: Source, layout: CsvLayout, first: Sequence[Sequence[str]], most: int
) -> list[tuple[str, ...]]:
    """Up to `most` rows with a comma between digits, where commas are free and no `first` row has one."""
    if layout.delimiter == _COMMA or any(_IN_NUMBER.search(text) for cells in first for text in cells):
        return []
    if not _has_comma(source):
        return []
    rows = (row.cells for row in CsvRows(source, layout))
    return list(islice((cells for cells in rows if any(map(_IN_NUMBER.search, cells))), most))


def _has_comma(source: Source) -> bool:
    with source.path.open("rb") as handle:
        while chunk := handle.read(_CHUNK_BYTES):
            if b"," in chunk and _IN_NUMBER.search((chunk + handle.peek(1)[:1]).decode(errors="replace")):
                return True
    return False


class PlainCells:
    """Cells of a table rewritten as numbers with a decimal point and no thousands, where they are numbers.

    Without `ask` a doubtful cell is left as it is, which is enough for a look at the first rows.
    """

    def __init__(self, source: Source, layout: CsvLayout, ask: bool = True) -> None:
        self._place = f"{source.name}, line {layout.header_line}"
        self._header = layout.header
        sample = [row.cells for row in islice(CsvRows(source, layout), LEARN_ROWS)]
        columns = [[row[i] for row in sample if i < len(row)] for i in range(len(layout.header))]
        if not any(_COMMA in cell for cells in columns for cell in cells):
            columns = []
        self._marks = dict(enumerate(table_decimals(columns, layout.delimiter)))
        numbers = {i for i, cells in enumerate(columns) if all(map(_is_number, cells))}
        self._asked = {i for i, mark in self._marks.items() if ask and mark == DOUBTFUL and i in numbers}

    def cell(self, column: int, text: str) -> str:
        """The cell for `parse_number`; raises UnreadableFileError for a `1,234` that may be either."""
        if column in self._asked and is_ambiguous(text):
            name = self._header[column]
            raise UnreadableFileError(
                f"Nothing in this file says whether {text.strip()!r} in column {name!r} is written with a "
                "decimal comma or with a separator of thousands",
                self._place,
                "Write its numbers with a decimal point and no separators of thousands, and load it again.",
            )
        if self._marks.get(column) != _COMMA:
            return text
        if found := _WITH_COMMA.match(text):
            whole = re.sub(r"[.' ]", "", found[2] or "0")
            plain = f"{found[1]}{whole}.{found[3]}{found[4]}"
            return plain if parse_number(text, None, _COMMA).number is not None else text
        if grouped := _GROUPED.match(text):
            return grouped[0].replace(".", "") + text[grouped.end() :]
        return text

    def rows(self, rows: Iterable[CsvRow]) -> Iterator[CsvRow]:
        """The rows with plain cells."""
        if not self._marks:
            yield from rows
            return
        for row in rows:
            yield CsvRow(row.line, tuple(self.cell(i, text) for i, text in enumerate(row.cells)))


def _is_number(text: str) -> bool:
    return is_missing(text) or parse_number(text).number is not None
