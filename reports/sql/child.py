"""The process that runs one SELECT of a person: hardened database, own limits, rows back as Arrow.

It is started anew for every query. On stdin comes a line of JSON (`Order`), then each table as an Arrow
stream; on stdout goes a line of JSON, then the rows as an Arrow stream. Numbers come back as numbers, time in
UTC; what no table of the app can hold comes back as text, and `notes` say so.
"""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa

from data.gpu.parts import empty_samples_sql, samples_sql
from reports.sql import fence, rows, tree

THREADS = 2
SPARE_FILES = 64
SAMPLES = "gpu_samples"
_SYSTEM = [Path("/proc/self/cgroup"), Path("/proc/meminfo"), Path("/sys/fs/cgroup")]
"""What the database reads of the machine to size its threads and memory."""


@dataclass(frozen=True)
class Order:
    """What to run, on which snapshot, and how far it may go; `known` are the tables it may name.

    `tables`: name and bytes of the streams that follow. `dates`: parameters that are dates. `unread`: why the
    gate could not read the SQL. `gate` False leaves the check of names out, to test the walls behind it.
    """

    database: str
    parts: str
    sql: str
    parameters: dict[str, float | str]
    dates: list[str]
    tables: list[tuple[str, int]]
    known: list[str]
    most_rows: int
    most_bytes: int
    memory_bytes: int
    address_bytes: int
    seconds: float
    unread: str = ""
    gate: bool = True

    def line(self) -> bytes:
        """Return the order as one line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Read an order, run it, write the answer or what is wrong."""
    order = Order(**json.loads(source.readline()))
    if order.tables:
        import pyarrow.compute
        import pyarrow.dataset  # noqa: F401 - the database reads tables through both, and files are closed soon
    tables = {name: _table(source, size) for name, size in order.tables}
    try:
        head, body = _answer(order, tables)
    except tree.RefusedError as error:
        head, body = {"what": error.what, "remedy": error.remedy, "position": error.position}, b""
    except duckdb.Error as error:
        head, body = _engine_error(error), b""
    except (MemoryError, pa.ArrowMemoryError):
        head, body = {"memory": True}, b""
    target.write(json.dumps(head).encode() + b"\n" + body)
    target.flush()


def _table(source: BinaryIO, size: int) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(source.read(size))).read_all()


def _answer(order: Order, tables: Mapping[str, pa.Table]) -> tuple[dict[str, Any], bytes]:
    database, parts = Path(order.database), Path(order.parts)
    samples = SAMPLES in order.sql.casefold()
    files = sorted(parts.iterdir()) if samples else []
    fence.limit(order.seconds, THREADS, order.address_bytes, SPARE_FILES + 2 * len(files))
    fence.shut_in([database, *_SYSTEM, *([parts] if samples else [])])
    con = open_database(order, tables, files if samples else None)
    started = time.perf_counter()
    if order.gate:
        tree.check(con, order.sql, order.known)
        if order.unread:
            raise tree.RefusedError(order.unread, "Write it in plainer SQL.")
    answer = rows.select(con, order.sql, _bound(order), order.most_rows, order.most_bytes)
    seconds = time.perf_counter() - started
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, answer.table.schema) as stream:
        stream.write_table(answer.table)
    facts = {"notes": answer.notes, "large": answer.large, "rows_scanned": answer.scanned}
    return {"cut": answer.cut, "seconds": seconds, **facts}, sink.getvalue().to_pybytes()


def open_database(
    order: Order, tables: Mapping[str, pa.Table], files: list[Path] | None
) -> duckdb.DuckDBPyConnection:
    """The snapshot, read-only and hardened for good, with `tables` and (None: without) samples in `files`."""
    con = _connect(Path(order.database), order)
    _harden(con, files or [], tables)
    if files is not None:
        _show_samples(con, files)
    con.execute("SET lock_configuration = true")
    return con


def _connect(database: Path, order: Order) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
        "temp_directory": "",
        "max_temp_directory_size": "0MB",
        "memory_limit": f"{order.memory_bytes >> 20}MiB",
        "threads": THREADS,
    }
    return duckdb.connect(str(database), read_only=True, config=config)


def _harden(con: duckdb.DuckDBPyConnection, files: list[Path], tables: Mapping[str, pa.Table]) -> None:
    con.execute("SET TimeZone = 'UTC'")
    con.execute("SET errors_as_json = true")
    con.execute("SET enable_progress_bar = false")
    con.execute("SET disabled_optimizers = 'late_materialization'")  # it reads twice under the limit of rows
    if files:
        con.execute(f"SET allowed_paths = [{', '.join(_text(str(f)) for f in files)}]")
    con.execute("SET enable_external_access = false")
    for name, table in tables.items():
        con.register(name, table)
    rows.count_scanned(con)


def _show_samples(con: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    """GPU samples of all parts; a part has the columns that its file had, the others are NULL."""
    listed = samples_sql(files) if files else empty_samples_sql()
    con.execute(f"CREATE TEMP VIEW {SAMPLES} AS FROM {listed}")


def _bound(order: Order) -> dict[str, Any]:
    return {
        name: date.fromisoformat(str(value)) if name in order.dates else value
        for name, value in order.parameters.items()
    }


def _engine_error(error: duckdb.Error) -> dict[str, Any]:
    text = str(error)
    try:
        said = json.loads(text[text.index("{") :])
        kind, what = str(said["exception_type"]), str(said["exception_message"])
    except (ValueError, KeyError):
        return {"kind": type(error).__name__, "what": text, "position": None}
    if kind == "Out of Memory":
        return {"memory": True}
    position = said.get("position")
    return {"kind": kind, "what": what, "position": int(position) if position else None}


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
