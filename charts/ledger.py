"""The overview: where each run's dollars went, and what score they had bought by when."""

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import money
from charts import theme
from charts.blocks import colours_of, has, score_figure
from charts.folding import FOLDED, fold, parts_told
from charts.synthetic import marked
from charts.theme import Mode

MOST_RUNS = 24


@marked
def spend_by_phase(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw one horizontal bar a run, its dollars stacked by phase; time nobody attributed is hatched."""
    title = "Spend of each run by phase, in dollars"
    frame = result.tables.get("phases")
    if not has(frame, "run", "phase", "usd"):
        why = "No run has dollars yet: fill in pools, platform and price in the run details."
        return theme.empty(why, title=title, table="phases", mode=mode)
    data = frame.dropna(subset=["usd"])
    totals = data.groupby("run")["usd"].sum().sort_values(ascending=False)
    shown = list(totals.index[:MOST_RUNS])
    data, folded = fold(data[data["run"].isin(shown)], "usd")
    fig = go.Figure([_phase_bar(data, phase, mode) for phase in theme.ordered_phases(data["phase"])])
    left_out = len(totals) - len(shown)
    note = f"the {len(shown)} dearest of {len(totals)} runs; " if left_out else ""
    theme.apply(
        fig,
        title=title,
        subtitle=f"{note}hatched: inside steps but in no phase, or paid outside steps"
        f"{f'; {folded}' if folded else ''}",
        alt=f"Stacked bars of spend by phase; {shown[0]} is the dearest run at {money(totals.iloc[0])}.",
        table="phases",
        mode=mode,
        x="Spend (USD)",
        height=96 + 34 * len(shown),
    )
    fig.update_layout(barmode="relative", bargap=0.35)
    fig.update_xaxes(tickprefix="$", tickformatstops=theme.TICKS)
    fig.update_yaxes(
        categoryorder="array",
        categoryarray=shown[::-1],
        tickvals=shown,
        ticktext=[theme.short(r, 20) for r in shown],
        showgrid=False,
    )
    return fig


def _phase_bar(data: pd.DataFrame, phase: str, mode: Mode) -> go.Bar:
    """Bars of the runs that have the phase: Plotly stacks wrongly over missing values."""
    rows = data[data["phase"] == phase]
    part = rows.groupby("run")["usd"].sum()
    label = theme.phase_label(phase)
    names = [[theme.escape(r), ""] for r in part.index]
    if phase == FOLDED:
        told = parts_told(rows, "run", "usd", "${:,.2f}")
        names = [[theme.escape(r), told[r]] for r in part.index]
    return go.Bar(
        x=list(part),
        y=list(part.index),
        orientation="h",
        name=label,
        legendgroup=phase,
        marker=theme.phase_marker(phase, mode),
        customdata=names,
        hovertemplate=f"<b>%{{customdata[0]}}</b><br>{label}: %{{x:$,.3~r}}%{{customdata[1]}}<extra></extra>",
    )


@marked
def score_by_usd(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw score against cumulative dollars, one line a run; at most eight coloured."""
    title = "Score against cumulative dollars"
    frame = result.tables.get("scores")
    if not has(frame, "run", "x", "score"):
        why = "No evaluation can be placed on a dollar axis yet: upload scores, and fill in the run details."
        return theme.empty(why, title=title, table="scores", mode=mode)
    fig, label, subtitle = score_figure(frame, mode, x_hover="%{x:$,.3~r}", colours=colours_of(result, mode))
    scores = f"{label[:1].lower()}{label[1:]}"
    theme.apply(
        fig,
        title=title,
        subtitle=subtitle,
        alt=f"One line a run: {scores} against dollars spent by then, {frame['run'].nunique()} runs.",
        table="scores",
        mode=mode,
        x="Cumulative spend (USD)",
        y=label,
    )
    fig.update_xaxes(tickprefix="$", tickformatstops=theme.TICKS, rangemode="tozero")
    return fig
