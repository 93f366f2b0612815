"""What a frozen figure draws, as rows: for readers without JavaScript, for CSV, for a comparison."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

SERIES, X, Y, Z, TEXT = "series", "x", "y", "value", "text"
_SIZES = "xyz"
_MARK_LIMIT = 50_000
_MISSING = object()
Row = dict[str, Any]


def drawn_rows(spec: Mapping[str, Any]) -> tuple[list[str], list[Row]]:
    """Return the columns and rows that a Plotly specification ({data, layout}) draws, traces in order.

    A row has `series` (where traces have names), x, y, and `value` of a heat map; x and y are named by their
    axes where these have titles. Traces without points (keys of a legend) give none; 50,000 rows at most.
    """
    rows: list[Row] = []
    for trace in spec["data"]:
        rows += _trace_rows(trace)
        if len(rows) >= _MARK_LIMIT:
            break
    used = [c for c in (SERIES, X, Y, Z, TEXT) if any(row.get(c) not in (None, "") for row in rows)]
    return used, rows[:_MARK_LIMIT]


def axis_titles(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the titles of the first x and y axis by `x` and `y`, those that there are."""
    found = {}
    for axis in (X, Y):
        title = (spec["layout"].get(f"{axis}axis") or {}).get("title") or {}
        text = title.get("text") if isinstance(title, Mapping) else title
        if text:
            found[axis] = str(text)
    return found


def values_of(raw: Any) -> list[Any]:
    """Return an array of a Plotly specification as a list, unpacked where it is packed."""
    if isinstance(raw, Mapping) and "bdata" in raw:
        array = np.frombuffer(base64.b64decode(raw["bdata"]), dtype=np.dtype(str(raw["dtype"])))
        if raw.get("shape"):
            array = array.reshape([int(n) for n in str(raw["shape"]).split(",")])
        return _finite(array.tolist())
    return _finite(list(raw)) if isinstance(raw, Sequence) and not isinstance(raw, str) else []


def _finite(values: Iterable[Any]) -> list[Any]:
    return [
        _finite(v) if isinstance(v, list) else None if isinstance(v, float) and not np.isfinite(v) else v
        for v in values
    ]


def _trace_rows(trace: Mapping[str, Any]) -> list[Row]:
    name = str(trace.get("name") or "")
    x, y, z = (values_of(trace.get(axis)) for axis in _SIZES)
    if z and isinstance(z[0], list):
        return [
            {SERIES: name, X: _at(x, column), Y: _at(y, row), Z: value}
            for row, line in enumerate(z)
            for column, value in enumerate(line)
            if value is not None
        ]
    text = values_of(trace.get("text")) if trace.get("type") != "scatter" or not (x and y) else []
    count = max(len(x), len(y))
    if count == 1 and None in (*x[:1], *y[:1]):
        return []
    return [
        {
            SERIES: name,
            X: _at(x, i) if x else None,
            Y: _at(y, i) if y else None,
            TEXT: _at(text, i) if text else None,
        }
        for i in range(count)
        if _at(x, i) is not None or _at(y, i) is not None
    ]


def _at(values: Sequence[Any], place: int) -> Any:
    return values[place] if place < len(values) else (place if not values else None)


def patch_of(light: Any, dark: Any) -> dict[str, Any]:
    """Return what turns one specification into another: {"=": value}, or {key or place: patch}.

    Arrays of another length, and objects that lose a key, are given whole.
    """
    if isinstance(light, Mapping) and isinstance(dark, Mapping) and set(light) <= set(dark):
        pairs = [(k, light.get(k, _MISSING), v) for k, v in dark.items()]
    elif isinstance(light, list) and isinstance(dark, list) and len(light) == len(dark):
        pairs = [(str(i), *both) for i, both in enumerate(zip(light, dark, strict=True))]
    else:
        return {} if type(light) is type(dark) and light == dark else {"=": dark}
    changed = {k: {"=": new} if old is _MISSING else patch_of(old, new) for k, old, new in pairs}
    return {"." + k: patch for k, patch in changed.items() if patch}


def patched(light: Any, patch: Mapping[str, Any]) -> Any:
    """Return what `patch_of` was made from: the page's script does the same."""
    if "=" in patch:
        return patch["="]
    if not patch:
        return light
    if isinstance(light, list):
        return [patched(old, patch.get(f".{i}", {})) for i, old in enumerate(light)]
    return light | {key[1:]: patched(light.get(key[1:]), inner) for key, inner in patch.items()}
