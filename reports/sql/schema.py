"""What SQL can be asked about: every table with its columns, units, meanings and number of rows."""

import csv
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from data.catalogue_tables import SCHEMA, TABLES, column_types
from data.tables import FILES_ONLY, SCHEMA_DIR, quote, tables

if TYPE_CHECKING:
    from data.store import Store

HIDDEN = frozenset({"schema_migrations"})
_WORDS = SCHEMA_DIR / "words"
_ANY = "*"
_DUCKDB = {
    "string": "VARCHAR",
    "int64": "BIGINT",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "date32[day]": "DATE",
}
_DUCKDB |= {"timestamp[us]": "TIMESTAMP", "list<item: string>": "VARCHAR[]"}


@dataclass(frozen=True)
class ColumnInfo:
    """A column; `unit` '' where it has none or another column says it."""

    name: str
    type: str
    unit: str
    description: str


@dataclass(frozen=True)
class TableInfo:
    """A table as SQL names it ('runs', 'catalogue.prices'), and its number of rows today."""

    name: str
    description: str
    columns: tuple[ColumnInfo, ...]
    rows: int


def describe(store: "Store") -> list[TableInfo]:
    """Every table that a person's SELECT may read: telemetry by name, then the catalogue."""
    with store.view() as view:
        names = [name for name in tables() if name not in HIDDEN]
        inside = [name for name in names if name not in FILES_ONLY]
        counts = view.rows(
            " UNION ALL BY NAME ".join(f"SELECT '{n}' AS name, count(*) AS n FROM {quote(n)}" for n in inside)
        )
        rows = {str(name): int(count) for name, count in counts}
        rows["gpu_samples"] = int(view.rows("SELECT coalesce(sum(rows), 0)::BIGINT FROM gpu_parts")[0][0])
        book = view.catalogue
    telemetry = [TableInfo(name, _table_words()[name], _telemetry(name), rows[name]) for name in names]
    catalogue = [
        TableInfo(f"{SCHEMA}.{name}", table.description, _catalogue(name), sum(1 for _ in table.rows(book)))
        for name, table in TABLES.items()
    ]
    return telemetry + catalogue


@functools.cache
def known_tables() -> frozenset[str]:
    """Names of all tables that SQL may read, in small letters."""
    return frozenset({*(set(tables()) - HIDDEN), *(f"{SCHEMA}.{name}" for name in TABLES)})


def _telemetry(name: str) -> tuple[ColumnInfo, ...]:
    return tuple(ColumnInfo(c.name, c.type, c.unit, c.description) for c in tables()[name])


@functools.cache
def _catalogue(name: str) -> tuple[ColumnInfo, ...]:
    words = _column_words()
    return tuple(
        ColumnInfo(column, _DUCKDB[str(kind)], *(words.get((name, column)) or words[_ANY, column]))
        for column, kind in column_types(TABLES[name].kind).items()
    )


@functools.cache
def _table_words() -> dict[str, str]:
    with (_WORDS / "tables.csv").open(encoding="utf-8", newline="") as handle:
        return {row["table"]: row["description"] for row in csv.DictReader(handle)}


@functools.cache
def _column_words() -> dict[tuple[str, str], tuple[str, str]]:
    """Unit and description by table and column; table '*' stands for all that lack their own."""
    with (_WORDS / "catalogue_columns.csv").open(encoding="utf-8", newline="") as handle:
        return {
            (row["table"], row["column"]): (row["unit"], row["description"]) for row in csv.DictReader(handle)
        }
