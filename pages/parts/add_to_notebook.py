"""A chart or a whole view as cells of a notebook, and the SELECTs behind a chart: dialogs that a click opens.

Nothing here is imported or computed before the click.
"""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from data.errors import UserError
from pages.parts import notebook_add
from pages.parts.dialogs import close_dialog
from pages.parts.notebook_menu import DONE
from pages.parts.notices import show_error
from pages.parts.pictures import Source
from pages.parts.state import current
from pages.parts.words import counted, md_escape
from reports.notebook.document import LONGEST_SQL, LONGEST_TITLE, AnyCell, SqlCell

NEW = "A new notebook"
Make = Callable[[], Sequence[AnyCell]]


@st.dialog("Add to notebook", on_dismiss=close_dialog)
def add_cells(make: Make) -> None:
    """Choose a notebook for the cells that `make` returns, add them, and offer to take them back."""
    st.caption("It is asked again there, with the same parameters.")
    _adder(make, "Add")


@st.dialog("SQL behind this chart", width="large", on_dismiss=close_dialog)
def show_sql(source: Source) -> None:
    """Show the SELECTs behind a chart, and offer them as SQL cells of a notebook."""
    try:
        selects = _selects(source)
    except UserError as error:
        show_error(error)
        return
    if not selects:
        st.info(
            "No SELECT is behind this chart: it is computed from the catalogue and the parameters alone.",
            icon=":material/database_off:",
        )
        return
    st.caption(
        f"{counted(len(selects), 'SELECT')} on the data of this home, values written out. What the chart "
        "shows is computed from these rows; in a notebook each can be changed and run."
    )
    cells = [SqlCell(name=f"{source.question}_sql", sql=sql) for sql in selects if len(sql) <= LONGEST_SQL]
    if cells:
        _adder(lambda: cells, f"Open as {counted(len(cells), 'SQL cell')}")
    for sql in selects:
        st.code(sql, language="sql", height=260 if sql.count("\n") > 10 else "content")
        if len(sql) > LONGEST_SQL:
            st.caption(f"Too long for a cell, which holds {LONGEST_SQL:,} characters.")


def _state() -> dict[str, Any]:
    """What the open dialog has done: `selects` read, `wanted` from the click until `added`.

    A plain dict: touching it is no point at which Streamlit may cut a run short, so nothing is added twice.
    """
    found: dict[str, Any] = st.session_state.setdefault(DONE, {})
    return found


def _selects(source: Source) -> list[str]:
    from reports.sql.behind import selects_of

    state = _state()
    if "selects" not in state:
        with st.spinner("Asking again and noting what is read …"), current().view() as view:
            state["selects"] = list(dict.fromkeys(selects_of(view, source.question, source.params)))
    found: list[str] = state["selects"]
    return found


def _want(wish: str) -> None:
    _state()["wanted"] = wish


def _adder(make: Make, label: str) -> None:
    """Choose a notebook and add; afterwards say where the cells are, and offer to take them back."""
    state = _state()
    try:
        _do(state, make)
    except UserError as error:
        show_error(error)
    if "added" in state:
        _confirm(state)
    else:
        _choose(state, label)


def _do(state: dict[str, Any], make: Make) -> None:
    store, wanted = current().store, state.pop("wanted", None)
    if wanted == "add" and "added" not in state:
        cells = make()
        new, notebook = state.get("new", ""), state.get("notebook")
        state["added"] = notebook_add.add_cells(store, cells, notebook, new=new)
    elif wanted == "undo" and "added" in state:
        notebook_add.take_back(store, state["added"])
        state["taken_back"] = state.pop("added").title


def _choose(state: dict[str, Any], label: str) -> None:
    targets = {target.id: target.title for target in notebook_add.choices(current().store)}
    names = _labels(targets)
    if "taken_back" in state:
        st.caption(f"Taken back from {md_escape(state['taken_back'])}.")
    if targets:
        picked = st.selectbox(
            "Notebook", [*targets, None], format_func=lambda n: names.get(n, NEW), key="tonb_which"
        )
    else:
        picked = None
    state["notebook"], state["new"] = picked, ""
    if picked is None:
        typed = st.text_input(
            "Title of the new notebook", "Untitled", key="tonb_title", max_chars=LONGEST_TITLE
        )
        state["new"] = typed.strip() or "Untitled"
    st.button(
        label, key="tonb_add", type="primary", icon=":material/note_add:", on_click=_want, args=("add",)
    )


def _labels(targets: dict[int, str]) -> dict[int, str]:
    """Titles, told apart by their number where two notebooks share one."""
    titles = list(targets.values())
    return {n: f"{title} (no. {n})" if titles.count(title) > 1 else title for n, title in targets.items()}


def _confirm(state: dict[str, Any]) -> None:
    added = state["added"]
    with st.container(horizontal=True, vertical_alignment="center", key="tonb_added"):
        st.markdown(
            f":material/check: Added {counted(len(added.cell_ids), 'cell')} to **{md_escape(added.title)}**.",
            width="content",
        )
        st.page_link(
            "notebook.py", label="Open it", icon=":material/article:", query_params={"nb": str(added.id)}
        )
        st.button(
            "Undo", key="tonb_undo", type="tertiary", icon=":material/undo:", on_click=_want, args=("undo",)
        )
