"""Energy of each run by the evidence for it, beside its dollars of rent, which no energy is part of."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.result import Result
from analysis.words import digits3
from charts import theme
from charts.blocks import has
from charts.synthetic import marked
from charts.theme import Mode

MOST_RUNS = 20
STATUS = {"measured counter": "measured", "measured power": "projected", "platform figure": "assumed"}
LABELS = {
    "measured counter": "Energy counter",
    "measured power": "Power samples",
    "platform figure": "Published figure, not measured",
}


@marked
def energy_by_run(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw kWh at the GPU of each run stacked by evidence, and its spend in a panel of its own."""
    title = "Energy of each run at the GPU, and its rent"
    frame = result.tables.get("parts")
    if not has(frame, "run", "basis", "kwh_gpu"):
        why = "No run has energy yet: load GPU samples with power or an energy counter, or name its platform."
        return theme.empty(why, title=title, table="parts", mode=mode)
    data = frame.dropna(subset=["kwh_gpu"])
    totals = data.groupby("run")["kwh_gpu"].sum().sort_values(ascending=False)
    shown = list(totals.index[:MOST_RUNS])
    fig = make_subplots(
        rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.11, column_widths=[0.64, 0.36]
    )
    for basis in [name for name in STATUS if (data["basis"] == name).any()]:
        fig.add_trace(_energy_bar(data[data["basis"] == basis], basis, shown, mode), row=1, col=1)
    fig.add_trace(_spend_bar(result.tables["runs"], shown, mode), row=1, col=2)
    more = len(totals) - len(shown)
    theme.apply(
        fig,
        title=title,
        subtitle="solid: counted by the GPU; hatched: power over time; dotted: a published figure"
        + (f"; the {len(shown)} largest of {len(totals)} runs" if more else ""),
        alt=f"Bars of energy by run; {shown[0]} used most, {digits3(totals.iloc[0])} kWh at the GPU.",
        table="parts",
        mode=mode,
        height=130 + 34 * len(shown),
    )
    fig.update_layout(barmode="relative", bargap=0.35)
    fig.update_xaxes(rangemode="tozero", nticks=5)
    fig.update_xaxes(title_text="Energy (kWh)", row=1, col=1)
    fig.update_xaxes(title_text="Rent (USD)", tickprefix="$", tickformatstops=theme.TICKS, row=1, col=2)
    fig.update_yaxes(
        categoryorder="array", categoryarray=shown[::-1], tickvals=shown,
        ticktext=[theme.short(run, 20) for run in shown], showgrid=False,
    )  # fmt: skip
    return fig


def _energy_bar(part: pd.DataFrame, basis: str, shown: list[str], mode: Mode) -> go.Bar:
    sums = part[part["run"].isin(shown)].groupby("run")[["kwh_gpu", "gpu_h"]].sum()
    return go.Bar(
        x=list(sums["kwh_gpu"]),
        y=list(sums.index),
        orientation="h",
        name=LABELS[basis],
        legendgroup=basis,
        marker=theme.status_marker(theme.palette(mode).accent, STATUS[basis], mode),
        customdata=[[theme.escape(run), hours] for run, hours in zip(sums.index, sums["gpu_h"], strict=True)],
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b><br>{LABELS[basis]}: %{{x:,.3~r}} kWh"
            "<br>%{customdata[1]:,.3~r} GPU-hours<extra></extra>"
        ),
    )


def _spend_bar(runs: pd.DataFrame, shown: list[str], mode: Mode) -> go.Bar:
    part = runs[runs["run"].isin(shown)].dropna(subset=["usd"])
    return go.Bar(
        x=list(part["usd"]),
        y=list(part["run"]),
        orientation="h",
        name="Spend",
        showlegend=False,
        marker={"color": theme.palette(mode).grey},
        customdata=[theme.escape(run) for run in part["run"]],
        hovertemplate="<b>%{customdata}</b><br>%{x:$,.3~r}<extra></extra>",
    )
