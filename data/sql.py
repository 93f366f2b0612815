"""Small helpers around a DuckDB cursor."""

from collections.abc import Sequence
from typing import Any

import duckdb


def first(
    con: duckdb.DuckDBPyConnection, sql: str, params: Sequence[Any] | dict[str, Any] | None = None
) -> tuple[Any, ...] | None:
    """First row or None. All rows are fetched: an unfinished result would block the cursor."""
    rows = con.execute(sql, params).fetchall()
    return rows[0] if rows else None


def number(
    con: duckdb.DuckDBPyConnection, sql: str, params: Sequence[Any] | dict[str, Any] | None = None
) -> int:
    """The integer in the first cell, 0 when it is NULL or there is no row."""
    row = first(con, sql, params)
    return int(row[0]) if row and row[0] is not None else 0
