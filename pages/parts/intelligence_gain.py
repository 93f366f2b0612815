"""The verdict first: better, worse or cannot tell by benchmark, the forest plot, and its numbers."""

from analysis.result import Result
from charts import gain as charts
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.intelligence_controls import Asked, shares_of_tasks
from pages.parts.tables import show_table
from pages.parts.verdicts import show_verdicts

COMPARISON = (
    "run", "benchmark", "verdict", "before", "before_label", "before_score", "after", "after_score", "gain",
    "low", "high", "n", "mdd", "method", "won", "lost", "reason", "usd", "usd_per_point",
    "usd_per_point_low", "usd_per_point_high", "metric", "k", "n_source",
)  # fmt: skip


def show(asked: Asked) -> list[Result]:
    """Draw verdicts and forest plot."""
    gain = compute_or_stop("gain", asked.gain)
    show_verdicts(gain.tables["verdicts"])
    show_chart(charts.forest(gain, asked.theme), key="intelligence-forest")
    return [gain]


def show_numbers(gain: Result) -> None:
    """Draw the table behind the forest plot."""
    show_table(
        gain,
        "gains",
        title="Comparisons, with the refused ones and why",
        columns=COMPARISON,
        percent=shares_of_tasks(gain.tables["gains"], "unit", "points", ("before_score", "after_score")),
        labels={"low": "Gain, low (points)", "high": "Gain, high (points)"},
    )
