"""What it costs to hold a score that falls between training cycles."""

import streamlit as st

from analysis.result import Result
from charts import serving as charts
from pages.parts.answer import flowing
from pages.parts.choose import segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.intelligence_controls import Asked, typed
from pages.parts.notices import show_warnings
from pages.parts.open_ends import open_ended
from pages.parts.pictures import picture
from pages.parts.tables import show_table
from pages.parts.words import md_escape

LAWS = {"exponential": "Exponential", "linear": "Linear"}
LABELS = {
    "points_per_week": "Points lost a week",
    "period_days": "Days between cycles",
    "usd_high": "USD, high (– no upper end)",
    "held": "Held",
    "asked": "As typed",
}
FIELDS = (
    ("target", "Hold at (%)", "hd_hold", 0.1, 99.9, 1.0, "score before"),
    ("fall_points", "It falls by (points)", "hd_fall", 0.01, 99, 0.5, "say how much"),
    ("fall_days", "in (days)", "hd_fall_days", 0.1, 3660, 1.0, "7"),
    ("cycle_days", "A cycle takes (days)", "hd_cycle", 0, 3660, 1.0, "as the run"),
    ("period_days", "Dollars per (days)", "hd_period", 1, 3660, 1.0, "30"),
    ("campaign_usd", "A cycle costs (USD)", "hd_cycle_usd", 1, 1e12, 1000.0, "spend of the run"),
)


def show(asked: Asked) -> list[Result]:
    """Draw the held score and its cost by how fast it falls, with the levers."""
    levers: dict[str, object] = {name: asked.gain[name] for name in ("benchmark", "before", "after")}
    with st.container(horizontal=True, vertical_alignment="bottom", key="intelligence_hold_levers"):
        levers |= typed(FIELDS, percents=("target",), width=180)
        levers["law"] = segments("hd_law", "Falls", list(LAWS), "exponential", LAWS.__getitem__)
    found = compute_or_stop("hold", levers)
    st.markdown(md_escape(flowing(found.answer)))
    show_figures(found)
    show_warnings(found)
    typed_fall = not found.tables["saw"].empty
    places = st.columns(2) if typed_fall else [st.container()]
    if typed_fall:
        with places[0]:
            show_chart(picture(charts.saw, found, asked.theme), key="intelligence-saw")
    with places[-1]:
        show_chart(picture(charts.sensitivity, found, asked.theme), key="intelligence-hold-sensitivity")
    show_table(open_ended(found), "sensitivity", title="Cost by how fast the score falls", labels=LABELS)
    return [found]
