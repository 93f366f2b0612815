"""A figure in two parts: the columns that it draws, as a table, and the rest, with references to them."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from data.rows import arrow_column

COLUMN, COLUMNS, SHAPE, LENGTH = "$column", "$columns", "shape", "length"
_DATA = {
    "x", "y", "z", "text", "hovertext", "customdata", "ids", "base", "width", "offset", "array", "arrayminus",
    "color", "size", "symbol", "opacity", "values", "labels", "parents", "measure", "open", "high", "low",
    "close", "lowerfence", "upperfence", "median", "q1", "q3", "mean", "sd", "locations", "r", "theta",
}  # fmt: skip
_SHORTEST = 1


def split(figure: Mapping[str, Any]) -> tuple[dict[str, Any], pa.Table]:
    """Return Plotly JSON with its data taken out, and the table that holds them.

    Where data stood there is {"$column": name, "length": n}, for a grid with its `shape` too, or
    {"$columns": [...]} for rows of several values. Columns are as long as the longest, filled up with nulls;
    `row` counts from 0.
    """
    columns: dict[str, pa.Array] = {}
    data = [_take(trace, str(number), columns, "") for number, trace in enumerate(figure["data"])]
    longest = max((len(c) for c in columns.values()), default=0)
    filled = {n: pa.concat_arrays([c, pa.nulls(longest - len(c), c.type)]) for n, c in columns.items()}
    table = pa.table({"row": pa.array(range(longest), pa.int64()), **filled})
    return {"data": data, "layout": figure["layout"]}, table


def unpacked(value: Mapping[str, Any]) -> tuple[list[Any], list[int]]:
    """Return the numbers of Plotly's packed array ({bdata, dtype, shape}), flat, and its shape."""
    raw = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]).newbyteorder("<"))
    shape = [int(n) for n in str(value.get("shape", len(raw))).split(",")]
    return [None if isinstance(v, float) and not np.isfinite(v) else v for v in raw.tolist()], shape


def _take(value: Any, path: str, columns: dict[str, pa.Array], key: str) -> Any:
    if isinstance(value, Mapping):
        if {"bdata", "dtype"} <= set(value):
            flat, shape = unpacked(value)
            return _column(flat, path, columns) | ({SHAPE: shape} if len(shape) > 1 else {})
        return {k: _take(v, f"{path}_{k}", columns, k) for k, v in value.items()}
    if not isinstance(value, list) or key not in _DATA or len(value) < _SHORTEST:
        return value
    if all(isinstance(v, list) for v in value):
        return _rows(value, path, columns)
    return _column(value, path, columns) if _is_plain(value) else value


def _rows(value: list[list[Any]], path: str, columns: dict[str, pa.Array]) -> Any:
    """Rows of one width: a grid of one type as one column, else a column each."""
    widths = {len(row) for row in value}
    if len(widths) != 1 or widths == {0}:
        return value
    flat = [v for row in value for v in row]
    if _is_plain(flat):
        return _column(flat, path, columns) | {SHAPE: [len(value), widths.pop()]}
    parts = [list(part) for part in zip(*value, strict=True)]
    if not all(_is_plain(part) for part in parts):
        return value
    return {COLUMNS: [_column(part, f"{path}_{i}", columns) for i, part in enumerate(parts)]}


def _is_plain(values: list[Any]) -> bool:
    if any(isinstance(v, list | Mapping) for v in values):
        return False
    return not arrow_column(values, times=False)[1]


def _column(values: list[Any], path: str, columns: dict[str, pa.Array]) -> dict[str, Any]:
    columns[path] = arrow_column(values, times=False)[0]
    return {COLUMN: path, LENGTH: len(values)}


def layout_json(part: Mapping[str, Any]) -> str:
    """Return the part without data as JSON text."""
    return json.dumps(part, ensure_ascii=False, allow_nan=False, sort_keys=True)
