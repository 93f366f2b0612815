"""What a figure draws, as a table: the CSV beside a chart holds these rows and no others."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go


def drawn(fig: go.Figure) -> pd.DataFrame:
    """Return one row a drawn point: series, x, y; value on heat maps; the ends of its interval.

    A bar that does not begin at 0 tells where it begins and ends; x or y is its length. x and y are headed
    by their axis titles, which carry the unit.
    """
    parts = [_grid(trace) if trace.type == "heatmap" else _points(trace) for trace in fig.data]
    if not parts:
        return pd.DataFrame()
    frame = pd.concat(parts, ignore_index=True)
    names = {"x": _axis(fig, "xaxis") or "x", "y": _axis(fig, "yaxis") or "y"}
    if names["x"] == names["y"]:
        names = {}
    return frame.dropna(axis="columns", how="all").rename(columns=names)


def _axis(fig: go.Figure, prefix: str) -> str:
    titles = [a.title.text for a in fig.select_xaxes()] if prefix == "xaxis" else []
    titles = titles or [a.title.text for a in fig.select_yaxes()]
    found = [t for t in titles if t]
    return str(found[0]) if len(set(found)) == 1 else ""


def _points(trace: Any) -> pd.DataFrame:
    if getattr(trace, "fill", None) == "toself":
        return _outline(trace)
    sides = {side: list(getattr(trace, side)) for side in ("x", "y") if getattr(trace, side) is not None}
    frame = pd.DataFrame(sides)
    frame.insert(0, "series", trace.name or trace.legendgroup or "")
    for side in ("x", "y"):
        bars = getattr(trace, f"error_{side}", None)
        if bars is not None and bars.array is not None:
            frame["low"] = frame[side] - list(bars.arrayminus if bars.arrayminus is not None else bars.array)
            frame["high"] = frame[side] + list(bars.array)
    base = getattr(trace, "base", None)
    if base is not None and any(np.atleast_1d(base)):
        frame["bar_from"] = base
        frame["bar_to"] = frame["bar_from"] + frame["x" if trace.orientation == "h" else "y"]
    return frame


def _outline(trace: Any) -> pd.DataFrame:
    """A band runs along its high side and back along its low one."""
    half = len(trace.x) // 2
    low, high = list(trace.y)[half:][::-1], list(trace.y)[:half]
    return pd.DataFrame({"series": trace.name, "x": list(trace.x)[:half], "low": low, "high": high})


def _grid(trace: Any) -> pd.DataFrame:
    rows = [name[0] if len(name) else "" for name in trace.text] if trace.text is not None else list(trace.y)
    across = list(trace.x)
    if len(across) == len(trace.z[0]) + 1:
        across = [a + (b - a) / 2 for a, b in pairwise(across)]
    return pd.DataFrame(
        [
            {"series": row, "x": x, "value": value}
            for row, line in zip(rows, trace.z, strict=True)
            for x, value in zip(across, line, strict=True)
        ]
    )
