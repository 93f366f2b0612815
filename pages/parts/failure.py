"""What a person sees when a page breaks: a sentence and an id that the server's log has too."""

import logging
import secrets

import streamlit as st

LOG = logging.getLogger("intelligence_per_dollar")


def show(error: Exception) -> bool:
    """Show the message and log the error under the same id; True keeps Streamlit's own box away."""
    mark = secrets.token_hex(4)
    LOG.error("Error %s on %s: %s: %s", mark, st.context.url, type(error).__name__, error, exc_info=error)
    st.error(
        "**This page could not be drawn; nothing was changed or lost.** Reload it, or take back the last "
        f"change of a control. If it happens again, report the id `{mark}`: the server's log holds the "
        "details under it.",
        icon=":material/error:",
    )
    return True
