"""The top of a measuring page: title and share bar, answer, figures, warnings; and its empty state."""

from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.result import Result
from charts.synthetic import is_synthetic
from pages.parts import opening
from pages.parts.answer import show_answer
from pages.parts.empty import show_empty
from pages.parts.figures import show_figures
from pages.parts.notices import show_warnings
from pages.parts.share import share_bar
from pages.parts.state import current, go_to

NOTHING = {"empty_home", "no_runs", "no_match"}
MADE_UP = "Some or all numbers here come from generated example runs; nothing in them was measured."


def stop_when_empty(title: str, result: Result) -> None:
    """End the page with its title, the reason and the next click when there is no run to show."""
    if is_nothing(result):
        show_title(title)
        show_empty(current().store, result.answer, result.analysis)
        opening.answered()
        st.stop()


def show_head(
    title: str,
    results: Sequence[Result],
    figures: Sequence[str] | None = None,
    lead: str = "",
    bar: bool = True,
    cards: Callable[[Result], None] | None = None,
) -> DeltaGenerator:
    """Draw the head of a page; the first result carries the answer, all go into a shared report.

    `cards` draws the figures of a page that has more to do with them than show `figures`.
    Returns the place of the share bar; without `bar` the page fills it when it has more results to share.
    The answer goes out before the bar, whose dozen of buttons a browser would draw in the same step.
    """
    place = show_title(title, synthetic=any(is_synthetic(r) for r in results), lead=lead)
    show_answer(results[0])
    opening.answered()
    if bar:
        with place:
            share_bar(list(results), title)
    _offer_details(results[0])
    if cards is None:
        show_figures(results[0], figures)
    else:
        cards(results[0])
    show_warnings(results[0])
    return place


def _offer_details(result: Result) -> None:
    """Offer the click that supplies dollars when a dollar figure is missing."""
    lacking = any(f.value is None and f.unit.lower().startswith("usd") for f in result.headline)
    if lacking and st.button(
        "Fill in run details", key=f"fill_{result.analysis}", icon=":material/edit_note:"
    ):
        st.session_state["open_tab"] = "Run details"
        go_to("telemetry.py")


def show_title(
    title: str, results: Sequence[Result] = (), *, synthetic: bool = False, lead: str = "", bar: bool = True
) -> DeltaGenerator:
    """Draw title, the mark of made-up data, what the page is (`lead`), and the share bar for `results`.

    Returns the place of the share bar, empty without `bar`.
    """
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        with st.container(horizontal=True, vertical_alignment="center", width="content", key="page_title"):
            st.title(title, anchor=False, width="content")
            if synthetic:
                st.badge("synthetic data", icon=":material/science:", color="violet", help=MADE_UP)
        place = st.container(width="content")
        if results and bar:
            with place:
                share_bar(list(results), title)
    if lead:
        st.caption(lead)
    return place


def is_nothing(result: Result) -> bool:
    """Say whether a result is about no run at all."""
    return any(notice.code in NOTHING for notice in result.warnings)
