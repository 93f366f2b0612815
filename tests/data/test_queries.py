"""Queries bind their filters, give stable columns on no data, and read without being able to write."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import data.queries
from data.queries import filters as filter_module
from data.queries import spend
from data.queries.filters import Filters
from data.tables import ddl
from data.view import View

EXTRA = {"bins": 10, "measure": "gpu_util", "by_host": False}


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.execute(ddl())
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def nothing() -> Iterator[duckdb.DuckDBPyConnection]:
    """Empty tables for all queries, which write nothing: a name that drops one fails those after it."""
    connection = duckdb.connect()
    connection.execute(ddl())
    yield connection
    connection.close()


def view_of(con: duckdb.DuckDBPyConnection) -> View:
    return View(con, Path("/nowhere"), "1", datetime(2026, 1, 1), False)


def questions() -> list[Callable[..., pd.DataFrame]]:
    out = []
    for info in pkgutil.iter_modules(data.queries.__path__):
        module = importlib.import_module(f"data.queries.{info.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            names = list(inspect.signature(function).parameters)
            if (
                not name.startswith("_")
                and function.__module__ == module.__name__
                and names[:2] == ["view", "filters"]
            ):
                out.append(function)
    return out


@pytest.mark.parametrize("query", questions(), ids=lambda q: f"{q.__module__}.{q.__name__}")
@pytest.mark.parametrize("runs", [(), ("a'; DROP TABLE runs; --",)])
def test_every_query_answers_on_an_empty_home(
    nothing: duckdb.DuckDBPyConnection, query: Callable[..., object], runs: tuple[str, ...]
) -> None:
    names = list(inspect.signature(query).parameters)[2:]
    if any(name not in EXTRA for name in names):
        pytest.skip("needs arguments of its own")
    found = query(view_of(nothing), Filters(runs, runs), **{name: EXTRA[name] for name in names})
    if isinstance(found, pd.DataFrame):
        assert len(found.columns) > 1
        assert found.empty
    assert nothing.execute("SELECT count(*) FROM runs").fetchone() == (0,)


def test_there_are_queries_to_test() -> None:
    assert len(questions()) >= 15


def test_filters_pick_runs_and_platforms(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("INSERT INTO runs (run, synthetic) VALUES ('a', false), ('b', false), ('it''s', false)")
    con.execute(
        "INSERT INTO allocations (run, attempt, pool, role, platform, source) VALUES "
        "('a', 1, 'p', 'train', 'h100-sxm', 'user'), ('b', 1, 'p', 'train', 'b200-hgx', 'user')"
    )

    def picked(*args: tuple[str, ...]) -> list[str]:
        return spend.runs(view_of(con), Filters(*args))["run"].tolist()

    assert picked() == ["a", "b", "it's"]
    assert picked(("it's",)) == ["it's"]
    assert picked((), ("h100-sxm",)) == ["a"]
    assert picked(("b",), ("h100-sxm",)) == []


def test_shared_fragments_are_common_table_expressions() -> None:
    for fragment in (
        filter_module.PICKED,
        filter_module.LINEAGE,
        filter_module.ONE_STEP,
        filter_module.STEP_CLOCK,
    ):
        assert fragment.strip().endswith(")")
