"""The price below which moving pays: its band beside quotes, and what a GPU-hour may cost at most."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import digits3, money
from charts import theme
from charts.blocks import band, has
from charts.projection_style import MEASURED, ends, known, rows_dressed
from charts.synthetic import marked
from charts.theme import Mode

TITLE = "Price below which moving pays, USD a GPU-hour"
SLOPE = "Dollars a step relative to today, by price of a GPU-hour"
VERDICT_SHAPES = {"pays": "triangle-up", "does not pay": "triangle-down", "cannot tell": "diamond"}
BAND, MIDDLE = "Break-even, band", "Break-even, p50"
LINE_POINTS, LEAST_REACH = 41, 1.25
SECONDS_PER_HOUR, LEAST_SIDE = 3600, 0.005
MOST_TOLD = 3
NO_PRICE = (
    "Without a price of the measured platform there is no break-even. Pick another price in the sidebar."
)


def verdict_colour(verdict: str, mode: Mode) -> str:
    """Return the colour of a verdict: good and bad as elsewhere, quiet where nobody can tell."""
    colours = theme.palette(mode)
    return {"pays": colours.good, "does not pay": colours.bad}.get(verdict, colours.quiet)


@marked
def breakeven(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the break-even price of each platform as a band, its quotes as marks by verdict."""
    table = result.tables.get("breakeven")
    if not has(table, "usd_per_gpu_h"):
        return theme.empty(_why(table), title=TITLE, table="breakeven", mode=mode)
    prices = table.drop_duplicates("target")
    names = _names(prices)
    solved = prices.dropna(subset=["usd_per_gpu_h"])
    fig = go.Figure([_band(solved, names, mode), _middle(solved, names, mode)])
    for verdict in VERDICT_SHAPES:
        part = table[(table["verdict"] == verdict) & table["quote_usd_per_gpu_h"].notna()]
        if len(part):
            fig.add_trace(_quotes(part, verdict, names, mode))
    told = ", ".join(f"{r['platform']} {money(r['usd_per_gpu_h'])}" for r in solved.to_dict("records"))
    rows_dressed(
        fig,
        list(names.values()),
        [_head(r, names[r["target"]], table) for r in prices.to_dict("records")],
        title=TITLE,
        note="Moving pays left of the band; inside it nobody can tell. Marks: quotes",
        alt=f"Bands of the price of a GPU-hour below which moving pays: {told}; quotes marked.",
        table="breakeven",
        mode=mode,
        x="USD a GPU-hour",
        unknown={names[r["target"]]: str(r["words"] or "not known") for r in _unsolved(prices)},
    )
    fig.update_layout(barmode="overlay")
    fig.update_xaxes(rangemode="tozero", tickprefix="$", tickformatstops=theme.TICKS, nticks=6)
    return fig


def _why(table: pd.DataFrame | None) -> str:
    """What the table itself says about a break-even that cannot be told."""
    told = [] if table is None or table.empty else [str(w) for w in table["words"] if w]
    return told[0] if told else NO_PRICE


def _names(prices: pd.DataFrame) -> dict[str, str]:
    twice = prices["platform"].duplicated(keep=False)
    pairs = zip(prices["target"], prices["platform"], twice, strict=True)
    return {t: theme.escape(t if again else p) for t, p, again in pairs}


def _unsolved(prices: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = prices[prices["usd_per_gpu_h"].isna()].to_dict("records")
    return rows


def _band(solved: pd.DataFrame, names: dict[str, str], mode: Mode) -> go.Bar:
    return go.Bar(
        x=solved["usd_per_gpu_h_high"] - solved["usd_per_gpu_h_low"],
        base=solved["usd_per_gpu_h_low"],
        y=[names[t] for t in solved["target"]],
        orientation="h",
        name=BAND,
        marker=theme.status_marker(theme.palette(mode).accent, "projected", mode),
        customdata=[_price_words(r) for r in solved.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _middle(solved: pd.DataFrame, names: dict[str, str], mode: Mode) -> go.Scatter:
    colour = theme.palette(mode).text
    return go.Scatter(
        x=solved["usd_per_gpu_h"],
        y=[names[t] for t in solved["target"]],
        mode="markers",
        name=MIDDLE,
        marker={"color": colour, "symbol": "line-ns", "size": 18, "line": {"width": 2.5, "color": colour}},
        customdata=[_price_words(r) for r in solved.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _price_words(row: dict[str, Any]) -> str:
    price = f"{money(row['usd_per_gpu_h'])}{ends(row['usd_per_gpu_h_low'], row['usd_per_gpu_h_high'], money)}"
    return f"{theme.escape(row['platform'])}: pays below {price} a GPU-hour"


def _quotes(part: pd.DataFrame, verdict: str, names: dict[str, str], mode: Mode) -> go.Scatter:
    return go.Scatter(
        x=part["quote_usd_per_gpu_h"],
        y=[names[t] for t in part["target"]],
        mode="markers",
        name=f"Quote: {verdict}",
        marker={
            "color": verdict_colour(verdict, mode),
            "symbol": VERDICT_SHAPES[verdict],
            "size": 12,
            "line": {"width": 1.5, "color": theme.palette(mode).surface},
        },
        customdata=[_quote_words(r) for r in part.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _quote_words(row: dict[str, Any]) -> str:
    lines = [
        f"{row['platform']}, {row['quote_label']}: {money(row['quote_usd_per_gpu_h'])} a GPU-hour",
        str(row["verdict"]),
        str(row["quote_source"] or "")[:70],
    ]
    return "<br>".join(theme.escape(line) for line in lines if line)


def _head(row: dict[str, Any], name: str, table: pd.DataFrame) -> tuple[str, str]:
    mine = table[(table["target"] == row["target"]) & table["quote_usd_per_gpu_h"].notna()]
    told = [f"{money(q)} {v}" for q, v in zip(mine["quote_usd_per_gpu_h"], mine["verdict"], strict=True)]
    rest = f" · {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    words = " · ".join(told[:MOST_TOLD]) + rest if told else "no quote of this kind"
    return name, theme.escape(words)


@marked
def slope(result: Result, mode: Mode = "light", target: str = "") -> go.Figure:
    """Draw dollars a step relative to today's against the price of a GPU-hour on the target.

    A step takes the same GPU-seconds whatever they cost, so dollars rise along a line that is 1 at the
    break-even price, from what judges and sandboxes cost without any GPU: s + (1 - s) p / p_even. The band is
    that of the break-even price. `target` stands out, other platforms are grey.
    """
    table = result.tables.get("breakeven")
    if not has(table, "usd_per_gpu_h"):
        return theme.empty(_why(table), title=SLOPE, table="breakeven", mode=mode)
    solved = table.dropna(subset=["usd_per_gpu_h"]).drop_duplicates("target")
    chosen = _chosen(solved, target)
    quotes = table[(table["target"] == chosen["target"]) & table["quote_usd_per_gpu_h"].notna()]
    reach = LEAST_REACH * max(
        [*solved["usd_per_gpu_h"], chosen["usd_per_gpu_h_high"], *quotes["quote_usd_per_gpu_h"]]
    )
    sides = _side_parts(result.tables.get("platforms"))
    fig = go.Figure(_slopes(solved, chosen, sides, reach, mode))
    for row in quotes.to_dict("records"):
        fig.add_trace(_on_line(row, chosen, sides.get(chosen["target"], 0.0), mode))
    theme.apply(
        fig,
        title=SLOPE,
        subtitle=f"{chosen['platform']} pays below {money(chosen['usd_per_gpu_h'])}, where it costs what a "
        "step costs today",
        alt=f"Lines of relative dollars a step by price; {chosen['platform']} crosses 1 at "
        f"{money(chosen['usd_per_gpu_h'])} a GPU-hour.",
        table="breakeven",
        mode=mode,
        x="USD a GPU-hour on the new platform",
        y="dollars a step / today's (1 = equal)",
        height=400,
    )
    fig.add_hline(y=1, line={"color": theme.palette(mode).axis, "width": 1.5, "dash": "dot"})
    fig.update_xaxes(range=[0, reach], tickprefix="$", tickformatstops=theme.TICKS)
    fig.update_yaxes(range=[0, min(4.0, 1.05 * reach / chosen["usd_per_gpu_h"])])
    return fig


def _slopes(
    solved: pd.DataFrame, chosen: dict[str, Any], sides: dict[str, float], reach: float, mode: Mode
) -> list[go.Scatter]:
    """Grey lines of the other platforms, then the band and the line of the chosen one."""
    colours = theme.palette(mode)
    others = solved[solved["target"] != chosen["target"]].to_dict("records")
    traces = [_line(row, sides, reach, colours.grey, 1.4) for row in others]
    at, side = np.linspace(0.0, reach, LINE_POINTS), sides.get(chosen["target"], 0.0)
    if known(chosen["usd_per_gpu_h_low"]) and known(chosen["usd_per_gpu_h_high"]):
        low, high = (_relative(at, chosen[end], side) for end in ("usd_per_gpu_h_high", "usd_per_gpu_h_low"))
        traces += band(at, low, high, colours.accent, "band")
    return [*traces, _line(chosen, sides, reach, colours.accent, 2.6)]


def _chosen(solved: pd.DataFrame, target: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = solved.to_dict("records")
    return next((r for r in rows if r["target"] == target), rows[-1])


def _side_parts(platforms: pd.DataFrame | None) -> dict[str, float]:
    """Return what a step costs beside its GPUs on each target, relative to a step of today.

    Judges and sandboxes cost by the hour: their share of today's step times the ratio of the step times.
    """
    if not has(platforms, "usd_per_step", "usd_per_gpu_h", "gpus", "step_s"):
        return {}
    now = platforms[platforms["kind"] == MEASURED].to_dict("records")[0]
    on_gpus = now["usd_per_gpu_h"] * now["gpus"] * now["step_s"] / SECONDS_PER_HOUR
    share = 1 - on_gpus / now["usd_per_step"]
    if not known(share) or share < LEAST_SIDE:
        return {}
    return {r["target"]: share / r["speedup"] for r in platforms.to_dict("records") if known(r["speedup"])}


def _relative(price: Any, even: float, side: float) -> Any:
    return side + (1 - side) * price / even


def _line(
    row: dict[str, Any], sides: dict[str, float], reach: float, colour: str, width: float
) -> go.Scatter:
    name = theme.escape(row["platform"])
    price, side = row["usd_per_gpu_h"], sides.get(row["target"], 0.0)
    return go.Scatter(
        x=[0.0, price, reach],
        y=[_relative(p, price, side) for p in (0.0, price, reach)],
        mode="lines",
        name=name,
        line={"color": colour, "width": width, "dash": theme.status_dash("projected")},
        hovertemplate=f"{name}: equal at {money(price)}<extra></extra>",
    )


def _on_line(row: dict[str, Any], chosen: dict[str, Any], side: float, mode: Mode) -> go.Scatter:
    quote = float(row["quote_usd_per_gpu_h"])
    times = _relative(quote, chosen["usd_per_gpu_h"], side)
    words = theme.escape(f"{row['quote_label']}, {money(quote)}: {row['verdict']}")
    return go.Scatter(
        x=[quote],
        y=[times],
        mode="markers",
        name=words,
        marker={
            "color": verdict_colour(row["verdict"], mode),
            "symbol": VERDICT_SHAPES.get(row["verdict"], "circle"),
            "size": 13,
            "line": {"width": 1.5, "color": theme.palette(mode).surface},
        },
        hovertemplate=f"{words}<br>x {digits3(times)} of today's dollars<extra></extra>",
    )
