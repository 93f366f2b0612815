"""One question at a time that goes further than the gain: next point, other platforms, serving, holding."""

from collections.abc import Callable

import streamlit as st

from analysis.result import Result
from pages.parts import intelligence_hold as hold
from pages.parts import intelligence_learning as learning
from pages.parts import intelligence_nemotron as nemotron
from pages.parts import intelligence_serving as serving
from pages.parts.choose import segments
from pages.parts.intelligence_controls import Asked

VIEWS: dict[str, tuple[str, Callable[[Asked], list[Result]]]] = {
    "curve": ("Next point", learning.show_curve),
    "platforms": ("On other platforms", learning.show_platforms),
    "serve": ("Build and serve", serving.show_serving),
    "hold": ("Hold a score", hold.show),
    "tokens": ("A million tokens", serving.show_tokens),
    "example": ("Worked example", nemotron.show),
}
TIP = "Nemotron 3 Ultra is the worked example: published scores, and an assumed cost that is yours to change."


def show(asked: Asked) -> list[Result]:
    """Draw the question that is picked, with its own levers."""
    st.subheader("Going further", anchor=False)
    view = segments("in_more", "Question", list(VIEWS), "curve", lambda v: VIEWS[v][0], TIP)
    return VIEWS[view][1](asked)
