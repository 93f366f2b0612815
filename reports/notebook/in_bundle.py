"""First code cell of an exported notebook, as it stands below: nothing of this project is imported."""

import json
import math
from collections.abc import Sequence
from datetime import date  # noqa: F401 - for parameters that are dates
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import plotly.graph_objects as go

BUNDLE = Path.cwd()
if not (BUNDLE / "report.json").is_file():
    raise FileNotFoundError(f"{BUNDLE} holds no report.json: unpack the whole zip and start Jupyter there")
REPORT = json.loads((BUNDLE / "report.json").read_text(encoding="utf-8"))
TABLES = json.loads((BUNDLE / "tables.json").read_text(encoding="utf-8"))
parameters: dict[str, Any] = {}

con = duckdb.connect()
con.execute("SET TimeZone = 'UTC'")
sealed = duckdb.connect()
sealed.execute("SET TimeZone = 'UTC'")
for one in TABLES:
    path = str(BUNDLE / "tables" / f"{one['file']}.parquet")
    if one["sql_name"]:
        quoted = '"' + one["sql_name"].replace('"', '""') + '"'
        sealed.execute(f"CREATE TABLE {quoted} AS FROM read_parquet(?)", [path])
sealed.execute("SET python_enable_replacements = false")
sealed.execute("SET enable_external_access = false")
sealed.execute("SET lock_configuration = true")


def table(file: str) -> pd.DataFrame:
    """Rows of a frozen table, read from its Parquet file."""
    return con.execute("FROM read_parquet(?)", [str(BUNDLE / "tables" / f"{file}.parquet")]).df()


def figure(file: str) -> go.Figure:
    """A chart, drawn from the columns in its Parquet file and the layout beside it."""
    read = con.execute("FROM read_parquet(?) ORDER BY row", [str(BUNDLE / "figures" / f"{file}.parquet")])
    names = [column[0] for column in read.description]
    rows = read.fetchall()
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$columns" in value:
            return [list(row) for row in zip(*(filled(part) for part in value["$columns"]), strict=True)]
        if "$column" not in value:
            return {key: filled(item) for key, item in value.items()}
        flat = columns[value["$column"]][: value["length"]]
        if "shape" not in value:
            return flat
        width = value["shape"][-1]
        return [flat[start : start + width] for start in range(0, len(flat), width)]

    layout = json.loads((BUNDLE / "figures" / f"{file}.json").read_text(encoding="utf-8"))
    return go.Figure(filled(layout))


def rerun(file: str, sql: str, used: Sequence[str]) -> pd.DataFrame:
    """Rows of an SQL cell, asked again of the frozen tables; the frozen ones where that cannot be done."""
    frozen = table(file)
    try:
        found = sealed.execute(sql, {key: parameters[key] for key in used}).df()
    except duckdb.Error as error:
        print(f"Not run again ({str(error).splitlines()[0]}); these are the frozen rows.")
        return frozen
    same = _close(_sorted(found), _sorted(frozen))
    print("Run again on the frozen tables:", "the same rows." if same else "NOT the rows that were frozen.")
    return found


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    text = frame.astype(str)
    return frame.loc[text.sort_values(list(text.columns)).index].reset_index(drop=True)


def _close(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    if list(a.columns) != list(b.columns) or len(a) != len(b):
        return False
    cells = zip(a.to_numpy(dtype=object).ravel(), b.to_numpy(dtype=object).ravel(), strict=True)
    return all(_alike(x, y) for x, y in cells)


def _alike(x: Any, y: Any) -> bool:
    if isinstance(x, int | float) and isinstance(y, int | float):
        return math.isclose(x, y, rel_tol=1e-9) or (x != x and y != y)
    return (pd.api.types.is_scalar(x) and pd.isna(x) and pd.isna(y)) or str(x) == str(y)
