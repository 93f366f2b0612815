"""Scenarios of a page: save what is on screen under a name, open, copy, rename, delete with undo, compare."""

import html
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from analysis import QUESTIONS
from analysis.result import Result
from analysis.scenarios import MOST_CASES
from data.errors import UserError
from data.scenarios import LONGEST_NAME, Asked, Content, Scenario, Scenarios
from pages.parts.compute import compute
from pages.parts.dialogs import close_dialog, is_open, open_dialog
from pages.parts.generation_address import several
from pages.parts.notices import show_error
from pages.parts.state import PageState
from pages.parts.words import counted, md_escape

WITH, THIS = "sc_with", "This view"
_DONE = "_scenario_done"
SHOWN = 50


def scenario_bar(state: PageState, page: str, results: Sequence[Result]) -> Result | None:
    """Draw saving, the list and the choice of what to compare; returns the comparison, None without one.

    `results` are what is on screen: their parameters are what a scenario keeps, with the page's address.
    """
    book = Scenarios(state.store.workspace)
    asked = {result.analysis for result in results}
    every = [one for one in book.all() if _about(one, page, asked)]
    gone = [one for one in book.all(deleted=True) if _about(one, page, asked)]
    with st.container(key="scenarios", border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("**Scenarios**", width="content")
            _save(book, page, results)
            _manage(book, every, gone, _content(page, results))
        _said(book)
        picked = _picked(every)
    if not picked:
        return None
    cases = [_case(THIS, Asked(r.analysis, r.params, _version(r.analysis))) for r in results]
    cases += [_case(one.name, asked) for one in picked for asked in one.content.asked]
    try:
        return compute("scenarios", {"cases": cases})
    except UserError as error:
        show_error(error)
        return None


def _about(one: Scenario, page: str, questions: set[str]) -> bool:
    """Whether a scenario asks what is on screen: others have no figure in common with it."""
    return one.content.page == page and {asked.question for asked in one.content.asked} == questions


def _version(question: str) -> int:
    return QUESTIONS[question].params.version


def _case(name: str, asked: Asked) -> dict[str, Any]:
    return {"name": name, "question": asked.question, "params": dict(asked.params), "version": asked.version}


def _content(page: str, results: Sequence[Result]) -> Content:
    """What is on screen: questions with all parameters, the address without the comparison, the answer."""
    address = {name: st.query_params.get_all(name) for name in st.query_params if name != WITH}
    asked = tuple(Asked(r.analysis, r.params, _version(r.analysis)) for r in results)
    return Content(asked, page, address, results[0].answer)


def _save(book: Scenarios, page: str, results: Sequence[Result]) -> None:
    with (
        st.popover("Save this view", icon=":material/bookmark_add:", key="sc_save_box"),
        st.form("sc_save_form", border=False, clear_on_submit=True),
    ):
        name = st.text_input("Name", key="sc_name", max_chars=LONGEST_NAME, placeholder="weekly, 95 %")
        if st.form_submit_button("Save", icon=":material/save:", type="primary"):
            try:
                kept = book.save(name, _content(page, results))
            except UserError as error:
                show_error(error)
                return
            _tell(f"Saved as '{kept.name}'.")
            st.rerun()


def _tell(text: str, undo: int | None = None) -> None:
    st.session_state[_DONE] = (text, undo)


def _said(book: Scenarios) -> None:
    """Say what was done until the next thing is done, with the way back where there is one."""
    done: tuple[str, int | None] | None = st.session_state.get(_DONE)
    if done is None:
        return
    text, undo = done
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(md_escape(text), width="content")
        if undo is not None:
            st.button("Undo", key="sc_undo", type="tertiary", icon=":material/undo:",
                      on_click=_restore, args=(book, undo))  # fmt: skip


def _restore(book: Scenarios, scenario: int, entry: int | None = None) -> None:
    try:
        back = book.restore(scenario, entry)
    except UserError as error:
        _tell(str(error))
    else:
        _tell(f"'{back.name}' is back as it was.")


def _picked(every: Sequence[Scenario]) -> list[Scenario]:
    if not every:
        st.caption("None is saved on this page yet: save this view, change an input, and compare both.")
        return []
    by_name = {one.name: one for one in every}
    names = several(
        "Side by side with this view", WITH, {name: name for name in by_name}, noun="scenario",
        most=MOST_CASES - 1, instead="no comparison", placeholder="choose scenarios",
    )  # fmt: skip
    return [by_name[name] for name in names]


def _manage(book: Scenarios, every: Sequence[Scenario], gone: Sequence[Scenario], here: Content) -> None:
    if not (every or gone):
        return
    st.button(f"Manage {len(every)}", key="sc_manage", icon=":material/bookmarks:", type="tertiary",
              on_click=open_dialog, args=("scenarios",))  # fmt: skip
    if is_open("scenarios"):
        _dialog(book, every, gone, here)


@st.dialog("Scenarios of this page", width="large", on_dismiss=close_dialog)
def _dialog(book: Scenarios, every: Sequence[Scenario], gone: Sequence[Scenario], here: Content) -> None:
    for one in every[:SHOWN]:
        _show(book, one, here)
    if len(every) > SHOWN:
        st.caption(f"{counted(len(every) - SHOWN, 'older scenario')} not shown.")
    if gone:
        st.markdown("**Deleted**")
    for one in gone[:SHOWN]:
        with st.container(horizontal=True, vertical_alignment="center", key=f"sc_gone_{one.id}"):
            st.markdown(f"{md_escape(one.name)} :small[deleted {one.changed:%d %b %Y, %H:%M} UTC]")
            st.button("Bring back", key=f"sc_back_{one.id}", icon=":material/undo:", type="tertiary",
                      on_click=_restore, args=(book, one.id))  # fmt: skip


def _show(book: Scenarios, one: Scenario, here: Content) -> None:
    with st.container(border=True, key=f"sc_{one.id}"):
        st.markdown(f"**{md_escape(one.name)}** :small[changed {one.changed:%d %b %Y, %H:%M} UTC]")
        st.caption(md_escape(one.content.answer))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(f'<a class="ipd-open" href="{html.escape(address_of(one))}" target="_self">Open</a>')
            _act("Copy", "copy", "content_copy", book, one)
            _act("Delete", "delete", "delete", book, one)
            _rename(book, one)
            st.button("Replace by this view", key=f"sc_replace_{one.id}", icon=":material/bookmark_added:",
                      type="tertiary", on_click=_replace, args=(book, one.id, here))  # fmt: skip
        _versions(book, one)


def address_of(one: Scenario) -> str:
    """Return the address at which the page shows a scenario: a new visit, for controls of the page that stand
    already would keep what they hold.
    """
    query = urlencode({name: list(values) for name, values in one.content.address.items()}, doseq=True)
    return f"/{one.content.page.removesuffix('.py')}{f'?{query}' if query else ''}"


def _act(label: str, act: str, icon: str, book: Scenarios, one: Scenario) -> None:
    st.button(label, key=f"sc_{act}_{one.id}", icon=f":material/{icon}:", type="tertiary", on_click=_do,
              args=(book, act, one.id))  # fmt: skip


def _do(book: Scenarios, act: str, scenario: int) -> None:
    try:
        if act == "copy":
            _tell(f"Copied as '{book.copy(scenario).name}'.")
        else:
            _tell(f"'{book.delete(scenario).name}' is deleted.", scenario)
    except UserError as error:
        _tell(str(error))


def _replace(book: Scenarios, scenario: int, here: Content) -> None:
    try:
        kept = book.replace(scenario, here)
    except UserError as error:
        _tell(str(error))
    else:
        _tell(f"'{kept.name}' is this view now; what it was is in its earlier versions.")


def _rename(book: Scenarios, one: Scenario) -> None:
    with (
        st.popover("Rename", icon=":material/edit:", key=f"sc_rename_box_{one.id}"),
        st.form(f"sc_rename_{one.id}", border=False),
    ):
        name = st.text_input("New name", one.name, key=f"sc_new_{one.id}", max_chars=LONGEST_NAME)
        if st.form_submit_button("Rename"):
            try:
                kept = book.rename(one.id, name)
            except UserError as error:
                show_error(error)
                return
            _tell(f"Renamed to '{kept.name}'.")
            st.rerun()


def _versions(book: Scenarios, one: Scenario) -> None:
    """What it was before, each one click away."""
    before = [old for old in book.history(one.id)[:-1] if old.content != one.content]
    if not before:
        return
    with st.expander(counted(len(before), "earlier version")):
        for old in reversed(before):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(f"{old.changed:%d %b %Y, %H:%M} UTC: {md_escape(old.content.answer)}")
                st.button("As it was", key=f"sc_old_{old.entry}", type="tertiary", icon=":material/history:",
                          on_click=_restore, args=(book, one.id, old.entry))  # fmt: skip
