"""The first thing on a page: one sentence with numbers that could be pasted into a chat."""

import streamlit as st

from analysis.result import Result
from pages.parts.words import md_escape


def show_answer(result: Result) -> None:
    """Draw the answer line; a result without one says so."""
    text = result.answer.strip() or "The data on hand cannot answer this yet."
    with st.container(key=f"answer_{result.analysis}"):
        st.markdown(md_escape(flowing(text)), anchors=False)


def flowing(text: str) -> str:
    """Return a sentence on one line whose numbers never part from their percent sign."""
    return " ".join(text.split()).replace(" %", "\u00a0%")
