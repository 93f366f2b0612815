"""A demand as a duration curve, with the levels that are committed to."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from charts import theme
from charts.theme import Mode


def duration_curve(
    frame: pd.DataFrame,
    levels: Sequence[tuple[str, float, str]],
    *,
    title: str,
    subtitle: str,
    levels_are: str,
    mode: Mode,
) -> go.Figure:
    """Draw `from_frac`, `time_frac` (shares of the time) and `gpus`; `levels`: name, GPUs, colour."""
    fig = go.Figure(_needed(frame, mode))
    for label, gpus, colour in levels:
        fig.add_trace(_level(gpus, label, colour))
    theme.apply(
        fig,
        title=title,
        subtitle=subtitle,
        alt=f"Duration curve of demand, peak {float(frame['gpus'].max()):,.0f} GPUs, with {levels_are}.",
        table="demand",
        mode=mode,
        x="share of the time (%)",
        y="GPUs",
        height=340,
    )
    fig.update_yaxes(rangemode="tozero")
    fig.update_xaxes(range=[0, 100])
    return fig


def _needed(frame: pd.DataFrame, mode: Mode) -> go.Scatter:
    """The demand as steps: each level from the share of time where it begins to the one where it ends."""
    accent = theme.palette(mode).accent
    return go.Scatter(
        x=[100 * float(end) for row in frame.itertuples() for end in (row.from_frac, row.time_frac)],
        y=[row.gpus for row in frame.itertuples() for _ in range(2)],
        name="GPUs needed",
        mode="lines",
        line={"color": accent, "width": 2},
        fill="tozeroy",
        fillcolor=theme.fade(accent, 0.15),
        hovertemplate="%{x:.0f} % of the time at least %{y:,.3~r} GPUs<extra></extra>",
    )


def _level(gpus: float, label: str, colour: str) -> go.Scatter:
    return go.Scatter(
        x=[0, 100],
        y=[gpus, gpus],
        name=f"{label}: {gpus:,.0f}",
        mode="lines",
        line={"color": colour, "width": 2, "dash": "dash"},
        hovertemplate=f"{label}: {gpus:,.0f} GPUs<extra></extra>",
    )
