"""Score against what was spent by then, and what a point or a rollout cost by platform generation."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import money
from charts import theme
from charts.axes import named_rows, usd
from charts.blocks import colours_of, error_bars, has, score_figure
from charts.synthetic import marked
from charts.theme import Mode

X_AXES = {
    "usd": ("cumulative dollars", "Cumulative spend (USD)", "%{x:$,.3~r}"),
    "gpu_hours": ("cumulative GPU-hours", "Cumulative GPU-hours (GPU-h)", "%{x:,.3~r} GPU-h"),
    "tokens": ("generated tokens", "Generated tokens (tokens)", "%{x:,.3~r} tokens"),
    "rollouts": ("rollouts", "Rollouts (count)", "%{x:,.3~r} rollouts"),
    "steps": ("training steps", "Step (count)", "step %{x}"),
    "hours": ("hours held", "Time the GPUs were held (h)", "%{x:,.3~r} h"),
}


@marked
def curve(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw score against the chosen axis, one line a run, each point with its 95 % interval."""
    kind = str(result.params.get("x", "usd"))
    words, axis, hover = X_AXES.get(kind, X_AXES["usd"])
    title = f"Score against {words}"
    frame = result.tables.get("points")
    if not has(frame, "run", "x", "score"):
        return theme.empty(
            result.answer or "No score can be placed here.", title=title, table="points", mode=mode
        )
    fig, label, subtitle = score_figure(frame, mode, x_hover=hover, colours=colours_of(result, mode))
    theme.apply(
        fig,
        title=title,
        subtitle=subtitle,
        alt=f"{label} against {words}, one line for each of {frame['run'].nunique()} runs.",
        table="points",
        mode=mode,
        x=axis,
        y=label,
        height=420,
    )
    fig.update_xaxes(rangemode="tozero", tickformatstops=theme.TICKS)
    if kind == "usd":
        fig.update_xaxes(tickprefix="$")
    return fig


@marked
def point_price(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw dollars per point of each run with its 95 % interval, runs grouped by platform generation."""
    title = "Dollars per point gained, by run"
    frame = result.tables.get("runs")
    if not has(frame, "run", "usd_per_point"):
        why = "No run has both a spend and a gain that is distinguishable from zero."
        return theme.empty(why, title=title, table="runs", mode=mode)
    data = (
        frame[frame["usd_per_point"].notna()]
        .sort_values(["generation", "usd_per_point"])
        .reset_index(drop=True)
    )
    best = data.loc[data["usd_per_point"].idxmin()]
    fig = go.Figure(_price_bars(data, colours_of(result, mode), mode))
    theme.apply(
        fig,
        title=title,
        subtitle=f"{_benchmarks(data)}grouped by platform generation; whiskers: 95 % interval",
        alt=f"Bars of dollars per point; {best['run']} is the cheapest at {money(best['usd_per_point'])}.",
        table="runs",
        mode=mode,
        x="USD per percentage point",
        height=110 + 44 * len(data),
    )
    fig.update_layout(showlegend=False, bargap=0.4)
    usd(fig, rangemode="tozero", nticks=6)
    named_rows(fig, [_two_lines(r, g) for r, g in zip(data["run"], data["generation"], strict=True)])
    return fig


def _benchmarks(data: pd.DataFrame) -> str:
    names = [str(b) for b in data.get("benchmark", pd.Series(dtype=object)).dropna().unique()]
    return f"on {theme.short(names[0], 24)}; " if len(names) == 1 else ""


def _two_lines(run: object, generation: object) -> str:
    under = theme.short(generation or "platform not named", 22)
    return f"{theme.short(run, 18)}<br><span style='font-size:10px'>{under}</span>"


def _price_bars(data: pd.DataFrame, colours: Mapping[str, str], mode: Mode) -> go.Bar:
    text = theme.palette(mode).text
    names = [theme.escape(r) for r in data["run"]]
    ends = data[["usd_per_point_low", "usd_per_point_high"]]
    return go.Bar(
        x=data["usd_per_point"],
        y=list(range(len(data))),
        orientation="h",
        marker={"color": [colours[r] for r in data["run"]]},
        error_x=error_bars(
            data["usd_per_point"], data["usd_per_point_low"], data["usd_per_point_high"], text
        ),
        customdata=[[n, *e] for n, e in zip(names, ends.to_numpy().tolist(), strict=True)],
        hovertemplate=(
            "<b>%{customdata[0]}</b><br>%{x:$,.3~r} per point<br>"
            "%{customdata[1]:$,.3~r} to %{customdata[2]:$,.3~r}<extra></extra>"
        ),
    )
