"""Rows of a CSV as DuckDB relations: a parallel scan for large plain files, exact batches for all others."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa

from data.parse.csvio import CsvCounts, CsvLayout, CsvRow, CsvRows, Judge, RawRecord, no_rows
from data.readers.base import Progress, Source, no_progress

BULK_FROM_BYTES = 8 << 20
BATCH_ROWS = 50_000
SCAN_BYTES = 4 << 20
TAIL_BYTES = 1 << 16
NEVER = "\\x01"

Insert = Callable[[str], int]
"""Given a relation with columns line (BIGINT, NULL in a scan), c0, c1, … (VARCHAR), take all of its rows.

NULL is a field that a short row does not have; "" is a blank cell. Returns how many rows were taken.
"""


def load_rows(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    layout: CsvLayout,
    insert: Insert,
    progress: Progress = no_progress,
    bulk_from_bytes: int = BULK_FROM_BYTES,
) -> CsvCounts:
    """Hand every row of the file to `insert` and return the books.

    Raises UnreadableFileError when there is no row, RuntimeError when rows taken and rows in the file differ.
    """
    if source.path.stat().st_size >= bulk_from_bytes and can_scan(source.path, layout):
        counts = _scan(con, source, layout, insert, progress)
    else:
        counts = _exact(con, source, layout, insert, progress)
    if not counts.records:
        raise no_rows(source, layout, counts)
    return counts


def can_scan(path: Path, layout: CsvLayout) -> bool:
    """Whether each line is one record: no quotes, no carriage returns, at least two columns."""
    if len(layout.header) < 2:
        return False
    with path.open("rb") as handle:
        for _ in range(layout.first_data_line - 1):
            handle.readline()
        while chunk := handle.read(SCAN_BYTES):
            if b'"' in chunk or b"\r" in chunk:
                return False
    return True


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def scan_relation(path: Path, layout: CsvLayout) -> str:
    """`read_csv` that guesses nothing; repeated headers are left out, ragged lines go to `csv_rejects`."""
    names = [f"c{i}" for i in range(len(layout.header))]
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    repeat = " and ".join(
        f"trim({name}) = {_text(cell)}" for name, cell in zip(names, layout.header, strict=True)
    )
    return (
        f"(select null::bigint as line, * from read_csv({_text(str(path))}, auto_detect=false, header=false, "
        f"skip={layout.first_data_line - 1}, delim={_text(layout.delimiter)}, quote='', escape='', "
        f"comment='', new_line='\\n', nullstr='{NEVER}', columns={{{columns}}}, "
        f"store_rejects=true, rejects_limit=0, rejects_table='csv_rejects', "
        f"rejects_scan='csv_reject_scans') where not ({repeat}))"
    )


def _scan(
    con: duckdb.DuckDBPyConnection, source: Source, layout: CsvLayout, insert: Insert, progress: Progress
) -> CsvCounts:
    with _ended(source) as (whole, tail):
        return _scan_ended(con, source, whole, tail, layout, insert, progress)


@contextmanager
def _ended(source: Source) -> Iterator[tuple[Source, str | None]]:
    """The source without a last line that has no end, and that line: the scan cannot judge it."""
    if source.ends_with_newline:
        yield source, None
        return
    with tempfile.TemporaryDirectory(prefix="ipd-ended-", dir=source.path.parent) as folder:
        copy = Path(folder) / "ended"
        shutil.copyfile(source.path, copy)
        with copy.open("r+b") as handle:
            end = _last_line_start(handle)
            handle.seek(end)
            tail = handle.read().decode()
            handle.truncate(end)
        lines = source.physical_lines - 1
        yield replace(source, path=copy, physical_lines=lines, ends_with_newline=True), tail


def _last_line_start(handle: BinaryIO) -> int:
    place, text = handle.seek(0, os.SEEK_END), b""
    while place and b"\n" not in text:
        step = min(place, TAIL_BYTES)
        place -= step
        handle.seek(place)
        text = handle.read(step) + text
    return place + text.rfind(b"\n") + 1


def _scan_ended(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    whole: Source,
    tail: str | None,
    layout: CsvLayout,
    insert: Insert,
    progress: Progress,
) -> CsvCounts:
    total = whole.physical_lines
    progress("read", 0, total)
    loaded = insert(scan_relation(whole.path, layout))
    rejected = {int(row[0]) for row in con.execute("select distinct line from csv_rejects").fetchall()}
    con.execute("drop table csv_rejects; drop table csv_reject_scans")
    judge = Judge(source, layout)
    judge.counts.records = loaded
    judge.counts.field_counts[len(layout.header)] = loaded
    lines_left = total - (layout.first_data_line - 1) - loaded - len(rejected)
    rows: list[CsvRow | None] = []
    if rejected or lines_left:
        rows += _settle(whole, layout, judge, rejected, lines_left)
    if tail is not None:
        rows.append(judge.row(RawRecord(source.physical_lines, tail if tail.strip() else "", True), True))
    _take(con, layout, [row for row in rows if row is not None], insert)
    progress("read", total, total)
    return judge.counts


def _settle(
    source: Source, layout: CsvLayout, judge: Judge, rejected: set[int], lines_left: int
) -> list[CsvRow]:
    """Look at what the scan did not take: rejected lines one by one, blank lines and headers counted."""
    rows: list[CsvRow] = []
    width = len(layout.header)
    start = layout.header[0].encode()
    explained = 0
    with source.path.open("rb") as handle:
        for number, raw in enumerate(handle, 1):
            if number < layout.first_data_line:
                continue
            if number in rejected:
                text = raw.decode().rstrip("\n")
                if text.count(layout.delimiter) == width - 1:
                    raise RuntimeError(f"{source.name}, line {number}: a whole row was rejected by the scan")
                record = RawRecord(number, text if text.strip() else "", True)
                if (row := judge.row(record, False)) is not None:
                    rows.append(row)
            elif raw == b"\n":
                explained += 1
                judge.counts.blank_lines += 1
            elif raw.lstrip().startswith(start) and _is_header(raw, layout):
                explained += 1
                judge.counts.header_repeated += 1
    if explained != lines_left:
        raise RuntimeError(
            f"{source.name}: the books do not balance, {lines_left} lines were not read as rows "
            f"but {explained} are blank or repeat the header"
        )
    return rows


def _is_header(raw: bytes, layout: CsvLayout) -> bool:
    cells = raw.decode().rstrip("\n").split(layout.delimiter)
    return tuple(cell.strip() for cell in cells) == layout.header


def _exact(
    con: duckdb.DuckDBPyConnection, source: Source, layout: CsvLayout, insert: Insert, progress: Progress
) -> CsvCounts:
    rows = CsvRows(source, layout, progress)
    batch: list[CsvRow] = []
    for row in rows:
        batch.append(row)
        if len(batch) >= BATCH_ROWS:
            _take(con, layout, batch, insert)
            batch = []
    _take(con, layout, batch, insert)
    return rows.counts


def _take(con: duckdb.DuckDBPyConnection, layout: CsvLayout, rows: list[CsvRow], insert: Insert) -> None:
    if not rows:
        return
    width = len(layout.header)
    padded = [row.cells + (None,) * (width - len(row.cells)) for row in rows]
    columns: dict[str, Any] = {"line": pa.array([row.line for row in rows], pa.int64())}
    for i, cells in enumerate(zip(*padded, strict=True)):
        columns[f"c{i}"] = pa.array(cells, pa.string())
    con.register("csv_rows", pa.table(columns))
    try:
        taken = insert("csv_rows")
    finally:
        con.unregister("csv_rows")
    if taken != len(rows):
        raise RuntimeError(f"{len(rows)} rows were read but {taken} were taken")
