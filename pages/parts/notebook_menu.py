"""From a chart or a view into a notebook: one quiet control each, whose dialog is built when it is opened."""

from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from analysis.result import Result
from pages.parts.dialogs import is_open, open_dialog
from pages.parts.pictures import analysis_cell, asked_of, source_of

ADD, SQL = "Add to notebook", "SQL"
DONE = "_notebook_dialog"
"""Of the session: what the open dialog has done so far."""


def notebook_menu(fig: go.Figure, key: str) -> None:
    """Offer to put a chart that an answer made into a notebook, and to see the SELECTs behind it:
    a chart in a notebook offers neither.
    """
    source = source_of(fig)
    if source is None:
        return
    st.menu_button(
        "Notebook",
        [ADD, SQL],
        key=f"tonb_{key}",
        icon=":material/article:",
        type="tertiary",
        help="Ask the same again in a notebook, or see the SELECTs behind this chart.",
        on_click=_chosen,
        args=(key,),
    )
    if is_open(_name(ADD, key)):
        from pages.parts.add_to_notebook import add_cells

        add_cells(lambda: [source.cell()])
    elif is_open(_name(SQL, key)):
        from pages.parts.add_to_notebook import show_sql

        show_sql(source)


def view_button(results: Sequence[Result], key: str) -> None:
    """Offer to put a whole view into a notebook: each result as a cell with all its charts."""
    name = f"view_{key}"
    st.button(
        ADD,
        key=f"tonb_{name}",
        icon=":material/note_add:",
        help="Every question of this view as a cell of a notebook, with its parameters and charts.",
        on_click=_open,
        args=(ADD, name),
    )
    if is_open(_name(ADD, name)):
        from pages.parts.add_to_notebook import add_cells

        add_cells(lambda: [analysis_cell(*asked_of(result)) for result in results])


def _chosen(key: str) -> None:
    choice = st.session_state[f"tonb_{key}"]
    if choice in (ADD, SQL):
        _open(choice, key)


def _open(choice: str, key: str) -> None:
    st.session_state.pop(DONE, None)
    open_dialog(_name(choice, key))


def _name(choice: str, key: str) -> str:
    return f"{'sql' if choice == SQL else 'cells'}_{key}"
