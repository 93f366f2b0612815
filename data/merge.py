"""Rows into tables, by key: what is stored already stays, empty cells are filled, new rows are added."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import duckdb
import pandas as pd
import pyarrow as pa

from data.sql import number
from data.tables import columns, keys, quote, tables, types

Policy = Literal["keep", "replace"]

NUMERIC = frozenset({"DOUBLE", "BIGINT", "INTEGER"})
PLACES = frozenset({"upload_id", "line"})
"""Where a row stood: the same row in another file, or on another line of it, is the same row."""
SAME_RELATIVE = 1e-9
"""Two readings of one logged number are equal up to the last digits of a double."""


@dataclass(frozen=True)
class Merged:
    """Rows added, rows completed or replaced, rows whose values contradict the stored ones."""

    added: int = 0
    completed: int = 0
    conflicts: int = 0

    @property
    def written(self) -> int:
        """Rows that changed."""
        return self.added + self.completed


def merge(con: duckdb.DuckDBPyConnection, table: str, frame: pd.DataFrame, policy: Policy = "keep") -> Merged:
    """Merge `frame` (columns: a subset of the table's) inside the caller's transaction.

    Tables with a key: one row a key; stored values win over contradicting ones under "keep", lose under
    "replace". Tables without: rows equal to stored ones in every column but PLACES are the same rows (as
    often as they occur), so that overlapping exports do not count twice. RuntimeError for unknown columns or
    empty required cells, which is a fault of the reader.
    """
    if frame.empty:
        return Merged()
    _check(table, frame)
    arrow = pa.Table.from_pandas(_one_row_a_key(table, frame), preserve_index=False)
    con.register("incoming_raw", arrow)
    con.execute(f"CREATE OR REPLACE TEMP TABLE incoming AS {_typed('incoming_raw', table, frame.columns)}")
    con.unregister("incoming_raw")
    if keys(table):
        merged = _merge_keyed(con, table, list(frame.columns), policy)
    else:
        merged = Merged(added=_add_to_bag(con, table))
    con.execute("DROP TABLE incoming")
    return merged


def same_number(left: str, right: str) -> str:
    """SQL: two numbers are equal up to the last digits of a double; NaN equals NaN."""
    near = f"{SAME_RELATIVE} * greatest(abs({left}), abs({right}))"
    return f"({left} = {right} OR abs({left} - {right}) <= {near})"


def differs(column: str, kind: str, left: str = "i", right: str = "s") -> str:
    """SQL: both sides have a value of `column` and the values are not the same."""
    a, b = f"{left}.{quote(column)}", f"{right}.{quote(column)}"
    same = same_number(a, b) if kind in NUMERIC else f"{a} = {b}"
    return f"({a} IS NOT NULL AND {b} IS NOT NULL AND NOT {same})"


def _check(table: str, frame: pd.DataFrame) -> None:
    unknown = set(frame.columns) - set(columns(table))
    if unknown:
        raise RuntimeError(f"columns {sorted(unknown)} are not in table {table}")
    for column in tables()[table]:
        if column.required and (column.name not in frame or frame[column.name].isna().any()):
            raise RuntimeError(f"{table}.{column.name} must be filled")


def _one_row_a_key(table: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Fold repeated keys: the last value that is there wins."""
    named = [key for key in keys(table) if key in frame]
    if not named or not frame.duplicated(named).any():
        return frame
    return frame.groupby(named, dropna=False, sort=False, as_index=False).last()


def _typed(relation: str, table: str, given: Iterable[str]) -> str:
    present = set(given)
    parts = [
        f"CAST({quote(name) if name in present else 'NULL'} AS {kind}) AS {quote(name)}"
        for name, kind in types(table).items()
    ]
    return f"SELECT {', '.join(parts)} FROM {relation}"


def _add_to_bag(con: duckdb.DuckDBPyConnection, table: str) -> int:
    content = [quote(c) for c in columns(table) if c not in PLACES]
    listed = ", ".join(content)
    order = "ORDER BY line" if "line" in columns(table) else ""
    numbered = f"SELECT *, row_number() OVER (PARTITION BY {listed} {order}) AS nth FROM"
    same = " AND ".join(f"s.{name} IS NOT DISTINCT FROM i.{name}" for name in [*content, "nth"])
    return number(
        con,
        f"INSERT INTO {quote(table)} BY NAME SELECT * EXCLUDE (nth) FROM ({numbered} incoming) i "
        f"ANTI JOIN ({numbered} {quote(table)}) s ON {same}",
    )


def _merge_keyed(con: duckdb.DuckDBPyConnection, table: str, given: list[str], policy: Policy) -> Merged:
    target = quote(table)
    match = " AND ".join(f"s.{quote(k)} IS NOT DISTINCT FROM i.{quote(k)}" for k in keys(table))
    conflicts = completed = 0
    values = [c for c in given if c not in keys(table) and c != "upload_id"]
    if values and number(con, f"SELECT count(*) FROM {target} s SEMI JOIN incoming i ON {match}"):
        kinds = types(table)
        clash = " OR ".join(differs(c, kinds[c]) for c in values)
        conflicts = number(con, f"SELECT count(*) FROM {target} s JOIN incoming i ON {match} WHERE {clash}")
        first, second = ("s", "i") if policy == "keep" else ("i", "s")
        fills = " OR ".join(f"(s.{quote(c)} IS NULL AND i.{quote(c)} IS NOT NULL)" for c in values)
        sets = ", ".join(f"{quote(c)} = coalesce({first}.{quote(c)}, {second}.{quote(c)})" for c in values)
        changed = fills if policy == "keep" else f"{fills} OR {clash}"
        completed = number(con, f"UPDATE {target} s SET {sets} FROM incoming i WHERE {match} AND ({changed})")
    added = number(
        con, f"INSERT INTO {target} BY NAME SELECT * FROM incoming i ANTI JOIN {target} s ON {match}"
    )
    return Merged(added, completed, conflicts)
