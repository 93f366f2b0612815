"""A read-only copy of the telemetry, one for each state of the data, with the catalogue, for people's SQL."""

import errno
import fcntl
import logging
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4
from weakref import WeakKeyDictionary

import duckdb

from data.catalogue_tables import write_catalogue
from data.errors import UserError

if TYPE_CHECKING:
    from data.catalogue import Catalogue
    from data.store import Store
    from data.view import View

LOG = logging.getLogger(__name__)
FOLDER = "snapshots"
DATABASE = "telemetry.duckdb"
PARTS = "parts"
IN_USE = "in-use"
SPARE_BYTES = 64 << 20
"""Free space that a copy leaves, and that the tables of the catalogue find room in."""
KEPT = 2
"""The newest one, and the one before it for whoever has just been given it."""


class SnapshotError(UserError):
    """No copy of the telemetry can be made or found."""


@dataclass
class _Copies:
    """The copies of one store, oldest first."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    made: dict[tuple[str, ...], Path] = field(default_factory=dict)


_copies: "WeakKeyDictionary[Store, _Copies]" = WeakKeyDictionary()
_guard = threading.Lock()


def snapshot(store: "Store") -> Path:
    """The database file of the copy of the present data, prices and catalogue; made when there is none yet.

    GPU samples lie beside it in PARTS, as Parquet. One that is no longer the newest is removed once nobody
    holds it (`held`). Raises SnapshotError when the disk is full or refuses.
    """
    with _guard:
        copies = _copies.setdefault(store, _Copies())
    with copies.lock:
        with store.view() as view:
            found = copies.made.get(_key(view))
        if found is not None and found.exists():
            return found
        key, folder = _make(store)
        copies.made[key] = folder / DATABASE
        _remove_old(copies)
        return folder / DATABASE


@contextmanager
def held(database: Path) -> Iterator[Path]:
    """Keep a snapshot on the disk while its file and parts are read. Raises SnapshotError when it is gone."""
    try:
        handle = os.open(database.parent / IN_USE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise SnapshotError("The data changed meanwhile", "snapshot", "Run it again.") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        if not database.exists():
            raise SnapshotError("The data changed meanwhile", "snapshot", "Run it again.")
        yield database
    finally:
        os.close(handle)


def sweep(home: Path) -> None:
    """Remove the copies that an earlier process left; call it while no other process holds the home."""
    if (home / FOLDER).exists():
        shutil.rmtree(home / FOLDER)


def _key(view: "View") -> tuple[str, ...]:
    return str(view.data_version), view.catalogue.version, str(view.money_version), str(view.day)


def _make(store: "Store") -> tuple[tuple[str, ...], Path]:
    making = store.home / FOLDER / f"making-{uuid4().hex}"
    try:
        making.mkdir(parents=True, mode=0o700)
        key, catalogue = _copy(store, making)
        with _writable(making / DATABASE) as con:
            write_catalogue(con, catalogue)
        (making / IN_USE).touch(mode=0o600)
        done = making.with_name(uuid4().hex)
        making.rename(done)
    except (OSError, duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise _refusal(error) from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return key, done


def _copy(store: "Store", target: Path) -> tuple[tuple[str, ...], "Catalogue"]:
    """Copy the database and link the parts while nobody writes; returns what the copy is of."""
    with store.exclusive(), store.view() as view:
        needed = store.database.stat().st_size + SPARE_BYTES
        free = shutil.disk_usage(target).free
        if free < needed:
            raise SnapshotError(
                f"A copy of the telemetry for SQL needs {needed >> 20} MB, {free >> 20} MB are free",
                "disk of the home",
                "Free some space, then run it again.",
            )
        cursor = store.cursor()
        try:
            cursor.execute("CHECKPOINT")
        except duckdb.TransactionException:
            LOG.info("the log of the telemetry is copied as well: an older view is open")
        finally:
            cursor.close()
        shutil.copyfile(store.database, target / DATABASE)
        log = Path(f"{store.database}.wal")
        if log.exists():
            shutil.copyfile(log, target / f"{DATABASE}.wal")
        (target / PARTS).mkdir()
        for (name,) in view.rows("SELECT file FROM gpu_parts"):
            _link(store.parts / name, target / PARTS / name)
        return _key(view), view.catalogue


def _link(source: Path, target: Path) -> None:
    """A second name for a file that is never changed; a copy where the file system has no second names."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EXDEV, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS):
            raise
        shutil.copyfile(source, target)


@contextmanager
def _writable(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    config: dict[str, str | bool | int | float | list[str]] = {
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "threads": 1,
    }
    con = duckdb.connect(str(database), config=config)
    try:
        yield con
        con.execute("CHECKPOINT")
    finally:
        con.close()


def _remove_old(copies: _Copies) -> None:
    for key in list(copies.made)[:-KEPT]:
        folder = copies.made[key].parent
        try:
            handle = os.open(folder / IN_USE, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            del copies.made[key]
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(folder)
            del copies.made[key]
        finally:
            os.close(handle)


def _refusal(error: Exception) -> SnapshotError:
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error)
    if full:
        return SnapshotError(
            "The disk is full: no copy of the telemetry for SQL can be made",
            "disk of the home",
            "Free some space, then run it again.",
        )
    reason = getattr(error, "strerror", None) or type(error).__name__
    return SnapshotError(
        f"No copy of the telemetry for SQL can be made: {reason}",
        "folder snapshots of the home",
        "See that the server may write there, then run it again.",
    )
