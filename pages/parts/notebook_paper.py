"""An open notebook: head, cells in order, and the run of what is stale."""

import streamlit as st

from data.notebooks import Saved
from pages.parts import notebook_session as session
from pages.parts.notebook_cells import add_row, show_cell
from pages.parts.notebook_clash import show_clash
from pages.parts.notebook_form import Offered
from pages.parts.notebook_head import show_head
from pages.parts.notebook_inputs import offered
from pages.parts.notebook_run import Answers, answers_of, run_what_is_stale, show_progress
from pages.parts.notebook_typing import watch_typing
from pages.parts.notices import show_error
from pages.parts.state import PageState
from reports.notebook.document import DocumentError


def show(state: PageState, notebook: Saved) -> None:
    """Draw the notebook."""
    try:
        now = session.opened(notebook)
    except DocumentError as error:
        show_error(error)
        return
    run_what_is_stale(state.store, now)
    answers = answers_of(state.store, now)
    show_head(state, now, answers)
    if now.clash is not None:
        show_clash(now, now.clash)
    show_progress(now, answers)
    watch_typing()
    _cells(state, now, answers)


def _cells(state: PageState, now: session.Open, answers: Answers) -> None:
    names = _offered(state) if now.editing else {}
    with st.container(key="nb_paper"):
        if not now.document.cells:
            st.markdown("This notebook is empty. Add its first cell:")
        for place, cell in enumerate(now.document.cells):
            show_cell(state, now, place, cell, answers, names)
        if now.clash is None:
            add_row()


def _offered(state: PageState) -> Offered:
    with state.view() as view:
        return offered(view)
