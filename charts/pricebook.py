"""Prices of one platform over time: every quote and every version, what counts no more drawn hollow."""

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import money
from charts import theme
from charts.platforms import SYMBOLS, WORDS
from charts.theme import Mode
from data.catalogue_types import KIND_WORDS

IN_FORCE = "in force"
NO_TIER = "quotes without a tier"


def history(result: Result, mode: Mode = "light", kind: str = "") -> go.Figure:
    """Draw the dated versions of one kind (that of the picker when empty) in US dollars; kinds never mix."""
    kind = kind or str(result.params.get("price", "")).partition(".")[0]
    word = KIND_WORDS.get(kind, kind.replace("_", " "))
    title = f"Price history, {word}"
    frame = result.tables.get("history")
    data = pd.DataFrame() if frame is None else frame[(frame["kind"] == kind) & frame["price_value"].notna()]
    drawn = data.dropna(subset=["day", "usd"]) if len(data) else data
    if drawn.empty:
        return theme.empty(f"No dated {word} price in dollars.", title=title, table="history", mode=mode)
    fig, colours = go.Figure(), theme.palette(mode).runs
    tiers = sorted(set(drawn["tier"]), key=lambda tier: (tier == "", tier))
    for place, tier in enumerate(tiers):
        part = drawn[drawn["tier"] == tier].sort_values("day")
        colour = colours[place % len(colours)]
        for _, mine in part[(part["status"] == "user") & (part["state"] != "replaced")].groupby("price_id"):
            fig.add_trace(_steps(mine, colour))
        fig.add_trace(_dots(part, tier or NO_TIER, colour))
    fig.add_traces(_badges(set(drawn["status"]), mode))
    lost = len(data) - len(drawn)
    rest = f"; only in the table: {lost} without date or rate" if lost else ""
    names = ", ".join(dict.fromkeys(drawn["platform"]))
    theme.apply(
        fig,
        title=f"{title}: {names}" if drawn["platform"].nunique() == 1 else title,
        subtitle=f"Hollow: a version that counts no more or not yet{rest}",
        alt=f"{len(drawn)} dated {word} prices of {names} over time.",
        table="history",
        mode=mode,
        x="counts from",
        y=_unit(drawn),
        height=380,
    )
    fig.update_yaxes(rangemode="tozero", tickprefix="$")
    return fig


def _unit(drawn: pd.DataFrame) -> str:
    """Axis title: dollars per what the prices are for; where that differs, each dot says it."""
    per = {str(unit).partition(" per ")[2] for unit in drawn["unit"]}
    return f"USD per {per.pop()}" if len(per) == 1 else "USD (per what: see each dot)"


def _badges(statuses: set[str], mode: Mode) -> list[go.Scatter]:
    """Legend entries: which symbol stands for which status."""
    quiet = theme.palette(mode).quiet
    return [
        go.Scatter(
            x=[None], y=[None], mode="markers", name=WORDS.get(status, status), hoverinfo="skip",
            marker={"symbol": symbol, "color": quiet, "size": 9},
        )
        for status, symbol in SYMBOLS.items() if status in statuses
    ]  # fmt: skip


def _steps(mine: pd.DataFrame, colour: str) -> go.Scatter:
    """A person's price from version to version: it holds until the next one."""
    line = {"color": colour, "width": 1.5, "shape": "hv", "dash": "dot"}
    return go.Scatter(
        x=mine["day"], y=mine["usd"], mode="lines", line=line, showlegend=False, hoverinfo="skip"
    )


def _dots(part: pd.DataFrame, name: str, colour: str) -> go.Scatter:
    counts = [state == IN_FORCE for state in part["state"]]
    symbols = [SYMBOLS.get(s, "circle") for s in part["status"]]
    words = [
        "<br>".join(
            theme.escape(line)
            for line in (
                f"{r.provider or r.platform} · {r.badge} · version {r.version:g}, {r.state}",
                f"{money(r.usd)} per {r.unit.partition(' per ')[2]} from {r.as_of}"
                + ("" if r.currency == "USD" else f" ({r.price_value:g} {r.currency})"),
                r.price_source[:80],
            )
        )
        for r in part.itertuples()
    ]
    return go.Scatter(
        x=part["day"],
        y=part["usd"],
        name=theme.escape(name.replace("_", " ")),
        mode="markers",
        marker={
            "color": colour,
            "size": [11 if ok else 9 for ok in counts],
            "symbol": [s if ok else f"{s}-open" for s, ok in zip(symbols, counts, strict=True)],
            "line": {"width": 1.5, "color": colour},
        },
        customdata=words,
        hovertemplate=f"<b>{theme.escape(name)}</b><br>%{{customdata}}<extra></extra>",
    )


def change_by_run(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw each run's spend as stored and re-priced, side by side."""
    title = "Spend as stored and re-priced"
    frame = result.tables.get("runs")
    data = pd.DataFrame() if frame is None or frame.empty else frame.dropna(subset=["change_usd"])
    if data.empty:
        why = "No picked run has dollars on both sides."
        return theme.empty(why, title=title, table="runs", mode=mode)
    data = data.sort_values("usd_stored", ascending=False).head(theme.MAX_COLOURED_RUNS)
    sides = (("usd_stored", "as stored", "measured"), ("usd_new", "re-priced", "projected"))
    fig = go.Figure([_side(data, *side, mode) for side in sides])
    left = len(frame) - len(data) if frame is not None else 0
    theme.apply(
        fig,
        title=title,
        subtitle="Hatched: the scenario" + (f"; only in the table: {left} more" if left else ""),
        alt=f"Spend of {len(data)} runs as stored and at the scenario's prices.",
        table="runs",
        mode=mode,
        x="USD",
        height=140 + 56 * len(data),
    )
    fig.update_yaxes(autorange="reversed")
    top = float(data[["usd_stored", "usd_new"]].to_numpy().max())
    fig.update_xaxes(tickprefix="$", range=[0, 1.18 * top])
    return fig


def _side(data: pd.DataFrame, column: str, name: str, status: str, mode: Mode) -> go.Bar:
    colours = theme.palette(mode)
    return go.Bar(
        y=[theme.short(run) for run in data["run"]],
        x=data[column],
        name=name,
        orientation="h",
        marker=theme.status_marker(colours.accent, status, mode),
        text=[money(usd) for usd in data[column]],
        textposition="outside",
        cliponaxis=False,
        outsidetextfont={"color": colours.quiet, "size": 11},
        hovertemplate=f"<b>%{{y}}</b><br>{name}: %{{text}}<extra></extra>",
    )
