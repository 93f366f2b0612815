"""Rows of a SELECT as an Arrow table that the app, Parquet and pandas can hold."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from reports.sql.tree import RefusedError

_KEPT = re.compile(
    r"BOOLEAN|U?(TINY|SMALL|BIG)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|DATE|TIME|TIMESTAMP(_NS)?"
)
_LARGE = re.compile(r"U?HUGEINT|BIGNUM")
_NESTED = re.compile(r".*\[\d*\]|(STRUCT|MAP|UNION)\(.*|VARIANT", re.DOTALL)
_TO_TEXT = {
    "INTERVAL": "an interval: shown as text; epoch(x) gives its seconds",
    "BLOB": "bytes: shown as text",
    "TIME WITH TIME ZONE": "a time with zone: shown as text",
}
_BATCH = 10_000
_COUNTED, _ARROW = ("SEQ_SCAN", "READ_PARQUET"), "PYTHON_ARROW_SCAN"
_TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"}
_UNDER_DESCRIBE = "DESCRIBE\n"


@dataclass(frozen=True)
class Rows:
    """The rows, whether there were more, what was changed for the table, and rows that were read for it.

    `large` names columns of whole numbers that may exceed 64 bits: they are text here.
    """

    table: pa.Table
    cut: bool
    notes: list[str]
    large: list[str]
    scanned: int | None


def count_scanned(con: duckdb.DuckDBPyConnection) -> None:
    """Let the database count the rows that each SELECT reads; before its settings are locked."""
    con.execute("SET enable_profiling = 'no_output'")


def select(
    con: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any], most_rows: int, most_bytes: int
) -> Rows:
    """Run one SELECT and read at most `most_rows` rows and about `most_bytes` bytes of it.

    Raises RefusedError and duckdb.Error; a position in either counts from the start of `sql`.
    """
    statement = duckdb.extract_statements(sql)[0]
    missing = sorted(set(statement.named_parameters) - set(parameters))
    if missing:
        have = ", ".join(f"${name}" for name in sorted(parameters)) or "none above"
        raise RefusedError(f"There is no parameter ${missing[0]}", f"The parameters are: {have}.")
    bound = {name: parameters[name] for name in statement.named_parameters}
    plain = sql.rstrip().rstrip(";")
    try:
        found = con.execute(_UNDER_DESCRIBE + plain, bound or None).fetchall()
    except duckdb.Error as error:
        raise _moved(error, len(_UNDER_DESCRIBE)) from error
    described = [(str(name), str(kind)) for name, kind, *_ in found]
    wrapped, start, notes = _wrap(plain, described, most_rows)
    try:
        reader = con.sql(wrapped, params=bound or None).to_arrow_reader(_BATCH)
        table, cut = _read(reader, most_rows, most_bytes)
        del reader
        scanned = _scanned(con)
    except duckdb.Error as error:
        raise _moved(error, start) from error
    names, _ = _unique([name for name, _ in described])
    large = [name for name, (_, kind) in zip(names, described, strict=True) if _LARGE.fullmatch(kind)]
    return Rows(table.rename_columns(names), cut, notes, large, scanned)


def _wrap(sql: str, described: Sequence[tuple[str, str]], most_rows: int) -> tuple[str, int, list[str]]:
    """The SELECT with its columns cast and counted through, where it begins in that, and what was changed."""
    names, notes = _unique([name for name, _ in described])
    columns = []
    for place, (name, (_, kind)) in enumerate(zip(names, described, strict=True)):
        cast, note = _cast(_finite(f"c{place}", name) if kind in _TIMES else f"c{place}", kind)
        columns.append(f"{cast} AS c{place}")
        if note:
            notes.append(f"{name}: {note}")
    listed = ", ".join(f"c{place}" for place in range(len(described)))
    head = f"SELECT {', '.join(columns)} FROM (\n"
    return f"{head}{sql}\n) AS q({listed}) LIMIT {most_rows + 1}", len(head), notes


def _unique(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Column names of which no two are equal, also with small and capital letters alike."""
    taken = {name.casefold() for name in names}
    seen: set[str] = set()
    out, notes = [], []
    for name in names:
        new, count = name, 1
        while new.casefold() in seen or (count > 1 and new.casefold() in taken):
            count += 1
            new = f"{name}_{count}"
        if new != name:
            notes.append(f"{new}: a second column '{name}'")
        seen.add(new.casefold())
        out.append(new)
    return out, notes


def _cast(column: str, kind: str) -> tuple[str, str]:
    """SQL that gives a column a type the app can hold, and what that changes ('' when nothing)."""
    if _KEPT.fullmatch(kind):
        return column, ""
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"timezone('UTC', {column})", ""
    if kind in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        return f"{column}::TIMESTAMP", ""
    if _NESTED.fullmatch(kind):
        return f"to_json({column})::VARCHAR", f"{_short(kind)}: shown as JSON text"
    return f"{column}::VARCHAR", _TO_TEXT.get(kind, "")


def _finite(column: str, name: str) -> str:
    """SQL of a time that Arrow can hold: infinity would come out as a day of the year 294247."""
    words = f"Column '{name}' holds an infinite time: leave it out with isfinite({name})".replace("'", "''")
    return f"CASE WHEN {column} IS NULL OR isfinite({column}) THEN {column} ELSE error('{words}') END"


def _short(kind: str) -> str:
    return kind if len(kind) <= 40 else f"{kind[:37]}..."


def _read(reader: pa.RecordBatchReader, most_rows: int, most_bytes: int) -> tuple[pa.Table, bool]:
    batches, rows, size = [], 0, 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows > most_rows or size > most_bytes:
            break
    table = pa.Table.from_batches(batches, reader.schema)
    if size > most_bytes:
        fits = max(1, int(table.num_rows * most_bytes / size))
        return table.slice(0, min(fits, most_rows)), True
    return table.slice(0, most_rows), rows > most_rows


def _scanned(con: duckdb.DuckDBPyConnection) -> int | None:
    """Rows that the scans of the last query read; None when it read from no table."""
    waiting = list(json.loads(con.get_profiling_information("json")).get("operator", ()))
    counts = []
    while waiting:
        one = waiting.pop()
        waiting.extend(one.get("children", ()))
        if one.get("name") in _COUNTED:
            counts.append(int(one["rows_scanned"]))
        elif one.get("name") == _ARROW:  # the database counts what comes out of it only: nothing is left out
            counts.append(int(one["intermediate_rows"]))
    return sum(counts) if counts else None


def _moved(error: duckdb.Error, start: int) -> duckdb.Error:
    """The error of a longer text as one of the SQL inside it, which begins at `start`."""
    text = str(error)
    found = re.search(r'"position":"(\d+)"', text)
    if not found:
        return error
    place = int(found[1]) - start
    new = f'"position":"{place}"' if place >= 0 else '"position":""'
    return type(error)(text[: found.start()] + new + text[found.end() :])
