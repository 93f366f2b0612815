"""The telemetry store of a home: one DuckDB connection a process, a cursor a thread, one writer at a time."""

import logging
import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import duckdb

from data.errors import HomeBusyError, UserError
from data.forecasts import kept
from data.memo import Memo
from data.migrations import migrate
from data.snapshot import sweep
from data.view import View, open_view
from data.workspace import MONEY_KINDS, Workspace, utc_now

LOG = logging.getLogger(__name__)
DATABASE = "telemetry.duckdb"
DRAIN_SECONDS = 30.0

_open_stores: dict[Path, "Store"] = {}
_registry_lock = threading.RLock()


def get_store(home: Path) -> "Store":
    """The store of a home, opened once per process."""
    return Store.open(home)


class Store:
    """Telemetry database, workspace, originals and GPU parts of one home directory."""

    def __init__(self, home: Path) -> None:
        """Use `Store.open`; a second object on one home would not share the write lock."""
        self.home = home
        self.notices: list[str] = []
        self._memo = Memo()
        self._write_lock = threading.RLock()
        self._gate = threading.Condition()
        self._views = 0
        self._swapping = False
        self._con: duckdb.DuckDBPyConnection | None = None
        for folder in (self.parts, self.spool, self.originals, self.home / "reports"):
            folder.mkdir(parents=True, exist_ok=True)
        had_database = self.database.exists()
        self._con = self._connect_or_set_aside()
        self.workspace = Workspace(home / "workspace.sqlite")
        self._recover(had_database)

    @classmethod
    def open(cls, home: Path) -> "Store":
        """The process-wide store of `home`; creates, migrates, recovers or rebuilds it as needed.

        Raises HomeBusyError when another process holds the home.
        """
        path = Path(home).expanduser().resolve()
        with _registry_lock:
            found = _open_stores.get(path)
            if found is None:
                found = _open_stores[path] = cls(path)
            return found

    @property
    def database(self) -> Path:
        """The telemetry database file."""
        return self.home / DATABASE

    @property
    def parts(self) -> Path:
        """Folder of the Parquet parts of GPU samples."""
        return self.home / "parts"

    @property
    def spool(self) -> Path:
        """Folder of uploads in flight."""
        return self.home / "spool"

    @property
    def originals(self) -> Path:
        """Folder of the original bytes, by hash."""
        return self.home / "originals"

    def original(self, sha256: str) -> Path:
        """Where the original with this hash is kept."""
        return self.originals / sha256[:2] / sha256

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor for the calling thread; close it after use."""
        if self._con is None:
            raise RuntimeError(f"the store of {self.home} is closed")
        return self._con.cursor()

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor in a write transaction: one at a time, committed at the end, rolled back on any error."""
        with self._write_lock:
            cursor = self.cursor()
            try:
                cursor.execute("BEGIN")
                yield cursor
                _touch(cursor)
                cursor.execute("COMMIT")
            except BaseException:
                _rollback(cursor)
                raise
            finally:
                cursor.close()
            self._sweep_parts()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the write lock over several transactions."""
        with self._write_lock:
            yield

    @contextmanager
    def view(self) -> Iterator[View]:
        """A pinned, read-only snapshot for the calling thread."""
        with self._gate:
            while self._swapping:
                self._gate.wait()
            self._views += 1
        try:
            cursor = self.cursor()
            try:
                money = self.workspace.decisions(live_only=True, kinds=MONEY_KINDS)
                view = open_view(cursor, self.parts, money, self._memo)
                yield replace(view, forecasts=partial(kept, self.workspace))
            finally:
                _rollback(cursor)
                cursor.close()
        finally:
            with self._gate:
                self._views -= 1
                self._gate.notify_all()

    def swap_database(self, fresh: Path) -> None:
        """Put a finished database file in the place of the present one, when no view is open."""
        with self._write_lock:
            with self._gate:
                self._swapping = True
                drained = self._gate.wait_for(lambda: self._views == 0, timeout=DRAIN_SECONDS)
            try:
                if not drained:
                    raise UserError(
                        "The telemetry is in use", str(self.home), "Wait for running pages, then try again."
                    )
                if self._con is not None:
                    self._con.close()
                Path(f"{self.database}.wal").unlink(missing_ok=True)
                fresh.replace(self.database)
                self._con = connect(self.database, self.home)
            finally:
                with self._gate:
                    self._swapping = False
                    self._gate.notify_all()
        self._sweep_parts()

    def close(self) -> None:
        """Release the home."""
        with _registry_lock, self._write_lock:
            if self._con is not None:
                self._con.close()
                self._con = None
            if _open_stores.get(self.home) is self:
                del _open_stores[self.home]

    def _connect_or_set_aside(self) -> duckdb.DuckDBPyConnection:
        try:
            return connect(self.database, self.home)
        except duckdb.Error as error:
            if not self.database.exists() or not is_damage(error):
                raise
            aside = set_aside(self.database)
            note = (
                f"The telemetry database could not be read ({_first_line(error)}); "
                f"it was moved to {aside.name}"
            )
            LOG.exception(note)
            self.notices.append(note)
            return connect(self.database, self.home)

    def _recover(self, had_database: bool) -> None:
        from data.rebuild import catch_up, derive_if_older

        try:
            for child in self.spool.iterdir():
                shutil.rmtree(child) if child.is_dir() else child.unlink()
            sweep(self.home)
            catch_up(self, fresh=not had_database or bool(self.notices))
            derive_if_older(self)
            self._sweep_parts()
        except BaseException:
            self.close()
            raise

    def _sweep_parts(self) -> None:
        """Delete parts that no committed row names; only when no view could still read them."""
        with self._write_lock, self._gate:
            if self._views:
                return
            cursor = self.cursor()
            try:
                known = {name for (name,) in cursor.execute("SELECT file FROM gpu_parts").fetchall()}
            finally:
                cursor.close()
            for path in self.parts.iterdir():
                if path.name not in known:
                    path.unlink()


def connect(database: Path, home: Path) -> duckdb.DuckDBPyConnection:
    """Open and migrate a telemetry database that can touch no file outside its home.

    Raises HomeBusyError with the other process's id when it is held.
    """
    temporary = home / "spool"
    try:
        con = duckdb.connect(
            str(database),
            config={
                "preserve_insertion_order": False,
                "TimeZone": "UTC",
                "python_enable_replacements": False,
                "autoinstall_known_extensions": False,
                "temp_directory": str(temporary / f"duckdb-{uuid4().hex}"),
                **_threads(),
            },
        )
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            raise _busy(home, error) from error
        raise
    try:
        con.execute(f"SET allowed_directories = ['{str(home).replace(chr(39), chr(39) * 2)}']")
        con.execute("SET enable_external_access = false")
        migrate(con)
        con.execute(
            "INSERT INTO meta SELECT 'data_version', '0-' || ? WHERE NOT EXISTS "
            "(FROM meta WHERE key = 'data_version')",
            [uuid4().hex[:8]],
        )
    except BaseException:
        con.close()
        raise
    return con


def _threads() -> dict[str, int]:
    """Cores the database may use: IPD_THREADS, default all. Raises UserError for what is no such number."""
    said = os.environ.get("IPD_THREADS", "")
    if said and not (said.isdigit() and int(said) > 0):
        raise UserError(
            f"'{said}' is no number of threads", "IPD_THREADS", "Give 1 or more, or leave it out."
        )
    return {"threads": int(said)} if said else {}


def is_damage(error: duckdb.Error) -> bool:
    """True when a file is refused for its content, not because of rights, locks or space."""
    if isinstance(error, HomeBusyError):
        return False
    text = str(error).lower()
    words = (
        "corrupt",
        "not a valid duckdb",
        "checksum",
        "wal file",
        "serializ",
        "deserializ",
        "internal error",
    )
    return any(word in text for word in words)


def set_aside(database: Path) -> Path:
    """Rename a broken database and its log beside themselves; returns the new place of the database."""
    stamp = utc_now().strftime("%Y%m%dT%H%M%S%f")
    aside = database.with_name(f"{database.name}.broken-{stamp}")
    wal = Path(f"{database}.wal")
    if wal.exists():
        wal.rename(f"{aside}.wal")
    return database.rename(aside)


def _busy(home: Path, error: Exception) -> HomeBusyError:
    pid = re.search(r"PID (\d+)", str(error))
    who = f"process {pid.group(1)}" if pid else "another process"
    return HomeBusyError(
        f"The home is held by {who}",
        str(home),
        "Stop that process, go through its server, or name another home with --home or IPD_HOME.",
    )


def _touch(cursor: duckdb.DuckDBPyConnection) -> None:
    cursor.execute(
        "UPDATE meta SET value = (split_part(value, '-', 1)::BIGINT + 1) || '-' || split_part(value, '-', 2) "
        "WHERE key = 'data_version'"
    )


def _rollback(cursor: duckdb.DuckDBPyConnection) -> None:
    try:
        cursor.execute("ROLLBACK")
    except duckdb.TransactionException:
        LOG.debug("no transaction was open")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200]
