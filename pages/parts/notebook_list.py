"""The notebooks of a home: open, new, from a template, duplicate, rename, delete with undo."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from data.errors import UserError
from data.notebooks import Notebooks, Saved
from data.store import Store
from pages.parts import notebook_session as session
from pages.parts.example import load_button
from pages.parts.frame import show_title
from pages.parts.notebook_templates import show_templates
from pages.parts.notices import show_error
from pages.parts.state import PageState, note, settle
from pages.parts.urlcheck import UrlNotice, quote
from pages.parts.words import counted, md_escape
from reports.notebook.document import LONGEST_TITLE, Document, DocumentError, parse_document

PARAM = "nb"
SHOWN = 50
LEAD = (
    "A plan as a short paper: words, numbers, charts and what they rest on. It re-runs where you change it."
)
_SAID, _WRONG = "_notebook_list_said", "_notebook_list_wrong"


def asked(store: Store) -> Saved | None:
    """Return the notebook that the address asks for; None, with a notice when there is no such one."""
    values = st.query_params.get_all(PARAM)
    if not values:
        settle(PARAM)
        return None
    found = _found(store, values[-1])
    if isinstance(found, Saved):
        st.session_state[PARAM] = str(found.id)  # the address's own parameter is taken
        settle(PARAM)
        return found
    note(
        UrlNotice(
            PARAM,
            f"The address asks for notebook {quote(values[-1:])}, {found}; here are all that there are.",
        )
    )
    del st.query_params[PARAM]
    return None


def _found(store: Store, value: str) -> Saved | str:
    if not (value.isascii() and value.isdecimal() and len(value) < 12):
        return "which is no notebook's number"
    try:
        found = Notebooks(store.workspace).get(int(value))
    except UserError:
        return "which this home does not hold"
    if found.deleted:
        return f"which was deleted on {found.changed:%d %b %Y, %H:%M} UTC and can be brought back below"
    return found


def open_notebook(notebook: int) -> None:
    """Button callback: show a notebook."""
    session.close()
    st.session_state.pop(_SAID, None)
    st.query_params[PARAM] = str(notebook)


def show_all() -> None:
    """Button callback: show the list."""
    session.close()
    st.query_params.pop(PARAM, None)


def show(state: PageState) -> None:
    """Draw the list."""
    book = Notebooks(state.store.workspace)
    every, gone = book.all(), book.all(deleted=True)
    show_title("Notebook", lead=LEAD)
    if every:
        _new(book)
    _said(book)
    for one in every[:SHOWN]:
        _row(book, one)
    if len(every) > SHOWN:
        st.caption(f"{counted(len(every) - SHOWN, 'older notebook')} not shown.")
    if not every:
        with st.container(border=True, key="nb_first"):
            st.markdown("**No notebook yet.** Start from a question below, or with an empty page.")
            with st.container(horizontal=True, vertical_alignment="center"):
                st.button(
                    "Empty notebook",
                    icon=":material/note_add:",
                    key="nb_empty",
                    on_click=create,
                    args=(book, Document),
                )
                load_button(state.store, key="nb_example")
    show_templates(partial(create, book), expanded=not every)
    if gone:
        with st.expander(f"Deleted ({len(gone)})", key="nb_gone", icon=":material/delete:"):
            for one in gone[:SHOWN]:
                _deleted(book, one)


def _new(book: Notebooks) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "New notebook",
            icon=":material/note_add:",
            key="nb_new",
            type="primary",
            on_click=create,
            args=(book, Document),
        )


def create(book: Notebooks, make: Callable[[], Document]) -> None:
    """Button callback: keep a new notebook under a free title, and open it."""
    try:
        document = make()
        titled = document.model_copy(update={"title": _free_title(book, document.title)})
        made = book.create(titled.to_json())
    except UserError as error:
        st.session_state[_WRONG] = error
        return
    open_notebook(made.id)


def _free_title(book: Notebooks, title: str) -> str:
    """The title, with the next number where a notebook has it already."""
    taken = {one.title for one in book.all()}
    names = (title if n == 1 else f"{title[: LONGEST_TITLE - 5]} {n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _said(book: Notebooks) -> None:
    """Say what was done, with the way back; and what could not be done."""
    wrong: UserError | None = st.session_state.pop(_WRONG, None)
    if wrong is not None:
        show_error(wrong)
    said: tuple[str, int | None] | None = st.session_state.get(_SAID)
    if said is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(md_escape(said[0]), width="content")
        if said[1] is not None:
            st.button(
                "Undo",
                key="nb_list_undo",
                type="tertiary",
                icon=":material/undo:",
                on_click=_restore,
                args=(book, said[1]),
            )


def _row(book: Notebooks, one: Saved) -> None:
    with st.container(
        border=True,
        horizontal=True,
        vertical_alignment="center",
        horizontal_alignment="distribute",
        key=f"nb_row_{one.id}",
    ):
        with st.container(gap="xxsmall", width="content"):
            st.button(
                md_escape(one.title),
                key=f"nb_open_{one.id}",
                type="tertiary",
                icon=":material/menu_book:",
                on_click=open_notebook,
                args=(one.id,),
            )
            st.caption(f"{_size(one)} · changed {one.changed:%d %b %Y, %H:%M:%S} UTC")
        with st.container(horizontal=True, width="content", gap="xsmall"):
            _act("Duplicate", "dup", "content_copy", _copy, book, one)
            _rename(book, one)
            _act("Delete", "del", "delete", _delete, book, one)


def _act(
    label: str, key: str, icon: str, act: Callable[[Notebooks, Saved], None], book: Notebooks, one: Saved
) -> None:
    st.button(
        label,
        key=f"nb_{key}_{one.id}",
        type="tertiary",
        icon=f":material/{icon}:",
        on_click=act,
        args=(book, one),
    )


def _size(one: Saved) -> str:
    try:
        return counted(len(parse_document(one.document).cells), "cell")
    except DocumentError:
        return "cannot be read by this version of the app"


def _rename(book: Notebooks, one: Saved) -> None:
    with (
        st.popover("Rename", icon=":material/edit:", key=f"nb_ren_box_{one.id}", type="tertiary"),
        st.form(f"nb_ren_form_{one.id}", border=False),
    ):
        title = st.text_input(
            "New name", one.title, key=f"nb_ren_{one.id}_{one.version}", max_chars=LONGEST_TITLE
        )
        if st.form_submit_button("Rename"):
            try:
                renamed = book.rename(one.id, title)
            except UserError as error:
                show_error(error)
                return
            st.session_state[_SAID] = (f"Renamed to '{renamed.title}'.", None)
            st.rerun()


def _copy(book: Notebooks, one: Saved) -> None:
    made = book.copy(one.id)
    st.session_state[_SAID] = (f"Copied as '{made.title}'.", None)


def _delete(book: Notebooks, one: Saved) -> None:
    book.delete(one.id)
    st.session_state[_SAID] = (f"'{one.title}' is deleted.", one.id)


def _restore(book: Notebooks, notebook: int) -> None:
    try:
        back = book.restore(notebook)
    except UserError as error:
        st.session_state[_WRONG] = error
        return
    st.session_state[_SAID] = (f"'{back.title}' is back.", None)


def _deleted(book: Notebooks, one: Saved) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"nb_gone_{one.id}"):
        st.markdown(
            f"{md_escape(one.title)} :small[deleted {one.changed:%d %b %Y, %H:%M} UTC]", width="content"
        )
        st.button(
            "Bring back",
            key=f"nb_back_{one.id}",
            icon=":material/undo:",
            type="tertiary",
            on_click=_restore,
            args=(book, one.id),
        )
