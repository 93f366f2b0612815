"""Score against what had been spent by then, and what a point cost by platform generation."""

import streamlit as st

from analysis.result import Result
from charts import learning as charts
from pages.parts.choose import segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.intelligence_controls import Asked, shares_of_tasks
from pages.parts.pictures import picture
from pages.parts.tables import show_table

AXES = {
    "usd": "Dollars",
    "gpu_hours": "GPU-hours",
    "hours": "Hours",
    "tokens": "Generated tokens",
    "rollouts": "Rollouts",
    "steps": "Steps",
}
SCORES = (
    "run", "benchmark", "checkpoint", "step", "score", "low", "high", "n", "usd", "usd_low", "usd_high",
    "gpu_hours", "hours", "tokens", "attempt",
)  # fmt: skip
RUNS = (
    "run", "campaign", "platforms", "generation", "gpu_hours", "usd", "usd_low", "usd_high", "benchmark",
    "gain", "gain_low", "gain_high", "verdict", "usd_per_point", "usd_per_point_low", "usd_per_point_high",
    "steps", "rollouts", "reason", "synthetic",
)  # fmt: skip


def show(asked: Asked) -> list[Result]:
    """Draw score against the chosen axis, and runs by platform generation."""
    x = segments("in_x", "Score against", list(AXES), "usd", AXES.__getitem__)
    learning = compute_or_stop("learning", {"benchmark": asked.benchmark, "x": x})
    show_chart(picture(charts.curve, learning, asked.theme), key="intelligence-curve")
    st.subheader("By platform generation", anchor=False)
    show_chart(picture(charts.point_price, learning, asked.theme), key="intelligence-point-price")
    show_table(learning, "by_generation", title="Runs grouped by platform generation")
    return [learning]


def show_numbers(learning: Result) -> None:
    """Draw the scores behind the lines and the runs behind the bars."""
    show_table(
        learning,
        "points",
        title="Scores and what had been spent by then",
        columns=SCORES,
        percent=shares_of_tasks(learning.tables["points"], "kind", "fraction", ("score", "low", "high")),
        labels={"low": "Score, low", "high": "Score, high", "usd": "Spent by then (USD)"},
    )
    show_table(learning, "runs", title="Runs: spend, gain and dollars per point", columns=RUNS)
