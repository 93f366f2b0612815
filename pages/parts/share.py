"""Share and download what is on screen: a report as a link, or as a file of any format."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import streamlit as st

from analysis.result import Result
from pages.parts.dialogs import close_dialog, is_open, open_dialog
from pages.parts.notebook_menu import view_button
from pages.parts.share_link import forget_link, link_is_made, local_only, show_link
from pages.parts.state import current
from reports.export import FORMATS, Format, file_stem, make
from reports.freeze import FrozenReport, freeze, options
from reports.pictures import has_browser
from reports.redact import Redaction

NO_BROWSER = "Needs a Chromium on the app's machine. Install one, or print the HTML report."
_MAIN = ("html", "csv")


@dataclass(frozen=True)
class Shared:
    """What is shared: how it is frozen under a title, what a live link would ask, what the link list notes.

    `own_title`: the thing has a title of its own, which is not changed here.
    """

    freeze: Callable[[Redaction, str], FrozenReport]
    title: str
    key: str
    live: Callable[[], Mapping[str, Any]] | None = None
    question: str = ""
    params: Mapping[str, Any] | None = None
    own_title: bool = False


def share_bar(results: Sequence[Result], title: str) -> None:
    """Draw Share and Download at the right edge for the results on screen; `title` names the view."""
    if not results:
        return
    first = results[0]
    store = current().store  # a file is written in a thread that has no session to ask

    def frozen(redaction: Redaction, name: str) -> FrozenReport:
        return freeze(list(results), name, options(store, redaction))

    def asked() -> Mapping[str, Any]:
        return {"questions": [{"question": r.analysis, "params": _plain(r.params)} for r in results]}

    _bar(Shared(frozen, title, first.analysis, asked, first.analysis, first.params), results)


def share_bar_for(
    freeze_as: Callable[[Redaction], FrozenReport],
    title: str,
    key: str,
    *,
    live: Mapping[str, Any] | None = None,
) -> None:
    """Draw Share and Download for what freezes itself; `freeze_as` is called on a click only.

    `live` is what a live link would ask (`reports.live_links`), None offers none.
    """
    asked = None if live is None else (lambda: live)
    _bar(Shared(lambda redaction, _: freeze_as(redaction), title, key, asked, own_title=True))


def _bar(shared: Shared, results: Sequence[Result] = ()) -> None:
    key = shared.key
    with st.container(horizontal=True, horizontal_alignment="right", key=f"share_bar_{key}"):
        if results:
            view_button(results, key)
        st.button(
            "Share",
            key=f"share_{key}",
            icon=":material/share:",
            help="Freeze this view into a report.",
            on_click=_open,
            args=(f"share_{key}",),
        )
        with st.popover("Download", icon=":material/download:", key=f"download_{key}"):
            for one in FORMATS.values():
                _file(one, shared, Redaction(), shared.title, key, width="stretch")
    if is_open(f"share_{key}"):
        _dialog(shared)


def _open(name: str) -> None:
    forget_link()
    open_dialog(name)


@st.dialog("Share this view", width="medium", on_dismiss=close_dialog)
def _dialog(shared: Shared) -> None:
    name = shared.title
    if not shared.own_title:
        name = st.text_input("Title", shared.title, key="share_title", max_chars=120) or shared.title
    redaction = _hidden()
    if local_only():
        st.info(
            "This app listens on your machine only, so a link opens for nobody else. Send the HTML file: "
            "it holds the whole report and opens without this app.",
            icon=":material/computer:",
        )
        _files(shared, redaction, name, main=True)
        with st.expander("Make a link all the same", expanded=link_is_made()):
            st.caption(
                "It opens on this machine. For colleagues, run `cli.py serve --links-only --host …` and set "
                "`IPD_BASE_URL` to the address they reach."
            )
            _link(shared, redaction, name)
        return
    _link(shared, redaction, name)
    st.divider()
    _files(shared, redaction, name)


_HELP_DOLLARS = (
    "Leaves out amounts, prices and every figure that shows them. GPU-hours stay, from which a reader who "
    "knows the price can work out the cost."
)


def _hidden() -> Redaction:
    st.caption("Hide from readers, in the page, its data and its downloads:")
    with st.container(horizontal=True):
        return Redaction(
            dollars=st.checkbox("Dollars and rates", key="share_dollars", help=_HELP_DOLLARS),
            names=st.checkbox("Host, team and user names", key="share_names"),
            runs=st.checkbox("Run and campaign names", key="share_runs"),
        )


def _link(shared: Shared, redaction: Redaction, name: str) -> None:
    show_link(
        lambda: shared.freeze(redaction, name),
        name,
        redaction,
        shared.live,
        question=shared.question,
        params=shared.params,
    )


def _files(shared: Shared, redaction: Redaction, name: str, main: bool = False) -> None:
    """Offer the files; each is written when it is asked for."""
    with st.container(horizontal=True):
        for key in _MAIN:
            lead = main and key == _MAIN[0]
            _file(FORMATS[key], shared, redaction, name, "dialog", kind="primary" if lead else "secondary")
        with st.popover("Other formats", icon=":material/more_horiz:", key="share_formats"):
            for key, one in FORMATS.items():
                if key not in _MAIN:
                    _file(one, shared, redaction, name, "dialog", width="stretch")


def _file(
    one: Format,
    shared: Shared,
    redaction: Redaction,
    name: str,
    place: str,
    *,
    kind: Any = "secondary",
    width: Any = "content",
) -> None:
    lacks = one.needs_browser and not _browser()
    st.download_button(
        one.label,
        lambda: make(one.key, shared.freeze(redaction, name)).data,
        file_name=f"{file_stem(name)}{one.suffix}",
        mime=one.mime,
        key=f"{one.key}_{place}",
        icon=one.icon,
        type=kind,
        width=width,
        on_click="ignore",
        disabled=lacks,
        help=NO_BROWSER if lacks else one.help,
    )


@cache
def _browser() -> bool:
    """Looked up once a process: it asks the disk."""
    return has_browser()


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(dict(params), default=str))
    return found
