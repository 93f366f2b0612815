"""The numbers that a frozen chart draws, as rows: a line a point of each trace."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from reports.export import table_csv
from reports.freeze import FrozenReport

COLUMNS = ("trace", "x", "y", "z", "text")
_AXES = ("x", "y", "z", "text")


def chart_csv(report: FrozenReport, number: int) -> str | None:
    """Return chart `number` (from 1, in the order of the page) as CSV; None when there is none."""
    figures = [figure for section in report.sections for figure in section.get("figures") or []]
    if not 1 <= number <= len(figures):
        return None
    rows = chart_rows(figures[number - 1]["light"])
    columns = [c for c in COLUMNS if c == "trace" or any(row.get(c) is not None for row in rows)]
    return table_csv(rows, columns)


def chart_rows(figure: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the points of a Plotly figure: trace, x, y and what else it has; of a heat map its cells."""
    return [
        row
        for number, trace in enumerate(figure.get("data") or [], start=1)
        for row in _points(trace, number)
    ]


def _points(trace: Mapping[str, Any], number: int) -> list[dict[str, Any]]:
    name = str(trace.get("name") or f"trace {number}")
    z = _values(trace.get("z"))
    if z and isinstance(z[0], list):
        x, y = _values(trace.get("x")), _values(trace.get("y"))
        return [
            {"trace": name, "x": _at(x, j, j), "y": _at(y, i, i), "z": cell}
            for i, line in enumerate(z)
            for j, cell in enumerate(line)
        ]
    columns = {axis: _values(trace.get(axis)) for axis in _AXES}
    length = max((len(column) for column in columns.values()), default=0)
    return [
        {"trace": name, **{axis: _at(column, place, None) for axis, column in columns.items()}}
        for place in range(length)
    ]


def _at(column: list[Any], place: int, without: Any) -> Any:
    return column[place] if place < len(column) else without


def _values(raw: Any) -> list[Any]:
    """A list as Plotly keeps it: plain, or packed as base64 with its type and shape."""
    if isinstance(raw, Mapping) and {"bdata", "dtype"} <= set(raw):
        found = np.frombuffer(base64.b64decode(raw["bdata"]), np.dtype(str(raw["dtype"])))
        if raw.get("shape"):
            found = found.reshape([int(n) for n in str(raw["shape"]).split(",")])
        return [_plain(v) for v in found.tolist()]
    return list(raw) if isinstance(raw, list) else []


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and value != value else value
