"""An invoice and what explains it: dollars by how lines were matched, by day, and the way to the invoice."""

import pandas as pd
import plotly.graph_objects as go

from analysis.reconciliation import usd_words
from analysis.result import Result
from charts import theme
from charts.blocks import has
from charts.synthetic import marked
from charts.theme import Mode

HOW = {
    "tag": "Tag",
    "booked": "Booked by hand",
    "resource": "Machine",
    "job": "Scheduler job",
    "time": "Kind and time",
    "none": "Nobody",
}
ROW_PX, AROUND_PX = 44, 90


@marked
def explained(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the effective cost by how it was matched; what is matched to nobody is hatched, by reason."""
    frame = result.tables.get("by_how")
    title = "The bill by who is known to bear it, in dollars"
    if not has(frame, "how", "usd"):
        return theme.empty(result.answer, title=title, table="by_how", mode=mode)
    data = frame.reset_index(drop=True)
    fig = go.Figure(_bars(data, mode))
    theme.apply(
        fig,
        title=title,
        alt="Bars: " + ", ".join(f"{_name(row)} {usd_words(row.usd)}" for row in data.itertuples()) + ".",
        table="by_how",
        mode=mode,
        x="effective cost (USD)",
        height=AROUND_PX + ROW_PX * len(data),
    )
    fig.update_layout(bargap=0.35)
    fig.update_xaxes(tickprefix="$", tickformatstops=theme.TICKS, nticks=6)
    fig.update_yaxes(
        tickvals=list(data.index),
        ticktext=[theme.short(_name(row), 34) for row in data.itertuples()],
        range=[len(data) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )
    return fig


def _bars(data: pd.DataFrame, mode: Mode) -> list[go.Bar]:
    colours, out = theme.palette(mode), []
    for known, name in ((True, "matched"), (False, "matched to nobody")):
        part = data[(data["how"] != "none") == known]
        marker = {"color": colours.good} if known else theme.status_marker(colours.quiet, "projected", mode)
        bar = go.Bar(x=part["usd"], y=part.index, orientation="h", name=name, marker=marker, showlegend=True)
        bar.customdata = [_told(row) for row in part.itertuples()]
        bar.hovertemplate = "%{customdata}<extra></extra>"
        out.append(bar)
    return out


def _name(row: object) -> str:
    return str(row.meaning) if row.how == "none" else HOW.get(str(row.how), str(row.how))


def _told(row: object) -> str:
    hours = f", {row.gpu_hours:,.1f} GPU-h" if row.gpu_hours else ""
    lines = f"{row.lines:,.0f} line{'' if row.lines == 1 else 's'}"
    head = f"<b>{theme.escape(_name(row))}</b> {usd_words(row.usd)}"
    return f"{head}<br>{lines}{hours}<br>{theme.escape(row.meaning)}"


@marked
def by_day(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the effective cost of each UTC day, matched and not."""
    frame = result.tables.get("by_day")
    title = "Effective cost by UTC day, in dollars"
    if not has(frame, "day", "effective_usd"):
        return theme.empty(result.answer, title=title, table="by_day", mode=mode)
    data = frame.dropna(subset=["day"]).sort_values("day", kind="stable")
    colours = theme.palette(mode)
    fig = go.Figure()
    for name, column, marker in (
        ("matched", "matched_usd", {"color": colours.good}),
        ("matched to nobody", "unmatched_usd", theme.status_marker(colours.quiet, "projected", mode)),
    ):
        fig.add_trace(
            go.Bar(
                x=pd.to_datetime(data["day"]),
                y=data[column],
                name=name,
                marker=marker,
                hovertemplate=f"%{{x|%Y-%m-%d}}<br>{name} $%{{y:,.2f}}<extra></extra>",
            )
        )
    rest = len(frame) - len(data)
    theme.apply(
        fig,
        title=title,
        subtitle="lines without a time are not drawn" if rest else "",
        alt=f"Stacked bars of {len(data)} days, matched and not.",
        table="by_day",
        mode=mode,
        y="effective cost (USD)",
        height=320,
    )
    fig.update_layout(barmode="relative", bargap=0.1)
    fig.update_yaxes(tickprefix="$", tickformatstops=theme.TICKS, nticks=5)
    return fig


@marked
def bridge(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the way from the invoice (billed) to the effective cost; empty when the two are equal."""
    frame = result.tables.get("totals")
    title = "From the invoice to the effective cost, in dollars"
    if not has(frame, "part", "usd") or not (frame["kind"] == "change").any():
        return theme.empty(
            "The invoice and the effective cost are equal.", title=title, table="totals", mode=mode
        )
    colours = theme.palette(mode)
    data = frame.reset_index(drop=True)
    fig = go.Figure(
        go.Waterfall(
            x=[theme.short(label, 26) for label in data["label"]],
            y=data["usd"],
            measure=["absolute" if kind == "total" else "relative" for kind in data["kind"]],
            text=[usd_words(value) for value in data["usd"]],
            increasing={"marker": {"color": colours.bad}},
            decreasing={"marker": {"color": colours.good}},
            totals={"marker": {"color": colours.accent}},
            connector={"line": {"color": colours.grid}},
            hovertemplate="%{x}<br>%{text}<extra></extra>",
        )
    )
    theme.apply(
        fig,
        title=title,
        alt="Waterfall: " + ", ".join(f"{r.label} {usd_words(r.usd)}" for r in data.itertuples()) + ".",
        table="totals",
        mode=mode,
        y="USD",
        height=360,
    )
    fig.update_layout(showlegend=False)
    fig.update_yaxes(tickprefix="$", tickformatstops=theme.TICKS, nticks=5)
    return fig
