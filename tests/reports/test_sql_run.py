"""What a person's SELECT gives back: rows, types, counts, cuts, errors with their place."""

import shutil
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from data.catalogue_tables import TABLES
from data.snapshot import snapshot
from data.store import Store, get_store
from data.tables import tables
from reports.sql import rows, tree
from reports.sql.errors import SqlError, at, short, without_paths
from reports.sql.run import Limits, run_sql, with_numbers
from reports.sql.schema import HIDDEN, describe, known_tables


@pytest.fixture(scope="module")
def home(example_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    place = tmp_path_factory.mktemp("sql") / "home"
    shutil.copytree(example_home, place)
    store = get_store(place)
    yield store
    store.close()


@pytest.fixture(scope="module")
def database(home: Store) -> Path:
    return snapshot(home)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with two columns in which rows can be read as the child reads them."""
    with duckdb.connect(config={"threads": 1}) as found:
        found.execute("SET TimeZone = 'UTC'")
        rows.count_scanned(found)
        found.execute("CREATE TABLE t AS SELECT i, i % 3 AS k FROM range(100) r(i)")
        yield found


def read(con, sql, most_rows=1000, most_bytes=1 << 20, **parameters):
    found = rows.select(con, sql, parameters, most_rows, most_bytes)
    table, notes = with_numbers(found.table, found.large)
    return found, table, [*found.notes, *notes]


def test_rows_parameters_earlier_tables_and_the_catalogue_in_one_query(home, database):
    top = pa.table({"run": ["gb200-sync", "h100-sync"], "weight": [2.0, 3.0]})
    found = run_sql(
        database,
        """
        SELECT s.run, count(*) AS n, sum(s.rollouts) AS rollouts, any_value(t.weight) * $factor AS w,
               (SELECT count(*) FROM catalogue.platforms) AS platforms, min(s.ts) >= $since AS late
          FROM steps s JOIN top t USING (run) GROUP BY ALL ORDER BY s.run
        """,
        parameters={"factor": 10.0, "since": date(2026, 1, 1), "unused": "x"},
        tables={"top": top},
    )
    with home.view() as view:
        truth = view.rows("SELECT run, count(*), sum(rollouts) FROM steps GROUP BY ALL")
        scanned = view.rows("SELECT count(*) FROM steps")[0][0]
    told = {run: (n, rollouts) for run, n, rollouts in truth}
    got = found.table.to_pylist()
    assert [row["run"] for row in got] == ["gb200-sync", "h100-sync"]
    assert all((row["n"], row["rollouts"]) == told[row["run"]] for row in got)
    assert [row["w"] for row in got] == [20.0, 30.0]
    assert {row["platforms"] for row in got} == {sum(1 for _ in TABLES["platforms"].rows(view.catalogue))}
    assert (found.rows_returned, found.cut) == (2, False)
    assert scanned <= found.rows_scanned <= scanned + 2 + 26


def test_a_cut_is_told_and_the_order_kept(database):
    found = run_sql(
        database, "SELECT step FROM metric_raw ORDER BY step DESC NULLS LAST", limits=Limits(rows=7)
    )
    assert found.rows_returned == 7
    assert found.cut
    steps = found.table.column("step").to_pylist()
    assert steps == sorted(steps, reverse=True)


def test_no_row_too_many_and_no_row_too_few(con):
    for most in (99, 100, 101):
        found, table, _ = read(con, "SELECT i FROM t ORDER BY i", most)
        assert table.column("i").to_pylist() == list(range(min(most, 100)))
        assert found.cut == (most < 100)


def test_bytes_bound_an_answer_too(con):
    found, table, _ = read(con, "SELECT repeat('x', 1000) AS x FROM t", most_bytes=10_000)
    assert found.cut
    assert 1 <= table.num_rows <= 10


def test_rows_scanned_are_those_of_tables_read(con):
    assert (
        read(con, "SELECT count(*) FROM t a JOIN t b USING (i) WHERE a.k >= 0 AND b.k >= 0")[0].scanned == 200
    )
    assert read(con, "SELECT i FROM t WHERE k = 1")[0].scanned == 100
    assert read(con, "SELECT 1 FROM range(5)")[0].scanned is None


@pytest.mark.parametrize(
    ("sql", "kind", "value"),
    [
        ("sum(i)", pa.int64(), 4950),
        ("sum(i::HUGEINT) * 1000000000000000000000", pa.decimal128(38, 0), Decimal(4950 * 10**21)),
        ("max(170141183460469231731687303715884105727::HUGEINT)", pa.string(), str(2**127 - 1)),
        ("max(-170141183460469231731687303715884105727::HUGEINT - 1)", pa.string(), str(-(2**127))),
        ("max(18446744073709551615::UBIGINT)", pa.uint64(), 2**64 - 1),
        ("max(1.50::DECIMAL(10, 2))", pa.decimal128(10, 2), Decimal("1.50")),
        ("max(INTERVAL '1 month 2 days')", pa.string(), "1 month 2 days"),
        ("max(TIMESTAMPTZ '2026-01-01 00:00:00+02')", pa.timestamp("us"), datetime(2025, 12, 31, 22)),
        (
            "max(TIMESTAMP '2026-01-01 10:00:00.000001')",
            pa.timestamp("us"),
            datetime(2026, 1, 1, 10, 0, 0, 1),
        ),
        ("max(TIMESTAMP_S '2026-01-01 10:00:00')", pa.timestamp("us"), datetime(2026, 1, 1, 10)),
        ("max(DATE '0001-01-01')", pa.date32(), date(1, 1, 1)),
        ("max(TIME '10:00:01')", pa.time64("us"), time(10, 0, 1)),
        ("max('10:00:00+02'::TIMETZ)", pa.string(), "10:00:00+02"),
        ("[1, 2]", pa.string(), "[1,2]"),
        ("{'a': 1, 'b': [NULL, 2.5]}", pa.string(), '{"a":1,"b":[null,2.5]}'),
        ("MAP {'k': 1}", pa.string(), '{"k":1}'),
        ("max('x'::ENUM ('x', 'y'))", pa.string(), "x"),
        ("max('0101'::BIT)::BIT", pa.string(), "0101"),
        ("'ab\\x00'::BLOB", pa.string(), "ab\\x00"),
        ("'{\"a\": 1}'::JSON", pa.string(), '{"a": 1}'),
        ("NULL", pa.string(), None),
        ("max('nan'::DOUBLE)::VARCHAR", pa.string(), "nan"),
        ("'it''s {x} — ü'", pa.string(), "it's {x} — ü"),
    ],
)
def test_every_type_comes_back_as_one_the_app_holds(con, sql, kind, value):
    _, table, notes = read(con, f"SELECT {sql} AS v FROM t LIMIT 1")
    assert table.schema.field("v").type == kind
    assert table.column("v").to_pylist() == [value]
    changed = kind == pa.string() and not any(
        word in sql for word in ("ENUM", "JSON", "NULL AS", "nan", "BIT", "it''s")
    )
    assert bool(notes) == (changed and sql != "NULL")


def test_an_infinite_time_is_refused_in_words(con):
    for sql in ("'infinity'::TIMESTAMP", "'-infinity'::DATE", "'infinity'::TIMESTAMPTZ"):
        with pytest.raises(
            duckdb.Error, match=r"'v' holds an infinite time: leave it out with isfinite\(v\)"
        ):
            read(con, f"SELECT {sql} AS v FROM t")
    assert read(con, "SELECT NULL::DATE AS v FROM t LIMIT 1")[1].to_pylist() == [{"v": None}]


def test_columns_of_one_name_are_told_apart(con):
    _, table, notes = read(
        con, "SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS A, t.i, u.i FROM t JOIN t u USING (k) LIMIT 1"
    )
    assert table.column_names == ["a", "a_3", "a_2", "A_4", "i", "i_2"]
    assert [table.column(n).to_pylist()[0] for n in ("a", "a_3", "a_2", "A_4")] == [1, 2, 3, 4]
    assert len(notes) == 3


def test_no_column_at_all_is_refused(con):
    with pytest.raises(duckdb.Error, match="SELECT list is empty"):
        read(con, "SELECT * EXCLUDE (i, k) FROM t")
    _, table, _ = read(con, "SELECT i FROM t WHERE false")
    assert table.num_rows == 0
    assert table.column_names == ["i"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS v;",
        "SELECT 1 AS v -- end",
        "-- head\nSELECT 1 AS v /* x */ ;  \n",
        "VALUES (1)",
        "FROM t",
    ],
)
def test_ends_and_comments_do_not_matter(con, sql):
    assert read(con, sql)[1].num_rows >= 1


def test_a_parameter_that_is_not_there_is_named(con):
    with pytest.raises(tree.RefusedError, match=r"no parameter \$budget") as caught:
        read(con, "SELECT $budget", other=1.0)
    assert "$other" in caught.value.remedy


def test_errors_point_into_the_sql_of_the_person(con):
    con.execute("SET errors_as_json = true")
    for sql, word in (
        ("SELECT i,\n  nope\nFROM t", "nope"),
        ("SELECT i FROM t WHERE k = 'x'::INTEGER + try_cast('1' AS INTEGER)", "'x'"),
        ("SELECT i::VARCHAR || 'x',\n CAST(i::VARCHAR || 'q' AS DATE) FROM t", "CAST"),
    ):
        with pytest.raises(duckdb.Error) as caught:
            read(con, sql)
        place = int(str(caught.value).split('"position":"')[1].split('"')[0])
        assert abs(place - sql.index(word)) <= len("'x'::"), str(caught.value)
    con.execute("SET errors_as_json = false")


def test_the_caret_stands_under_the_place_also_in_a_long_line():
    long = "SELECT " + "a, " * 200 + "nope FROM t"
    error = at(long, "What", "Do.", long.index("nope"))
    line, caret = error.pointer.split("\n")
    assert line[caret.index("^") :].startswith("nope")
    assert len(line) <= 100
    assert error.column == long.index("nope") + 1
    assert at("SELECT 1", "What", "Do.", None).pointer == ""


def test_a_long_list_of_candidates_is_cut(con):
    with pytest.raises(duckdb.Error) as caught:
        con.execute("SELECT date_trunc(1, 2, 3)")
    told = short(str(caught.value))
    assert "No function matches the given name" in told and "Candidates: date_trunc(part VARCHAR" in told
    assert "more" in told.rpartition(";")[2] and "\n" not in told
    assert told.count(" -> ") == 3
    assert short("no list\nhere") == "no list\nhere"


def test_words_of_the_engine_lose_their_paths_and_keep_the_rest():
    assert without_paths('Cannot open file "/home/a b/x.db": no') == 'Cannot open file "… b/x.db": no'
    assert without_paths("/etc/passwd") == "…"
    assert without_paths("tokens/s per a/b, 1/2 and x / y") == "tokens/s per a/b, 1/2 and x / y"


def test_a_cell_named_like_a_table_is_refused(database):
    with pytest.raises(SqlError, match=r"A cell and a table are both named 'runs'.*Rename the cell"):
        run_sql(database, "SELECT 1", tables={"runs": pa.table({"a": [1]})})


def test_a_missing_table_is_said_before_a_process_starts(database, monkeypatch):
    monkeypatch.setattr("reports.sql.run.subprocess.Popen", None)
    with pytest.raises(SqlError, match="There is no table 'top' here") as caught:
        run_sql(database, "SELECT *\nFROM top")
    assert (caught.value.line, caught.value.column) == (2, 6)


def test_everything_that_can_be_asked_is_described(home):
    told = {one.name: one for one in describe(home)}
    assert set(told) == known_tables()
    assert set(told) == {*(set(tables()) - HIDDEN), *(f"catalogue.{name}" for name in TABLES)}
    for one in told.values():
        assert one.description, one.name
        assert all(column.description and column.type for column in one.columns), one.name
    assert next(c for c in told["steps"].columns if c.name == "step_s").unit == "s"
    assert (
        next(c for c in told["catalogue.llms"].columns if c.name == "kv_bytes_per_token_bf16").unit
        == "B/token"
    )
    with home.view() as view:
        assert told["steps"].rows == view.rows("SELECT count(*) FROM steps")[0][0]
        assert told["gpu_samples"].rows == view.rows(f"SELECT count(*) FROM {view.gpu_parts_sql()} s")[0][0]


def test_the_description_is_that_of_the_snapshot(home, database):
    with duckdb.connect(str(database), read_only=True, config={"threads": 1}) as con:
        for one in describe(home):
            if one.name == "gpu_samples":
                continue
            found = con.execute(f"DESCRIBE {one.name}").fetchall()
            assert [(name, kind) for name, kind, *_ in found] == [(c.name, c.type) for c in one.columns], (
                one.name
            )
            assert con.execute(f"SELECT count(*) FROM {one.name}").fetchone() == (one.rows,), one.name


def test_the_example_of_the_documentation_gives_its_numbers(home, database):
    """Derived from the view row by row, without the SELECT of the page."""
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    found = run_sql(database, page.split("```sql\n")[1].split("```")[0]).table.to_pylist()
    with home.view() as view:
        steps = view.rows("SELECT run, step_s FROM steps WHERE step_s IS NOT NULL")
        pools = view.rows("SELECT run, platform, gpus FROM allocations WHERE attempt = 1")
        usd = {p: view.catalogue.price(p, "reserved_3y", "neocloud").usd_per_gpu_h for _, p, g in pools if g}
    assert {row["run"] for row in found} == {run for run, _, gpus in pools if gpus}
    for row in found:
        times = [seconds for run, seconds in steps if run == row["run"]]
        gpus = sum(g for run, _, g in pools if run == row["run"] and g)
        hours = sum(times) / len(times) / 3600 * gpus
        assert row["gpu_h_per_step"] == pytest.approx(hours)
        assert row["usd_per_step"] == pytest.approx(hours * usd[row["platform"]])
