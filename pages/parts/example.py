"""The bundled example, one click in and one click out."""

from collections.abc import Collection

import streamlit as st

from data.examples.load import example_loaded, load_example, remove_example
from data.queries import frame as frame_queries
from data.store import Store

EXAMPLE_RUNS = {"h100-sync", "gb200-sync", "gb200-async"}


def load_button(store: Store, key: str = "load_example", label: str = "Load the example") -> None:
    """Offer the example; nothing is drawn when it is already loaded."""
    if example_loaded(store):
        return
    if st.button(label, key=key, icon=":material/science:", help="Three synthetic runs of one campaign."):
        with st.spinner("Writing and reading the example files …"):
            load_example(store)
        st.rerun()


def lead(store: Store, shown: Collection[str]) -> str:
    """Return the line that tells a stranger what the page shows; '' unless that is the example, all of it."""
    with store.view() as view:
        runs = frame_queries.runs(view)
    if set(shown) != EXAMPLE_RUNS or set(runs["run"][runs["synthetic"]]) != EXAMPLE_RUNS:
        return ""
    return (
        "An example: three made-up runs that train one model for maths on H100 and GB200, what they cost "
        "and how much better it became. Drop your own files under *Telemetry*."
    )


def remove_note(store: Store) -> None:
    """Say that synthetic runs are on screen, with the button that takes them out."""
    if not example_loaded(store):
        return
    st.caption(":material/science: Synthetic example loaded: made-up runs, not measurements.")
    if st.button("Remove the example", key="remove_example", type="tertiary", icon=":material/delete:"):
        remove_example(store)
        st.toast("Example removed. Telemetry offers it again.")
        st.rerun()
