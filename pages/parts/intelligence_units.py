"""What one rollout cost: all, verified-correct, informative."""

import streamlit as st

from analysis.result import Result
from charts import unit_economics as charts
from pages.parts.answer import flowing
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.intelligence_controls import Asked
from pages.parts.pictures import picture
from pages.parts.words import md_escape


def show(asked: Asked) -> list[Result]:
    """Draw the unit costs with their sentence and figures."""
    costs = compute_or_stop("unit_economics")
    st.subheader("Per rollout", anchor=False)
    st.markdown(md_escape(flowing(costs.answer)))
    show_figures(costs)
    show_chart(picture(charts.unit_costs, costs, asked.theme), key="intelligence-unit-costs")
    return [costs]
