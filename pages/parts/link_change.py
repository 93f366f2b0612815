"""Dialogs that change a link: its terms, or its address."""

from typing import Any

import streamlit as st

from data.errors import UserError
from pages.parts.dialogs import close_dialog
from pages.parts.notices import show_error
from pages.parts.share_link import EXPIRIES, show_new
from pages.parts.words import md_escape
from reports.links import Link, LinkBook
from reports.sharing import Terms

KEEP = "Keep it as it is"
_NEW = "_link_new_address"
_NEW_PHRASE, _NO_PHRASE = "Ask for a new one", "Ask for none"


@st.dialog("Change this link", on_dismiss=close_dialog)
def ask_change(book: LinkBook, link: Link) -> None:
    """Let the author change label, expiry, passphrase, downloads and frames of a link."""
    st.caption(f"Report: {md_escape(link.title)}. Its numbers stay as they are; the address stays the same.")
    ref = f"{link.id}"
    label = st.text_input(
        "Label in your list", link.label, key=f"label_{ref}", max_chars=120, placeholder=link.title
    )
    period = st.selectbox(
        "Expiry",
        [KEEP, *EXPIRIES],
        key=f"expiry_{ref}",
        format_func=lambda k: k if k == KEEP else _from_now(k),
    )
    choices = [KEEP, _NEW_PHRASE, *([_NO_PHRASE] if link.passphrase else [])]
    phrase_choice = st.selectbox("Passphrase", choices, key=f"phrasing_{ref}")
    phrase = None
    if phrase_choice == _NEW_PHRASE:
        phrase = st.text_input("New passphrase", key=f"phrase_{ref}", autocomplete="off")
    exportable = st.checkbox(
        "Readers may download the tables and the data of the charts", link.exportable, key=f"export_{ref}"
    )
    framed = st.text_input(
        "Sites that may embed it", " ".join(link.embed_origins), key=f"embed_{ref}", placeholder="none"
    )
    if st.button("Save", key=f"save_{ref}", type="primary", icon=":material/check:"):
        try:
            if phrase_choice == _NEW_PHRASE and not phrase:
                raise UserError("The new passphrase is empty", "", "Type one, or keep it as it is.")
            terms = Terms(
                EXPIRIES.get(str(period)), label or "", phrase, tuple((framed or "").split()), exportable
            )
            _save(book, ref, terms, expiry=period != KEEP, phrase=phrase_choice != KEEP)
        except UserError as error:
            show_error(error)
            return
        close_dialog()
        st.rerun()


def _from_now(period: str) -> str:
    return period if period == "No expiry" else f"{period} from now"


def _save(book: LinkBook, ref: str, terms: Terms, *, expiry: bool, phrase: bool) -> None:
    book.set_label(ref, terms.label)
    book.set_access(ref, embed_origins=terms.embed_origins, exportable=terms.exportable)
    if expiry:
        book.set_expiry(ref, terms.expires_in)
    if phrase:
        book.set_passphrase(ref, terms.passphrase)


def _done() -> None:
    st.session_state.pop(_NEW, None)
    close_dialog()


@st.dialog("A new address for this link", on_dismiss=_done)
def ask_rotate(book: LinkBook, link: Link) -> None:
    """Give the link a new address after a second click, and show it once."""
    st.markdown(f"**{md_escape(link.name)}**")
    made: dict[str, Any] = st.session_state.setdefault(_NEW, {})
    if made.get("id") != link.id:
        made.clear()
        st.markdown(
            "The old address stops opening at once, for everybody. Report, expiry, passphrase and count of "
            "openings stay. The new address is shown once."
        )
        st.button(
            "Replace the address",
            key=f"rotate_yes_{link.id}",
            type="primary",
            icon=":material/autorenew:",
            on_click=_rotate,
            args=(book, link.id),
        )
        return
    show_new(made["new"], "The old address is dead. This one is shown this once.")
    if st.button("Done", key=f"rotate_done_{link.id}"):  # no callback: without the address it would ask again
        _done()
        st.rerun()


def _rotate(book: LinkBook, number: int) -> None:
    st.session_state[_NEW] = {"id": number, "new": book.rotate(str(number))}
