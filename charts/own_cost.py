"""What an owned GPU-hour is made of, and how the life it is written off over moves it."""

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import money, percent
from charts import theme
from charts.blocks import has
from charts.theme import Mode


def parts(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw one bar a part of the owned GPU-hour; parts that were not given are named, not drawn."""
    title = "Owned GPU-hour by part, in dollars"
    frame = result.tables.get("breakdown")
    if not has(frame, "label", "usd_per_gpu_h"):
        return theme.empty(result.answer, title=title, table="breakdown", mode=mode)
    given = frame[frame["usd_per_gpu_h"].fillna(0) > 0].sort_values("usd_per_gpu_h", ascending=False)
    left = [str(row.label).lower() for row in frame.itertuples() if not row.given]
    colours = theme.palette(mode)
    labels = list(given["label"])
    fig = go.Figure(
        go.Bar(
            x=given["usd_per_gpu_h"],
            y=labels,
            orientation="h",
            marker={"color": colours.accent},
            text=[money(v) for v in given["usd_per_gpu_h"]],
            textposition="auto",
            customdata=[
                [percent(s), theme.escape(how)]
                for s, how in zip(given["share_frac"], given["how"], strict=True)
            ],
            hovertemplate="%{y}: %{x:$,.3r}, %{customdata[0]}<br>%{customdata[1]}<extra></extra>",
        )
    )
    words = f"not given, so in no total: {', '.join(left)}" if left else "every part was given"
    theme.apply(
        fig,
        title=title,
        subtitle=words[:1].upper() + words[1:],
        alt=f"Bars of {len(labels)} parts of an owned GPU-hour; the largest is {labels[0]}.",
        table="breakdown",
        mode=mode,
        x="USD a GPU-hour bought",
        height=90 + 34 * len(labels),
    )
    fig.update_xaxes(tickprefix="$", rangemode="tozero")
    fig.update_yaxes(categoryorder="array", categoryarray=labels, autorange="reversed")
    return fig


def by_life(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the owned GPU-hour against the life of the hardware, the chosen life marked."""
    title = "Owned GPU-hour by depreciation life"
    frame = result.tables.get("lives")
    if not has(frame, "life_years", "usd_per_gpu_h"):
        return theme.empty(result.answer, title=title, table="lives", mode=mode)
    fig = go.Figure(_lives(frame, mode))
    theme.apply(
        fig,
        title=title,
        subtitle="Books use 4 to 6 years; the next generation may end it sooner",
        alt=f"An owned GPU-hour by life, up to {frame['life_years'].max():g} years; one is chosen.",
        table="lives",
        mode=mode,
        x="years",
        y="USD a GPU-hour bought",
        height=320,
    )
    fig.update_yaxes(tickprefix="$", rangemode="tozero")
    return fig


def _lives(frame: pd.DataFrame, mode: Mode) -> list[go.Scatter]:
    colours = theme.palette(mode)
    chosen = frame[frame["chosen"].astype(bool)]
    return [
        go.Scatter(
            x=frame["life_years"],
            y=frame["usd_per_gpu_h"],
            mode="lines+markers",
            line={"color": colours.accent, "width": 2},
            name="owned GPU-hour",
            hovertemplate="%{x:g} years: %{y:$,.3r} a GPU-hour<extra></extra>",
        ),
        go.Scatter(
            x=chosen["life_years"],
            y=chosen["usd_per_gpu_h"],
            mode="markers",
            marker={"color": colours.text, "size": 13, "symbol": "diamond"},
            name="chosen life",
            hovertemplate="chosen: %{x:g} years, %{y:$,.3r}<extra></extra>",
        ),
    ]
