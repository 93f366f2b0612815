"""Reserve, own or burst: mixes with their risk, the demand they serve, one more rack, and regret."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import digits3, money
from charts import theme
from charts.blocks import error_bars, has
from charts.duration import duration_curve
from charts.planned import bars, curves, diamond, in_order, marks
from charts.projection_style import known
from charts.synthetic import marked
from charts.theme import Mode

OPTIONS = "Expected cost by mix, with its risk"
DEMAND = "Demand and what the mix commits to, first year"
RACKS = "What each unit is worth"
REGRET = "Regret of the mix, by world"
BEST = "best"
NO_OWNING = (
    "Owning has no cost yet: give the cost of capital, and the price of a rack where none is published."
)


@marked
def options(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the expected cost of each mix with its p10-p90 over the worlds, the chosen one in the accent."""
    frame = result.tables.get("options")
    if frame is None or not has(frame, "label", "expected_usd"):
        return theme.empty(result.answer, title=OPTIONS, table="options", mode=mode)
    data = frame.dropna(subset=["expected_usd"])
    colours = theme.palette(mode)
    labels = [theme.short(label, 40) for label in data["label"]]
    marker = {"color": [colours.accent if o == BEST else colours.grey for o in data["option"]]}
    whiskers = error_bars(data["expected_usd"], data["p10_usd"], data["p90_usd"], colours.text)
    fig = go.Figure(bars(data, "expected_usd", labels, marker, _option_words, whiskers=whiskers))
    rest = len(frame) - len(data)
    theme.apply(
        fig,
        title=OPTIONS,
        subtitle="Present value over the horizon; whiskers: p10–p90 of demand and prices"
        + (f"; {rest} without a cost, see the table" if rest else ""),
        alt=f"Bars of {len(labels)} mixes with their range: {', '.join(labels)}.",
        table="options",
        mode=mode,
        x="USD, present value",
        height=110 + 38 * len(labels),
    )
    return in_order(fig, labels)


def _option_words(row: Mapping[str, Any]) -> str:
    lines = [f"<b>{theme.escape(row['label'])}</b>: {money(row['expected_usd'])}"]
    for column, words in (
        ("worst_tenth_usd", "mean of the worst tenth"),
        ("worst_usd", "worst world"),
        ("regret_usd", "regret, expected"),
    ):
        if known(row.get(column)):
            lines.append(f"{words}: {money(row[column])}")
    return "<br>".join(lines)


@marked
def demand(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the demand of the first year as a duration curve with the committed GPUs as a level."""
    frame = result.tables.get("demand")
    if frame is None or not has(frame, "time_frac", "gpus"):
        return theme.empty(result.answer, title=DEMAND, table="demand", mode=mode)
    level = frame["committed_gpus"].dropna() if "committed_gpus" in frame.columns else pd.Series(dtype=float)
    colour = theme.palette(mode).text
    return duration_curve(
        frame,
        [("committed", float(value), colour) for value in level.head(1)],
        title=DEMAND,
        subtitle="Above the level GPUs are rented on demand; below it committed ones stand idle",
        levels_are="the committed level",
        mode=mode,
    )


@marked
def racks(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw what the n-th unit saves in rent against what it costs: they cross at the last one to buy."""
    frame = result.tables.get("racks")
    if frame is None or not has(frame, "units", "value_usd", "cost_usd"):
        return theme.empty(NO_OWNING, title=RACKS, table="racks", mode=mode)
    data = frame.dropna(subset=["value_usd"]).sort_values("units", kind="stable")
    colours = theme.palette(mode)
    wanted = (
        ("value_usd", "saves in rent", colours.accent, "solid", 2.5),
        ("cost_usd", "costs", colours.text, "dash", 2.5),
    )
    fig = go.Figure(curves(data, "units", wanted, _unit_words))
    fig.update_traces(line_shape="hvh")
    last = marks(data, "chosen", "units", "value_usd", "last one bought", _unit_words, diamond(mode))
    fig.add_traces(last)
    theme.apply(
        fig,
        title=RACKS,
        subtitle="The n-th unit is worth buying while it saves more rent than it costs"
        + ("" if data["chosen"].any() else "; none is bought"),
        alt=f"Value and cost of each further unit, {len(data)} counts. {result.answer}",
        table="racks",
        mode=mode,
        x="the n-th unit owned",
        y="USD, present value",
    )
    fig.update_yaxes(tickprefix="$", tickformatstops=theme.TICKS)
    fig.update_xaxes(dtick=1)
    return fig


def _unit_words(row: Mapping[str, Any]) -> str:
    cost = f", costs {money(row['cost_usd'])}" if known(row["cost_usd"]) else ""
    return f"unit {row['units']:,.0f}: saves {money(row['value_usd'])} of rent{cost}"


@marked
def regret(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw what the chosen mix costs above the best one in hindsight, world by world."""
    frame = result.tables.get("worlds")
    if frame is None or not has(frame, "label", "regret_usd"):
        return theme.empty(result.answer, title=REGRET, table="worlds", mode=mode)
    data = frame.dropna(subset=["regret_usd"])
    colours = theme.palette(mode)
    labels = [theme.short(label, 60).replace(", next", ",<br>next") for label in data["label"]]
    fig = go.Figure(
        bars(data, "regret_usd", labels, theme.status_marker(colours.accent, "projected", mode), _world_words)
    )
    likely = [f"{digits3(100 * float(p))} % likely" for p in data["prob_frac"]]
    fig.update_traces(text=likely, textposition="outside", cliponaxis=False)
    told = [f"{label}: {money(float(v))}" for label, v in zip(data["label"], data["regret_usd"], strict=True)]
    theme.apply(
        fig,
        title=REGRET,
        subtitle="What hindsight would have saved"
        + ("" if data["regret_usd"].any() else ": nothing in any world, this mix is the best in each"),
        alt=f"Bars of the regret in {'; '.join(told)}.",
        table="worlds",
        mode=mode,
        x="USD, present value",
        height=110 + 44 * len(labels),
    )
    in_order(fig, labels)
    fig.update_xaxes(range=[0, 1.35 * max(float(data["regret_usd"].max()), 1.0)])
    return fig


def _world_words(row: Mapping[str, Any]) -> str:
    return (
        f"<b>{theme.escape(row['label'])}</b>: {money(row['regret_usd'])} above the best<br>"
        f"{money(row['cost_usd'])} against {money(row['best_usd'])} with {theme.escape(row['best_mix'])}"
    )
