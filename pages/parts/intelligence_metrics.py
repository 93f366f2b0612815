"""Every metric of the page under its number, with formula, unit, cost boundary and interval."""

import streamlit as st

from analysis.formulas.numbered import numbered
from pages.parts.words import md_escape


def show_metrics() -> None:
    """List M1 to M15, a line each, behind a click."""
    with st.expander("Metrics M1 to M15, with their formulas", icon=":material/function:"):
        lines = [
            f"- **M{number} {md_escape(name)}** = {md_escape(f.formula)}  \n"
            f"  {md_escape(f'{unit_words(f.unit)}; boundary: {f.boundary}; interval: {f.interval}')}"
            for number, name, f in numbered()
        ]
        st.markdown("\n".join(lines))


def unit_words(unit: str) -> str:
    """Return a unit as a person writes it."""
    return unit.replace("_", " ").replace("1000 usd", "$1k")
