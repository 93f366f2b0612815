"""Intelligence per dollar: is the new checkpoint better, and what did a point cost?"""

import pandas as pd
import streamlit as st

from charts import gain as gain_charts
from charts import learning as learning_charts
from charts import unit_economics as unit_charts
from pages.parts.answer import flowing
from pages.parts.assumptions import show_how
from pages.parts.choose import dropdown, segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.frame import show_head, stop_when_empty
from pages.parts.state import current
from pages.parts.tables import show_table
from pages.parts.verdicts import show_verdicts
from pages.parts.words import md_escape

BEFORE = {"start": "Checkpoint the money started from", "first_logged": "First evaluation logged"}
AFTER = {"last": "Last checkpoint", "best": "Best checkpoint"}
AXES = {
    "usd": "Dollars",
    "gpu_hours": "GPU-hours",
    "hours": "Hours",
    "tokens": "Generated tokens",
    "steps": "Steps",
}
COMPARISON = (
    *(
        "run",
        "benchmark",
        "verdict",
        "before",
        "before_label",
        "before_score",
        "after",
        "after_score",
        "gain",
        "low",
        "high",
    ),
    *("n", "mdd", "method", "won", "lost", "reason", "usd", "usd_per_point", "usd_per_point_low"),
    *("usd_per_point_high", "metric", "k", "n_source"),
)
SCORES = (
    *("run", "benchmark", "checkpoint", "step", "score", "low", "high", "n", "usd", "usd_low", "usd_high"),
    *("gpu_hours", "hours", "tokens", "attempt"),
)
RUNS = (
    *("run", "campaign", "platforms", "generation", "gpu_hours", "usd", "usd_low", "usd_high", "benchmark"),
    *("gain", "gain_low", "gain_high", "verdict", "usd_per_point", "usd_per_point_low"),
    *("usd_per_point_high", "steps", "rollouts", "reason", "synthetic"),
)


def shares_of_tasks(frame: pd.DataFrame, mark: str, share: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return `columns`, to show in percent, when column `mark` says `share` of every score of the table."""
    return columns if set(frame.get(mark, pd.Series(dtype=object)).dropna()) == {share} else ()


state = current()
head = st.container()
every = compute_or_stop("gain")
stop_when_empty("Intelligence per dollar", every)
pairs = every.tables["gains"][["benchmark_id", "benchmark"]].drop_duplicates()
benchmarks = {"": "All", **dict(zip(pairs["benchmark_id"], pairs["benchmark"], strict=True))}
with st.container(horizontal=True, vertical_alignment="bottom", key="intelligence_controls"):
    benchmark = dropdown("in_benchmark", "Benchmark", list(benchmarks), "", benchmarks.__getitem__, width=220)
    before = dropdown("in_before", "Compare with", list(BEFORE), "start", BEFORE.__getitem__, width=300)
    after = segments("in_after", "Measure at", list(AFTER), "last", AFTER.__getitem__)
asked = {"benchmark": benchmark, "before": before, "after": after}
gain = compute_or_stop("gain", asked)
verdict_slot = st.container()
x = segments("in_x", "Score against", list(AXES), "usd", AXES.__getitem__)
learning = compute_or_stop("learning", {"benchmark": benchmark, "x": x})
costs = compute_or_stop("unit_economics")
with head:
    show_head("Intelligence per dollar", [gain, learning, costs])
with verdict_slot:
    show_verdicts(gain.tables["verdicts"])
    show_chart(gain_charts.forest(gain, state.theme), key="intelligence-forest")

show_chart(learning_charts.curve(learning, state.theme), key="intelligence-curve")

st.subheader("By platform generation", anchor=False)
show_chart(learning_charts.point_price(learning, state.theme), key="intelligence-point-price")
show_table(learning, "by_generation", title="Runs grouped by platform generation")

st.subheader("Per rollout", anchor=False)
st.markdown(md_escape(flowing(costs.answer)))
show_figures(costs)
show_chart(unit_charts.unit_costs(costs, state.theme), key="intelligence-unit-costs")

st.subheader("Tables", anchor=False)
show_table(
    gain,
    "gains",
    title="Comparisons, with the refused ones and why",
    columns=COMPARISON,
    percent=shares_of_tasks(gain.tables["gains"], "unit", "points", ("before_score", "after_score")),
    labels={"low": "Gain, low (points)", "high": "Gain, high (points)"},
)
show_table(
    learning,
    "points",
    title="Scores and what had been spent by then",
    columns=SCORES,
    percent=shares_of_tasks(learning.tables["points"], "kind", "fraction", ("score", "low", "high")),
    labels={"low": "Score, low", "high": "Score, high", "usd": "Spent by then (USD)"},
)
show_table(learning, "runs", title="Runs: spend, gain and dollars per point", columns=RUNS)
show_how([gain, learning, costs], "intelligence")
