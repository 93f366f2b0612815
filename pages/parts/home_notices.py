"""What happened to the home when it was opened: rebuilt, moved aside, completed. Shown until dismissed."""

import streamlit as st

from data.store import Store
from pages.parts.words import md_escape

_SEEN = "home_notices_seen"


def show(store: Store) -> None:
    """Show the notices of the store that this session has not dismissed."""
    fresh = store.notices[st.session_state.get(_SEEN, 0) :]
    if not fresh:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="home_notices"):
        st.info("  \n".join(md_escape(text) for text in fresh), icon=":material/build:")
        st.button("Dismiss", key="home_notices_dismiss", type="tertiary", on_click=_dismiss, args=(store,))


def _dismiss(store: Store) -> None:
    st.session_state[_SEEN] = len(store.notices)
