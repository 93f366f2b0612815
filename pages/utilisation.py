"""GPU utilisation: what the GPUs did while they were paid for, by a named measure, weighted by time."""

import streamlit as st

from analysis.measures import MEASURES
from charts import utilisation as charts
from pages.parts.assumptions import show_how
from pages.parts.choose import dropdown
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.frame import show_head, stop_when_empty
from pages.parts.state import current
from pages.parts.tables import show_table
from pages.parts.words import md_escape

EVERY = "*"

state = current()
head = st.container()
first = compute_or_stop("utilisation")
stop_when_empty("GPU utilisation", first)
sampled = first.tables["gpus"].dropna(subset=["run"]).groupby("run")["known_h"].sum()
runs = [str(r) for r in sampled.sort_values(ascending=False, kind="stable").index]
loose = bool(first.tables["gpus"]["run"].isna().any())
choices = [*runs, EVERY] if len(runs) != 1 or loose else runs
controls = st.container(horizontal=True, vertical_alignment="bottom", key="utilisation_controls")
with controls:
    run = dropdown("ut_run", "Run", choices, choices[0], lambda r: "All GPUs" if r == EVERY else r)
picked = {"runs": [run]} if run != EVERY else {}
of_run = compute_or_stop("utilisation", picked) if picked else first
recorded = set(of_run.tables["measures"]["measure"])
options = sorted(MEASURES, key=lambda m: (m not in recorded, list(MEASURES).index(m)))


def name(measure: str) -> str:
    """Name a measure as its vendor does."""
    return MEASURES[measure].label


with controls:
    measure = dropdown("ut_measure", "Measure", options, "gpu_util", name, width=400)
absent = "" if measure in recorded else f"**{md_escape(name(measure))}: not recorded** for this choice.  \n"
st.caption(
    f"{absent}**Proves** that {md_escape(MEASURES[measure].proves)}.  \n"
    f"**Does not prove** {md_escape(MEASURES[measure].not_proves)}."
)
result = of_run if measure == "gpu_util" else compute_or_stop("utilisation", {**picked, "measure": measure})
with head:
    show_head(
        "GPU utilisation",
        [result],
        ["utilisation", "coverage", "coverage_of_allocated", "energy"],
    )

show_chart(charts.ladder(result, state.theme), key="utilisation-ladder")
show_chart(charts.heat(result, state.theme), key="utilisation-heat")
show_chart(charts.timeline(result, state.theme), key="utilisation-timeline")

st.subheader("Tables", anchor=False)
SHARES = ("value", "low", "high", "v_min", "v_max")
show_table(
    result,
    "gpus",
    title="GPUs: mean of the measure, bounds and coverage",
    percent=SHARES,
    labels={
        "value": "Mean (%)",
        "low": "Low bound (%)",
        "high": "High bound (%)",
        "v_min": "Least (%)",
        "v_max": "Most (%)",
    },
)
show_table(
    result,
    "measures",
    title="What was recorded, and what it proves",
    columns=("measure", "gpus", "known_s", "proves", "not_proves", "source"),
)
show_table(result, "ladder", title="From paid to effective", labels={"basis": "From"}, percent=("frac",))
show_how([result], "utilisation")
