"""Headline figures as cards: value, unit, interval, or in words what is missing."""

from collections.abc import Sequence

import streamlit as st

from analysis.result import Figure, Result
from charts.text import interval, split_unit, unit_tail
from pages.parts.words import md_escape

ROOMY = 7


def show_figures(result: Result, names: Sequence[str] | None = None, columns: int = 4) -> None:
    """Draw the headline figures called `names` (all when None), in that order; unknown names are skipped."""
    known = {f.name: f for f in result.headline}
    chosen = [known[n] for n in names if n in known] if names else list(result.headline)
    if not chosen:
        return
    longest = max((len(_value(f)) for f in chosen if f.value is not None), default=0)
    width = 150 if longest <= ROOMY else 180
    grid = st.grid(
        min(columns, len(chosen)), min_column_width=width, border=True, key=f"figures_{result.analysis}"
    )
    for figure in chosen:
        with grid.cell(), st.container(gap="xxsmall"):
            _card(figure)


def _value(figure: Figure) -> str:
    """The number as it stands on a card: short units beside it, long ones go below."""
    return split_unit(figure.value, figure.unit)[0]


def _card(figure: Figure) -> None:
    label = md_escape(figure.label or figure.name)
    st.markdown(f":small[{label}]", help=md_escape(figure.formula) if figure.formula else None)
    if figure.value is None:
        st.markdown("**Not known**")
        reason = figure.missing or "the data on hand does not say"
        st.caption(md_escape(reason[:1].upper() + reason[1:].rstrip(".") + "."))
        return
    number, unit = split_unit(figure.value, figure.unit)
    st.metric(label, md_escape(number), label_visibility="collapsed")
    notes = [unit or unit_tail(figure.unit), interval(figure)]
    if figure.n is not None:
        notes.append(f"n\u00a0=\u00a0{figure.n:,}")
    if figure.boundary:
        notes.append(f"{figure.boundary} boundary")
    text = " · ".join(n for n in notes if n)
    if text:
        st.caption(md_escape(text))
