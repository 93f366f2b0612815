"""Made-up data says so wherever it is drawn: on the page, in a report, in a saved picture."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

import plotly.graph_objects as go

from analysis.result import Result
from charts import theme

CODES = frozenset({"synthetic", "synthetic_data", "synthetic_example"})
P = ParamSpec("P")
Draw = Callable[Concatenate[Result, P], go.Figure]


def is_synthetic(result: Result) -> bool:
    """Say whether any number of a result rests on generated example data."""
    return any(notice.code in CODES for notice in result.warnings)


def note_of(result: Result) -> str:
    """Return what a chart of this result says about made-up data; '' when it holds none."""
    if not is_synthetic(result):
        return ""
    made_up = {r for n in result.warnings if n.code in CODES for r in n.where.split("; ") if r}
    shown = {str(r) for t in result.tables.values() if "run" in t for r in t["run"].dropna()}
    return "Includes synthetic example runs" if made_up and shown - made_up else "Synthetic example data"


def marked(draw: Draw[P]) -> Draw[P]:
    """Make a drawing function say in the subtitle that its data is made up, when it is."""

    @wraps(draw)
    def drawn(result: Result, *args: P.args, **kwargs: P.kwargs) -> go.Figure:
        fig = draw(result, *args, **kwargs)
        note = note_of(result)
        return theme.add_note(fig, note) if note and fig.data else fig

    return drawn
