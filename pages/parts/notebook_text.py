"""A text cell: Markdown without HTML, images or links that could do anything but open a page."""

from functools import partial

import streamlit as st

from pages.parts.notebook_place import Place, put
from reports.notebook.document import LONGEST_TEXT, TextCell
from reports.notebook.markdown import to_html

EMPTY = "*Empty text: Edit writes it.*"


def show_text(cell: TextCell, here: Place) -> None:  # noqa: ARG001
    """Draw the words."""
    if not cell.markdown.strip():
        st.caption(EMPTY)
        return
    st.html(f'<div class="ipd-text">{to_html(cell.markdown)}</div>')


def edit_text(cell: TextCell, here: Place) -> None:
    """Draw the field of the words, and below it how they read."""
    key = here.now.key(cell.id, "markdown")
    st.text_area(
        "Text (Markdown)",
        cell.markdown,
        key=key,
        max_chars=LONGEST_TEXT,
        height=200,
        placeholder="# A heading, **bold**, lists, tables, [links](https://…)",
        on_change=partial(put, cell.id, key, "markdown", ""),
    )
    if cell.markdown.strip():
        show_text(cell, here)
