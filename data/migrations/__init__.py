"""Numbered SQL files that bring a telemetry database to the present schema, oldest first."""

from pathlib import Path

import duckdb

from data.errors import UserError
from data.sql import number

FOLDER = Path(__file__).parent


def files() -> list[tuple[int, Path]]:
    """(version, path) of every migration in order."""
    return [(int(p.name.split("_", 1)[0]), p) for p in sorted(FOLDER.glob("[0-9]*.sql"))]


def migrate(con: duckdb.DuckDBPyConnection) -> int:
    """Apply what is missing, each file in its own transaction; returns the version reached.

    Raises UserError when the database was written by a newer version of the app.
    """
    current = _version(con)
    known = files()
    if current > known[-1][0]:
        raise UserError(
            f"The telemetry database has schema version {current}, this app knows {known[-1][0]}",
            remedy="Update the app.",
        )
    for version, path in known:
        if version <= current:
            continue
        con.execute("BEGIN")
        try:
            con.execute(path.read_text(encoding="utf-8"))
            con.execute("INSERT INTO schema_migrations VALUES (?, ?, now()::TIMESTAMP)", [version, path.name])
            con.execute("COMMIT")
        except BaseException:
            con.execute("ROLLBACK")
            raise
    return known[-1][0]


def _version(con: duckdb.DuckDBPyConnection) -> int:
    try:
        return number(con, "SELECT max(version) FROM schema_migrations")
    except duckdb.CatalogException:  # a new database: the first migration makes the table
        return 0
