"""The controls of a comparison in a notebook: saved scenarios, picked by click, laid side by side."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from analysis import QUESTIONS
from analysis.scenarios import MOST_CASES
from analysis.words import listing
from data.scenarios import Content, Scenarios
from data.store import Store
from pages.parts import notebook_session as session
from pages.parts.notebook_form import set_param
from reports.notebook.document import AnalysisCell

QUESTION = "scenarios"
Case = Mapping[str, Any]
NONE = "No scenario is saved yet: Capacity, Rent or own and Forecast keep what they show as one."


def show_scenarios(cell: AnalysisCell, store: Store) -> None:
    """Draw the choice of scenarios; the first picked is what the others are held against."""
    saved = {one.name: one.content for one in Scenarios(store.workspace).all()}
    held = held_cases(cell)
    if not (saved or held):
        st.caption(NONE)
        return
    names = list(dict.fromkeys([*(str(case["name"]) for case in held), *saved]))
    key = session.held().key(cell.id, "cases")
    st.multiselect(
        "Scenarios, the first is what the others are held against",
        names,
        list(dict.fromkeys(str(case["name"]) for case in held)),
        key=key,
        max_selections=MOST_CASES,
        placeholder="choose scenarios",
        format_func=lambda name: _words(name, held, saved),
        on_change=partial(_picked, cell.id, key, saved),
        help="A picked scenario is kept as it is now. Take it out and in again for what it has become since.",
    )


def held_cases(cell: AnalysisCell) -> list[Case]:
    """Return the cases that a cell compares, in order."""
    cases = cell.params.get("cases")
    return [case for case in cases if isinstance(case, Mapping)] if isinstance(cases, list) else []


def picked_cases(names: Sequence[str], held: Sequence[Case], saved: Mapping[str, Content]) -> list[Case]:
    """Return the cases of scenarios by name: those that are held already as they are, others as saved."""
    out: list[Case] = []
    for name in names:
        kept = [case for case in held if case["name"] == name]
        out += kept or (cases_of(name, saved[name]) if name in saved else [])
    return out


def cases_of(name: str, content: Content) -> list[Case]:
    """Return a saved scenario as cases, one a question."""
    return [
        {"name": name, "question": one.question, "params": dict(one.params), "version": one.version}
        for one in content.asked
    ]


def _words(name: str, held: Sequence[Case], saved: Mapping[str, Content]) -> str:
    """A scenario with what it asks, and whether the list holds it as the cell does."""
    mine = [case for case in held if case["name"] == name]
    asked = mine or cases_of(name, saved[name])
    titles = [QUESTIONS[q].title if q in QUESTIONS else q for q in (str(case["question"]) for case in asked)]
    words = f"{name}: {listing(titles)}"
    if mine and name not in saved:
        return f"{words} (no longer in the list)"
    return f"{words} (changed since)" if mine and mine != cases_of(name, saved[name]) else words


def _picked(cell_id: str, key: str, saved: Mapping[str, Content]) -> None:
    if session.again(key):
        return
    cell = session.held().document.cell(cell_id)
    if isinstance(cell, AnalysisCell):
        cases = picked_cases(st.session_state[key], held_cases(cell), saved)
        set_param(cell_id, "cases", [dict(case) for case in cases] or None)
