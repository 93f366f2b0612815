"""The telemetry tables as data/schema/*.csv describe them, and the SQL that creates them."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SCHEMA_DIR = Path(__file__).parent / "schema"
FILES_ONLY = frozenset({"gpu_samples"})
"""Described tables that live in Parquet parts, not in the database."""
NOT_TABLES = frozenset({"formats", "keymap"})


@dataclass(frozen=True)
class Column:
    """One column: name, DuckDB type, unit, whether it must be filled, other names in files, meaning, key."""

    name: str
    type: str
    unit: str
    required: bool
    aliases: tuple[str, ...]
    description: str
    key: bool


@cache
def tables() -> dict[str, tuple[Column, ...]]:
    """All described tables, by name, columns in their order."""
    paths = sorted(SCHEMA_DIR.glob("*.csv"))
    return {p.stem: _read(p) for p in paths if p.stem not in NOT_TABLES}


def columns(table: str) -> list[str]:
    """Column names of a table in their order."""
    return [c.name for c in tables()[table]]


def keys(table: str) -> list[str]:
    """Names of the columns that identify a row; empty when rows have no identity of their own."""
    return [c.name for c in tables()[table] if c.key]


def types(table: str) -> dict[str, str]:
    """DuckDB type by column name."""
    return {c.name: c.type for c in tables()[table]}


def ddl() -> str:
    """CREATE TABLE statements of all tables in the database, in alphabetical order."""
    return "\n".join(_create(name, cols) for name, cols in tables().items() if name not in FILES_ONLY)


def quote(identifier: str) -> str:
    """A SQL identifier in double quotes."""
    return '"' + identifier.replace('"', '""') + '"'


def _read(path: Path) -> tuple[Column, ...]:
    with path.open(encoding="utf-8", newline="") as handle:
        return tuple(
            Column(
                name=row["name"],
                type=row["type"],
                unit=row["unit"],
                required=row["required"] == "yes",
                aliases=tuple(a for a in row["aliases"].split("|") if a),
                description=row["description"],
                key=row["key"] == "yes",
            )
            for row in csv.DictReader(handle)
        )


def _create(name: str, cols: Sequence[Column]) -> str:
    lines = [f"    {quote(c.name)} {c.type}{' NOT NULL' if c.required else ''}" for c in cols]
    return f"CREATE TABLE {quote(name)} (\n" + ",\n".join(lines) + "\n);\n"


if __name__ == "__main__":
    print(ddl(), end="")
