"""The top of an open notebook: title, save state, undo and redo, run, share."""

from functools import partial

import streamlit as st

from charts.synthetic import is_synthetic
from data.examples.load import example_loaded
from pages.parts import notebook_list
from pages.parts import notebook_session as session
from pages.parts.frame import MADE_UP
from pages.parts.notebook_run import Answers, run_now
from pages.parts.notebook_versions import versions_button
from pages.parts.share import share_bar_for
from pages.parts.state import PageState
from pages.parts.words import counted, md_escape
from reports.freeze import FrozenReport
from reports.notebook import edit
from reports.notebook.document import LONGEST_TITLE, Document, name_of
from reports.notebook.frozen import freeze_from_home
from reports.redact import Redaction


def show_head(state: PageState, now: session.Open, answers: Answers) -> None:
    """Draw the head."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.button(
            "All notebooks",
            key="nb_all",
            type="tertiary",
            icon=":material/arrow_back:",
            on_click=notebook_list.show_all,
        )
        with st.container(width="content"):
            if now.clash is None:
                _share(state, now, answers)
    with st.container(horizontal=True, vertical_alignment="center", key="nb_title"):
        st.title(md_escape(now.document.title), anchor=False, width="content")
        if _made_up(state, now, answers):
            st.badge("synthetic data", icon=":material/science:", color="violet", help=MADE_UP)
        if now.clash is None:
            _rename(now)
    with st.container(horizontal=True, vertical_alignment="center", key="nb_tools", gap="small"):
        if now.clash is None:
            _tools(now, answers)
        st.caption(_saved(now), width="content")
    if now.said:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(md_escape(now.said), width="content")
            if now.said.endswith("is deleted."):
                st.button(
                    "Undo", key="nb_undo_said", type="tertiary", icon=":material/undo:", on_click=session.undo
                )


def _made_up(state: PageState, now: session.Open, answers: Answers) -> bool:
    """Whether an answer rests on generated data, or a statement may count it."""
    results = [output.result for output in answers.outputs.values() if output.result is not None]
    if any(is_synthetic(result) for result in results):
        return True
    return any(cell.kind == "sql" for cell in now.document.cells) and example_loaded(state.store)


def _saved(now: session.Open) -> str:
    if now.clash is not None:
        return "not saved: another tab saved first"
    return f"saved {now.saved_at:%H:%M:%S} UTC"


def _tools(now: session.Open, answers: Answers) -> None:
    for word, step, can in (
        ("undo", session.undo, now.history.can_undo),
        ("redo", session.redo, now.history.can_redo),
    ):
        st.button(
            "",
            key=f"nb_{word}",
            type="tertiary",
            icon=f":material/{word}:",
            help=word.capitalize(),
            on_click=step,
            disabled=not can,
        )
    versions_button()
    st.toggle(
        "Run by hand",
        now.by_hand,
        key=f"nb_by_hand_{now.id}",
        on_change=_by_hand,
        args=(now.id,),
        help="Changes leave cells stale until Run. Otherwise what a change touches runs at once.",
    )
    late = len(answers.stale)
    if late and not answers.running:
        st.button(
            f"Run {counted(late, 'stale cell')}",
            key="nb_run",
            icon=":material/play_arrow:",
            type="primary",
            on_click=run_now,
        )


def _by_hand(notebook: int) -> None:
    session.held().by_hand = bool(st.session_state[f"nb_by_hand_{notebook}"])


def _rename(now: session.Open) -> None:
    with st.popover("Rename", icon=":material/edit:", type="tertiary", key="nb_rename_box"):
        key = now.key("title", "title")
        st.text_input(
            "Name of the notebook",
            now.document.title,
            key=key,
            max_chars=LONGEST_TITLE,
            on_change=partial(_titled, key),
        )


def _titled(key: str) -> None:
    if session.again(key):
        return
    title = " ".join(str(st.session_state[key]).split())

    def make(document: Document) -> Document:
        return edit.retitle(document, title or "Untitled")

    session.change(make, typed=True)


def _share(state: PageState, now: session.Open, answers: Answers) -> None:
    document, outputs = now.document, dict(answers.outputs)

    def freeze(redaction: Redaction) -> FrozenReport:
        return freeze_from_home(state.store, document, outputs, redaction)

    share_bar_for(freeze, document.title, f"notebook_{now.id}", live={"notebook": now.id})
    said = caveat(document, answers)
    if said:
        st.caption(f":material/warning: {md_escape(said)}")


def caveat(document: Document, answers: Answers) -> str:
    """Return what a reader of a report frozen now would miss: cells that failed or are stale, by name."""
    names = {cell.id: name_of(cell) or "a text" for cell in document.cells}
    parts = []
    for ids, what in ((answers.failed, "failed"), (answers.stale, "stale")):
        if ids:
            parts.append(f"{', '.join(names[i] for i in ids if i in names)} {what}")
    return f"A report frozen now says: {'; '.join(parts)}." if parts else ""
