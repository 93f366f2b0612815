"""Records of any table (CSV, JSON lines, a JSON list, Parquet) as texts by column, and its first rows."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from data.arrival.kinds import HEAD_BYTES
from data.arrival.spool import spool_bytes
from data.errors import UserError
from data.parse.csvio import TEXT_LIMIT
from data.parse.parquet_rows import parquet_records
from data.parse.table_items import Items, is_csv
from data.parse.values import parse_number
from data.readers.base import Progress, SetAside, Source, no_progress

SAMPLE_ROWS = 40
SAMPLE_COLUMNS = 300
SAMPLE_CELL = 80
SAMPLE_CHARACTERS = 60_000
_WHOLE_JSON_BYTES = 4 << 20

Record = tuple[int, str, dict[str, str]]
"""Line (or number of the row), text for the quarantine, cells by column ("" where there is none)."""


@dataclass
class Records:
    """Iterate once; `records` = records handed out + `set_aside`. `ask`: refuse numbers that may be two."""

    source: Source
    records: int = 0
    set_aside: list[SetAside] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    ask: bool = True
    warnings: list[str] = field(default_factory=list)

    def read(self, progress: Progress = no_progress) -> Iterator[Record]:
        """All records in file order; raises UnreadableFileError when it is no table after all."""
        if self.source.kind == "parquet":
            for number, value in enumerate(parquet_records(self.source, progress), 1):
                self.records += 1
                yield number, "", _texts(value)
            return
        items = Items(self.source, ask=self.ask)
        for line, text, fields in items.read(progress):
            yield line, text, _texts(fields)
        self.records, self.set_aside, self.facts = items.records, items.set_aside, items.facts
        self.warnings = items.warnings


def _texts(value: Mapping[str, object], above: str = "") -> dict[str, str]:
    """Cells as texts; objects inside an object become columns `outer.inner`."""
    out: dict[str, str] = {}
    for name, cell in value.items():
        if isinstance(cell, Mapping):
            out |= _texts(cell, f"{above}{name}.")
        else:
            out[f"{above}{name}"] = cell_text(cell)
    return out


def cell_text(value: object) -> str:
    """A cell as a text file would hold it: "" for none, ISO 8601 for times."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="microseconds")
    return json.dumps(value, default=str)[:TEXT_LIMIT] if isinstance(value, list) else str(value)


@dataclass(frozen=True)
class TableSample:
    """Column names and first rows of a table, cells cut to a readable width."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"header": list(self.header), "rows": [list(row) for row in self.rows]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TableSample":
        """The sample that `to_dict` made."""
        return cls(tuple(map(str, data["header"])), tuple(tuple(map(str, row)) for row in data["rows"]))

    def cells(self, column: str) -> list[str]:
        """The cells of one column."""
        place = self.header.index(column)
        return [row[place] for row in self.rows]


def table_sample(source: Source) -> TableSample | None:
    """First rows of a file that is a table; None for one that is none (a console log, an event file, …)."""
    if source.kind not in ("text", "parquet"):
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="ipd-sample-") as folder:
            records = Records(_short(source, Path(folder)), ask=False)
            found = [cells for _, _, cells in islice(records.read(), SAMPLE_ROWS)]
    except (UserError, ValueError, RecursionError):
        return None
    header = tuple(dict.fromkeys(name for cells in found for name in cells if name))[:SAMPLE_COLUMNS]
    rows = [tuple(cells.get(name, "")[:SAMPLE_CELL] for name in header) for cells in found]
    if not _is_table(header, rows, records.set_aside):
        return None
    kept: list[tuple[str, ...]] = []
    size = sum(map(len, header))
    for row in rows:
        size += sum(map(len, row)) + 4 * len(row)
        if kept and size > SAMPLE_CHARACTERS:
            break
        kept.append(row)
    return TableSample(header, tuple(kept))


def file_sample(path: Path, name: str) -> TableSample | None:
    """First rows of a kept original, read from its beginning alone; None when it is no table."""
    with path.open("rb") as handle:
        head = handle.read(HEAD_BYTES)
        whole = head[:1] == b"[" and path.stat().st_size <= _WHOLE_JSON_BYTES
        head += handle.read() if whole else b""
    with tempfile.TemporaryDirectory(prefix="ipd-sample-") as folder:
        try:
            source = spool_bytes(head, name, Path(folder))
        except UserError:
            return None
        if source.kind == "parquet":
            source = replace(source, path=path, original=path)
        elif len(head) < path.stat().st_size:
            source = replace(source, size_bytes=path.stat().st_size)
        return table_sample(source)


def _short(source: Source, folder: Path) -> Source:
    """The head of a text up to its last whole line; a JSON document is only understood whole."""
    if source.kind != "text":
        return source
    document = not is_csv(source) and source.head.lstrip().startswith("[")
    if document and source.size_bytes <= _WHOLE_JSON_BYTES:
        return source
    whole = source.size_bytes <= len(source.head.encode())
    text = source.head if whole else source.head[: source.head.rfind("\n") + 1]
    head = folder / "head"
    head.write_text(text, encoding="utf-8", newline="")
    lines = text.count("\n") + 1
    # A look at the first rows may show a value that is still being written.
    return replace(source, path=head, original=head, physical_lines=lines, ends_with_newline=True)


def _is_table(header: tuple[str, ...], rows: list[tuple[str, ...]], aside: list[SetAside]) -> bool:
    """Two or more named columns with numbers under most of the header, and few rows that do not fit."""
    if len(header) < 2 or not rows or len(aside) > len(rows):
        return False
    if all(parse_number(name).number is not None for name in header):
        return False
    filled = [sum(1 for cell in row if cell) for row in rows]
    if sum(filled) < 0.2 * len(rows) * len(header):
        return False
    numbers = [any(parse_number(cell).number is not None for cell in row) for row in rows]
    return sum(numbers) >= 0.5 * len(rows)
