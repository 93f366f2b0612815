"""Weight transfer by engine: what a sync takes and costs a day, and what a faster one would save."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import digits3, money, percent
from charts import theme
from charts.blocks import error_bars, has
from charts.planned import curves, diamond, marks
from charts.projection_style import known, rows_dressed
from charts.synthetic import marked
from charts.theme import Mode

ENGINES = "Weight sync by engine, dollars a day"
SPEEDS = "Dollars a day for weight sync by its speed"
NOW = "now"


@marked
def engines(result: Result, mode: Mode = "light", most: int = 10) -> go.Figure:
    """Draw the dollars a day of the sync in use and of published engines at the same model and pools."""
    frame = result.tables.get("engines")
    if frame is None or not has(frame, "row_id", "usd_per_day"):
        return theme.empty(result.answer, title=ENGINES, table="engines", mode=mode)
    data = frame.dropna(subset=["usd_per_day"]).head(most)
    names = [str(row_id) for row_id in data["row_id"]]
    colours = theme.palette(mode)
    fig = go.Figure()
    for ours, name, status in ((True, "in use", "measured"), (False, "published engine", "projected")):
        part = data[(data["row_id"] == NOW) == ours]
        if len(part):
            fig.add_trace(_bars(part, name, theme.status_marker(colours.accent, status, mode), mode))
    heads = [(theme.short(row["method"], 40), _tail(row)) for row in data.to_dict("records")]
    rows_dressed(
        fig,
        names,
        heads,
        title=ENGINES,
        note="GB/s as published, carried to this model and these pools; whiskers: their range",
        alt=f"Bars of the dollars a day of {len(data)} engines of weight sync.",
        table="engines",
        mode=mode,
        x="USD a day",
    )
    fig.update_layout(barmode="overlay")
    fig.update_xaxes(tickprefix="$", rangemode="tozero", tickformatstops=theme.TICKS, nticks=6)
    return fig


def _bars(part: pd.DataFrame, name: str, marker: dict[str, Any], mode: Mode) -> go.Bar:
    scale = part["usd_per_day"] / part["sync_s"].where(part["sync_s"] > 0)
    return go.Bar(
        x=list(part["usd_per_day"]),
        y=[str(row_id) for row_id in part["row_id"]],
        orientation="h",
        name=name,
        marker=marker,
        error_x=error_bars(
            part["usd_per_day"],
            part["sync_s_low"] * scale,
            part["sync_s_high"] * scale,
            theme.palette(mode).text,
        ),
        customdata=[_words(row) for row in part.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _tail(row: dict[str, Any]) -> str:
    told = [f"{digits3(row['sync_s'])} s a sync"] if known(row.get("sync_s")) else []
    told += [f"{digits3(row['gb_per_s'])} GB/s"] if known(row.get("gb_per_s")) else []
    told += [str(row["model"])] if row.get("model") and row["row_id"] != NOW else []
    return theme.escape(" · ".join(told))


def _words(row: dict[str, Any]) -> str:
    lines = [f"<b>{theme.escape(row['method'])}</b>", f"{money(row['usd_per_day'])} a day"]
    if known(row.get("share_frac")):
        lines.append(f"{percent(row['share_frac'])} of the step")
    if known(row.get("saved_usd_per_day")) and row["row_id"] != NOW:
        lines.append(f"saves {money(row['saved_usd_per_day'])} a day")
    if row.get("model"):
        lines.append(theme.short(f"measured with {row['model']}", 60))
    if row.get("source"):
        lines.append(theme.short(row["source"], 70))
    return "<br>".join(lines)


@marked
def speeds(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the dollars a day against the GB/s of a copy: where a faster engine stops buying anything."""
    frame = result.tables.get("speeds")
    if frame is None or not has(frame, "gb_per_s", "usd_per_day"):
        return theme.empty(result.answer, title=SPEEDS, table="speeds", mode=mode)
    data = frame.sort_values("gb_per_s", kind="stable")
    colours = theme.palette(mode)
    wanted = (("usd_per_day", "weight sync", colours.accent, "solid", 2.5),)
    fig = go.Figure(curves(data, "gb_per_s", wanted, _speed_words))
    now = result.tables.get("engines")
    if now is not None and has(now, "gb_per_s", "usd_per_day"):
        here = now.dropna(subset=["gb_per_s", "usd_per_day"])
        here = here.assign(ours=here["row_id"] == NOW)
        at = ("gb_per_s", "usd_per_day")
        fig.add_traces(marks(here, "ours", *at, "in use", _speed_words, diamond(mode)))
    theme.apply(
        fig,
        title=SPEEDS,
        subtitle="Same model, same pools, same step",
        alt=f"Dollars a day of weight sync against its speed. {result.answer}",
        table="speeds",
        mode=mode,
        x="GB/s of one copy",
        y="USD a day",
    )
    low, high = float(data["gb_per_s"].min()), float(data["gb_per_s"].max())
    ticks = [n * 10**k for k in range(-2, 6) for n in (1, 2, 5) if low <= n * 10**k <= high]
    fig.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{n:,g}" for n in ticks])
    fig.update_yaxes(tickprefix="$", rangemode="tozero")
    return fig


def _speed_words(row: dict[str, Any]) -> str:
    return f"{digits3(row['gb_per_s'])} GB/s: {money(row['usd_per_day'])} a day"
