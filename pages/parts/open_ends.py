"""Tables whose numbers may have no end, or each a unit of its own."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from analysis.result import Result
from charts.text import quantity


def open_ended(result: Result) -> Result:
    """Return the result with infinite numbers left out of its tables: their headings say what that means."""
    tables = {name: frame.replace([math.inf, -math.inf], math.nan) for name, frame in result.tables.items()}
    return replace(result, tables=tables)


def in_units(result: Result, table: str, columns: Sequence[str]) -> Result:
    """Return the result with the numbers of a table in words, each in the unit of its row."""
    frame = result.tables[table]
    if frame.empty:
        return result
    told = {name: [_told(v, u) for v, u in zip(frame[name], frame["unit"], strict=True)] for name in columns}
    return replace(result, tables={**result.tables, table: frame.assign(**told)})


def _told(value: Any, unit: str) -> str:
    if value is None or value != value:
        return "–"
    return f"{value:.3g}" if unit == "times" else quantity(float(value), unit)
