"""The order of a session's first run: the answer goes to the browser before the shared controls do.

A new browser fetches the code of every kind of element it is sent, and draws what arrives together in one
step. Whoever opens the app waits for the answer, so that goes first and alone, as far as this is possible:
only where the controls can say nothing but their defaults.
"""

import contextvars
import time
from collections.abc import Callable
from functools import partial

import streamlit as st

SHARED = ("runs", "price", "boundary", "platforms", "example")
PAINT_S = 0.25
"""What the browser is left to paint the answer before more is sent, once a session: what is sent sooner is
fetched, parsed and drawn in the same step, and the answer waits for it.
"""
_OPENED = "_opened"
_REST = "_after_answer"


def is_plain_first_run() -> bool:
    """Say, once a session and then never again, whether nobody has asked for anything but the defaults."""
    first = not st.session_state.get(_OPENED)
    st.session_state[_OPENED] = True
    return first and not any(name in st.query_params or name in st.session_state for name in SHARED)


def after_answer(draw: Callable[[], None]) -> None:
    """Router only: keep what is drawn when the page has shown its answer.

    It is drawn in the router's context: a widget that is drawn as part of the page would be another widget.
    """
    st.session_state[_REST] = partial(contextvars.copy_context().run, draw)


def answered() -> None:
    """Draw what waits for the answer of this run, if it has not been drawn yet.

    Call it before `st.stop()`, after which Streamlit lets nothing more be drawn.
    """
    draw: Callable[[], None] | None = st.session_state.pop(_REST, None)
    if draw is not None:
        time.sleep(PAINT_S)
        draw()
