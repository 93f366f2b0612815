"""What the money bought: gains with their intervals against the zero line."""

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from charts import theme
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
    labels = [
        _label(r, b, data["benchmark"].nunique()) for r, b in zip(data["run"], data["benchmark"], strict=True)
    ]
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
    fig.add_vline(x=0, line={"color": theme.palette(mode).text, "width": 1.5})
    fig.update_yaxes(
        tickvals=list(range(len(data))),
        ticktext=labels,
        range=[len(data) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )
    return fig


def _rows(data: pd.DataFrame, verdict: str, mode: Mode) -> go.Scatter | None:
    part = data[data["verdict"] == verdict]
    if part.empty:
        return None
    colours = theme.palette(mode)
    colour = {"better": colours.good, "worse": colours.bad}.get(verdict, colours.quiet)
    symbol = {"better": "circle", "worse": "diamond"}.get(verdict, "circle-open")
    return go.Scatter(
        x=part["gain"],
        y=part.index,
        mode="markers",
        name=VERDICTS[verdict],
        showlegend=True,
        marker={"color": colour, "size": 10, "symbol": symbol, "line": {"width": 2, "color": colour}},
        error_x=error_bars(part["gain"], part["low"], part["high"], colour),
        customdata=[_facts(row) for row in part.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _label(run: object, benchmark: object, benchmarks: int) -> str:
    if benchmarks == 1:
        return theme.short(run, 20)
    return f"{theme.short(run, 18)}<br><span style='font-size:10px'>{theme.short(benchmark, 22)}</span>"


def _facts(row: dict[str, object]) -> str:
    lines = [f"<b>{theme.escape(row['run'])}</b> on {theme.escape(row['benchmark'])}"]
    lines.append(f"{row['gain']:+.1f} points ({row['low']:+.1f} to {row['high']:+.1f})")
    if row.get("before_score") is not None and row.get("after_score") is not None:
        lines.append(f"{100 * float(row['before_score']):.1f} % to {100 * float(row['after_score']):.1f} %")  # type: ignore[arg-type]
    if pd.notna(row.get("n")):
        lines.append(f"{row['n']:,.0f} tasks, {theme.escape(row.get('method') or '')}")
    return "<br>".join(lines)
