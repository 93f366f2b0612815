"""A run's own cost beside what hosted services would bill for the same tokens."""

import math
from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import money
from charts import theme
from charts.blocks import colours_of, error_bars, has
from charts.synthetic import marked
from charts.theme import Mode

MOST_ROWS = 24
TWO_DECADES = 100


@marked
def side_by_side(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw one dot an offer in the row of its run: the run itself filled, what services would bill hollow."""
    title = "Own cost and service bills for the same tokens"
    frame = result.tables.get("side_by_side")
    if not has(frame, "run", "usd"):
        return theme.empty(result.answer, title=title, table="side_by_side", mode=mode)
    data = frame[frame["comparable"] & (frame["usd"] > 0)].head(MOST_ROWS)
    if data.empty:
        return theme.empty(result.answer, title=title, table="side_by_side", mode=mode)
    names = [_row_name(row) for row in data.to_dict("records")]
    fig = go.Figure(_dots(data, names, colours_of(result, mode), mode))
    theme.apply(
        fig,
        title=title,
        subtitle="Stars: the run by its own basis. Whiskers: quotes, or failed attempts billed or not",
        alt=f"Dots of {len(data)} costs for {data['run'].nunique()} runs: own cost and service bills.",
        table="side_by_side",
        mode=mode,
        x="USD, log scale",
        height=110 + 34 * len(data),
    )
    fig.update_layout(showlegend=False)
    ends = data[["usd", "usd_low", "usd_high"]]
    ticks = _ticks(float(ends.min().min()), float(ends.max().max()))
    fig.update_xaxes(
        type="log", minor={"showgrid": False}, tickvals=ticks, ticktext=[money(usd) for usd in ticks]
    )
    fig.update_yaxes(categoryorder="array", categoryarray=names, autorange="reversed")
    return fig


def _ticks(low: float, high: float) -> list[float]:
    """Amounts to mark on a logarithmic axis: every decade, with 2 and 5 between where few are spanned."""
    between = (1.0,) if high / low > TWO_DECADES else (1.0, 2.0, 5.0)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [digit * 10.0**decade for decade in decades for digit in between]


def _dots(data: pd.DataFrame, names: list[str], colours: Mapping[str, str], mode: Mode) -> go.Scatter:
    shades = [colours[run] for run in data["run"]]
    return go.Scatter(
        x=data["usd"],
        y=names,
        mode="markers",
        marker={
            "color": shades,
            "size": 12,
            "symbol": ["star" if offer == "this run" else "circle-open" for offer in data["offer"]],
            "line": {"width": 2.2, "color": shades},
        },
        error_x=error_bars(data["usd"], data["usd_low"], data["usd_high"], theme.palette(mode).quiet),
        customdata=[_words(row) for row in data.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _row_name(row: Mapping[str, object]) -> str:
    mine = row["offer"] == "this run"
    first = theme.short(row["run"] if mine else row["offer"], 30)
    second = str(row["basis"]) if mine else f"for {theme.short(row['run'], 20)}"
    return f'{first}<br><span style="font-size:10px">{second}</span>'


def _words(row: Mapping[str, object]) -> str:
    usd, low, high = (float(str(row[name])) for name in ("usd", "usd_low", "usd_high"))
    lines = [
        f"<b>{theme.escape(row['run'])}</b>, {theme.escape(row['offer'])}: {money(usd)}",
        f"{money(low)} to {money(high)}, basis {theme.escape(row['basis'])}",
        f"failed jobs billed: {theme.escape(row['failed_jobs_billed'])}; {row['as_of'] or 'undated'}",
    ]
    return "<br>".join(lines)
