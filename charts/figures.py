"""Which figures each question draws: pages and reports take them from here."""

from collections.abc import Callable

import plotly.graph_objects as go

from analysis.result import Result
from charts import gain, learning, ledger
from charts.theme import Mode

Draw = Callable[[Result, Mode], go.Figure]
FIGURES: dict[str, list[tuple[str, str, Draw]]] = {
    "ledger": [
        ("score_by_usd", "Score against cumulative dollars", ledger.score_by_usd),
        ("spend_by_phase", "Spend of each run by phase", ledger.spend_by_phase),
    ],
    "gain": [("forest", "Gain by run and benchmark", gain.forest)],
    "learning": [
        ("curve", "Score against what was spent", learning.curve),
        ("point_price", "Dollars per point gained", learning.point_price),
    ],
}


def draw(result: Result, mode: Mode = "light") -> list[go.Figure]:
    """Return every figure of a result, in page order; none for a question that draws nothing."""
    return [function(result, mode) for _, _, function in FIGURES.get(result.analysis, [])]
