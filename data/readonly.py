"""A home opened to read and nothing else: no table is made, migrated, derived or swept."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb

from data.derive import DERIVATION
from data.errors import UserError
from data.forecasts import kept
from data.memo import Memo
from data.migrations import files
from data.store import DATABASE, _busy
from data.view import View, open_view
from data.workspace import _VERSION, MONEY_KINDS, Workspace

_UPDATE = "Open the home once with this version of the app: `cli.py analyse ledger --home …` does."


class ReadOnlyWorkspace(Workspace):
    """Decisions and kept forecasts of a home, read through a connection that cannot write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._raw() as con:
            (version,) = con.execute("PRAGMA user_version").fetchone()
        _check(path, "workspace", int(version), _VERSION)

    @contextmanager
    def _raw(self) -> Iterator[sqlite3.Connection]:
        con = sqlite3.connect(f"{self.path.as_uri()}?mode=ro", timeout=30, isolation_level=None, uri=True)
        con.row_factory = sqlite3.Row
        try:
            yield con
        finally:
            con.close()


class ReadOnlyHome:
    """Telemetry and decisions of a home; close it, since nobody can write meanwhile."""

    def __init__(self, home: Path) -> None:
        """Raises UserError for a folder that is no home or of another version, HomeBusyError while held."""
        self.home = home
        database, workspace = home / DATABASE, home / "workspace.sqlite"
        if not database.is_file() or not workspace.is_file():
            raise UserError(
                "This folder holds no home",
                str(home),
                "Name the folder that the app serves, or set IPD_HOME.",
            )
        self.workspace = ReadOnlyWorkspace(workspace)
        self._memo = Memo()
        self._con = _connect(database, home)
        try:
            _check_database(self._con, database)
        except BaseException:
            self._con.close()
            raise

    @contextmanager
    def view(self) -> Iterator[View]:
        """A pinned snapshot for the calling thread."""
        cursor = self._con.cursor()
        try:
            money = self.workspace.decisions(live_only=True, kinds=MONEY_KINDS)
            view = open_view(cursor, self.home / "parts", money, self._memo)
            yield replace(view, forecasts=partial(kept, self.workspace))
        finally:
            cursor.close()

    def close(self) -> None:
        """Let others write again."""
        self._con.close()


def _connect(database: Path, home: Path) -> duckdb.DuckDBPyConnection:
    settings: dict[str, str | bool | int | float | list[str]] = {
        "preserve_insertion_order": False,
        "TimeZone": "UTC",
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
    }
    try:
        con = duckdb.connect(str(database), read_only=True, config=settings)
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            raise _busy(home, error) from error
        raise
    con.execute(f"SET allowed_directories = ['{str(home).replace(chr(39), chr(39) * 2)}']")
    con.execute("SET enable_external_access = false")
    return con


def _check_database(con: duckdb.DuckDBPyConnection, database: Path) -> None:
    found = con.execute("SELECT max(version) FROM schema_migrations").fetchone()
    _check(database, "telemetry database", int(found[0]) if found else 0, files()[-1][0])
    derived = con.execute("SELECT value FROM meta WHERE key = 'derivation'").fetchall()
    runs = con.execute("SELECT 1 FROM run_sources LIMIT 1").fetchall()
    if runs and derived != [(DERIVATION,)]:
        raise UserError("An older version of the app derived this home", str(database), _UPDATE)


def _check(path: Path, what: str, version: int, known: int) -> None:
    if version != known:
        remedy = _UPDATE if version < known else "Update the app."
        raise UserError(f"The {what} has version {version}, this app knows {known}", str(path), remedy)
