"""Rollouts step by step: how fast, how long, how many were cut, how stale."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.result import Result
from charts import theme
from charts.blocks import band, colours_of, has, run_lines
from charts.synthetic import marked
from charts.theme import Mode

RATES = {
    "tok_per_s_per_gpu": ("Generated tokens per second and GPU", "tokens/s/GPU"),
    "tok_per_s": ("Generated tokens per second", "tokens/s"),
    "rollouts_per_s": ("Rollouts per second", "1/s"),
    "tok_per_s_per_rollout_gpu": ("Generated tokens per second and rollout GPU", "tokens/s/GPU"),
}
MOST_PANELS = 3
THIN_PX = 1.1


def rates_known(result: Result) -> list[str]:
    """Return the rates that the steps of a result hold, in the order people ask for them."""
    frame = result.tables.get("steps")
    return [rate for rate in RATES if has(frame, rate)]


@marked
def throughput(result: Result, mode: Mode = "light", rate: str | None = None) -> go.Figure:
    """Draw one rate by step, one line a run; steps that a failure lost are pale."""
    known = rates_known(result)
    key = rate if rate in known else next(iter(known), None)
    if key is None:
        why = "Step times, or the number of rollouts and tokens of a step, are not in the files."
        return theme.empty(why, title="Throughput by step", table="steps", mode=mode)
    label, unit = RATES[key]
    frame = result.tables["steps"]
    fig = go.Figure()
    if frame["run"].nunique() == 1 and has(frame, f"{key}_min", f"{key}_max"):
        part = _kept(frame)
        colour = colours_of(result, mode)[str(part["run"].iloc[0])]
        ends = part["step_first"], part[f"{key}_min"], part[f"{key}_max"]
        fig.add_traces(band(*ends, colour, "least to most in a bin"))
    fig.add_traces(_lines(result, frame, key, f"%{{y:,.3~r}} {unit}", mode))
    return theme.apply(
        fig,
        title=f"{label}, by step",
        subtitle="over the GPUs of all pools" if key == "tok_per_s_per_gpu" else "",
        alt=f"{label} against the step, {frame['run'].nunique()} runs.",
        table="steps",
        mode=mode,
        x="Step",
        y=f"{label.split(' per ')[0]} ({unit})",
    ).update_yaxes(rangemode="tozero", tickformatstops=theme.TICKS)


def _kept(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["kept"].fillna(True).astype(bool)].sort_values(["run", "step_first"], kind="stable")


def _lines(result: Result, frame: pd.DataFrame, y: str, hover: str, mode: Mode) -> list[go.Scatter]:
    kept = frame["kept"].fillna(True).astype(bool)
    text = f"step %{{x}}<br>{hover}"
    same: dict[str, Any] = {"x": "step_first", "y": y, "mode": mode, "markers": False}
    same["colours"] = colours_of(result, mode)
    traces = run_lines(frame[kept], hover=text, **same)
    lost = run_lines(frame[~kept], hover=f"{text}<br>lost work", **same)
    for trace in lost:
        trace.update(opacity=0.4, showlegend=False, line={"width": 1.2})
    return [*lost, *traces]


@marked
def lengths(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw response lengths by step as a fan, one panel a run: median or mean, 95th percentile, longest."""
    title = "Response length by step, in tokens"
    frame = result.tables.get("steps")
    if not has(frame, "len_mean") and not has(frame, "len_p95") and not has(frame, "len_max"):
        return theme.empty("No file holds response lengths.", title=title, table="steps", mode=mode)
    columns = [c for c in ("len_mean", "len_p50", "len_p95", "len_max") if c in frame.columns]
    rows = _kept(frame[frame[columns].notna().any(axis=1)])
    runs = list(rows.groupby("run").size().sort_values(ascending=False, kind="stable").index)[:MOST_PANELS]
    fig = _panels(runs)
    colours = colours_of(result, mode)
    for place, run in enumerate(runs, 1):
        for trace in _fan(rows[rows["run"] == run], colours[run], mode):
            trace.showlegend = bool(trace.name) and place == 1 and trace.showlegend is not False
            fig.add_trace(trace, row=place, col=1)
    left_out = rows["run"].nunique() - len(runs)
    theme.apply(
        fig,
        title=title,
        subtitle=f"{len(runs)} runs with most steps; {left_out} more are not drawn"
        if left_out
        else _only(runs),
        alt=f"Fan of response lengths by step for {', '.join(map(str, runs))}.",
        table="steps",
        mode=mode,
        height=330 if len(runs) == 1 else 60 + 190 * len(runs),
    )
    return _finish(fig, len(runs), "Tokens", mode)


def _only(runs: Sequence[str]) -> str:
    return theme.short(runs[0], 40) if len(runs) == 1 else "one panel a run"


def _panels(runs: Sequence[str]) -> go.Figure:
    titles = [theme.short(r, 34) for r in runs] if len(runs) > 1 else None
    return make_subplots(
        rows=len(runs), cols=1, shared_xaxes=True, vertical_spacing=0.09, subplot_titles=titles
    )


def _finish(fig: go.Figure, panels: int, unit: str, mode: Mode) -> go.Figure:
    fig.update_xaxes(title_text="Step", row=panels, col=1)
    fig.update_yaxes(title_text=unit, rangemode="tozero", tickformatstops=theme.TICKS)
    theme.name_panels(fig, mode)
    return fig


def _fan(part: pd.DataFrame, colour: str, mode: Mode) -> list[go.Scatter]:
    x = part["step_first"]
    traces: list[go.Scatter] = []
    middle = "len_p50" if has(part, "len_p50") else "len_mean"
    start = "median" if middle == "len_p50" else "mean"
    if has(part, "len_p95", middle):
        traces += band(x, part[middle], part["len_p95"], colour, f"{start} to p95")
    styles = {
        "len_p50": ("median", colour, 2.2, "solid"),
        "len_mean": ("mean", colour, 2.2 if middle == "len_mean" else 1.2, "solid"),
        "len_p95": ("p95", colour, 1.4, "solid"),
        "len_max": ("longest", theme.palette(mode).quiet, 1.2, "solid"),
    }
    for name, (label, shade, width, dash) in styles.items():
        if has(part, name):
            line = {"color": shade, "width": width, "dash": dash}
            hover = f"{label}: %{{y:,.0f}} tokens<br>step %{{x}}<extra></extra>"
            traces.append(
                go.Scatter(x=x, y=part[name], mode="lines", name=label, line=line, hovertemplate=hover)
            )
    return traces


@marked
def truncation(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the share of responses that hit the length limit by step, one line a run."""
    return _by_step(
        result,
        mode,
        "truncated_frac",
        title="Responses that hit the length limit, by step",
        why="No file says how many responses were cut at the length limit.",
        scale=100,
        hover="%{y:.3g} % of the responses",
        y="Responses cut (%)",
    )


@marked
def staleness(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw how many steps old the policy of the rollouts was, one line a run."""
    return _by_step(
        result,
        mode,
        "staleness",
        title="Age of the policy that made the rollouts, by step",
        why="No file holds staleness: synchronous runs have none, and this log does not report it.",
        hover="%{y:.3g} steps old",
        y="Mean staleness (steps)",
    )


@marked
def dropped(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw rollouts that were made and thrown away by step, one line a run."""
    return _by_step(
        result,
        mode,
        "dropped",
        title="Rollouts dropped, by step",
        why="No file says how many rollouts were dropped.",
        a_step=True,
        hover="%{y:,.3g} dropped a step",
        y="Dropped a step (rollouts)",
    )


def _by_step(
    result: Result,
    mode: Mode,
    column: str,
    *,
    title: str,
    why: str,
    hover: str,
    y: str,
    scale: float = 1.0,
    a_step: bool = False,
) -> go.Figure:
    """One quantity by step, a line a run; `a_step` divides the sum of a bin by its steps."""
    frame = result.tables.get("steps")
    if not has(frame, column):
        return theme.empty(why, title=title, table="steps", mode=mode)
    values = scale * frame[column] / (frame["steps"].clip(lower=1) if a_step else 1)
    data = frame.assign(drawn=values)
    lines = _lines(result, data, "drawn", hover, mode)
    for line in lines:
        line.line.width = THIN_PX
    return theme.apply(
        go.Figure(lines),
        title=title,
        alt=f"{y} by step, {data.dropna(subset=['drawn'])['run'].nunique()} runs; "
        f"the most is {values.max():.3g}.",
        table="steps",
        mode=mode,
        x="Step",
        y=y,
        height=300,
    ).update_yaxes(rangemode="tozero")
