"""What a page shows when there is nothing to show: why, and the next click."""

import streamlit as st

from data.store import Store
from pages.parts.example import load_button
from pages.parts.words import md_escape


def show_empty(store: Store, reason: str, key: str) -> None:
    """Say why the page is empty and offer the bundled example and the upload page."""
    with st.container(border=True, horizontal_alignment="center", key=f"empty_{key}"):
        st.markdown(f"**{md_escape(reason)}**", text_alignment="center")
        with st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center"):
            load_button(store, key=f"example_{key}")
            st.page_link("telemetry.py", label="Upload a file", icon=":material/upload_file:")
