"""Earlier versions of the open notebook: when each was saved, how it differs, and one click back to it."""

from functools import partial

import streamlit as st

from data.notebooks import Entry
from pages.parts import notebook_session as session
from pages.parts.dialogs import close_dialog, is_open, open_dialog
from pages.parts.notebook_new import KINDS
from pages.parts.words import counted, md_escape
from reports.notebook.document import Document, DocumentError, name_of, parse_document

DIALOG = "notebook_versions"
SHOWN = 200
KEPT = (
    "Kept: all of the last hour, before that the last of each hour, before a day the last of each day; the "
    "first, and those that gave another name, for ever."
)


def versions_button() -> None:
    """Draw the button, and the dialog while it is open."""
    st.button(
        "",
        key="nb_versions",
        type="tertiary",
        icon=":material/history:",
        help="Earlier versions",
        on_click=open_dialog,
        args=(DIALOG,),
    )
    if is_open(DIALOG):
        _dialog()


@st.dialog("Earlier versions", on_dismiss=close_dialog)
def _dialog() -> None:
    now, kept = session.held(), session.book()
    entries = {one.version: one for one in reversed(kept.history(now.id)) if one.version != now.version}
    st.caption(KEPT)
    if not entries:
        st.markdown("This is the only one so far.")
        return
    picked = st.selectbox(
        f"{counted(len(entries), 'version')}, the newest first",
        list(entries)[:SHOWN],
        key=f"nb_version_{now.id}_{now.version}",
        format_func=lambda number: _words(entries[number]),
    )
    try:
        was = parse_document(kept.version(now.id, picked).document)
    except DocumentError as error:
        st.warning(md_escape(str(error)))
        return
    for line in differences(now.document, was):
        st.markdown(f"- {md_escape(line)}")
    st.button(
        "Go back to it",
        key="nb_version_back",
        icon=":material/history:",
        type="primary",
        disabled=was == now.document,
        on_click=partial(_back, was, _words(entries[picked])),
        help="Undo takes it back again, and what is there now stays a version.",
    )


def _words(entry: Entry) -> str:
    return f"{entry.changed:%d %b %Y, %H:%M:%S} UTC · {entry.title} ({entry.change})"


def differences(now: Document, was: Document) -> list[str]:
    """Return what going back would change, a line a cell."""
    lines = [f"Title: '{was.title}'"] if was.title != now.title else []
    for _, mine, theirs in session.cells_that_differ(now, was):
        known = mine or theirs
        if known is None:
            continue
        what = f"{KINDS[known.kind].title} {name_of(known)}".strip()
        did = "would come back" if mine is None else "would go" if theirs is None else "was different"
        lines.append(f"{what} {did}")
    both = {cell.id for cell in now.cells} & {cell.id for cell in was.cells}
    orders = [[cell.id for cell in one.cells if cell.id in both] for one in (now, was)]
    if orders[0] != orders[1]:
        lines.append("The order of the cells was different")
    return lines or ["Nothing differs from what is shown now"]


def _back(was: Document, words: str) -> None:
    session.change(lambda _: was, said=f"This is the version of {words}.")
    close_dialog()
