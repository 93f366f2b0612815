"""Autosave while a person types: a field's words are sent after a pause, and when the page is left."""

from pathlib import Path

import streamlit as st

_TYPING = st.components.v2.component(
    "ipd_typing", html="<span></span>", js=(Path(__file__).parent / "notebook_typing.js").read_text("utf-8")
)


def watch_typing() -> None:
    """Send what is typed into texts of the notebook before their field is left."""
    with st.container(key="nb_typing"):
        _TYPING(key="nb_typing_watch")
