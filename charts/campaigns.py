"""Campaigns: spend by week stacked by who bears it, and dollars that bought nothing by cause."""

from itertools import cycle

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import money
from charts import theme
from charts.blocks import has
from charts.synthetic import marked
from charts.theme import Mode

MOST = 8
NOBODY = "No campaign"
NO_WEEK = "no date"
MOST_CAUSES = 12
WIDE_WEEKS = 6
"""Fewer weeks than these leave their room empty, lest one bar fill the figure."""


@marked
def spend_by_week(result: Result, mode: Mode = "light", by: str = "campaign") -> go.Figure:
    """Draw dollars by ISO week, stacked by campaign or team; what nobody bears is hatched."""
    title = f"Spend by week and {by}, in dollars"
    frame = result.tables.get("weeks")
    if not has(frame, by, "week", "usd"):
        why = "No charge and no priced allocation lies in the period: load a bill, or runs with their pools."
        return theme.empty(why, title=title, table="weeks", mode=mode)
    data = frame.assign(week=frame["week"].replace("", NO_WEEK))
    weeks = sorted(data["week"].unique(), key=lambda week: (week == NO_WEEK, week))
    sizes = data.groupby(by)["usd"].sum().sort_values(ascending=False)
    named = [name for name in sizes.index if name]
    fig = go.Figure(_stack(data, by, named, weeks, mode))
    theme.apply(
        fig,
        title=title,
        subtitle=f"accrued by UTC day; hatched: borne by no {by}; credits below 0",
        alt=f"Stacked bars of spend by week, {len(named)} of them named; {money(float(sizes.sum()))} in all.",
        table="weeks",
        mode=mode,
        x="ISO week (UTC)",
        y="Spend (USD)",
    )
    fig.update_layout(barmode="relative", bargap=max(0.3, 1 - len(weeks) / WIDE_WEEKS))
    fig.update_xaxes(
        type="category", categoryorder="array", categoryarray=weeks, tickvals=weeks, tickangle=0,
        ticktext=["<br>".join(reversed(week.split("-"))) for week in weeks],
    )  # fmt: skip
    fig.update_yaxes(tickprefix="$", tickformatstops=theme.TICKS)
    return fig


@marked
def spend_by_team(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw `spend_by_week` stacked by team."""
    return spend_by_week(result, mode, "team")


def _stack(data: pd.DataFrame, by: str, named: list[str], weeks: list[str], mode: Mode) -> list[go.Bar]:
    """Bars of the largest of `named` (most first), of all the others together, and of what nobody bears."""
    palette = theme.palette(mode)
    out = [
        _bars(data[data[by] == name], theme.escape(name), {"color": colour}, weeks)
        for name, colour in zip(named[:MOST], cycle(palette.runs), strict=False)
    ]
    rest = named[MOST:]
    if rest:
        out.append(_bars(data[data[by].isin(rest)], f"{len(rest)} more", {"color": palette.grey}, weeks))
    if (data[by] == "").any():
        marker = theme.status_marker(palette.quiet, "projected", mode)
        out.append(_bars(data[data[by] == ""], NOBODY if by == "campaign" else "No team", marker, weeks))
    return out


def _bars(part: pd.DataFrame, label: str, marker: dict[str, object], weeks: list[str]) -> go.Bar:
    sums = part.groupby("week")["usd"].sum()
    kept = [week for week in weeks if week in sums.index]
    return go.Bar(
        x=kept,
        y=[float(sums[week]) for week in kept],
        name=label,
        marker=marker,
        hovertemplate=f"<b>{label}</b><br>%{{x}}: %{{y:$,.2f}}<extra></extra>",
    )


@marked
def lost_by_cause(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw dollars that bought nothing by cause, largest first, with the running share of all of them."""
    title = "Dollars that bought nothing, by cause"
    frame = result.tables.get("lost_by")
    if not has(frame, "dimension", "key", "usd") or not (frame["dimension"] == "cause").any():
        why = "Nothing is known to have been lost: attempts need a start, an end and steps with a clock."
        return theme.empty(why, title=title, table="lost_by", mode=mode)
    data = frame[(frame["dimension"] == "cause") & (frame["usd"] > 0)].sort_values("usd", ascending=False)
    if data.empty:
        return theme.empty("Nothing was lost in the period.", title=title, table="lost_by", mode=mode)
    whole, shown = float(data["usd"].sum()), data.head(MOST_CAUSES)
    names = [str(key) or "not stated" for key in shown["key"]]
    running = (shown["usd"].cumsum() / whole).tolist()
    more = len(data) - len(shown)
    fig = go.Figure([_sure(shown, names, running, mode), _unsure(shown, names, running, mode)])
    theme.apply(
        fig,
        title=title,
        subtitle="largest first, with the share of all up to here; dotted: may have bought something"
        + (f"; {more} smaller causes are in the table" if more else ""),
        alt=f"Bars of lost dollars by cause; {names[0]} is largest, {money(float(shown['usd'].iloc[0]))} of "
        f"{money(whole)}.",
        table="lost_by",
        mode=mode,
        x="Lost (USD)",
        height=110 + 34 * len(shown),
    )
    fig.update_layout(barmode="stack", bargap=0.35)
    fig.update_xaxes(
        tickprefix="$", tickformatstops=theme.TICKS, range=[0, 1.18 * float(shown["usd"].iloc[0])]
    )
    fig.update_yaxes(
        categoryorder="array", categoryarray=names[::-1], tickvals=names,
        ticktext=[theme.short(name, 24) for name in names], showgrid=False,
    )  # fmt: skip
    return fig


def _sure(shown: pd.DataFrame, names: list[str], running: list[float], mode: Mode) -> go.Bar:
    return go.Bar(
        x=shown["usd_low"].tolist(), y=names, orientation="h", name="Lost for sure",
        marker={"color": theme.palette(mode).bad},
        customdata=[[theme.escape(name), part] for name, part in zip(names, running, strict=True)],
        hovertemplate="<b>%{customdata[0]}</b><br>lost for sure: %{x:$,.2f}"
        "<br>%{customdata[1]:.0%} of all losses up to here<extra></extra>",
    )  # fmt: skip


def _unsure(shown: pd.DataFrame, names: list[str], running: list[float], mode: Mode) -> go.Bar:
    return go.Bar(
        x=(shown["usd"] - shown["usd_low"]).tolist(), y=names, orientation="h", name="May be lost",
        marker=theme.status_marker(theme.palette(mode).bad, "assumed", mode),
        text=[f"{100 * part:.0f} %" for part in running], textposition="outside", cliponaxis=False,
        outsidetextfont={"color": theme.palette(mode).quiet, "size": 11}, textangle=0,
        customdata=[theme.escape(name) for name in names],
        hovertemplate="<b>%{customdata}</b><br>no checkpoint is known: %{x:$,.2f}<extra></extra>",
    )  # fmt: skip
