"""The catalogue as tables of a database: one row type a table, columns named and typed as its fields are."""

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from data import catalogue_types as t
from data.catalogue import Catalogue
from data.catalogue_services import ServicePrice
from data.claim_scopes import ClaimScope, claim_scopes
from data.money.currency import Rate
from data.operations import Operation, operations
from data.recipes import Recipe, recipes
from data.stage_scores import StageScore, all_scores
from data.tables import quote

SCHEMA = "catalogue"
_NAMES = {
    "at": "entered_at",
    "who": "entered_by",
    "Fact.date": "source_date",
    "Rate.date": "as_of",
}
"""Columns whose names differ from those of the fields, which are words of SQL."""
_ARROW = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    date: pa.date32(),
    datetime: pa.timestamp("us"),
    Decimal: pa.float64(),
}


@dataclass(frozen=True)
class CatalogueTable:
    """One table: its row type and where its rows come from."""

    kind: type[Any]
    rows: Callable[[Catalogue], Iterable[Any]]
    description: str


TABLES: Mapping[str, CatalogueTable] = {
    "platforms": CatalogueTable(t.Platform, Catalogue.platforms, "Hardware platforms"),
    "platform_facts": CatalogueTable(
        t.Fact, Catalogue.facts, "Specifications of platforms, one row a published value; NULL: not published"
    ),
    "prices": CatalogueTable(
        t.Price, Catalogue.prices, "Prices in force today, people's own on top; NULL: not published"
    ),
    "price_versions": CatalogueTable(
        t.Price, Catalogue.all_versions, "Every version of every price, retired ones included"
    ),
    "currency_rates": CatalogueTable(Rate, Catalogue.rates, "Exchange rates that people entered"),
    "service_prices": CatalogueTable(
        ServicePrice, Catalogue.service_prices, "Prices and billing rules of hosted training services"
    ),
    "llms": CatalogueTable(t.Llm, Catalogue.llms, "Shapes of large language models"),
    "benchmarks": CatalogueTable(t.Benchmark, Catalogue.benchmarks, "Benchmarks: tasks, clusters, chance"),
    "claims": CatalogueTable(
        t.Claim, Catalogue.claims, "Statements of vendors and others: scenarios, never measurements"
    ),
    "claim_scopes": CatalogueTable(
        ClaimScope, lambda book: claim_scopes(book).values(), "What each claim acts on, as it is read here"
    ),
    "tco_defaults": CatalogueTable(t.TcoDefault, Catalogue.tco_defaults, "Parameters of the cost of owning"),
    "rl_runs": CatalogueTable(t.RlRun, Catalogue.rl_runs, "Published measurements of RL runs"),
    "rl_operations": CatalogueTable(
        Operation, lambda _: operations().values(), "How RL clusters run, as published: failures, start-ups …"
    ),
    "recipes": CatalogueTable(Recipe, recipes, "Published shapes of training and RL stages"),
    "stage_scores": CatalogueTable(
        StageScore, lambda _: all_scores(), "Published scores of the stages of one model"
    ),
}


def write_catalogue(con: duckdb.DuckDBPyConnection, catalogue: Catalogue) -> None:
    """Create the schema `catalogue` with all of TABLES."""
    con.execute(f"CREATE SCHEMA {SCHEMA}")
    for name, table in TABLES.items():
        con.register("catalogue_rows", as_arrow(table.kind, table.rows(catalogue)))
        con.execute(f"CREATE TABLE {SCHEMA}.{quote(name)} AS FROM catalogue_rows")
        con.unregister("catalogue_rows")


def as_arrow(kind: type[Any], rows: Iterable[Any]) -> pa.Table:
    """Rows of a dataclass as a table; a field of text or number (a specification) becomes two columns."""
    held = list(rows)
    hints = typing.get_type_hints(kind)
    columns: dict[str, Any] = {}
    for one in fields(kind):
        values = [getattr(row, one.name) for row in held]
        name = _NAMES.get(f"{kind.__name__}.{one.name}") or _NAMES.get(one.name, one.name)
        if _is_mixed(hints[one.name]):
            numbers = [v if isinstance(v, float) else None for v in values]
            columns[name] = pa.array(numbers, pa.float64())
            columns[f"{name}_text"] = pa.array(
                [v if isinstance(v, str) else None for v in values], pa.string()
            )
        else:
            columns[name] = pa.array(list(map(_plain, values)), _arrow(hints[one.name]))
    return pa.table(columns)


def column_types(kind: type[Any]) -> dict[str, pa.DataType]:
    """Arrow type by column of the table of a row type."""
    schema = as_arrow(kind, ()).schema
    return {name: schema.field(name).type for name in schema.names}


def _members(hint: Any) -> list[Any]:
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return [one for one in typing.get_args(hint) if one is not types.NoneType]
    return [hint]


def _is_mixed(hint: Any) -> bool:
    return len(_members(hint)) > 1


def _arrow(hint: Any) -> pa.DataType:
    (one,) = _members(hint)
    if typing.get_origin(one) is tuple:
        return pa.list_(pa.string())
    if typing.get_origin(one) is typing.Literal:
        return pa.string()
    return _ARROW[one]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return float(value) if isinstance(value, Decimal) else value
