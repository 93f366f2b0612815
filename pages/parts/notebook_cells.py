"""One cell: its quiet bar, what it shows, and what is asked where it is edited."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from pages.parts import notebook_session as session
from pages.parts.notebook_analysis import edit_analysis, show_analysis
from pages.parts.notebook_chart import edit_chart, show_chart_cell
from pages.parts.notebook_form import Offered
from pages.parts.notebook_metric import edit_metric, show_metric
from pages.parts.notebook_new import KINDS, fresh
from pages.parts.notebook_parameter import edit_parameter, show_parameter
from pages.parts.notebook_place import Place
from pages.parts.notebook_run import Answers, answers_of
from pages.parts.notebook_sql import edit_sql, show_sql
from pages.parts.notebook_text import edit_text, show_text
from pages.parts.notices import show_error
from pages.parts.state import PageState
from pages.parts.words import md_escape
from reports.notebook import edit
from reports.notebook.document import AnyCell, Document, TextCell, name_of

Draw = Callable[[Any, Place], None]
SHOW: dict[str, Draw] = {
    "text": show_text,
    "analysis": show_analysis,
    "sql": show_sql,
    "chart": show_chart_cell,
    "metric": show_metric,
    "parameter": show_parameter,
}
EDIT: dict[str, Draw] = {
    "text": edit_text,
    "analysis": edit_analysis,
    "sql": edit_sql,
    "chart": edit_chart,
    "metric": edit_metric,
    "parameter": edit_parameter,
}
UP, DOWN, COPY, DELETE = "Move up", "Move down", "Copy", "Delete"


def show_cell(
    state: PageState, now: session.Open, place: int, cell: AnyCell, answers: Answers, offered: Offered
) -> None:
    """Draw a cell; while another tab's save awaits a decision, without its controls."""
    here = Place(state, now, place, answers, offered)
    late = cell.id in answers.stale
    with st.container(key=f"nb_cell_{cell.kind}_{cell.id}", gap="small"):
        if now.clash is None:
            _bar(here, cell)
        _say_state(here, cell, late)
        editing = cell.id in now.editing and now.clash is None
        if editing:
            EDIT[cell.kind](cell, here)
        if not (editing and isinstance(cell, TextCell)):
            with st.container(key=f"nb_{'stale' if late else 'shown'}_{cell.id}"):
                SHOW[cell.kind](cell, here)


def _say_state(here: Place, cell: AnyCell, late: bool) -> None:
    """Whether what is shown is an old answer, and what was refused or cannot be run."""
    if late:
        busy = cell.id in here.answers.running
        words = "stale · running" if busy else "stale"
        st.badge(
            words,
            icon=":material/hourglass_empty:" if busy else ":material/update:",
            color="orange",
            help="What is shown was answered before a change that it depends on.",
        )
    refused = here.now.refused.get(cell.id)
    if refused is not None:
        show_error(refused)
    problem = here.answers.problems.get(cell.id)
    if problem and (late or here.output(cell) is None):
        st.warning(md_escape(problem), icon=":material/link_off:")


def _bar(here: Place, cell: AnyCell) -> None:
    name, editing = name_of(cell), cell.id in here.now.editing
    with st.container(
        horizontal=True,
        horizontal_alignment="right",
        vertical_alignment="center",
        gap="xsmall",
        key=f"nb_bar_{'open' if editing else 'quiet'}_{cell.id}",
    ):
        if name:
            st.caption(f":small[{md_escape(KINDS[cell.kind].title)}] `{name}`", width="stretch")
        st.button(
            "Done" if editing else "Edit",
            key=f"nb_edit_{cell.id}",
            type="tertiary",
            icon=":material/check:" if editing else ":material/edit:",
            on_click=toggle_edit,
            args=(cell.id,),
            help=f"{'Close' if editing else 'Open'} the controls of {md_escape(name or 'this text')}.",
        )
        add_menu(f"nb_add_{cell.id}", cell.id, "Add below")
        last = len(here.now.document.cells) - 1
        moves = ([UP] if here.place else []) + ([DOWN] if here.place < last else [])
        key = f"nb_menu_{cell.id}"
        st.menu_button(
            "",
            [*moves, COPY, DELETE],
            key=key,
            type="tertiary",
            icon=":material/more_horiz:",
            help="Move, copy or delete this cell.",
            on_click=partial(_menu, cell.id, key),
        )


def toggle_edit(cell_id: str) -> None:
    """Button callback: open or close the controls of a cell."""
    session.held().editing ^= {cell_id}


def add_menu(key: str, after: str | None, label: str) -> None:
    """Draw the menu of kinds of cells; the picked one lands behind the cell `after`, None: at the end."""
    st.menu_button(
        label,
        list(KINDS),
        key=key,
        type="tertiary",
        icon=":material/add:",
        format_func=lambda kind: KINDS[kind].title,
        on_click=partial(_added, after, key),
    )


def add_row() -> None:
    """Draw the row of buttons below the last cell."""
    with st.container(horizontal=True, key="nb_add_row", gap="xsmall", vertical_alignment="center"):
        st.caption("Add", width="content")
        for kind, what in KINDS.items():
            st.button(
                what.title,
                key=f"nb_new_{kind}",
                type="tertiary",
                icon=what.icon,
                help=what.help,
                on_click=_add,
                args=(None, kind),
            )


def _added(after: str | None, key: str) -> None:
    _add(after, st.session_state[key])


def _add(after: str | None, kind: str) -> None:
    now = session.held()
    outputs = answers_of(session.store(), now).outputs
    cell = fresh(now.document, kind, after, outputs)
    if session.change(lambda document: edit.add(document, cell, after)):
        now.editing.add(cell.id)


def _menu(cell_id: str, key: str) -> None:
    picked = st.session_state[key]
    done: dict[str, tuple[session.Change, str]] = {
        UP: (lambda d: edit.move(d, cell_id, -1), ""),
        DOWN: (lambda d: edit.move(d, cell_id, 1), ""),
        COPY: (lambda d: edit.copy_cell(d, cell_id), ""),
        DELETE: (lambda d: edit.delete(d, cell_id), f"{_what(cell_id)} is deleted."),
    }
    make, said = done[picked]
    session.change(make, cell=cell_id, said=said)


def _what(cell_id: str) -> str:
    document: Document = session.held().document
    cell = document.cell(cell_id)
    return f"'{name_of(cell)}'" if name_of(cell) else "A text"
