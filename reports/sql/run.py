"""Run one SELECT of a person in a process of its own, on a read-only copy, within limits."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from data.snapshot import PARTS, held
from reports.sql import gate
from reports.sql.child import Order
from reports.sql.errors import SqlError, at, short, without_paths
from reports.sql.schema import known_tables

ROOT = Path(__file__).resolve().parents[2]
_START = """
import sys
sys.modules.update(numpy=None, pandas=None)  # both libraries do without, and it halves the start
sys.path.insert(0, sys.argv[1])
from reports.sql.child import main
main(sys.stdin.buffer, sys.stdout.buffer)
"""
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve a gigabyte of address space
    "ARROW_IO_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}
_TICK_SECONDS = 0.05
DIGITS = 38
"""Of the longest exact decimal."""
_CHUNK = 1 << 16
_HEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class Limits:
    """How far one query may go; `seconds` from start to answer, `memory_mb` of the database."""

    rows: int = 100_000
    bytes: int = 64 << 20
    seconds: float = 20.0
    memory_mb: int = 512
    address_mb: int = 1536


@dataclass(frozen=True)
class SqlAnswer:
    """Rows of a query. `cut`: there were more than the limits allow. `seconds` the database worked.

    `rows_scanned` counts what was read from tables; None: no table in it was read, or the database did not
    count. `notes` name columns that could not be kept as they were.
    """

    table: pa.Table
    rows_scanned: int | None
    rows_returned: int
    cut: bool
    seconds: float
    notes: tuple[str, ...] = ()


class CancelledError(SqlError):
    """The person stopped the query."""


def run_sql(
    snapshot: Path,
    sql: str,
    *,
    parameters: Mapping[str, float | str | date] | None = None,
    tables: Mapping[str, pa.Table] | None = None,
    limits: Limits = Limits(),
    cancel: threading.Event | None = None,
) -> SqlAnswer:
    """Rows of one SELECT over a snapshot (`data.snapshot`), earlier `tables` by name and `$parameters`.

    Raises SqlError with the place in the SQL, CancelledError when `cancel` is set meanwhile.
    """
    given = dict(tables or {})
    own = known_tables()
    clash = sorted(name for name in given if name.casefold() in own)
    if clash:
        raise SqlError(
            f"A cell and a table are both named '{clash[0]}'", f"cell {clash[0]}", "Rename the cell."
        )
    known = own | {name.casefold() for name in given}
    unread = gate.check(sql, known)
    streams = {name: _stream(table) for name, table in given.items()}
    order = _order(snapshot, sql, dict(parameters or {}), streams, known, limits, unread)
    with held(snapshot):
        return run_order(order, list(streams.values()), cancel)


def run_order(order: Order, streams: list[pa.Buffer], cancel: threading.Event | None = None) -> SqlAnswer:
    """Start the child, give it the order, and read its answer within the time limit."""
    head, body = _Talk(order, streams, cancel).answer()
    if "cut" not in head:
        raise _refusal(order, head)
    table = pa.ipc.open_stream(pa.py_buffer(body)).read_all()
    table.validate(full=True)
    table, said = with_numbers(table, head["large"])
    return SqlAnswer(
        table,
        head["rows_scanned"],
        table.num_rows,
        bool(head["cut"]),
        float(head["seconds"]),
        (*head["notes"], *said),
    )


def with_numbers(table: pa.Table, large: list[str]) -> tuple[pa.Table, list[str]]:
    """Whole numbers that came as text: BIGINT where all of a column fit, else exact decimals, else text."""
    notes = []
    for name in large:
        place = table.column_names.index(name)
        column = table.column(place)
        try:
            table = table.set_column(place, name, column.cast(pa.int64()))
        except pa.ArrowInvalid:
            if max(len(text.lstrip("-")) for text in column.to_pylist() if text) <= DIGITS:
                table = table.set_column(place, name, column.cast(pa.decimal128(DIGITS, 0)))
            else:
                notes.append(f"{name}: numbers of more than {DIGITS} digits: shown as text")
    return table, notes


def _order(
    snapshot: Path,
    sql: str,
    parameters: dict[str, Any],
    streams: Mapping[str, pa.Buffer],
    known: frozenset[str],
    limits: Limits,
    unread: str,
) -> Order:
    dates = [name for name, value in parameters.items() if isinstance(value, date)]
    plain = {n: v.isoformat() if isinstance(v, date) else v for n, v in parameters.items()}
    return Order(
        database=str(snapshot),
        parts=str(snapshot.parent / PARTS),
        sql=sql,
        parameters=plain,
        dates=dates,
        tables=[(name, stream.size) for name, stream in streams.items()],
        known=sorted(known),
        most_rows=limits.rows,
        most_bytes=limits.bytes,
        memory_bytes=limits.memory_mb << 20,
        address_bytes=limits.address_mb << 20,
        seconds=limits.seconds,
        unread=unread,
    )


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as out:
        out.write_table(table)
    return sink.getvalue()


class _Talk:
    """One child process and the bytes to and from it."""

    def __init__(self, order: Order, streams: list[pa.Buffer], cancel: threading.Event | None) -> None:
        self._order, self._cancel = order, cancel
        self._waiting = [memoryview(order.line()), *(memoryview(stream) for stream in streams)]
        self._out, self._err = bytearray(), bytearray()
        self._most = order.most_bytes * 2 + _HEAD_BYTES

    def answer(self) -> tuple[dict[str, Any], bytes]:
        """Head and body of the child's answer. Raises SqlError: too slow, too large, stopped, broken."""
        with tempfile.TemporaryDirectory(prefix="sql-") as nowhere, _child(nowhere) as process:
            self._exchange(process)
            process.wait()
        line, found, body = bytes(self._out).partition(b"\n")
        if not found:
            raise self._ended(process.returncode)
        return dict(json.loads(line)), body

    def _exchange(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + self._order.seconds
        stdin, stdout, stderr = _pipes(process)
        with selectors.DefaultSelector() as selector:
            os.set_blocking(stdin.fileno(), False)
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ, self._out)
            selector.register(stderr, selectors.EVENT_READ, self._err)
            while selector.get_map():
                self._check(deadline)
                for key, _ in selector.select(_TICK_SECONDS):
                    if key.fileobj is stdin:
                        self._send(stdin, selector)
                    elif not self._receive(key.fd, key.data):
                        selector.unregister(key.fileobj)

    def _check(self, deadline: float) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise CancelledError("The query was stopped", "SQL", "Run it again when you want.")
        if time.monotonic() > deadline:
            raise SqlError(
                f"The query was stopped after {self._order.seconds:g} s",
                "SQL",
                "Ask for less: filter before a join, or group the rows.",
            )

    def _send(self, stdin: IO[bytes], selector: selectors.BaseSelector) -> None:
        try:
            while self._waiting:
                sent = os.write(stdin.fileno(), self._waiting[0][:_CHUNK])
                self._waiting[0] = self._waiting[0][sent:]
                if not self._waiting[0]:
                    del self._waiting[0]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._waiting.clear()
        selector.unregister(stdin)
        stdin.close()

    def _receive(self, handle: int, into: bytearray) -> bool:
        got = os.read(handle, _CHUNK)
        into += got
        if len(into) > self._most:
            raise SqlError("The answer is too large", "SQL", "Select fewer columns or rows.")
        return bool(got)

    def _ended(self, code: int) -> SqlError:
        if code == -signal.SIGXCPU or code == -signal.SIGALRM:
            return SqlError("The query used up its time", "SQL", "Ask for less, or group the rows.")
        if (
            code in (-signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS)
            or b"MemoryError" in self._err
        ):
            return _memory(self._order)
        reason = without_paths(self._err.decode(errors="replace").strip().rpartition("\n")[2])
        return SqlError(
            f"The query's process ended: {reason or code}", "SQL", "Run it again, or write it simpler."
        )


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise RuntimeError("the child was started without pipes")
    return process.stdin, process.stdout, process.stderr


@contextlib.contextmanager
def _child(folder: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A fresh interpreter without our environment, files or folder; killed with all it started at the end."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _START, str(ROOT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=_ENVIRONMENT,
        close_fds=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in _pipes(process):
            pipe.close()


def _memory(order: Order) -> SqlError:
    return SqlError(
        f"The query needs more than {order.memory_bytes >> 20} MB of memory",
        "SQL",
        "Ask for less: filter first, select fewer columns, or group the rows.",
    )


_REMEDIES = {
    "Parser": "Correct the SQL there.",
    "Binder": "Compare with the list of tables and columns.",
    "Catalog": "Compare with the list of tables and columns.",
    "Conversion": "Use try_cast where a value may not fit.",
    "Permission": "SQL here reads the tables of the list only.",
}


def _refusal(order: Order, head: Mapping[str, Any]) -> SqlError:
    if head.get("memory"):
        return _memory(order)
    what = without_paths(short(str(head["what"]))).rstrip(".")
    remedy = head.get("remedy") or _REMEDIES.get(str(head.get("kind")), "Correct the SQL.")
    return at(order.sql, what[:1].upper() + what[1:], str(remedy), head.get("position"))
