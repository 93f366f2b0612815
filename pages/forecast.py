"""Forecast: spend and GPU-hours by month against a budget, kept forecasts and their score, commitments."""

import streamlit as st

from analysis.forecast import ForecastParams
from charts.synthetic import is_synthetic
from data.forecasts import newest_id
from pages.parts import forecast_commitments as commitments
from pages.parts import forecast_months as months
from pages.parts.answer import show_answer
from pages.parts.assumptions import show_how
from pages.parts.choose import segments
from pages.parts.compute import compute_beside, compute_or_stop
from pages.parts.empty import show_empty
from pages.parts.figures import show_figures, show_leading
from pages.parts.forecast_controls import forecast_inputs
from pages.parts.frame import is_nothing, show_title
from pages.parts.notices import show_warnings
from pages.parts.scenario_bar import scenario_bar
from pages.parts.scenario_compare import show_comparison
from pages.parts.share import share_bar
from pages.parts.state import current

TITLE = "Forecast"
SPEND, KEPT, COMMIT = "Spend", "Kept forecasts", "Commitments"

state = current()
head = st.container()
section = segments("fo_part", "Question", (SPEND, KEPT, COMMIT), SPEND, str)
answer = st.container()
if section == KEPT:
    result = months.scores_of(state)
    with answer:
        show_answer(result)
        show_figures(result)
        show_warnings(result)
    months.show_scored(result, state.theme)
else:
    with st.container(key="planner_forecast"):
        left, right = st.columns([1, 2.2], gap="large")
    with left:
        if section == SPEND:
            plain = compute_or_stop("forecast", {"since": newest_id(state.store.workspace)})
            known = plain.tables["by_campaign"]
            campaigns = sorted({str(c) for c in known.loc[~known["planned"].astype(bool), "campaign"] if c})
            asked = forecast_inputs(ForecastParams().model_dump(), campaigns)
            asked["since"] = newest_id(state.store.workspace)
        else:
            asked = commitments.asked_of(state)
    question = "forecast" if section == SPEND else "commitments"
    result = compute_beside(question, asked, head, TITLE, right)
    if is_nothing(result):
        with right:
            show_empty(state.store, result.answer, result.analysis)
    else:
        with answer:
            show_answer(result)
        with right:
            show_leading(result)
            show_warnings(result)
            if section == SPEND:
                months.said()
                months.show(result, state.theme)
                months.keep_box(state, result, asked)
            else:
                commitments.show(result, state.theme)
        if section == SPEND:
            months.show_tables(result)
        else:
            commitments.show_tables(result)
with head:
    place = show_title(TITLE, synthetic=is_synthetic(result), bar=False)
results = [result]
if section != KEPT and not is_nothing(result):
    compared = scenario_bar(state, "forecast.py", [result])
    if compared is not None:
        show_comparison(compared, state.theme)
        results.append(compared)
if not is_nothing(result):
    with place:
        share_bar(results, TITLE)
show_how(results, key="forecast")
