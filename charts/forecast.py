"""Spend and GPU-hours by month: what was, a band of what is to come, the budget, and what was foretold."""

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import digits3, money, month_words, percent
from charts import theme
from charts.blocks import band, error_bars, has
from charts.planned import bars, in_order
from charts.projection_style import known
from charts.synthetic import marked
from charts.theme import Mode

MONTHS = {"usd": "Spend by month", "gpu_h": "GPU-hours by month"}
AXIS = {"usd": "USD a month", "gpu_h": "GPU-hours a month"}
GROUPS = "Expected spend by team and campaign"
CHANGES = "What changed since the kept forecast"
SCORED = "What was foretold, and what happened"
MOST_GROUPS = 12


@marked
def months(result: Result, mode: Mode = "light", measure: str = "usd") -> go.Figure:
    """Draw past months as bars, the months to come as p50 with a p10-p90 band, and the budget as a line."""
    frame, past = result.tables.get("months"), result.tables.get("history")
    title = MONTHS[measure]
    if frame is None or not has(frame, "month", f"{measure}_p50"):
        return theme.empty(result.answer, title=title, table="months", mode=mode)
    colours = theme.palette(mode)
    fig = go.Figure()
    if past is not None and has(past, "month", measure):
        fig.add_trace(_past(past, measure, mode))
    x = list(frame["month"])
    fig.add_traces(
        band(x, list(frame[f"{measure}_p10"]), list(frame[f"{measure}_p90"]), colours.accent, "p10–p90")
    )
    fig.add_trace(_expected(frame, measure, mode))
    told = _budget(fig, frame, past, mode) if measure == "usd" else ""
    first = frame.iloc[0]
    begun = f"; {month_words(str(first['month']))} has begun" if float(first.get("days_known") or 0) else ""
    theme.apply(
        fig,
        title=title,
        subtitle=f"Bars: what was; dashed: expected, with its band{told}{begun}",
        alt=f"{title}: {len(x)} months ahead with p10, p50 and p90{told}. {result.answer}",
        table="months",
        mode=mode,
        y=AXIS[measure],
        height=400,
    )
    fig.update_xaxes(type="category", categoryorder="array", categoryarray=_order(past, x))
    fig.update_yaxes(rangemode="tozero", tickformatstops=theme.TICKS, tickprefix="$" * (measure == "usd"))
    return fig


def _expected(frame: pd.DataFrame, measure: str, mode: Mode) -> go.Scatter:
    return go.Scatter(
        x=list(frame["month"]),
        y=list(frame[f"{measure}_p50"]),
        mode="lines+markers",
        name="p50",
        line={"color": theme.palette(mode).accent, "width": 2.5, "dash": "dash"},
        marker={"size": 7},
        customdata=[_month_words(row, measure) for row in frame.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _order(past: pd.DataFrame | None, x: list[str]) -> list[str]:
    before = [] if past is None else [str(month) for month in past["month"]]
    return sorted({*before, *map(str, x)})


def _past(past: pd.DataFrame, measure: str, mode: Mode) -> go.Bar:
    whole = past["whole"].astype(bool) if "whole" in past.columns else pd.Series(True, index=past.index)
    colour = theme.palette(mode).quiet
    amount = money if measure == "usd" else digits3
    return go.Bar(
        x=list(past["month"]),
        y=list(past[measure]),
        name="actual",
        marker={"color": [colour if full else theme.fade(colour, 0.5) for full in whole]},
        customdata=[
            f"{month_words(str(m))}: {amount(float(v))}{'' if full else ', in part'}"
            for m, v, full in zip(past["month"], past[measure], whole, strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _month_words(row: Mapping[str, Any], measure: str) -> str:
    amount = money if measure == "usd" else digits3
    low, mid, high = (amount(float(row[f"{measure}_{p}"])) for p in ("p10", "p50", "p90"))
    lines = [f"<b>{month_words(str(row['month']))}</b>: {mid} ({low} – {high})"]
    if known(row.get("over_frac")) and measure == "usd":
        lines.append(f"over budget with probability {percent(row['over_frac'])}")
    return "<br>".join(lines)


def _budget(fig: go.Figure, frame: pd.DataFrame, past: pd.DataFrame | None, mode: Mode) -> str:
    """The budget as a line over all months; returns words about it."""
    if "budget_usd" not in frame.columns or frame["budget_usd"].dropna().empty:
        return ""
    usd = float(frame["budget_usd"].dropna().iloc[0])
    x = _order(past, list(frame["month"]))
    fig.add_trace(
        go.Scatter(
            x=x,
            y=[usd] * len(x),
            mode="lines",
            name=f"budget {money(usd)}",
            line={"color": theme.palette(mode).bad, "width": 1.8, "dash": "dot"},
            hoverinfo="skip",
        )
    )
    return f"; budget {money(usd)} a month"


def gpu_hours(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the GPU-hours as `months` draws the dollars."""
    return months(result, mode, "gpu_h")


@marked
def groups(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the expected spend of each team, else of each campaign, over the horizon with its p10-p90."""
    frame = result.tables.get("totals")
    if frame is None or not has(frame, "kind", "name", "usd_mean"):
        return theme.empty("No team or campaign is known yet.", title=GROUPS, table="totals", mode=mode)
    data = frame[frame["kind"].isin(["team", "campaign"])].sort_values(
        ["kind", "usd_mean"], ascending=[False, False], kind="stable"
    )
    data = data.head(MOST_GROUPS)
    if data.empty:
        return theme.empty("No team or campaign is known yet.", title=GROUPS, table="totals", mode=mode)
    labels = [theme.short(f"{row['name'] or 'no name'}", 30) for row in data.to_dict("records")]
    ticks = [f"{kind}: {label}" for kind, label in zip(data["kind"], labels, strict=True)]
    colours = theme.palette(mode)
    marker = theme.status_marker(colours.accent, "projected", mode)
    whiskers = error_bars(data["usd_mean"], data["usd_p10"], data["usd_p90"], colours.text)
    fig = go.Figure(bars(data, "usd_mean", ticks, marker, _group_words, whiskers=whiskers))
    theme.apply(
        fig,
        title=GROUPS,
        subtitle="Mean over the horizon; whiskers: p10–p90",
        alt=f"Bars of the expected spend of {', '.join(ticks)}.",
        table="totals",
        mode=mode,
        x="USD over the horizon",
        height=110 + 34 * len(data),
    )
    return in_order(fig, ticks)


def _group_words(row: Mapping[str, Any]) -> str:
    ends = f"{money(row['usd_p10'])} – {money(row['usd_p90'])}"
    return f"{theme.escape(row['name'])}: {money(row['usd_mean'])} ({ends})"


@marked
def changes(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw from the kept forecast to today's as a waterfall: data, volume, price, inputs."""
    frame = result.tables.get("changes")
    if frame is None or not has(frame, "part", "usd"):
        why = "No earlier forecast was kept: keep this one, and the next says what changed."
        return theme.empty(why, title=CHANGES, table="changes", mode=mode)
    fig = go.Figure(_steps(frame, mode))
    told = [f"{row['label']} {money(float(row['usd']))}" for row in frame.to_dict("records")]
    theme.apply(
        fig,
        title=CHANGES,
        subtitle="Medians (p50) of the months that both foretell, summed",
        alt=f"Steps from the kept forecast to today's: {', '.join(told)}.",
        table="changes",
        mode=mode,
        y="USD",
    )
    fig.update_layout(showlegend=False)
    fig.update_yaxes(tickprefix="$", rangemode="tozero", tickformatstops=theme.TICKS)
    return fig


def _steps(frame: pd.DataFrame, mode: Mode) -> go.Waterfall:
    colours = theme.palette(mode)
    kinds = {"before": "absolute", "after": "total"}
    return go.Waterfall(
        x=["<br>".join(wrap(theme.escape(label), 14)) for label in frame["label"]],
        y=list(frame["usd"]),
        measure=[kinds.get(str(part), "relative") for part in frame["part"]],
        text=[money(float(v)) for v in frame["usd"]],
        textposition="outside",
        cliponaxis=False,
        connector={"line": {"color": colours.axis, "width": 1}},
        increasing={"marker": {"color": colours.bad}},
        decreasing={"marker": {"color": colours.good}},
        totals={"marker": {"color": colours.accent}},
        hovertemplate="%{x}: %{text}<extra></extra>",
    )


@marked
def scored(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw each kept forecast of the whole as p10-p90 with its p50 beside what the month really cost."""
    frame = result.tables.get("scores")
    wanted = frame[(frame["kind"] == "total") & (frame["measure"] == "usd")] if frame is not None else None
    if wanted is None or not has(wanted, "month", "p50", "actual"):
        return theme.empty(result.answer, title=SCORED, table="scores", mode=mode)
    data = wanted.sort_values(["month", "forecast"], kind="stable")
    ticks = [f"{row['month']} · #{row['forecast']}" for row in data.to_dict("records")]
    hits = int(data["inside"].astype(bool).sum())
    fig = go.Figure([_foretold(data, ticks, mode), _happened(data, ticks, mode)])
    theme.apply(
        fig,
        title=SCORED,
        subtitle=f"{hits} of {len(data)} inside their band, crosses outside; 8 in 10 should be inside",
        alt=f"{len(data)} kept forecasts beside what happened: {hits} inside their p10-p90.",
        table="scores",
        mode=mode,
        x="month · number of the forecast",
        y="USD a month",
    )
    fig.update_xaxes(type="category")
    fig.update_yaxes(tickprefix="$", tickformatstops=theme.TICKS)
    return fig


def _foretold(data: pd.DataFrame, ticks: list[str], mode: Mode) -> go.Scatter:
    accent = theme.palette(mode).accent
    return go.Scatter(
        x=ticks,
        y=list(data["p50"]),
        mode="markers",
        name="foretold, p10–p90",
        marker={"symbol": "line-ew", "size": 14, "line": {"width": 2.5, "color": accent}},
        error_y=error_bars(data["p50"], data["p10"], data["p90"], accent),
        hovertemplate="%{x}: p50 %{y:$,.3~s}<extra></extra>",
    )


def _happened(data: pd.DataFrame, ticks: list[str], mode: Mode) -> go.Scatter:
    colours = theme.palette(mode)
    inside = list(data["inside"].astype(bool))
    return go.Scatter(
        x=ticks,
        y=list(data["actual"]),
        mode="markers",
        name="actual",
        marker={
            "size": 10,
            "color": [colours.good if hit else colours.bad for hit in inside],
            "symbol": ["circle" if hit else "x" for hit in inside],
        },
        hovertemplate="%{x}: actual %{y:$,.3~s}<extra></extra>",
    )
