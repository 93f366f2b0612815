"""What one rollout, one correct rollout, one informative rollout and a million tokens cost, run by run."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.result import Result
from charts import theme
from charts.axes import named_rows
from charts.blocks import colours_of, error_bars, has
from charts.synthetic import marked
from charts.theme import Mode

UNITS = {
    "usd_per_rollout": "USD per rollout",
    "usd_per_correct": "USD per verified-correct rollout",
    "usd_per_informative": "USD per rollout with a learning signal",
    "usd_per_mtok": "USD per million generated tokens",
}
MOST_RUNS = 12


@marked
def unit_costs(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw one panel a unit, one bar a run, with whiskers; each panel has its own dollar axis."""
    title = "Unit costs by run, in dollars"
    frame = result.tables.get("bars")
    if not has(frame, "run", "unit", "value"):
        why = "No run has both a spend and a number of rollouts or tokens."
        return theme.empty(why, title=title, table="bars", mode=mode)
    units = [u for u in UNITS if (frame["unit"] == u).any()]
    runs = list(dict.fromkeys(frame["run"]))[:MOST_RUNS]
    fig = make_subplots(
        rows=len(units),
        cols=1,
        subplot_titles=[UNITS[u] for u in units],
        vertical_spacing=min(0.2, 0.34 / max(1, len(units))),
    )
    for place, unit in enumerate(units, 1):
        part = frame[(frame["unit"] == unit) & frame["run"].isin(runs)]
        fig.add_trace(_bars(part, runs, colours_of(result, mode), mode), row=place, col=1)
    more = frame["run"].nunique() - len(runs)
    theme.apply(
        fig,
        title=title,
        subtitle="whiskers: range of quotes, with the 95 % interval of the share where one is used"
        + (f"; {more} more runs are in the table" if more else ""),
        alt=f"Bars of unit costs for {len(runs)} runs: {', '.join(UNITS[u] for u in units)}.",
        table="bars",
        mode=mode,
        height=40 + len(units) * (74 + 26 * len(runs)),
    )
    _axes(fig, runs)
    theme.name_panels(fig, mode)
    return fig


def _axes(fig: go.Figure, runs: list[str]) -> None:
    fig.update_layout(showlegend=False, bargap=0.3)
    fig.update_xaxes(tickprefix="$", rangemode="tozero", nticks=5)
    named_rows(fig, [theme.short(r, 20) for r in runs])


def _bars(part: pd.DataFrame, runs: list[str], colours: Mapping[str, str], mode: Mode) -> go.Bar:
    return go.Bar(
        x=part["value"],
        y=[runs.index(r) for r in part["run"]],
        orientation="h",
        marker={"color": [colours[r] for r in part["run"]]},
        error_x=error_bars(part["value"], part["low"], part["high"], theme.palette(mode).text),
        customdata=[[theme.escape(r.run), r.low, r.high] for r in part.itertuples()],
        hovertemplate=(
            "<b>%{customdata[0]}</b><br>%{x:$,.3r}<br>"
            "%{customdata[1]:$,.3r} to %{customdata[2]:$,.3r}<extra></extra>"
        ),
    )
