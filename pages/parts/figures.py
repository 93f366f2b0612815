"""Headline figures as cards: value, unit, interval, or in words what is missing."""

from collections.abc import Sequence

import streamlit as st

from analysis.result import Figure, Result
from charts.text import interval, quantity, unit_tail
from pages.parts.words import md_escape


def show_figures(result: Result, names: Sequence[str] | None = None, columns: int = 4) -> None:
    """Draw the headline figures called `names` (all when None), in that order; unknown names are skipped."""
    known = {f.name: f for f in result.headline}
    chosen = [known[n] for n in names if n in known] if names else list(result.headline)
    if not chosen:
        return
    grid = st.grid(min(columns, len(chosen)), min_column_width=150, key=f"figures_{result.analysis}")
    for figure in chosen:
        with grid.cell(), st.container(border=True, height="stretch", gap="xxsmall"):
            _card(figure)


def _card(figure: Figure) -> None:
    label = md_escape(figure.label or figure.name)
    tip = _tooltip(figure)
    if figure.value is None:
        st.markdown(f":small[{label}]", help=tip)
        st.markdown("**Not known**")
        reason = figure.missing or "the data on hand does not say"
        st.caption(md_escape(reason[:1].upper() + reason[1:].rstrip(".") + "."))
        return
    st.metric(label, md_escape(quantity(figure.value, figure.unit)), help=tip)
    notes = [unit_tail(figure.unit), interval(figure)]
    if figure.n is not None:
        notes.append(f"n = {figure.n:,}")
    if figure.boundary:
        notes.append(f"{figure.boundary} boundary")
    text = " · ".join(n for n in notes if n)
    if text:
        st.caption(md_escape(text))


def _tooltip(figure: Figure) -> str | None:
    return md_escape(figure.formula) if figure.formula else None
