"""Small tables: rows as dictionaries, sums that keep missing numbers missing, frames with fixed columns."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

Row = dict[str, Any]
NAN = float("nan")


def lookup(keys: pd.Series, values: pd.Series) -> pd.Series:
    """Numbers of `values` (indexed by key) for `keys`, as floats also when there are none."""
    return keys.map(values).astype("float64")


def whole(values: pd.Series) -> float:
    """Sum in which one missing part makes the whole missing; for `agg`."""
    return float(values.sum(skipna=False))


def records(frame: pd.DataFrame) -> list[Row]:
    """Rows as plain dictionaries."""
    names = [str(name) for name in frame.columns]
    columns = [frame[name].tolist() for name in frame.columns]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def number(value: object) -> float:
    """The value as a float, NaN when it is missing."""
    if value is None or value is pd.NA or value is pd.NaT:
        return NAN
    return float(value)  # type: ignore[arg-type]


def text(value: object) -> str | None:
    """The value as text, None when it is missing or empty."""
    return value if isinstance(value, str) and value else None


def known(value: float) -> bool:
    """True unless the number is missing."""
    return not math.isnan(value)


def ratio(top: float, bottom: float) -> float:
    """top / bottom, NaN when the bottom is 0, negative or missing."""
    return top / bottom if bottom > 0 else NAN


def add_up(
    rows: Iterable[Mapping[str, Any]], by: Callable[[Mapping[str, Any]], Hashable], names: Sequence[str]
) -> dict[Any, dict[str, float]]:
    """Sums of `names` by key, keys in order of appearance; one missing part makes its sum missing."""
    parts: dict[Any, list[list[float]]] = {}
    for row in rows:
        values = parts.setdefault(by(row), [[] for _ in names])
        for place, name in enumerate(names):
            values[place].append(number(row[name]))
    return {
        key: {name: math.fsum(values[place]) for place, name in enumerate(names)}
        for key, values in parts.items()
    }


def table(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], numbers: Iterable[str] = ()
) -> pd.DataFrame:
    """Frame of `columns` in their order; `numbers` become floats also when nothing is there."""
    wanted = set(numbers)
    data: dict[str, Any] = {}
    for name in columns:
        values = [row.get(name) for row in rows]
        if name in wanted:
            data[name] = np.array([number(v) for v in values], dtype=np.float64)
        else:
            data[name] = values if rows else np.array([], dtype=object)
    return pd.DataFrame(data, columns=list(columns))
