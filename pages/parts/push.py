"""The way in for a training loop: a token, and the lines to paste."""

import streamlit as st

from data.store import Store
from pages.parts.notices import show_error
from pages.parts.words import md_escape
from reports.addresses import base_url
from reports.push_snippets import curl_lines, python_lines
from reports.push_tokens import PushToken, PushTokenError, PushTokens

_SHOWN = "push_shown"
UNKNOWN_ADDRESS = "http://YOUR-ADDRESS/"
"""Stands in the lines to copy where no browser has said under which address it sees the page."""
LIVES = {7: "7 days", 90: "90 days", 366: "1 year", 0: "until revoked"}


def popover(store: Store) -> None:
    """Offer tokens and the lines that use them."""
    with st.popover("Push from a job", icon=":material/cloud_upload:"):
        st.caption(
            "A running job sends its log, or only its newest rows: both give the same run. "
            "Rows that are here already are recognised, so a retry does no harm."
        )
        book = PushTokens(store.home)
        _create(book)
        _snippets()
        _live(book)


def _create(book: PushTokens) -> None:
    with st.form("push_form", border=False, clear_on_submit=True):
        name = st.text_input("Name of the token", placeholder="nightly GRPO job", max_chars=80)
        days = st.selectbox("Lives", list(LIVES), index=1, format_func=LIVES.__getitem__)
        asked = st.form_submit_button("Create a token", icon=":material/key:")
    if not asked:
        return
    try:
        token, secret = book.create(name, days or None)
    except PushTokenError as error:
        show_error(error)
        return
    st.session_state[_SHOWN] = (token.id, secret)


def _snippets() -> None:
    kept = st.session_state.get(_SHOWN)
    if kept:
        st.success("Shown once: copy the token now.", icon=":material/key:")
        st.code(kept[1], language=None)
        st.button("I have copied it", key="push_copied", on_click=_forget, type="tertiary")
    address = base_url() or (st.context.url or UNKNOWN_ADDRESS).split("?")[0].rsplit("/", 1)[0]
    shell, loop = st.tabs(["curl", "Python"])
    shell.code(curl_lines(address), language="bash")
    loop.code(python_lines(address), language="python")


def _forget() -> None:
    st.session_state.pop(_SHOWN, None)


def _live(book: PushTokens) -> None:
    tokens = [token for token in book.all() if token.state() == "live"]
    if not tokens:
        return
    st.markdown("**Live tokens**")
    for token in tokens:
        with st.container(horizontal=True, vertical_alignment="center", key=f"push_token_{token.id}"):
            st.markdown(f"{md_escape(token.name)} :small[{_dates(token)}]")
            st.button("Revoke", key=f"push_revoke_{token.id}", on_click=book.revoke, args=(token.id,))


def _dates(token: PushToken) -> str:
    until = f"until {token.expires_at:%d %b %Y}" if token.expires_at else "until revoked"
    used = f"last used {token.last_used_at:%d %b, %H:%M} UTC" if token.last_used_at else "never used"
    return f"{until} · {used}"
