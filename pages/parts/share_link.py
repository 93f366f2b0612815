"""The part of the Share dialog that makes a link: its terms, then the address, once, with its QR code."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from data.errors import UserError
from pages.parts.notices import show_error
from pages.parts.state import current
from reports.addresses import absolute, base_url, is_loopback
from reports.freeze import FrozenReport
from reports.link_note import moment, sentences
from reports.links import NewLink
from reports.passphrase import SHORTEST
from reports.qr import qr_svg
from reports.redact import Redaction
from reports.sharing import Terms, frozen_link, live_link

EXPIRIES: dict[str, timedelta | None] = {
    "1 hour": timedelta(hours=1),
    "1 day": timedelta(days=1),
    "7 days": timedelta(days=7),
    "30 days": timedelta(days=30),
    "90 days": timedelta(days=90),
    "No expiry": None,
}
FROZEN, LIVE = "Frozen report", "Live view"
QR_WIDTH_PX = 220
_LINK = "_share_link"
_KINDS = {
    FROZEN: "The numbers of this moment, for ever: later data and prices do not change them.",
    LIVE: "Computed each time the link is opened, while this app runs. Readers see that it is not frozen.",
}


def forget_link() -> None:
    """Start with no link made."""
    st.session_state.pop(_LINK, None)


def link_is_made() -> bool:
    """Say whether the dialog shows a link."""
    return "made" in _link_state()


def local_only() -> bool:
    """Say whether links reach nobody but the person at this machine."""
    host = urlsplit(base_url() or st.context.url or "").hostname
    return host is None or is_loopback(host)


def show_link(
    freeze: Callable[[], FrozenReport],
    title: str,
    redaction: Redaction,
    live: Callable[[], Mapping[str, Any]] | None,
    *,
    question: str,
    params: Mapping[str, Any] | None,
) -> None:
    """Draw the terms of a link and the button; then the link."""
    kind = _kind() if live is not None else FROZEN
    asked = _asked_terms()
    st.button("Create link", key="share_create", type="primary", icon=":material/link:", on_click=_want_link)
    state = _link_state()
    if "wanted" in state:
        try:
            terms = Terms(**asked)
            with st.spinner("Computing once …" if kind == LIVE else "Freezing the view …"):
                store = current().store
                if kind == LIVE and live is not None:
                    state["made"] = live_link(store, title, live(), redaction, terms)
                else:
                    state["made"] = frozen_link(store.home, freeze(), terms, question=question, params=params)
        except UserError as error:
            state.pop("wanted")
            show_error(error)
            return
        state.pop("wanted")
    if "made" in state:
        show_new(state["made"], "It is shown this once; *Links* pauses, replaces or revokes it.")


def show_new(made: NewLink, tail: str) -> None:
    """Show a new address with its QR code, and what its page tells readers about it."""
    link = address(made.path)
    st.code(link, language=None, wrap_lines=True)
    until = made.link.expires_at
    when = f"Opens until {moment(until)}" if until else "Has no expiry date"
    key = " and the passphrase" if made.link.passphrase else ""
    st.caption(f"{when}, without an account, for whoever has this address{key}. {tail}")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.image(qr_svg(link), width=QR_WIDTH_PX, alt="QR code of the link")
        with st.container(width="stretch", gap="xxsmall"):
            st.caption("The page tells its readers:")
            for sentence in sentences(made.link):
                st.caption(f"· {sentence}")


def address(path: str) -> str:
    """Return the whole address: on IPD_BASE_URL, else where this person's browser finds the app."""
    seen = urlsplit(st.context.url or "")
    if base_url() is None and seen.netloc:
        return f"{seen.scheme}://{seen.netloc}{path}"
    return absolute(path, int(st.get_option("server.port")))


def _kind() -> str:
    kind = st.segmented_control(
        "What the link opens", [FROZEN, LIVE], default=FROZEN, required=True, key="share_kind"
    )
    st.caption(_KINDS[str(kind)])
    return str(kind)


def _asked_terms() -> dict[str, Any]:
    period = st.selectbox("The link opens for", list(EXPIRIES), index=2, key="share_expiry")
    with st.expander("Passphrase, downloads, label, embedding", key="share_more"):
        # no password field: Tab leads from it to its eye, and what was typed never comes here
        phrase = st.text_input(
            "Passphrase for readers",
            key="share_passphrase",
            autocomplete="off",
            placeholder="none",
            help=f"{SHORTEST} characters or more. Without it the page shows nothing, no title, no preview. "
            "It is kept as a salted hash: nobody can look it up.",
        )
        exportable = st.checkbox(
            "Readers may download the tables and the data of the charts", key="share_exportable"
        )
        label = st.text_input(
            "Label in your list of links",
            key="share_label",
            max_chars=120,
            placeholder="the title",
            help="For you alone; readers do not see it.",
        )
        framed = st.text_input(
            "Sites that may embed it",
            key="share_embed",
            placeholder="none",
            help="Scheme and host, like https://wiki.example.org; several with spaces between. "
            "Everywhere else a browser refuses to show it in a frame.",
        )
    return {
        "expires_in": EXPIRIES[str(period)],
        "label": label or "",
        "passphrase": phrase or None,
        "embed_origins": tuple((framed or "").split()),
        "exportable": exportable,
    }


def _link_state() -> dict[str, Any]:
    """`wanted` from the click until the link is there, then `made`.

    A plain dict: touching it is no point at which Streamlit may cut a run short, so a link is neither lost
    nor made twice.
    """
    found: dict[str, Any] = st.session_state.setdefault(_LINK, {})
    return found


def _want_link() -> None:
    _link_state()["wanted"] = True
