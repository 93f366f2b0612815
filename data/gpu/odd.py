"""The cells that a bulk cast did not know: parsed one text at a time, or set aside with their line."""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from data.errors import UnreadableFileError
from data.parse.csvio import HOPELESS_ROWS, TEXT_LIMIT, CsvLayout
from data.parse.timezones import parse_stamp
from data.parse.values import DOUBTFUL, Value, is_missing, parse_number
from data.readers.base import SetAside, Source
from data.sql import number

_POINT = re.compile(r"\s*[+\-−]?[1-9]\d{0,2}\.\d{3}(?!\d)")
LISTED = 1000
"""Bad cells that get a line in the quarantine; the rest is counted by column and reason."""


@dataclass(frozen=True)
class CellRules:
    """How to read one file's cells: time column, unit and decimal mark of each number column."""

    time: int | None
    offset: str | None
    units: Mapping[int, str | None]
    decimals: Mapping[int, str | None]
    binary_mb: bool


def _parsed(text: str, unit: str | None, mark: str | None, binary_mb: bool) -> Value:
    """The cell as a number; where nothing tells what a comma is, a point may group thousands as well."""
    if mark == DOUBTFUL and _POINT.match(text):
        return Value(
            None, "bad", reason="nothing tells whether the point is a decimal mark or groups thousands"
        )
    return parse_number(text, unit, mark, binary_mb)


class OddCells:
    """Second look at the rows of table `raw` that kept their `cells`."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, source: Source, layout: CsvLayout, rules: CellRules
    ) -> None:
        self._con, self._source, self._layout, self._rules = con, source, layout, rules
        self.bad: Counter[int] = Counter()
        self.no_cell: Counter[int] = Counter()
        self.missing_time = 0
        self.set_aside: list[SetAside] = []
        self.warnings: list[str] = []

    def settle(self) -> None:
        """Fill what can be read into `raw`, set aside the rest. Rows without a stamp keep a NULL `stamp`."""
        con = self._con
        con.execute("create table odd as select rowid as ord, * from raw where cells is not null")
        con.execute("create table bad_cells (ord bigint, col integer, reason varchar)")
        if self._number("select count(*) from odd"):
            for column in self._rules.units:
                self._numbers(column)
            self._stamps()
            self._list()

    def _number(self, sql: str) -> int:
        return number(self._con, sql)

    def no_cell_of(self, column: int) -> int:
        """Rows too short to have this column."""
        return self._number(f"select count(*) from odd where cells[{column + 1}] is null")

    def _numbers(self, column: int) -> None:
        cell, value = f"cells[{column + 1}]", f"v{column}"
        self.no_cell[column] = self.no_cell_of(column)
        found = self._con.execute(
            f"select distinct {cell} from odd where {value} is null and {cell} is not null"
        )
        texts = [str(text) for (text,) in found.fetchall()]
        unit, mark = self._rules.units[column], self._rules.decimals.get(column)
        parsed = [_parsed(text, unit, mark, self._rules.binary_mb) for text in texts]
        self._register(texts, [p.number for p in parsed], [p.reason or None for p in parsed])
        join = f"odd o join parsed p on o.{cell} = p.text where o.{value} is null"
        if any(p.number is not None for p in parsed):
            self._con.execute(
                f"update raw set {value} = f.number from (select o.ord, p.number from {join} and "
                "p.number is not null) f where raw.rowid = f.ord"
            )
        if any(p.reason for p in parsed):
            self._con.execute(
                f"insert into bad_cells select o.ord, {column}, p.reason from {join} and p.reason is not null"
            )
            self.bad[column] = self._number(f"select count(*) from bad_cells where col = {column}")
        self._con.unregister("parsed")

    def _register(self, texts: list[str], numbers: list[float | None], reasons: list[str | None]) -> None:
        self._con.register(
            "parsed",
            pa.table(
                {
                    "text": pa.array(texts, pa.string()),
                    "number": pa.array(numbers, pa.float64()),
                    "reason": pa.array(reasons, pa.string()),
                }
            ),
        )

    def _stamps(self) -> None:
        if self._rules.time is None:
            return
        cell = f"cells[{self._rules.time + 1}]"
        found = self._con.execute(
            f"select distinct {cell} from odd where stamp is null and {cell} is not null"
        )
        texts = [str(text) for (text,) in found.fetchall()]
        readable = []
        for text in texts:
            stamp = parse_stamp(text)
            if stamp is not None and (stamp.offset is None) == (self._rules.offset is None):
                readable.append((text, stamp.at))
        for text, at in readable:
            self._con.execute(
                f"update raw set stamp = $1 from odd o where raw.rowid = o.ord and raw.stamp is null "
                f"and o.{cell} = $2",
                [at, text],
            )
        blank = [text for text in texts if is_missing(text)]
        self.missing_time = self._number_of_rows(cell, blank)

    def _number_of_rows(self, cell: str, texts: list[str]) -> int:
        sql = f"select count(*) from odd where stamp is null and list_contains($1::varchar[], {cell})"
        return number(self._con, sql, [texts])

    def _list(self) -> None:
        rows = self._timeless() if self._rules.time is not None else []
        cells = self._con.execute(
            "select b.ord, o.line, o.cells, b.col, b.reason from bad_cells b join odd o using (ord) "
            f"order by b.ord, b.col limit {LISTED}"
        ).fetchall()
        lines = self._lines({(ord_, line, tuple(cs)) for ord_, line, cs, *_ in [*rows, *cells]})
        for ord_, _, texts in rows:
            self.set_aside.append(SetAside(lines[ord_], self._why(texts), self._row_text(texts)[:TEXT_LIMIT]))
        for ord_, _, texts, column, reason in cells:
            name = self._layout.header[column]
            self.set_aside.append(SetAside(lines[ord_], reason, texts[column][:TEXT_LIMIT], name))
        self._summarise(sum(self.bad.values()))

    def _timeless(self) -> list[tuple[int, int | None, list[str | None]]]:
        found = self._con.execute(
            "select o.ord, o.line, o.cells from odd o join raw on raw.rowid = o.ord "
            "where raw.stamp is null order by o.ord"
        ).fetchall()
        if len(found) > HOPELESS_ROWS and 2 * len(found) > self._number("select count(*) from raw"):
            raise UnreadableFileError(
                f"Most rows have no readable time stamp, first '{found[0][2][self._rules.time or 0]}'",
                self._source.name,
                "Write times as YYYY-MM-DD HH:MM:SS; a day-first date could mean two days.",
            )
        return [(int(ord_), line, cells) for ord_, line, cells in found]

    def _why(self, texts: list[str | None]) -> str:
        text = texts[self._rules.time or 0]
        return "no time stamp" if is_missing(text) else "the time stamp cannot be read"

    def _row_text(self, texts: list[str | None] | tuple[str | None, ...]) -> str:
        return self._layout.delimiter.join(text for text in texts if text is not None)

    def _lines(self, rows: set[tuple[int, int | None, tuple[str | None, ...]]]) -> dict[int, int]:
        """Line of each row. A bulk scan gives none, but its rows equal their lines and come in file order."""
        lines = {ord_: line for ord_, line, _ in rows if line is not None}
        waiting: dict[bytes, deque[int]] = defaultdict(deque)
        for ord_, line, texts in sorted(rows, key=lambda row: row[0]):
            if line is None:
                waiting[self._row_text(texts).encode()].append(ord_)
        if not waiting:
            return lines
        with self._source.path.open("rb") as handle:
            for number, text in enumerate(handle, 1):
                queue = waiting.get(text.rstrip(b"\n"))
                if queue and number >= self._layout.first_data_line:
                    lines[queue.popleft()] = number
        if any(waiting.values()):
            raise RuntimeError(f"{self._source.name}: a row that was set aside is not a line of the file")
        return lines

    def _summarise(self, total: int) -> None:
        if total <= LISTED:
            return
        found = self._con.execute(
            "select col, reason, count(*) as n from bad_cells group by all order by n desc, col, reason"
        ).fetchall()
        for column, reason, n in found:
            name = self._layout.header[column]
            self.warnings.append(f"{n:,} cells of '{name}' were set aside: {reason}.")
        self.warnings.append(
            f"The first {LISTED:,} of {total:,} cells set aside are listed with their lines."
        )
