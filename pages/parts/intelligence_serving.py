"""Build and serve: when the campaign is paid back; and what a million tokens cost and taught."""

from typing import Any

import streamlit as st

from analysis.result import Result
from charts import serving as charts
from pages.parts.answer import flowing
from pages.parts.choose import dropdown
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.intelligence_controls import Asked, Field, typed
from pages.parts.notices import show_warnings
from pages.parts.open_ends import open_ended
from pages.parts.pictures import picture
from pages.parts.state import platform_names
from pages.parts.tables import show_table
from pages.parts.words import md_escape

NO_PLATFORM = "not set"
MEASURED = "as evaluated"
FIELDS = (
    ("usd_before", "USD an attempt, before", "sv_c0", 1e-6, 1e6, 0.1, MEASURED),
    ("usd_after", "USD an attempt, after", "sv_c1", 1e-6, 1e6, 0.1, MEASURED),
    ("longer", "Tokens an attempt, after (times)", "sv_longer", 0.01, 100, 0.05, "1"),
    ("usd_per_mtok", "USD a million tokens", "sv_mtok", 1e-4, 1e6, 0.1, MEASURED),
    ("campaign_usd", "Campaign (USD)", "sv_build", 1, 1e12, 1000.0, "spend of the run"),
    ("attempts", "Attempts in service", "sv_volume", 1, 1e15, 1000.0, "100,000"),
)
RATES = (
    ("tok_per_s_per_gpu", "Tokens/s a GPU", "sv_rate", 0.01, 1e7, 100.0, NO_PLATFORM),
    ("util_frac", "Share of time in use (%)", "sv_used", 1, 100, 5.0, "100"),
)
BACK_LABELS = {
    "words": "In words",
    "successes": "Solved tasks (– never)",
    "successes_low": "Low (– never)",
    "successes_high": "High (– no upper end)",
    "attempts": "Attempts (– never)",
    "never_frac": "Draws that never pay back (%)",
}
SERVED_LABELS = {"state": "State", "score": "Pass rate", "tokens": "Tokens an attempt"}


def show_serving(asked: Asked) -> list[Result]:
    """Draw dollars per solved task over a lifetime with its levers."""
    levers: dict[str, Any] = {"benchmark": asked.benchmark, **_sides(asked), **_typed(FIELDS)}
    names = platform_names()
    with st.container(horizontal=True, vertical_alignment="bottom", key="intelligence_rate_levers"):
        levers["serve_on"] = dropdown(
            "sv_serve", "Serve on", ["", *names], "", lambda p: names.get(p, NO_PLATFORM), width=240
        )
        rates = _typed(RATES)
    if "util_frac" in rates:
        rates["util_frac"] /= 100
    found = compute_or_stop("serving", levers | rates)
    st.markdown(md_escape(flowing(found.answer)))
    show_figures(found)
    show_warnings(found)
    show_chart(picture(charts.lifetime, found, asked.theme), key="intelligence-lifetime")
    show_table(found, "served", title="A solved task in service", labels=SERVED_LABELS, percent=("score",))
    show_table(open_ended(found), "break_even", title="Paid back", labels=BACK_LABELS)
    return [found]


def show_tokens(asked: Asked) -> list[Result]:
    """Show what a million tokens cost and what the same dollars gained."""
    found = compute_or_stop("token_cost", {"benchmark": asked.benchmark})
    st.markdown(md_escape(flowing(found.answer)))
    show_figures(found)
    show_warnings(found)
    show_table(
        found,
        "tokens",
        title="Tokens and gain by run: points per $1k = points per Mtok / USD per Mtok x 1,000",
    )
    return [found]


def _sides(asked: Asked) -> dict[str, Any]:
    """The checkpoints that the page compares."""
    return {name: asked.gain[name] for name in ("before", "after")}


def _typed(fields: tuple[Field, ...]) -> dict[str, object]:
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"intelligence_{fields[0][2]}"):
        return typed(fields)
