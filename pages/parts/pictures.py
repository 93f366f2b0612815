"""Figures of answers that are kept: a page that is drawn again does not build the same picture again."""

from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from analysis.result import Result
from pages.parts.compute import key_of

MAX_FIGURES = 256


def picture(draw: Callable[..., go.Figure], result: Result, *more: str | float | None) -> go.Figure:
    """Return `draw(result, *more)`; the same object where the same answer was drawn so before. Not to be
    changed by who asks for it.
    """
    key = key_of(result)
    if key is None:
        return draw(result, *more)
    return _kept(f"{draw.__module__}.{draw.__qualname__}", key, more, lambda: draw(result, *more))


@st.cache_resource(max_entries=MAX_FIGURES, show_spinner=False)
def _kept(
    name: str,  # noqa: ARG001
    key: tuple[Any, ...],  # noqa: ARG001
    more: tuple[Any, ...],  # noqa: ARG001
    _make: Callable[[], go.Figure],
) -> go.Figure:
    return _make()
