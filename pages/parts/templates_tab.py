"""Our own CSV formats: a template to download and the meaning of each column."""

import streamlit as st


def show_templates() -> None:
    """One row a template: download button, what it holds, its columns on request."""
    st.caption(
        "For data that no reader knows. Any subset of the columns, in any order; "
        "the required ones are marked. A column with a listed other name is taken as well."
    )
