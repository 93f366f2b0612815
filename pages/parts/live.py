"""Open pages follow the data: what a job pushes shows without a click."""

import streamlit as st

from data.store import Store

EVERY_S = 4.0
_DRAWN = "live_drawn_version"


def follow(store: Store, drawn: str) -> None:
    """Draw the page again soon after somebody else has committed something; `drawn`: the data shown now."""
    st.session_state[_DRAWN] = drawn
    _look(store)


@st.fragment(run_every=EVERY_S)
def _look(store: Store) -> None:
    with store.view() as view:
        version = view.data_version
    if version != st.session_state.get(_DRAWN):
        st.toast("New telemetry has arrived.", icon=":material/sync:")
        st.rerun()
