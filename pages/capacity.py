"""Capacity: racks and dollars for a cadence, the split of the pools, sandbox cores, weight sync."""

import streamlit as st

from charts.synthetic import is_synthetic
from pages.parts import capacity_cycle as cycle
from pages.parts import capacity_plans as plans
from pages.parts.answer import show_answer
from pages.parts.assumptions import show_how
from pages.parts.choose import segments
from pages.parts.compute import compute_beside
from pages.parts.empty import show_empty
from pages.parts.figures import show_leading, show_other
from pages.parts.frame import is_nothing, show_title
from pages.parts.notices import show_warnings
from pages.parts.scenario_bar import scenario_bar
from pages.parts.scenario_compare import show_comparison
from pages.parts.share import share_bar
from pages.parts.state import current

TITLE, CYCLE = "Capacity", "Cycle"
WITHOUT_RUN = (
    "Without a run of your own: state a step, let a model make one, or plan from scratch, on the left."
)
SECTIONS = (CYCLE, *plans.PLANS)

state = current()
head = st.container()
section = segments("ca_part", "Plan", SECTIONS, CYCLE, str)
answer = st.container()
with st.container(key="planner_capacity"):
    left, right = st.columns([1, 2.2], gap="large")
plan = plans.PLANS.get(section)
with left:
    asked = cycle.asked_of(state) if plan is None else plans.asked_of(plan, state)
question = "cadence" if plan is None else plan.question
result = compute_beside(question, asked, head, TITLE, right)
with head:
    place = show_title(TITLE, synthetic=is_synthetic(result), bar=False)
results = [result]
if is_nothing(result):
    with right:
        show_empty(state.store, result.answer, result.analysis)
        st.caption(WITHOUT_RUN)
else:
    with answer:
        show_answer(result)
    with right:
        show_leading(result)
        show_warnings(result)
        if plan is None:
            cycle.show(result, state.theme)
        else:
            plans.show(plan, result, state.theme)
            show_other(result)
    compared = scenario_bar(state, "capacity.py", [result])
    if compared is not None:
        show_comparison(compared, state.theme)
        results.append(compared)
    if plan is None:
        cycle.show_tables(result)
    else:
        plans.show_tables(plan, result)
    with place:
        share_bar(results, TITLE)
show_how(results, key="capacity")
