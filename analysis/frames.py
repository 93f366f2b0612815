"""Small table idioms that keep missing numbers missing."""

from typing import Any

import pandas as pd


def lookup(keys: pd.Series, values: pd.Series) -> pd.Series:
    """Numbers of `values` (indexed by key) for `keys`, as floats also when there are none."""
    return keys.map(values).astype("float64")


def whole(values: pd.Series) -> float:
    """Sum in which one missing part makes the whole missing; for `agg`."""
    return float(values.sum(skipna=False))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain dictionaries."""
    return [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]
