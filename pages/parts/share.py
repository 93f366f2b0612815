"""Share and download what is on screen: a frozen report as a link, as one HTML file, or as CSV."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from analysis.result import Result
from data.errors import UserError
from data.store import Store
from pages.parts.dialogs import close_dialog, is_open, open_dialog
from pages.parts.notices import show_error
from pages.parts.state import current
from reports.addresses import absolute, base_url, is_loopback
from reports.export import file_stem, tables_zip
from reports.freeze import FrozenReport, freeze, options, save
from reports.html import render
from reports.links import LinkBook, NewLink
from reports.redact import Redaction

EXPIRIES: dict[str, timedelta | None] = {
    "1 hour": timedelta(hours=1),
    "1 day": timedelta(days=1),
    "7 days": timedelta(days=7),
    "30 days": timedelta(days=30),
    "90 days": timedelta(days=90),
    "No expiry": None,
}
_LINK = "_share_link"


def share_bar(results: Sequence[Result], title: str) -> None:
    """Draw Share and Download at the right edge for the results on screen; `title` names the view."""
    if not results:
        return
    key = results[0].analysis
    with st.container(horizontal=True, horizontal_alignment="right", key=f"share_bar_{key}"):
        st.button(
            "Share",
            key=f"share_{key}",
            icon=":material/share:",
            help="Freeze this view into a report.",
            on_click=_open,
            args=(f"share_{key}",),
        )
        with st.popover("Download", icon=":material/download:", key=f"download_{key}"):
            _files(results, title, Redaction(), key)
    if is_open(f"share_{key}"):
        _dialog(list(results), title)


def _open(name: str) -> None:
    st.session_state.pop(_LINK, None)
    open_dialog(name)


def _link_state() -> dict[str, Any]:
    """`wanted` from the click until the link is there, then `made`.

    A plain dict: touching it is no point at which Streamlit may cut a run short, so a link is neither lost
    nor made twice.
    """
    found: dict[str, Any] = st.session_state.setdefault(_LINK, {})
    return found


def _want_link() -> None:
    _link_state()["wanted"] = True


@st.dialog("Share this view", width="medium", on_dismiss=close_dialog)
def _dialog(results: list[Result], title: str) -> None:
    store = current().store
    name = st.text_input("Title", title, key="share_title", max_chars=120) or title
    redaction = Redaction(
        dollars=st.checkbox("Hide dollars", key="share_dollars", help=_HELP_DOLLARS),
        names=st.checkbox("Hide host, user and team names", key="share_names"),
    )
    if _local_only():
        st.info(
            "This app listens on your machine only, so a link opens for nobody else. Send the HTML file: "
            "it holds the whole report and opens without this app.",
            icon=":material/computer:",
        )
        _files(results, name, redaction, "dialog", main=True)
        with st.expander("Make a link all the same", expanded="made" in _link_state()):
            st.caption(
                "It opens on this machine. For colleagues, run `cli.py serve --links-only --host …` and set "
                "`IPD_BASE_URL` to the address they reach."
            )
            _link(store, results, name, redaction)
        return
    _link(store, results, name, redaction)
    st.divider()
    _files(results, name, redaction, "dialog")


_HELP_DOLLARS = (
    "Leaves out amounts, prices and every figure that shows them. GPU-hours stay, from which a reader who "
    "knows the price can work out the cost."
)


def _link(store: Store, results: list[Result], title: str, redaction: Redaction) -> None:
    period = st.selectbox("The link opens for", list(EXPIRIES), index=2, key="share_expiry")
    st.button("Create link", key="share_create", type="primary", icon=":material/link:", on_click=_want_link)
    link = _link_state()
    if "wanted" in link:
        try:
            link["made"] = _make(store, results, title, redaction, EXPIRIES[period])
        except UserError as error:
            link.pop("wanted")
            show_error(error)
            return
        link.pop("wanted")
    made: NewLink | None = link.get("made")
    if made is None:
        return
    st.code(_address(made.path), language=None, wrap_lines=True)
    until = made.link.expires_at
    when = f"Opens until {until:%d %b %Y, %H:%M} UTC" if until else "Has no expiry date"
    st.caption(f"{when}, without an account. It is shown this once; *Links* lists and revokes it.")


def _make(
    store: Store, results: list[Result], title: str, redaction: Redaction, period: timedelta | None
) -> NewLink:
    with st.spinner("Freezing the view …"):
        report = _frozen(store, results, title, redaction)
        save(report, store.home, render)
    first = results[0]
    return LinkBook(store.home).create(
        report.hash,
        report.title,
        expires_in=period,
        question=first.analysis,
        params=dict(first.params),
    )


def _files(results: Sequence[Result], title: str, redaction: Redaction, key: str, main: bool = False) -> None:
    """Offer the files; each is written when it is asked for."""
    store = current().store
    stem = file_stem(title)
    with st.container(horizontal=True):
        st.download_button(
            "HTML report",
            lambda: render(_frozen(store, results, title, redaction)),
            file_name=f"{stem}.html",
            mime="text/html",
            key=f"html_{key}",
            icon=":material/description:",
            type="primary" if main else "secondary",
            on_click="ignore",
            help="One file with interactive figures; opens offline and prints well.",
        )
        st.download_button(
            "CSV tables",
            lambda: tables_zip(_frozen(store, results, title, redaction)),
            file_name=f"{stem}.zip",
            mime="application/zip",
            key=f"csv_{key}",
            icon=":material/table:",
            on_click="ignore",
            help="Every table behind this view, with full precision, zipped.",
        )


def _frozen(store: Store, results: Sequence[Result], title: str, redaction: Redaction) -> FrozenReport:
    return freeze(list(results), title, options(store, redaction))


def _local_only() -> bool:
    base = base_url() or st.context.url or ""
    host = urlsplit(base).hostname
    return host is None or is_loopback(host)


def _address(path: str) -> str:
    """Return the whole address: on IPD_BASE_URL, else where this person's browser finds the app."""
    seen = urlsplit(st.context.url or "")
    if base_url() is None and seen.netloc:
        return f"{seen.scheme}://{seen.netloc}{path}"
    return absolute(path, int(st.get_option("server.port")))
