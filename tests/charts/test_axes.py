"""Axes in dollars: a sign at every label, and no more labels than a phone has room for."""

import plotly.graph_objects as go
import pytest

from charts.axes import log_usd


def labels(*values: float) -> list[str]:
    fig = go.Figure()
    log_usd(fig, values)
    axis = fig.layout.yaxis
    if axis.ticktext is None:
        return []
    # those that fall between the ends
    return [t for v, t in zip(axis.tickvals, axis.ticktext, strict=True) if min(values) <= v <= max(values)]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((4.0, 120.0), ["$5", "$10", "$20", "$50", "$100"]),
        ((0.0015, 0.06), ["$0.002", "$0.005", "$0.01", "$0.02", "$0.05"]),
        ((0.9, 2e6), ["$1", "$10", "$100", "$1k", "$10k", "$100k", "$1M"]),
        ((500.0, 1400.0), []),
    ],
)
def test_every_label_of_a_log_axis_has_its_dollar(values: tuple[float, ...], shown: list[str]) -> None:
    assert labels(*values) == shown


def test_what_has_no_place_on_a_log_axis_is_passed_over() -> None:
    fig = go.Figure()
    log_usd(fig, [4.0, float("inf"), 0.0, float("nan"), 120.0])
    assert "$50" in fig.layout.yaxis.ticktext and fig.layout.yaxis.type == "log"
