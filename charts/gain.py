"""What the money bought: gains with their intervals against the zero line."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from charts import theme
from charts.axes import named_rows
from charts.blocks import error_bars, has
from charts.synthetic import marked
from charts.theme import Mode

MOST_ROWS = 40
VERDICTS = {"better": "Better", "worse": "Worse", "cannot tell": "Cannot tell"}


@marked
def forest(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw one row a run and benchmark: gain in points with its 95 % interval, coloured by verdict."""
    title = "Gain by run and benchmark, in points"
    frame = result.tables.get("gains")
    if has(frame, "run", "gain"):
        frame = frame[frame["gain"].notna() & (frame["unit"] == "points")]
    if not has(frame, "run", "gain"):
        why = (
            "No run has an evaluation before and after training under the same benchmark, harness and metric."
        )
        return theme.empty(why, title=title, table="gains", mode=mode)
    data = frame.head(MOST_ROWS).reset_index(drop=True)
    fig = go.Figure([t for v in VERDICTS if (t := _rows(data, v, mode)) is not None])
    told = "; ".join(f"{n} {v}" for v, n in data["verdict"].value_counts().items())
    theme.apply(
        fig,
        title=title,
        subtitle="95 % interval; where it crosses the line, the gain is not distinguishable from zero",
        alt=f"Forest plot of {len(data)} comparisons with the zero line: {told}.",
        table="gains",
        mode=mode,
        x="Gain (percentage points)",
        height=110 + 36 * len(data),
    )
    return _zero(fig, data, mode)


def _zero(fig: go.Figure, data: pd.DataFrame, mode: Mode) -> go.Figure:
    """Draw the zero line and name the rows."""
    labels = [
        _label(r, b, data["benchmark"].nunique()) for r, b in zip(data["run"], data["benchmark"], strict=True)
    ]
    fig.add_vline(x=0, line={"color": theme.palette(mode).text, "width": 1.5})
    named_rows(fig, labels)
    return fig


RATES = {
    "points_per_1000_usd": ("Gain per dollar, by run and benchmark", "percentage points per $1,000"),
    "nats_per_1000_usd": ("Log-odds gained per dollar, by run and benchmark", "nats per $1,000"),
    "points_per_mwh": ("Gain per energy, by run and benchmark", "percentage points per MWh"),
}
"""Columns of the table `rates`: title and axis of the figure."""


@marked
def rates(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw one row a run and benchmark: gain per dollar or per MWh with its 95 % interval of joint draws."""
    rate = str(result.params.get("rate", "points_per_1000_usd"))
    title, axis = RATES[rate]
    frame = result.tables.get("rates")
    if not has(frame, "run", rate, f"{rate}_low", f"{rate}_high"):
        why = "No comparison has both an interval and a known cost of this kind."
        return theme.empty(why, title=title, table="rates", mode=mode)
    ends = [f"{rate}_low", f"{rate}_high"]
    whole = frame[frame[[rate, *ends]].replace([np.inf, -np.inf], np.nan).notna().all(axis=1)]
    data = whole.head(MOST_ROWS).reset_index(drop=True)
    data = data.assign(value=data[rate], low=data[ends[0]], high=data[ends[1]])
    drawn = [_rows(data, v, mode, "value", axis) for v in VERDICTS]
    fig = go.Figure([trace for trace in drawn if trace is not None])
    theme.apply(
        fig,
        title=title,
        subtitle="95 % interval of joint draws of gain and cost; across the line nothing is ranked",
        alt=f"Forest plot of {len(data)} rates with the zero line, in {axis}.",
        table="rates",
        mode=mode,
        x=f"{axis[:1].upper()}{axis[1:]}",
        height=110 + 36 * len(data),
    )
    return _zero(fig, data, mode)


def _rows(
    data: pd.DataFrame, verdict: str, mode: Mode, value: str = "gain", unit: str = "points"
) -> go.Scatter | None:
    part = data[data["verdict"] == verdict]
    if part.empty:
        return None
    colours = theme.palette(mode)
    colour = {"better": colours.good, "worse": colours.bad}.get(verdict, colours.quiet)
    symbol = {"better": "circle", "worse": "diamond"}.get(verdict, "circle-open")
    return go.Scatter(
        x=part[value],
        y=part.index,
        mode="markers",
        name=VERDICTS[verdict],
        showlegend=True,
        marker={"color": colour, "size": 10, "symbol": symbol, "line": {"width": 2, "color": colour}},
        error_x=error_bars(part[value], part["low"], part["high"], colour),
        customdata=[_facts(row, value, unit) for row in part.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _signed(value: object) -> str:
    return f"{float(value):+.3g}"  # type: ignore[arg-type]


def _label(run: object, benchmark: object, benchmarks: int) -> str:
    if benchmarks == 1:
        return theme.short(run, 20)
    return f"{theme.short(run, 18)}<br><span style='font-size:10px'>{theme.short(benchmark, 22)}</span>"


def _facts(row: dict[str, object], value: str, unit: str) -> str:
    lines = [f"<b>{theme.escape(row['run'])}</b> on {theme.escape(row['benchmark'])}"]
    number, low, high = (_signed(row[name]) for name in (value, "low", "high"))
    lines.append(f"{number} {unit} ({low} to {high})")
    if pd.notna(row.get("seen_gain")):
        lines.append(f"{row['seen_gain']:+.1f} as seen, lowered for the choice among checkpoints")
    if row.get("before_score") is not None and row.get("after_score") is not None:
        lines.append(f"{100 * float(row['before_score']):.1f} % to {100 * float(row['after_score']):.1f} %")  # type: ignore[arg-type]
    if pd.notna(row.get("n")):
        lines.append(f"{row['n']:,.0f} tasks, {theme.escape(row.get('method') or '')}")
    return "<br>".join(lines)
