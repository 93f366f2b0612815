"""Dialogs that stay open when the page behind them is drawn again.

Streamlit draws a dialog only in the run that calls it, so a page that refreshes itself would close it and
swallow the click that was under way.
"""

import streamlit as st

_OPEN = "_dialog_open"


def open_dialog(name: str) -> None:
    """Button callback: from now on `is_open(name)`; another dialog gives way."""
    st.session_state[_OPEN] = name


def close_dialog() -> None:
    """Forget the open dialog; also what `st.dialog(on_dismiss=…)` calls."""
    st.session_state.pop(_OPEN, None)


def is_open(name: str) -> bool:
    """Say whether the page has to draw this dialog in this run."""
    return bool(st.session_state.get(_OPEN) == name)
