"""What a frozen figure draws, as rows: for readers without JavaScript, for CSV, for a comparison."""

import base64
import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reports.cell_words import without_markup

SERIES, X, Y, Z, TEXT = "series", "x", "y", "value", "text"
LOW, HIGH, FROM, TO = "low", "high", "bar_from", "bar_to"
COLUMNS = (SERIES, X, Y, Z, LOW, HIGH, FROM, TO, TEXT)
_SIZES = "xyz"
_MARK_LIMIT = 50_000
_NEAR = 0.5
"""A text belongs to the row of an axis within which it stands."""
_MISSING = object()
Row = dict[str, Any]


def drawn_rows(spec: Mapping[str, Any]) -> tuple[list[str], list[Row]]:
    """Return the columns and rows that a Plotly specification ({data, layout}) draws, traces in order.

    A row has `series` (where traces have names), x, y, `value` of a heat map, `low` and `high` of a whisker
    or a band, and `bar_from` and `bar_to` of a bar that does not begin at 0, whose length x or y is. A place
    that only a text beside the axis names has that name. Traces without points (keys of a legend) give none;
    50,000 rows at most.
    """
    rows: list[Row] = []
    for trace in spec["data"]:
        rows += _trace_rows(trace)
        if len(rows) >= _MARK_LIMIT:
            break
    name = _names_of_places(spec["layout"]) if "layout" in spec else None
    shown = [_as_seen(row, name) for row in rows[:_MARK_LIMIT]]
    return [c for c in COLUMNS if any(row.get(c) not in (None, "") for row in shown)], shown


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
    if trace.get("fill") == "toself" and x and len(x) == len(y) and x == x[::-1]:
        return _band_rows(name, x, y)
    text = values_of(trace.get("text")) if trace.get("type") != "scatter" or not (x and y) else []
    count = max(len(x), len(y))
    if count == 1 and None in (*x[:1], *y[:1]):
        return []
    ends = _ends(trace, {X: x, Y: y})
    return [
        {
            SERIES: name,
            X: _at(x, i) if x else None,
            Y: _at(y, i) if y else None,
            TEXT: _at(text, i) if text else None,
            **ends(i),
        }
        for i in range(count)
        if _at(x, i) is not None or _at(y, i) is not None
    ]


def _band_rows(name: str, x: Sequence[Any], y: Sequence[Any]) -> list[Row]:
    """A band runs along its high side and back along its low one."""
    half = len(x) // 2
    sides = zip(x[:half], y[:half], reversed(y[half:]), strict=True)
    return [{SERIES: name, X: place, LOW: low, HIGH: high} for place, high, low in sides]


def _ends(trace: Mapping[str, Any], sides: Mapping[str, Sequence[Any]]) -> Callable[[int], Row]:
    """What tells the ends of point i: of its whisker, and of a bar that does not begin at 0."""
    along = X if trace.get("orientation") == "h" else Y
    raw = trace.get("base")
    base = values_of(raw) if not isinstance(raw, int | float) else [raw] * len(sides[along])
    bars = {side: trace.get(f"error_{side}") or {} for side in (X, Y)}
    up = {side: values_of(bar.get("array")) for side, bar in bars.items()}
    down = {side: values_of(bar.get("arrayminus")) or up[side] for side, bar in bars.items()}

    def of(i: int) -> Row:
        found: Row = {}
        for side in (X, Y):
            middle, plus, minus = (_number(values, i) for values in (sides[side], up[side], down[side]))
            if middle is not None and plus is not None and minus is not None:
                found |= {LOW: middle - minus, HIGH: middle + plus}
        start, length = _number(base, i), _number(sides[along], i)
        if start and length is not None:
            found |= {FROM: start, TO: start + length}
        return found

    return of


def _number(values: Sequence[Any], i: int) -> float | None:
    value = values[i] if i < len(values) else None
    return float(value) if isinstance(value, int | float) else None


def _names_of_places(layout: Mapping[str, Any]) -> Callable[[float], str] | None:
    """What texts at the left edge call the places of a y axis without labels of its own; None without any."""
    if (layout.get("yaxis") or {}).get("showticklabels") is not False:
        return None
    notes = [
        (float(note["y"]), str(note["text"]))
        for note in layout.get("annotations") or []
        if note.get("xref") == "paper" and note.get("x") == 0 and isinstance(note.get("y"), int | float)
        and note.get("yref") in (None, "y")
    ]  # fmt: skip

    def name(place: float) -> str:
        near = [text for y, text in notes if abs(y - place) < _NEAR]
        head = near[0].partition("</b>")[0] if near and near[0].startswith("<b>") else "".join(near[:1])
        return head or f"{place:g}"

    return name if notes else None


def _as_seen(row: Row, name: Callable[[float], str] | None) -> Row:
    """Texts as a reader sees them: without tags, and with the name of a place that has no other."""
    place = row.get(Y)
    if name is not None and isinstance(place, int | float):
        row = {**row, Y: name(float(place))}
    return {k: html.unescape(without_markup(v)) if isinstance(v, str) else v for k, v in row.items()}


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
