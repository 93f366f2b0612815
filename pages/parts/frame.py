"""The top of a measuring page: title and share bar, answer, figures, warnings; and its empty state."""

from collections.abc import Sequence

import streamlit as st

from analysis.result import Result
from pages.parts.answer import show_answer
from pages.parts.empty import show_empty
from pages.parts.figures import show_figures
from pages.parts.notices import show_warnings
from pages.parts.share import share_bar
from pages.parts.state import current

NOTHING = {"empty_home", "no_match"}


def show_head(title: str, results: Sequence[Result], figures: Sequence[str] | None = None) -> None:
    """Draw the head of a page; the first result carries the answer. Stops the page when there is no run."""
    first = results[0]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title(title, anchor=False, width="content")
        if not is_nothing(first):
            share_bar(list(results), title)
    if is_nothing(first):
        show_empty(current().store, first.answer, first.analysis)
        st.stop()
    show_answer(first)
    show_figures(first, figures)
    show_warnings(first)


def is_nothing(result: Result) -> bool:
    """Say whether a result is about no run at all."""
    return any(notice.code in NOTHING for notice in result.warnings)
