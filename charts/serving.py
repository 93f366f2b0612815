"""Build and serve: what a solved task costs over a lifetime; and what it costs to hold a score."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from charts import theme
from charts.axes import log_usd, usd
from charts.blocks import band, error_bars, has
from charts.synthetic import marked
from charts.theme import Mode

STATES = {"before": "Before: serving alone", "after": "After: campaign and serving"}


@marked
def lifetime(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw dollars per solved task against attempts, both log: where lines cross, the campaign is paid."""
    title = "Dollars per solved task over a lifetime"
    frame = result.tables.get("lifetime")
    if frame is None or not has(frame, "attempts", "usd_per_success"):
        return theme.empty(result.answer, title=title, table="lifetime", mode=mode)
    palette, fig = theme.palette(mode), go.Figure()
    for state, colour in (("before", palette.grey), ("after", palette.accent)):
        part = frame[frame["state"] == state]
        part = part[np.isfinite(part["usd_per_success"])]
        ends = [list(part[f"usd_per_success_{end}"]) for end in ("low", "high")]
        for trace in band(list(part["attempts"]), ends[0], ends[1], colour, f"95 %, {state}"):
            trace.showlegend = False
            fig.add_trace(trace)
        fig.add_trace(go.Scatter(
            x=list(part["attempts"]), y=list(part["usd_per_success"]), mode="lines", name=STATES[state],
            line={"color": colour, "width": 2.5},
            hovertemplate="%{x:,.3~s} attempts<br>%{y:$,.3~r} per solved task<extra></extra>",
        ))  # fmt: skip
    theme.apply(
        fig, title=title, subtitle="both axes log; where the lines cross, the campaign is paid back",
        alt=f"Dollars per solved task against attempts, before and after. {result.answer}",
        table="lifetime", mode=mode, x="Attempts in service (count)", y="USD per solved task", height=380,
    )  # fmt: skip
    fig.update_xaxes(type="log", tickformat="~s")
    log_usd(fig, [*frame["usd_per_success_low"], *frame["usd_per_success_high"]])
    return fig


@marked
def saw(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw a held score over three cycles with its target."""
    title = "A held score over three cycles"
    frame = result.tables.get("saw")
    if frame is None or not has(frame, "day", "score"):
        return theme.empty(result.answer, title=title, table="saw", mode=mode)
    palette = theme.palette(mode)
    target = float(frame["target"].iloc[0])
    fig = go.Figure(go.Scatter(
        x=list(frame["day"]), y=[100 * v for v in frame["score"]], mode="lines", showlegend=False,
        line={"color": palette.accent, "width": 2.5, "dash": "dot"},
        hovertemplate="day %{x:.3~r}<br>%{y:.1f} %<extra></extra>",
    ))  # fmt: skip
    theme.apply(
        fig, title=title, subtitle="assumed: it falls as typed, every cycle gains as the measured one",
        alt=f"Score in percent against days. {result.answer}", table="saw", mode=mode, x="Days",
        y="Score (%)",
        height=340,
    )  # fmt: skip
    line = {"color": palette.text, "width": 1.5, "dash": "dash"}
    fig.add_hline(y=100 * target, line=line, annotation_text=f"hold {100 * target:.1f} %")
    return fig


@marked
def sensitivity(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw dollars of the period by how fast the score falls."""
    days = result.params.get("period_days", 30)
    title = f"Dollars to hold the score for {days:g} days, by how fast it falls"
    frame = result.tables.get("sensitivity")
    data = pd.DataFrame() if frame is None else frame[np.isfinite(frame["usd"].astype("float64"))]
    if not has(data, "usd"):
        return theme.empty(result.answer, title=title, table="sensitivity", mode=mode)
    palette = theme.palette(mode)
    top = 3 * float(data["usd"].max())
    names = [f"{v:g}" for v in data["points_per_week"]]
    fig = go.Figure(go.Bar(
        x=names, y=list(data["usd"]), showlegend=False,
        marker={"color": [palette.accent if asked else palette.grey for asked in data["asked"]]},
        error_y=error_bars(data["usd"], data["usd_low"], data["usd_high"].clip(upper=top), palette.text),
        hovertemplate="%{x} points a week<br>%{y:$,.3~r}<extra></extra>",
    ))  # fmt: skip
    theme.apply(
        fig, title=title, subtitle="95 % interval of gain and price; the fall itself is assumed",
        alt=f"Bars of dollars by points lost a week: {', '.join(names)}.", table="sensitivity", mode=mode,
        x="Points lost a week (assumed)", y="USD", height=340,
    )  # fmt: skip
    fig.update_xaxes(type="category")
    usd(fig, "y", rangemode="tozero")
    return fig
