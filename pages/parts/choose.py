"""Controls of one page: their value lives in the address, and a value the page does not know is named.

Streamlit writes what a control shows into the address, not the option behind it: `names` must be one to one
and must not depend on the data.
"""

from collections.abc import Callable, Sequence

import streamlit as st

from pages.parts.state import settle, url_choice


def segments(
    param: str,
    label: str,
    options: Sequence[str],
    default: str,
    names: Callable[[str], str],
    tip: str | None = None,
) -> str:
    """Draw a few choices side by side; `param` is both widget key and URL parameter."""
    url_choice(param, [names(o) for o in options], names(default), label.lower())
    picked = st.segmented_control(
        label,
        list(options),
        default=default,
        required=True,
        format_func=names,
        key=param,
        bind="query-params",
        on_change=settle,
        args=(param,),
        help=tip,
    )
    return str(picked if picked is not None else default)


def dropdown(
    param: str,
    label: str,
    options: Sequence[str],
    default: str,
    names: Callable[[str], str] = str,
    tip: str | None = None,
    width: int = 320,
) -> str:
    """Draw a list of choices; `param` is both widget key and URL parameter."""
    url_choice(param, [names(o) for o in options], names(default), label.lower())
    picked = st.selectbox(
        label,
        list(options),
        index=list(options).index(default),
        format_func=names,
        key=param,
        bind="query-params",
        on_change=settle,
        args=(param,),
        help=tip,
        width=width,
    )
    return str(picked if picked is not None else default)
