"""Spend of the months to come: band against budget, who spends it, what changed, keep and score."""

from dataclasses import replace
from typing import Any

import streamlit as st

from analysis.result import Result
from charts import forecast as charts
from charts.theme import Mode
from charts.tornado import tornado
from data.errors import UserError
from data.forecasts import newest_id
from pages.parts.choose import segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.notices import show_error
from pages.parts.pictures import picture
from pages.parts.state import PageState
from pages.parts.tables import show_table
from reports.forecast_commands import keep_forecast

BEHIND = ("By team and campaign", "GPU-hours", "What changed", "What moves it")
LABELS = {
    "month": "Month",
    "days_known": "Days known",
    "days": "Days",
    "actual_usd": "Spent so far (USD)",
    "actual_gpu_h": "GPU-hours so far",
    "usd_p10": "p10 (USD)",
    "usd_p50": "p50 (USD)",
    "usd_p90": "p90 (USD)",
    "usd_mean": "Mean (USD)",
    "gpu_h_p10": "GPU-hours, p10",
    "gpu_h_p50": "GPU-hours, p50",
    "gpu_h_p90": "GPU-hours, p90",
    "gpu_h_mean": "GPU-hours, mean",
    "budget_usd": "Budget (USD)",
    "over_frac": "Over budget (%)",
    "label": "What",
    "usd": "USD",
    "name": "Name",
    "before": "Before",
    "after": "Now",
    "kind": "Of",
    "share_frac": "Share of spend (%)",
    "start": "From",
    "end": "To",
    "gpu_h_per_day": "GPU-hours a day",
    "usd_per_gpu_h": "USD a GPU-hour",
    "low": "Low",
    "high": "High",
    "forecast": "Forecast",
    "made_at": "Made at (UTC)",
    "months_ahead": "Months ahead",
    "measure": "Measure",
    "actual": "Actual",
    "inside": "Inside the band",
    "pinball": "Pinball loss",
    "naive": "Last month again",
    "naive_pinball": "Pinball loss, last month again",
    "skill_frac": "Better than that by (%)",
    "bias_frac": "Bias (%)",
    "coverage_frac": "Inside the band (%)",
    "coverage_low": "Low (%)",
    "coverage_high": "High (%)",
    "inside_n": "Inside",
    "n": "Months",
    "state": "State",
    "note": "Note",
    "data_end": "Data up to",
    "id": "Number",
    "team": "Team",
    "planned": "Planned",
    "campaign": "Campaign",
}
MONTHS = (
    "month", "usd_p50", "usd_p10", "usd_p90", "budget_usd", "over_frac", "actual_usd", "days_known", "days",
    "gpu_h_p50", "gpu_h_p10", "gpu_h_p90", "actual_gpu_h", "usd_mean", "gpu_h_mean",
)  # fmt: skip
MEASURES = {"usd": "Spend (USD)", "gpu_h": "GPU-hours"}
PERCENTS = ("coverage_low", "coverage_high")


def show(result: Result, mode: Mode) -> None:
    """Draw the months, and the section that is picked behind them."""
    show_chart(picture(charts.months, result, mode), key="forecast_months")
    section = segments("fo_show", "Behind it", BEHIND, BEHIND[0], str)
    if section == "By team and campaign":
        show_chart(picture(charts.groups, result, mode), key="forecast_groups")
    elif section == "GPU-hours":
        show_chart(picture(charts.gpu_hours, result, mode), key="forecast_gpu_hours")
    elif section == "What changed":
        show_chart(picture(charts.changes, result, mode), key="forecast_changes")
        show_table(result, "inputs_changed", title="Inputs that changed",
                   labels=LABELS, columns=("label", "before", "after"))  # fmt: skip
    else:
        show_chart(picture(tornado, result, mode), key="forecast_tornado")


def show_tables(result: Result) -> None:
    """Draw the numbers by month, by team and campaign, and of the plan."""
    show_table(result, "months", title="By month", labels=LABELS, columns=MONTHS,
               optional=("days_known", "actual_usd", "actual_gpu_h", "budget_usd", "over_frac"))  # fmt: skip
    teams = (result.tables["totals"]["kind"] == "team").any()
    show_table(result, "totals", title=f"By {'team and ' if teams else ''}campaign, over the horizon",
               labels=LABELS)  # fmt: skip
    show_table(result, "plan", title="Planned", labels=LABELS)


def keep_box(state: PageState, result: Result, asked: dict[str, Any]) -> None:
    """Offer to keep the forecast: what is kept is never changed, and is scored once its months are over."""
    if result.tables["months"].empty:
        return
    with (
        st.popover("Keep this forecast", icon=":material/push_pin:", key="fo_keep_box"),
        st.form("fo_keep_form", border=False, clear_on_submit=True),
    ):
        st.caption("It is kept as it is and held against what happens.")
        note = st.text_input("Note", key="fo_note", max_chars=200, placeholder="after the planning meeting")
        if not st.form_submit_button("Keep", icon=":material/push_pin:", type="primary"):
            return
        params = {**state.common.model_dump(mode="json"), "runs": list(state.picked), **asked}
        params.pop("since", None)
        try:
            kept = keep_forecast(state.store, params, note)
        except UserError as error:
            show_error(error)
            return
    st.session_state["fo_kept"] = kept.id
    st.rerun()


def said() -> None:
    """Say that the forecast was kept, once."""
    number = st.session_state.pop("fo_kept", None)
    if number is not None:
        st.toast(f"Kept as forecast {number}.", icon=":material/push_pin:")


def scores_of(state: PageState) -> Result:
    """Answer how good the kept forecasts were."""
    return compute_or_stop("forecast_score", {"upto": newest_id(state.store.workspace)})


def show_scored(result: Result, mode: Mode) -> None:
    """Draw the chart and tables of kept forecasts."""
    show_chart(picture(charts.scored, result, mode), key="forecast_scored")
    said = _measured(result)
    for name, title in (("summary", "How good they were"), ("scores", "Month by month"), ("kept", "Kept")):
        show_table(said, name, title=title, labels=LABELS, percent=PERCENTS)


def _measured(result: Result) -> Result:
    """The tables with the measure and its unit in one word of the screen."""
    tables = {
        name: frame.assign(measure=frame["measure"].map(MEASURES)).drop(columns="unit")
        if {"measure", "unit"} <= set(frame.columns)
        else frame
        for name, frame in result.tables.items()
    }
    return replace(result, tables=tables)
