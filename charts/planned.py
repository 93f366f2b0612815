"""Shapes that the charts of plans share: lines over one axis, marked points, bars of options."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from charts import theme
from charts.theme import Mode

Words = Callable[[dict[str, Any]], str]
Curve = tuple[str, str, str, str, float]
"""Column, name, colour, dash, width of one line."""


def curves(data: pd.DataFrame, x: str, wanted: Sequence[Curve], words: Words) -> list[go.Scatter]:
    """Return one line a column; each point says what `words` makes of its row."""
    hover = [words(row) for row in data.to_dict("records")]
    return [
        go.Scatter(
            x=list(data[x]),
            y=list(data[column]),
            name=name,
            mode="lines",
            line={"color": colour, "width": width, "dash": dash},
            customdata=hover,
            hovertemplate="%{customdata}<extra></extra>",
        )
        for column, name, colour, dash, width in wanted
    ]


def marks(
    data: pd.DataFrame, flag: str, x: str, y: str, name: str, words: Words, marker: dict[str, Any]
) -> list[go.Scatter]:
    """Return the rows whose column `flag` is true as one trace of marks; none where no row is."""
    part = data[data[flag].astype(bool)] if flag in data.columns else data.iloc[0:0]
    if part.empty:
        return []
    return [
        go.Scatter(
            x=list(part[x]),
            y=list(part[y]),
            name=name,
            mode="markers",
            marker={"size": 13, "line": {"width": 2.2, "color": marker["color"]}, **marker},
            customdata=[words(row) for row in part.to_dict("records")],
            hovertemplate="%{customdata}<extra></extra>",
        )
    ]


def bars(
    data: pd.DataFrame,
    x: str,
    labels: Sequence[str],
    marker: dict[str, Any],
    words: Words,
    *,
    name: str = "",
    whiskers: dict[str, Any] | None = None,
) -> go.Bar:
    """Return one horizontal bar a row, at the height of its label."""
    return go.Bar(
        x=list(data[x]),
        y=list(labels),
        orientation="h",
        name=name,
        marker=marker,
        error_x=whiskers,
        customdata=[words(row) for row in data.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def in_order(fig: go.Figure, labels: Sequence[str], *, dollars: bool = True) -> go.Figure:
    """Put the labels of horizontal bars from top to bottom and start their axis at 0."""
    fig.update_layout(barmode="overlay")
    fig.update_xaxes(
        tickprefix="$" if dollars else "", rangemode="tozero", tickformatstops=theme.TICKS, nticks=6
    )
    fig.update_yaxes(categoryorder="array", categoryarray=list(labels), autorange="reversed")
    return fig


def diamond(mode: Mode, *, plain: bool = False) -> dict[str, Any]:
    """Return the mark of what was chosen, or plain of what is in use."""
    colours = theme.palette(mode)
    if plain:
        return {"symbol": "circle-open", "color": colours.quiet}
    return {"symbol": "diamond", "color": colours.accent}
