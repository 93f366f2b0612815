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


def stop_when_empty(title: str, result: Result) -> None:
    """End the page with its title, the reason and the next click when there is no run to show."""
    if is_nothing(result):
        st.title(title, anchor=False)
        show_empty(current().store, result.answer, result.analysis)
        st.stop()


def show_head(title: str, results: Sequence[Result], figures: Sequence[str] | None = None) -> None:
    """Draw the head of a page; the first result carries the answer, all go into a shared report."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title(title, anchor=False, width="content")
        share_bar(list(results), title)
    show_answer(results[0])
    show_figures(results[0], figures)
    show_warnings(results[0])


def is_nothing(result: Result) -> bool:
    """Say whether a result is about no run at all."""
    return any(notice.code in NOTHING for notice in result.warnings)
