"""Energy on the Money page: kWh beside dollars, with the two figures that nobody can look up for a person."""

from typing import Any

import streamlit as st

from analysis.result import Result
from charts import energy as charts
from pages.parts.answer import flowing
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.notices import show_warnings
from pages.parts.pictures import picture
from pages.parts.state import current
from pages.parts.tables import show_table
from pages.parts.words import md_escape

RUNS = (
    "run", "campaign", "basis", "kwh", "kwh_low", "kwh_high", "kgco2e", "kwh_gpu", "kwh_per_rollout",
    "kwh_per_step", "kgco2e_per_rollout", "usd_energy", "usd", "gpu_h", "coverage_frac",
)  # fmt: skip
CAMPAIGNS = (
    "campaign", "team", "runs", "known_runs", "kwh", "kwh_low", "kwh_high", "kgco2e", "usd_energy", "usd",
    "gpu_h",
)  # fmt: skip
LABELS = {
    "basis": "Rests on",
    "kwh": "Energy at the meter (kWh)",
    "kwh_low": "Low (kWh)",
    "kwh_high": "High (kWh)",
    "kwh_gpu": "At the GPU (kWh)",
    "kgco2e": "Emissions (kgCO2e)",
    "kwh_per_rollout": "kWh a rollout",
    "kwh_per_step": "kWh a step",
    "kgco2e_per_rollout": "kgCO2e a rollout",
    "usd_energy": "Electricity at the meter (USD)",
    "usd": "Rent at that price (USD)",
    "known_runs": "Runs with energy",
    "coverage_frac": "Sampled (%)",
}
OPTIONAL = ("team", "kgco2e", "usd_energy", "kwh_per_rollout", "kwh_per_step", "kgco2e_per_rollout")


def show(period: dict[str, str]) -> Result:
    """Draw the section for the month in `period` ({"period": …}); returns its result."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        grid = _field("mo_grid", "Grid intensity (kgCO2e a kWh)", "yours: none is assumed")
        price = _field("mo_kwh", "Electricity (USD a kWh)", "yours, if you pay it")
    asked: dict[str, Any] = {**period, "grid_kg_per_kwh": grid, "usd_per_kwh": price}
    result = compute_or_stop("energy", asked)
    st.markdown(md_escape(flowing(result.answer)))
    known = [f.name for f in result.headline if f.value is not None]
    show_figures(result, known)
    show_warnings(result)
    st.caption(
        "Of the chosen runs, in the month chosen above. Rent here is GPU-hours x the price of the sidebar, "
        "not the bill, and electricity is no part of it."
    )
    show_chart(picture(charts.energy_by_run, result, current().theme), "money-energy")
    show_table(result, "runs", title="Energy by run", columns=RUNS, labels=LABELS, optional=OPTIONAL)
    show_table(
        result, "campaigns", title="Energy by campaign", columns=CAMPAIGNS, labels=LABELS, optional=OPTIONAL,
        blank={"campaign": "no campaign"},
    )  # fmt: skip
    return result


def _field(key: str, label: str, hint: str) -> float | None:
    return st.number_input(
        label, value=None, min_value=0.0, step=0.01, key=key, bind="query-params", placeholder=hint, width=240
    )
