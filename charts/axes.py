"""Axes that several charts share: dollars, dollars on a log scale, and a named row for each place."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from charts import theme

STEPS_MOST, STEPS_LEAST = 2.6, 0.7
"""Decades up to which 1, 2 and 5 are labelled, and below which the labels that Plotly finds are kept."""


def usd(fig: go.Figure, side: str = "x", **more: Any) -> None:
    """Set an axis of the figure, `x` or `y`, in dollars."""
    _axis(fig, side, tickprefix="$", tickformatstops=theme.TICKS, **more)


def log_usd(fig: go.Figure, values: Iterable[float], side: str = "y", **more: Any) -> None:
    """Set an axis in dollars on a log scale over `values`, every label with its dollar sign.

    Plotly leaves the sign out at 2 and 5 times a power of ten: '$1k, 500, 200, $100'.
    """
    known = [float(v) for v in values if 0 < float(v) < math.inf]
    ends = (math.log10(min(known)), math.log10(max(known))) if known else (0.0, 0.0)
    if ends[1] - ends[0] < STEPS_LEAST:
        _axis(fig, side, type="log", tickprefix="$", tickformat="~s", **more)
        return
    steps = (1, 2, 5) if ends[1] - ends[0] <= STEPS_MOST else (1,)
    ticks = [s * 10.0**p for p in range(math.floor(ends[0]) - 1, math.ceil(ends[1]) + 2) for s in steps]
    _axis(fig, side, type="log", tickvals=ticks, ticktext=[_sum(tick) for tick in ticks], **more)


def named_rows(fig: go.Figure, labels: Sequence[str]) -> None:
    """Write labels, escaped and cut, at the places 0, 1, … of the vertical axis from the top down."""
    fig.update_yaxes(
        tickvals=list(range(len(labels))), ticktext=list(labels), range=[len(labels) - 0.5, -0.5],
        showgrid=False, zeroline=False,
    )  # fmt: skip


def _axis(fig: go.Figure, side: str, **how: Any) -> None:
    (fig.update_xaxes if side == "x" else fig.update_yaxes)(**how)


def _sum(value: float) -> str:
    """'$0.002', '$50', '$2k', '$10M'."""
    for scale, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= scale * (1 - 1e-9):
            return f"${value / scale:g}{letter}"
    return f"${value:.12f}".rstrip("0").rstrip(".") if value < 1 else f"${value:g}"
