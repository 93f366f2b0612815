"""'How was this computed?': formulas, assumptions with badges, versions and every warning, on request."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import streamlit as st

from analysis.result import Assumption, Result
from analysis.words import digits3
from pages.parts.notices import list_warnings
from pages.parts.words import md_escape, status_label

BADGES = {
    "measured": "green",
    "user": "blue",
    "derived": "gray",
    "vendor_spec": "orange",
    "analyst": "orange",
}
VERSION_LABELS = {
    "app": "App",
    "formulas": "Formulas",
    "prices": "Prices",
    "price_book": "Price book",
    "catalogue": "Catalogue",
    "data_version": "Data version",
    "data_cutoff": "Data up to (UTC)",
}


def show_how(results: Sequence[Result], key: str) -> None:
    """Draw the closed expander that opens up every number of a page."""
    with st.expander("How was this computed?", icon=":material/function:", key=f"how_{key}"):
        for result in results:
            if len(results) > 1:
                st.markdown(f"**{md_escape(result.analysis.replace('_', ' ').capitalize())}**")
            _formulas(result)
            _assumptions(result.assumptions)
            list_warnings(result)
        if results:
            _versions(results[0].versions)


def _formulas(result: Result) -> None:
    lines = [
        f"- **{md_escape(f.label or f.name)}**: {md_escape(f.formula)}" for f in result.headline if f.formula
    ]
    if lines:
        st.markdown("\n".join(lines))


def _assumptions(items: Sequence[Assumption]) -> None:
    if not items:
        st.caption("No assumed numbers: everything comes from the files and the run details.")
        return
    rows = ["| Number | Value | Basis | Source | Date |", "|---|---|---|---|---|"]
    for item in items:
        cells = [item.name, _value(item), None, item.source, item.date]
        badge = f":{BADGES.get(item.status, 'orange')}-badge[{md_escape(status_label(item.status))}]"
        rows.append("| " + " | ".join(badge if c is None else md_escape(_line(c)) for c in cells) + " |")
    st.markdown("\n".join(rows))


def _value(item: Assumption) -> str:
    number = item.value
    text = digits3(float(number)) if isinstance(number, int | float) and number == number else str(number)
    return f"{text} {item.unit.replace('_', ' ')}".strip()


def _line(text: Any) -> str:
    return " ".join(str(text).split())


def _versions(versions: Any) -> None:
    parts = []
    for name, value in dict(versions).items():
        label = VERSION_LABELS.get(name, name.replace("_", " ").capitalize())
        if isinstance(value, list | tuple):
            value = ", ".join(str(v) for v in value) or "none used"
        shown = value.strftime("%Y-%m-%d %H:%M") if isinstance(value, datetime) else str(value)
        parts.append(f"{md_escape(label)} {md_escape(shown)}")
    if parts:
        st.caption(" · ".join(parts))
