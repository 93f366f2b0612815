"""Errors on published pairs: the model beside the simple rules, one line a set."""

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from charts import theme
from charts.blocks import error_bars, has
from charts.theme import Mode

TITLE = "Median error on models never seen, percent"
HOVER = "%{y}: %{x:.1f} %<extra>%{fullData.name}</extra>"
SHAPES = ("circle-open", "square-open", "diamond-open", "triangle-up-open", "cross-open", "star-open")


def errors(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the median error of each set with its interval; hollow: simple rules on the same pairs."""
    sets, rules = result.tables.get("sets"), result.tables.get("rules")
    if sets is None or rules is None or not has(sets, "median_abs_error"):
        return theme.empty("No published pair was predicted.", title=TITLE, table="sets", mode=mode)
    shown = sets[(sets["part_of"] == "") | (sets["set"] == "rl_step, node_matched")]
    shown = shown[~shown["set"].isin(["training", "rl_step"])][::-1]
    names = dict(zip(shown["set"], shown["label"], strict=True))
    colours = theme.palette(mode)
    fig = go.Figure()
    for place, (label, part) in enumerate(rules[rules["set"].isin(names)].groupby("label", sort=False)):
        fig.add_trace(_rule(part, names, str(label), SHAPES[place % len(SHAPES)], colours.quiet))
    fig.add_trace(_own(shown, colours.accent, colours.text))
    theme.apply(
        fig,
        title=TITLE,
        subtitle="Filled: the projection, bars: 95 % when models are drawn again. Hollow: simple rules",
        alt=f"Median error of {len(shown)} sets of published pairs beside that of simple rules.",
        table="sets",
        mode=mode,
        x="median error (%)",
        height=340,
    )
    fig.update_xaxes(rangemode="tozero")
    fig.update_yaxes(categoryorder="array", categoryarray=list(shown["label"]))
    return fig


def _own(shown: pd.DataFrame, colour: str, ink: str) -> go.Scatter:
    ends = (100 * shown[c] for c in ("median_abs_error", "boot_low", "boot_high"))
    return go.Scatter(
        x=100 * shown["median_abs_error"],
        y=shown["label"],
        error_x=error_bars(*ends, ink),
        mode="markers",
        name="the projection",
        hovertemplate=HOVER,
        marker={"color": colour, "size": 12},
    )


def _rule(part: pd.DataFrame, names: dict[str, str], label: str, shape: str, colour: str) -> go.Scatter:
    return go.Scatter(
        x=100 * part["median_abs_error"],
        y=[names[name] for name in part["set"]],
        mode="markers",
        name=label,
        marker={"symbol": shape, "color": colour, "size": 9, "line": {"width": 1.8}},
        hovertemplate=HOVER,
    )
