"""Which figures each question draws: pages and reports take them from here."""

from collections.abc import Callable

import plotly.graph_objects as go

from analysis.result import Result
from charts.theme import Mode

Draw = Callable[[Result, Mode], go.Figure]
FIGURES: dict[str, list[tuple[str, str, Draw]]] = {}


def draw(result: Result, mode: Mode = "light") -> list[go.Figure]:
    """Return every figure of a result, in page order; none for a question that draws nothing."""
    return [function(result, mode) for _, _, function in FIGURES.get(result.analysis, [])]
