"""Rollouts: where the time and money of a step go, how fast and how long rollouts are, what one costs."""

import streamlit as st

from charts import bottleneck as step_charts
from charts import rollouts as rollout_charts
from charts import sandbox as sandbox_charts
from charts import unit_economics as unit_charts
from pages.parts.answer import flowing
from pages.parts.assumptions import show_how
from pages.parts.choose import dropdown, segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.frame import show_head, stop_when_empty
from pages.parts.notices import show_warnings
from pages.parts.pictures import picture
from pages.parts.state import current
from pages.parts.tables import show_table
from pages.parts.words import md_escape

SHARES = tuple(f"{name}{end}" for name in ("p_correct", "q_informative") for end in ("", "_low", "_high"))

state = current()
slot = st.container()
everything = compute_or_stop("bottleneck")
stop_when_empty("Rollouts", everything)
timed = list(dict.fromkeys(everything.tables["steps"]["run"]))
with st.container(horizontal=True, vertical_alignment="bottom", key="rollouts_controls"):
    steps = everything
    if timed:
        run = dropdown(
            "ro_run", "Run", timed, step_charts.main_run(everything), tip="The run whose steps are drawn."
        )
        unit = segments("ro_unit", "A step in", ["seconds", "dollars"], "seconds", str.capitalize)
        steps = everything if len(timed) == 1 else compute_or_stop("bottleneck", {"runs": [run]})
rollouts = compute_or_stop("rollouts")
costs = compute_or_stop("unit_economics")
with slot:
    show_head("Rollouts", [steps, rollouts, costs], ["step_mean_s", "phase_share", "usd_by_phase", "if_free"])

if timed:
    draw = step_charts.step_stack_usd if unit == "dollars" else step_charts.step_stack
    show_chart(picture(draw, steps, state.theme), key=f"rollouts-steps-{unit}")
    show_chart(picture(step_charts.if_free, steps, state.theme), key="rollouts-if-free")

st.subheader("How fast and how long", anchor=False)
st.markdown(md_escape(flowing(rollouts.answer)))
show_figures(rollouts)
known = rollout_charts.rates_known(rollouts)
rate = known[0] if known else None
if len(known) > 1:
    names = {r: rollout_charts.RATES[r][0] for r in known}
    rate = dropdown("ro_rate", "Rate", known, known[0], names.__getitem__)
show_chart(picture(rollout_charts.throughput, rollouts, state.theme, rate), key="rollouts-throughput")
show_chart(picture(rollout_charts.lengths, rollouts, state.theme), key="rollouts-lengths")
left, right = st.columns(2)
with left:
    show_chart(picture(rollout_charts.truncation, rollouts, state.theme), key="rollouts-truncation")
with right:
    show_chart(picture(rollout_charts.staleness, rollouts, state.theme), key="rollouts-staleness")
dropped = picture(rollout_charts.dropped, rollouts, state.theme)
if dropped.data:
    show_chart(dropped, key="rollouts-dropped")
calls = picture(sandbox_charts.sandbox, rollouts, state.theme)
if calls.data:
    show_chart(calls, key="rollouts-sandbox")

st.subheader("What one costs", anchor=False)
st.markdown(md_escape(flowing(costs.answer)))
show_figures(costs)
show_warnings(costs)
show_chart(picture(unit_charts.unit_costs, costs, state.theme), key="rollouts-unit-costs")

st.subheader("Tables", anchor=False)
show_table(steps, "phases", title="Phases: seconds and dollars")
show_table(steps, "flags", title="Steps that contradict themselves")
show_table(
    rollouts,
    "totals",
    title="Rollouts by run, failed attempts included",
    labels={"step_s": "All steps (s)"},
)
show_table(
    rollouts,
    "reported",
    title="Throughput as the files report it, in tokens/s (two bases are never compared)",
)
show_table(costs, "units", title="Unit costs by run, counts of the steps that survived", percent=SHARES)
show_how([steps, rollouts, costs], "rollouts")
