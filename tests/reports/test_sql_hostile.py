"""SQL of people reads nothing, writes nothing, runs nothing and ends in time, behind each wall by itself."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest

from data.errors import UserError
from data.snapshot import PARTS, snapshot
from data.store import Store, get_store
from reports.sql import gate, tree
from reports.sql.child import Order, open_database
from reports.sql.errors import SqlError
from reports.sql.run import ROOT, CancelledError, Limits, run_sql
from reports.sql.schema import known_tables
from tests.examples import in_turn
from tests.reports.hostile_sql import ENDLESS, READS, SLOW, TELLS, WRITES, statements

SECRET = "CANARY-7f3a"
REFUSED = [*statements(READS), *statements(WRITES), *statements(TELLS)]
REACHING = [*statements(READS), *statements(WRITES)]
HARMLESS = {
    "begin transaction", "commit", "vacuum", "checkpoint", "force checkpoint", "use information_schema",
    "prepare p as select 1", "execute p", "deallocate p", "set variable x = 1",
    "create temp table x as select 1",
    "select 1;; select 2", "call pragma_version()", "pragma table_info('runs')", "pragma database_list",
    "call truncate_duckdb_logs()", "select write_log('x')",
    *(sql for sql in REACHING if sql.startswith('with "{secret}"')),
}  # fmt: skip
"""What the hardened database runs when no gate is before it: all in its own memory, gone with the process."""
BATCH = """
import sys, json
sys.modules.update(numpy=None, pandas=None)
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from reports.sql import fence
from reports.sql.child import _SYSTEM, Order, open_database
told = json.load(sys.stdin)
order = Order(**told["order"])
files = sorted(Path(order.parts).iterdir())
fence.limit(60, 2, 1536 << 20, 256)
fenced = fence.shut_in([Path(order.database), Path(order.parts), *_SYSTEM])
con = open_database(order, {}, files)
said = []
for sql in told["statements"]:
    try:
        said.append([True, repr(con.execute(sql).fetchmany(50))])
    except Exception as error:
        said.append([False, str(error)])
walls = []
for act in (lambda: open(told["secret"]).read(), lambda: open(told["out"], "w").write("x"),
            lambda: __import__("subprocess").run(["/bin/true"]),
            lambda: __import__("socket").create_connection(("127.0.0.1", told["port"]), 1)):
    try:
        act(); walls.append("done")
    except OSError as error:
        walls.append(type(error).__name__)
    except ImportError:
        walls.append("ImportError")
print(json.dumps({"said": said, "walls": walls, "fenced": fenced}))
"""


@dataclass(frozen=True)
class Place:
    """A home with the example, its snapshot, a file with a secret, and a file that must not come to be."""

    store: Store
    database: Path
    secret: Path
    out: Path

    def filled(self, sql: str) -> str:
        for mark, path in (("secret", self.secret), ("out", self.out), ("db", self.database)):
            sql = sql.replace(f"{{{mark}}}", str(path))
        return sql.replace("{home}", str(self.store.home))

    def state(self) -> dict[str, str]:
        """Hash of every file beside and in the home."""
        top = self.secret.parent
        return {
            str(path.relative_to(top)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(top.rglob("*"))
            if path.is_file()
        }


@pytest.fixture(scope="module")
def place(example_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    top = tmp_path_factory.mktemp("hostile")
    shutil.copytree(example_home, top / "home")
    store = get_store(top / "home")
    (top / "secret.csv").write_text(f"a,b\n{SECRET},1\n")
    yield Place(store, snapshot(store), top / "secret.csv", top / "written.out")
    store.close()


def order(place: Place) -> Order:
    parts = str(place.database.parent / PARTS)
    return Order(str(place.database), parts, "", {}, [], [], [], 100, 1 << 20, 256 << 20, 0, 0)


def no_path(place: Place, text: str) -> bool:
    return str(place.secret.parent) not in text and str(ROOT) not in text


@pytest.mark.parametrize("sql", REFUSED)
def test_the_gate_refuses(place, sql):
    asked = place.filled(sql)
    try:
        unread = gate.check(asked, known_tables())
    except SqlError as error:
        assert error.remedy
        assert SECRET not in str(error)
    else:
        assert unread, "it would have reached the database"


def test_there_are_many():
    assert len(REFUSED) >= 120
    assert len(set(REFUSED)) == len(REFUSED)


def test_the_reading_of_the_engine_refuses_by_itself(place):
    """The second gate knows nothing of the first and runs nothing; a syntax error is a refusal as well."""
    con = open_database(order(place), {}, sorted((place.database.parent / PARTS).iterdir()))
    let = []
    for sql in REFUSED:
        try:
            tree.check(con, place.filled(sql), known_tables())
        except (tree.RefusedError, tree.duckdb.Error):
            continue
        let.append(sql)
    con.close()
    assert let == []


def test_behind_both_gates_nothing_is_read_written_or_run(place):
    """All statements straight into the hardened database, in one process: its own walls must hold."""
    before = place.state()
    told = {
        "order": vars(order(place)),
        "statements": [place.filled(sql) for sql in REACHING],
        "secret": str(place.secret),
        "out": str(place.out),
        "port": 9,
    }
    ran = subprocess.run(
        [sys.executable, "-I", "-c", BATCH, str(ROOT)],
        input=json.dumps(told).encode(),
        capture_output=True,
        env={"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"},
        cwd=place.secret.parent,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    said = json.loads(ran.stdout)
    let = {sql for sql, (ran_through, _) in zip(REACHING, said["said"], strict=True) if ran_through}
    assert let <= HARMLESS
    assert SECRET not in ran.stdout.decode()
    assert "root:" not in ran.stdout.decode()
    assert place.state() == before
    if said["fenced"]:
        assert said["walls"] == ["PermissionError"] * 4


def test_nothing_but_rows_comes_of_running_them_all(place):
    before = place.state()
    for sql in statements(WRITES)[:6]:
        with pytest.raises(SqlError):
            run_sql(place.database, place.filled(sql))
    assert place.state() == before
    assert not place.out.exists()


@pytest.mark.parametrize("sql", in_turn(statements(ENDLESS), of=5))
def test_memory_is_bounded(place, sql):
    started = time.monotonic()
    with pytest.raises(SqlError, match=r"memory|stopped after|too large|used up its time|maximum supported"):
        run_sql(place.database, sql, limits=Limits(seconds=8, memory_mb=256))
    assert time.monotonic() - started < 16


@pytest.mark.parametrize("sql", in_turn(statements(SLOW), of=6))
def test_time_is_bounded(place, sql):
    started = time.monotonic()
    with pytest.raises(SqlError, match=r"stopped after 1\.5 s|memory"):
        run_sql(place.database, sql, limits=Limits(seconds=1.5))
    assert time.monotonic() - started < 10


def test_a_query_is_stopped_on_request_and_its_process_is_gone(place):
    cancel = threading.Event()
    timer = threading.Timer(0.8, cancel.set)
    timer.start()
    started = time.monotonic()
    with pytest.raises(CancelledError):
        run_sql(place.database, statements(SLOW)[0], cancel=cancel)
    assert time.monotonic() - started < 10
    assert not any(b"reports.sql.child" in command for command in children())


def children() -> Iterator[bytes]:
    """Command lines of the processes that this one started and that still are."""
    for found in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(found.read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid():
                yield (found.parent / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue


@pytest.mark.parametrize(
    "sql",
    [
        "select " + "(" * 5000 + "1" + ")" * 5000,
        "select " + "not " * 4_000 + "true",
        "select " + "- " * 9_000 + "1",
        "select 1" + " union all select 1" * 1000,
        "select " + " + ".join(["1"] * 4_800),
        "select " + "case when true then " * 700 + "1" + " end" * 700,
        "select " + "[" * 3000 + "]" * 3000,
        "select '" + "x" * 1_000_000 + "'",
        "select 1 -- " + "y" * 1_000_000,
        "select 1\0; drop table runs",
        "",
        "   \n -- nothing\n",
        ";",
        "with "
        + ", ".join(f"a{i} as (select 1)" for i in range(600))
        + " select 1 from read_text('/etc/passwd')",
    ],
    ids=range(14),
)
def test_odd_shapes_end_in_words(place, sql):
    started = time.monotonic()
    with pytest.raises(SqlError) as caught:
        gate.check(sql, known_tables())
        raise SqlError("passes on to the child") if len(sql) < 1_000 else _from_child(place, sql)
    assert caught.value.what
    assert time.monotonic() - started < 20


def _from_child(place: Place, sql: str) -> SqlError:
    """What the child makes of SQL that the gate lets through: an error in words, or a harmless answer."""
    try:
        run_sql(place.database, sql)
    except SqlError as error:
        return error
    return SqlError("a harmless answer")


def test_a_parameter_is_a_value_and_never_sql(place):
    text = "x' or true; drop table runs; -- $other"
    found = run_sql(
        place.database,
        "select $p as p, count(*) as n from runs where run = $p",
        parameters={"p": text, "unused": 1.0},
    )
    assert found.table.to_pylist() == [{"p": text, "n": 0}]


def test_names_of_columns_and_tables_are_names(place):
    name = "x'); drop table runs; --"
    given = pa.table({name: [1, 2], 'a"b': [3, 4], "<img src=x onerror=alert(1)>": ["p", None]})
    found = run_sql(place.database, "select * from top", tables={"top": given})
    assert found.table.to_pylist() == given.to_pylist()


def test_an_error_tells_no_path(place):
    for sql in (
        "select * from runs where nope = '" + str(place.secret) + "'",
        "select error('/etc/passwd is there')",
    ):
        with pytest.raises(SqlError) as caught:
            run_sql(place.database, sql)
        assert no_path(place, str(caught.value))
        assert "/etc/passwd" not in str(caught.value)


def test_a_refusal_is_a_user_error_with_its_place(place):
    with pytest.raises(UserError) as caught:
        run_sql(place.database, "select run,\n       nope\n  from runs")
    error = caught.value
    assert isinstance(error, SqlError)
    assert (error.line, error.column) == (2, 8)
    assert error.pointer == "       nope\n       ^"
    assert "nope" in error.what
    assert replace(error).remedy
