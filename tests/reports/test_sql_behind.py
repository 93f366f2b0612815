"""The SELECTs behind every answer run in the sandbox unchanged and give the rows of the answer."""

import json
import shutil
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import analysis
from analysis.kept import forget
from data.snapshot import PARTS, snapshot
from data.store import Store, get_store
from data.trace import literal, with_literals
from data.view import View
from reports.sql import gate, rows, tree
from reports.sql.behind import selects_of
from reports.sql.child import Order, open_database
from reports.sql.run import run_sql, with_numbers
from reports.sql.schema import known_tables
from tests.examples import in_turn

QUICK = ("ledger", "waste")
"""In `make test`: the most asked one, and the one with GPU samples and arrays; the others in the full run."""
CON = duckdb.connect(config={"threads": 1})


@pytest.fixture(scope="module")
def example(example_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    place = tmp_path_factory.mktemp("behind") / "home"
    shutil.copytree(example_home, place)
    store = get_store(place)
    yield store
    store.close()


@pytest.fixture(scope="module")
def sandbox(example: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    """The snapshot as a child process opens it, without the limits of a process."""
    database = snapshot(example)
    order = Order(str(database), "", "", {}, [], [], [], 10**6, 1 << 30, 1 << 30, 0, 0)
    con = open_database(order, {}, sorted((database.parent / PARTS).iterdir()))
    yield con
    con.close()


def answer(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    """Rows of a SELECT that passes both gates."""
    assert gate.check(sql, known_tables()) == ""
    tree.check(con, sql, known_tables())
    found = rows.select(con, sql, {}, 10**6, 1 << 30)
    table, _ = with_numbers(found.table, found.large)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def plain(value: Any) -> Any:
    """A value as pandas, Arrow and Python agree on it; numbers to nine digits: sums come in any order."""
    if isinstance(value, str) and value[:1] in "[{":
        value = json.loads(value)
    if isinstance(value, list | np.ndarray):
        return "[" + ", ".join(repr(plain(one)) for one in value) + "]"
    if isinstance(value, dict):
        return repr({key: plain(one) for key, one in value.items()})
    if value is np.ma.masked or pd.isna(value):
        return "nothing"
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    if isinstance(value, datetime | date):
        return pd.Timestamp(value).isoformat()
    if isinstance(value, bool | np.bool_ | int | float | np.number | Decimal):
        return f"{float(value):.9g}"
    return str(value)


def in_order(found: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple(map(plain, row)) for row in found)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[Any, ...]]]:
    """Rows that views gave, by the SELECT that their trace notes."""
    found: dict[str, list[tuple[Any, ...]]] = {}

    def spy(name: str, as_rows: Any) -> None:
        own = getattr(View, name)

        def ask(self: View, sql: str, params: Any = ()) -> Any:
            got = own(self, sql, params)
            if self.trace is not None:
                found[self.trace.text(sql, params)] = as_rows(got)
            return got

        monkeypatch.setattr(View, name, ask)

    spy("frame", lambda frame: list(frame.itertuples(index=False, name=None)))
    spy("rows", list)
    spy("arrays", lambda columns: list(zip(*columns.values(), strict=True)))
    return found


@pytest.mark.parametrize("question", [*QUICK, *in_turn(sorted({*analysis.QUESTIONS} - {*QUICK}), turn=-1)])
def test_the_sandbox_gives_the_rows_of_the_answer(example, sandbox, read, question):
    with example.view() as view:
        analysis.run(question, view, {})  # what the memo and the kept answers hold is traced all the same
        selects = selects_of(view, question, {})
    assert selects and set(selects) == set(read)
    for sql in selects:
        assert in_order(answer(sandbox, sql)) == in_order(read[sql]), sql


def test_a_trace_is_whole_after_other_questions_were_answered(example):
    with example.view() as view:
        forget()
        first = selects_of(view, "energy", {})
        again = selects_of(view, "energy", {})
    assert first == again
    assert any("gpu_samples" in sql for sql in first)
    assert not any("read_parquet" in sql or str(example.home) in sql for sql in first)


def test_a_select_behind_an_answer_runs_in_a_process_of_its_own(example):
    with example.view() as view:
        sql = next(one for one in selects_of(view, "energy", {}) if "gpu_samples" in one)
        truth = view.rows(f"SELECT count(*) FROM {view.gpu_parts_sql()} s")[0][0]
    found = run_sql(snapshot(example), sql)
    assert found.rows_returned == found.table.num_rows
    counted = run_sql(
        snapshot(example), "SELECT count(*) AS n FROM gpu_samples WHERE power_w IS NOT NULL OR true"
    )
    assert counted.table.column("n").to_pylist() == [truth]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.dates(),
    st.datetimes(),
    st.decimals(-(10**6), 10**6, places=3),
)


@settings(deadline=None)
@given(
    st.one_of(SCALARS, st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
)
def test_a_literal_is_read_as_the_bound_value(value):
    """Independent of our quoting: the engine compares its reading of the text with the value bound to it."""
    same = CON.execute(f"SELECT {literal(value)} IS NOT DISTINCT FROM $v", {"v": value}).fetchone()
    assert same == (True,)


def test_a_literal_struct_and_a_list_of_numbers():
    struct = {"a": 1, "it's": [1.5, None]}
    assert CON.execute(f"SELECT {literal(struct)}").fetchone() == (struct,)
    assert literal(np.array([1, 2])) == "[1, 2]"
    with pytest.raises(TypeError, match="no literal"):
        literal(object())


def test_values_go_where_they_were_bound_and_nowhere_else():
    sql = """SELECT '?', "$a", /* $a ? */ $a, $ab -- $a
    """
    assert (
        with_literals(sql, {"a": 1, "ab": "x"})
        == """SELECT '?', "$a", /* $a ? */ 1, 'x' -- $a
    """
    )
    assert with_literals("SELECT ?, '?', ?", [1, "?"]) == "SELECT 1, '?', '?'"
    with pytest.raises(IndexError):
        with_literals("SELECT ?", [])
    with pytest.raises(KeyError):
        with_literals("SELECT $b", {"a": 1})
