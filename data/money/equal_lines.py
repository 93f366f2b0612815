"""Cost lines of an upload that equal stored ones and were not stored again."""

from typing import Any

import duckdb
import pandas as pd

from data.sql import first

_MISSING = """
WITH stored AS (SELECT DISTINCT line FROM costs WHERE upload_id = ?),
     lacking AS (SELECT * FROM costs_in WHERE line NOT IN (SELECT line FROM stored)),
     sums AS (SELECT coalesce(currency, 'USD') AS code, fsum(coalesce(effective_cost, billed_cost)) AS amount
                FROM lacking GROUP BY code ORDER BY code)
SELECT count(DISTINCT line), (SELECT list(code) FROM sums), (SELECT list(amount) FROM sums),
       min(day), max(day) FROM lacking
"""
COLUMNS = ("line", "day", "currency", "effective_cost", "billed_cost")


def equal_lines(con: duckdb.DuckDBPyConnection, costs: pd.DataFrame | None, upload_id: str) -> dict[str, Any]:
    """`lines`, `money` and `first` and `last` day (ISO, None without days); {} where every line was stored.

    To be asked after the upload's rows are stored. A row without a line number is not counted.
    """
    if costs is None or "line" not in costs or costs["line"].isna().all():
        return {}
    frame = costs.reindex(columns=list(COLUMNS)).dropna(subset=["line"])
    types = {"line": "Int64", "effective_cost": "float64", "billed_cost": "float64", "currency": "string"}
    con.register("costs_in", frame.astype(types).assign(day=pd.to_datetime(frame["day"])))
    row = first(con, _MISSING, [upload_id])
    con.unregister("costs_in")
    if row is None or not row[0]:
        return {}
    money = ", ".join(f"{amount or 0:,.2f} {code}" for code, amount in zip(row[1], row[2], strict=True))
    days = {
        name: None if at is None else f"{at:%Y-%m-%d}"
        for name, at in zip(("first", "last"), row[3:], strict=True)
    }
    return {"lines": int(row[0]), "money": money, **days}


def said(found: dict[str, Any]) -> list[str]:
    """What a receipt says of them."""
    if not found:
        return []
    n = found["lines"]
    line, equal = ("1 line", "equals a stored line") if n == 1 else (f"{n} lines", "equal stored lines")
    return [
        f"{line} ({found['money']}) {equal} of another file in every cell: counted once, not stored again. "
        "Charges of their own have to differ in a cell, or stand in one file."
    ]
