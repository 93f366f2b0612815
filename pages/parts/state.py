"""What every page shares: the store, the common parameters, the theme, and the notices about the address."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.params import CommonParams
from data.catalogue import load_catalogue
from data.queries.bills import synthetic
from data.store import Store, get_store
from data.view import View
from pages.parts.urlcheck import UrlNotice, check_one
from reports.home import home_path

ROOT = Path(__file__).resolve().parents[2]
Theme = Literal["light", "dark"]
_ADDRESS = re.compile(r"://|\bwww(?=\.)|@(?=[-\w]+\.)", re.IGNORECASE)
_STATE = "_page_state"
_NOTICES = "_url_notices"
_BANNER = "_url_banner"


@dataclass(frozen=True)
class PageState:
    """The frame's answer to "what is asked for": valid for this run of the script.

    `common.runs` are the picked runs, else those that a page is about by default; `picked` the picked ones
    alone.
    """

    store: Store
    common: CommonParams
    theme: Theme
    picked: tuple[str, ...] = ()

    @property
    def example(self) -> bool:
        """Whether the made-up example counts beside one's own data, bills too: at the switch of the sidebar,
        or because one of its runs is picked.
        """
        if not self.picked:
            return bool(st.session_state.get("example", False))
        with self.view() as view:
            return bool(synthetic(view) & set(self.picked))

    def view(self) -> AbstractContextManager[View]:
        """Pin a data version for the reads of this page."""
        return self.store.view()


def platform_names() -> dict[str, str]:
    """Return platform id -> name as its maker writes it."""
    return {p.platform_id: p.name for p in load_catalogue().platforms()}


def open_store() -> Store:
    """Return the one store of this process for the home."""
    return get_store(home_path())


def theme() -> Theme:
    """Return the theme that the browser shows; light until it has said."""
    return "dark" if st.context.theme.type == "dark" else "light"


def publish(state: PageState) -> None:
    """Router only: make `state` the answer of `current()`."""
    st.session_state[_STATE] = state


def current() -> PageState:
    """Return the state that the router prepared; RuntimeError when a page runs without the router."""
    state = st.session_state.get(_STATE)
    if state is None:
        raise RuntimeError("pages run through pages/router.py, which prepares their state")
    found: PageState = state
    return found


@dataclass
class _Banner:
    """Where this run of the script shows its notices: text can grow while the page runs."""

    text: DeltaGenerator
    button: DeltaGenerator
    has_button: bool = False


def note(notice: UrlNotice) -> None:
    """Keep a notice on screen until its control is used or it is dismissed."""
    notices: dict[str, str] = st.session_state.setdefault(_NOTICES, {})
    notices[notice.param] = notice.text
    _redraw()


def settle(param: str) -> None:
    """Drop the notice about `param`: its control has been used."""
    st.session_state.setdefault(_NOTICES, {}).pop(param, None)


def notices() -> dict[str, str]:
    """Return the notices about the address, parameter -> sentence."""
    return dict(st.session_state.get(_NOTICES, {}))


def open_banner() -> None:
    """Router only: draw the notices so far as one quiet banner; later ones join it."""
    with st.container(horizontal=True, vertical_alignment="center", key="url_notices"):
        st.session_state[_BANNER] = _Banner(st.empty(), st.empty())
    _redraw()


def close_banner() -> None:
    """Router only: forget the banner of the run before."""
    st.session_state.pop(_BANNER, None)


def _redraw() -> None:
    banner: _Banner | None = st.session_state.get(_BANNER)
    texts = list(notices().values())
    if banner is None or not texts:
        return
    banner.text.warning("\n\n".join(escape(t) for t in texts), icon=":material/link_off:")
    if not banner.has_button:
        banner.button.button("Dismiss", key="dismiss_notices", type="tertiary", on_click=_forget)
        banner.has_button = True


def url_choice(param: str, options: Sequence[str], default: str, noun: str | None = None) -> str:
    """Check a page's own URL parameter before its widget is built.

    Returns the value that the widget will show on first paint. Use `param` as the widget's key, bind it to
    the query, and pass `on_change=settle, args=(param,)`.
    """
    asked = st.query_params.get_all(param)
    value, notice = check_one(param, asked, options, default, noun or param, "this page does not know")
    if notice:
        note(notice)
    one_value(param, value, default)
    return value


def one_value(param: str, value: str, default: str) -> None:
    """Make the address of a single choice hold `value` alone, then start the page again if it did not.

    Of a repeated parameter one kind of widget takes the first value and another the last, and an empty one
    empties even a required control: neither may reach a widget.
    """
    asked = st.query_params.get_all(param)
    if len(asked) < 2 and asked != [""]:
        return
    if value == default:
        del st.query_params[param]
    else:
        st.query_params[param] = value
    st.rerun()


def escape(text: str) -> str:
    """Make text safe to show inside Streamlit markdown; an address in it stays text and becomes no link."""
    text = _ADDRESS.sub("\\g<0>\u200b", text)
    for char in "\\`*_{}[]<>#$|~:":
        text = text.replace(char, "\\" + char)
    return text


def go_to(file: str) -> None:
    """Open another page; ends this run of the script. What the sidebar says is kept and put into its address.

    Without `query_params` Streamlit refuses to leave an address that a widget is bound to.
    """
    st.switch_page(file, query_params={})


def _forget() -> None:
    st.session_state[_NOTICES] = {}
