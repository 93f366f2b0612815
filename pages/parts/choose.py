"""Controls of one page: their value lives in the address, and a value the page does not know is named.

Streamlit writes what a control shows into the address, not the option behind it: `names` must be one to one
and must not depend on the data.
"""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.parts.state import settle, url_choice

FIRST = "the first that can be planned"
_PLANNED = "planned_run"


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


def planned_run(param: str, runs: Sequence[str], width: int) -> str:
    """The run that a plan starts from, '' for the first that can: a run that was picked for one plan is the
    first choice of the others, in the address as well.
    """
    carried = st.session_state.get(_PLANNED, "")
    if carried in runs and param not in st.session_state and param not in st.query_params:
        st.session_state[param] = carried
        st.query_params[param] = carried  # a value that the session sets does not reach the address by itself
    picked = dropdown(param, "Run", ["", *runs], "", lambda r: r or FIRST, width=width)
    st.session_state[_PLANNED] = picked
    return picked


def listed(
    param: str,
    label: str,
    written: Mapping[str, str],
    default: str,
    names: Callable[[str], str],
    width: int = 320,
) -> str:
    """Draw a list of choices whose value is the address itself: for a control that is not always on the page,
    or whose default moves with the data. `written` says what the address calls each option.

    Returns the option; a pick, and `write_address` elsewhere, put it into the address, the default too.
    """
    shown = url_choice(param, list(written.values()), written[default], label.lower())
    st.session_state[param] = next(option for option, text in written.items() if text == shown)
    st.selectbox(
        label, list(written), format_func=names, key=param, width=width,
        on_change=lambda: write_address(param, written[st.session_state[param]]),
    )  # fmt: skip
    return str(st.session_state[param])


def write_address(param: str, value: str) -> None:
    """Write what a control of `listed` is to show into the address."""
    settle(param)
    st.query_params[param] = value
