"""The worked example: points per $10,000 of one stage by benchmark, against the zero line."""

import plotly.graph_objects as go

from analysis.result import Result
from charts import theme
from charts.axes import named_rows
from charts.blocks import error_bars, has
from charts.theme import Mode

COLOURS = {"better": "accent", "worse": "text", "cannot tell": "grey"}
NAMES = {"better": "Better", "worse": "Worse", "cannot tell": "Not distinguishable from zero"}


def rates(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw one row a benchmark that has an interval: points per $10,000, or points where no cost is known."""
    frame = result.tables.get("gains")
    priced = has(frame, "per_10k")
    value, low, high = ("per_10k", "per_10k_low", "per_10k_high") if priced else ("gain", "low", "high")
    unit = "Points per $10k" if priced else "Gain (percentage points)"
    title = f"{unit} by benchmark, one stage of Nemotron 3 Ultra"
    if frame is None or not has(frame, value, low):
        return theme.empty(result.answer, title=title, table="gains", mode=mode)
    data = frame[frame[low].notna()].sort_values(value, ascending=False).reset_index(drop=True)
    palette, fig = theme.palette(mode), go.Figure()
    for verdict, name in NAMES.items():
        part = data[data["verdict"] == verdict]
        if part.empty:
            continue
        colour = getattr(palette, COLOURS[verdict])
        fig.add_trace(go.Scatter(
            x=list(part[value]), y=list(part.index), mode="markers", name=name,
            marker={"color": colour, "size": 10},
            error_x=error_bars(part[value], part[low], part[high], colour),
            customdata=[[theme.escape(b), s0, s1, n] for b, s0, s1, n in zip(
                part["benchmark"], part["before_score"], part["after_score"], part["n"], strict=True)],
            hovertemplate="<b>%{customdata[0]}</b> (%{customdata[3]:.0f} tasks)<br>%{customdata[1]:.1%} to "
            "%{customdata[2]:.1%}<br>%{x:.3~r}<extra></extra>",
        ))  # fmt: skip
    theme.apply(
        fig, title=title, subtitle="published scores, assumed cost; 95 % interval of totals with an assumed "
        "correlation of task results", alt=f"{unit} with the zero line. {result.answer}", table="gains",
        mode=mode, x=unit, height=130 + 40 * len(data),
    )  # fmt: skip
    fig.add_vline(x=0, line={"color": palette.text, "width": 1.5})
    named_rows(fig, [theme.short(b, 24) for b in data["benchmark"]])
    return fig
