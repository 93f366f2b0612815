"""GPU utilisation: what the GPUs did while they were paid for, by a named measure, weighted by time."""

from typing import Any

import streamlit as st

from analysis.measures import MEASURES
from analysis.result import Result
from charts import utilisation as charts
from charts import waste as waste_charts
from pages.parts.assumptions import show_how
from pages.parts.choose import dropdown
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.frame import is_nothing, show_head, stop_when_empty
from pages.parts.notices import show_warnings
from pages.parts.pictures import made_from, picture
from pages.parts.state import current
from pages.parts.tables import show_table
from pages.parts.waste_settings import SPELL, in_units, settings
from pages.parts.words import md_escape

EVERY = "*"
SHARES = ("value", "low", "high", "v_min", "v_max")
SPELL_LABELS = {
    "length_min": "Length (min)",
    "gpus": "GPUs",
    "hosts": "Hosts",
    "evidence": "What says so",
    "job": "Scheduler job",
}
MEAN_LABELS = {
    "value": "Mean (%)",
    "low": "Low bound (%)",
    "high": "High bound (%)",
    "v_min": "Least (%)",
    "v_max": "Most (%)",
}


def name(measure: str) -> str:
    """Name a measure as its vendor does."""
    return MEASURES[measure].label


def runs_of(result: Result) -> list[str]:
    """Runs with samples, the most sampled first, and all GPUs together where that is another choice."""
    gpus = result.tables["gpus"]
    sampled = gpus.dropna(subset=["run"]).groupby("run")["known_h"].sum()
    runs = [str(r) for r in sampled.sort_values(ascending=False, kind="stable").index]
    return [*runs, EVERY] if len(runs) != 1 or gpus["run"].isna().any() else runs


def show_spells(waste: Result) -> None:
    """Stalls and idle spells, the dearest first."""
    stalls = waste.tables["stalls"]
    if stalls.empty:
        st.caption(
            "No stall was found: no GPU looked busy without making progress for as long as the setting says."
        )
    for name, title in (("stalls", "Stalls"), ("idle", "Idle spells")):
        show_table(
            waste, name, title=title, columns=SPELL, labels=SPELL_LABELS, cents=("usd",),
            blank={"run": "no run"}, optional=("job", "attempt", "pool", "hosts", "usd"),
        )  # fmt: skip


state = current()
head = st.container()
first = compute_or_stop("utilisation")
stop_when_empty("GPU utilisation", first)
choices = runs_of(first)
controls = st.container(horizontal=True, vertical_alignment="bottom", key="utilisation_controls")
with controls:
    run = dropdown("ut_run", "Run", choices, choices[0], lambda r: "All GPUs" if r == EVERY else r)
picked = {"runs": [run]} if run != EVERY else {}
of_run = compute_or_stop("utilisation", picked) if picked else first
recorded = set(of_run.tables["measures"]["measure"])
options = sorted(MEASURES, key=lambda m: (m not in recorded, list(MEASURES).index(m)))
with controls:
    measure = dropdown("ut_measure", "Measure", options, "gpu_util", name, width=400)
    limits = settings("ut")
asked: dict[str, Any] = {"period": "all", "run": run if picked else "", **limits}
waste = compute_or_stop("waste", asked)
result = of_run if measure == "gpu_util" else compute_or_stop("utilisation", {**picked, "measure": measure})
with head:
    show_head("GPU utilisation", [waste, result], ["gpu_paid", "working_share", "waste_share", "stalled_usd"])
show_chart(picture(waste_charts.ladder, waste, state.theme), key="utilisation-ladder")

st.subheader("What was measured", anchor=False)
if any(notice.code == "held_not_billed" for notice in waste.warnings):
    st.caption("Of the GPU-hours that were held, billed or not: no share below is one of dollars.")
absent = "" if measure in recorded else f"**{md_escape(name(measure))}: not recorded** for this choice.  \n"
st.caption(
    f"{md_escape(result.answer)}  \n{absent}**Proves** that {md_escape(MEASURES[measure].proves)}.  \n"
    f"**Does not prove** {md_escape(MEASURES[measure].not_proves)}."
)
show_figures(result, ["utilisation", "coverage", "coverage_of_allocated", "energy"])
show_warnings(result)
show_chart(picture(charts.heat, result, state.theme), key="utilisation-heat")
show_chart(picture(charts.timeline, result, state.theme), key="utilisation-timeline")
if picked:
    track = waste_charts.track(waste, state.theme, result.tables["timeline"])
    show_chart(made_from(track, waste_charts.track, waste), key="utilisation-track")

st.subheader("Stalled and idle", anchor=False)
if not is_nothing(waste):
    show_spells(waste)

st.subheader("Tables", anchor=False)
show_table(
    result,
    "gpus",
    title="GPUs: mean of the measure, bounds and coverage",
    percent=SHARES,
    labels=MEAN_LABELS,
    optional=("role", "pool", "platform", "model", "run", "host"),
)
show_table(
    result,
    "measures",
    title="What was recorded, and what it proves",
    columns=("measure", "gpus", "known_s", "proves", "not_proves", "source"),
)
show_table(
    waste,
    "ladder",
    title="From paid to effective",
    labels={"basis": "From"},
    percent=("frac",),
    cents=("usd", "usd_low", "usd_high"),
    optional=("missing",),
)
said = waste.tables["thresholds"]
said = in_units(said)
show_table(
    Result("waste", waste.params, "", tables={"thresholds": said}),
    "thresholds",
    title="When a GPU counts as idle or stalled",
    columns=("threshold", "value", "default", "unit", "meaning"),
    labels={"threshold": "Rule"},
)
show_how([waste, result], "utilisation")
