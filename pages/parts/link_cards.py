"""One link in the list: what it is, in which state, and what can be done with it."""

from collections.abc import Callable
from datetime import UTC, datetime

import streamlit as st

from pages.parts.dialogs import close_dialog, is_open, open_dialog
from pages.parts.link_change import ask_change, ask_rotate
from pages.parts.link_report import ask_report
from pages.parts.words import md_escape
from reports.links import Link, LinkBook

_BADGES = {
    "open": ("green", ":material/link:"),
    "paused": ("orange", ":material/pause_circle:"),
    "expired": ("gray", ":material/timer_off:"),
    "revoked": ("red", ":material/link_off:"),
}


def moment(value: datetime | None, none: str) -> str:
    """Return a UTC time as on screen."""
    return f"{value:%d %b %Y, %H:%M} UTC" if value else none


def show_card(book: LinkBook, link: Link, now: datetime) -> None:
    """Draw one link with its actions; a closed one keeps those that still make sense."""
    state = link.state(now)
    colour, icon = _BADGES[state]
    with st.container(border=True, gap="xsmall", key=f"link_{link.id}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{md_escape(link.name)}**", width="content")
            st.badge(state, icon=icon, color=colour)  # type: ignore[arg-type]
            for text in _marks(link):
                st.badge(md_escape(text), color="blue" if text == "live" else "gray")
        if link.label and link.label != link.title:
            st.caption(f"Report: {md_escape(link.title)}")
        st.caption(_facts(link, state))
        with st.container(horizontal=True, gap="small"):
            _actions(book, link, state)
    _dialogs(book, link)


def _marks(link: Link) -> list[str]:
    return [
        link.kind,
        *(["passphrase"] if link.passphrase else []),
        *(["readers may download"] if link.exportable else []),
        *([f"hidden: {link.hidden}"] if link.hidden else []),
        *([f"embedded by {', '.join(link.embed_origins)}"] if link.embed_origins else []),
    ]


def _facts(link: Link, state: str) -> str:
    times = "once" if link.opens == 1 else f"{link.opens:,} times"
    opened = f"opened {times}, last {moment(link.last_opened_at, '')}" if link.opens else "never opened"
    until = f"opens until {moment(link.expires_at, 'it is revoked')}"
    ends = {
        "open": until,
        "paused": f"paused {moment(link.paused_at, '')}, {until}",
        "expired": f"expired {moment(link.expires_at, '')}",
        "revoked": f"revoked {moment(link.revoked_at, '')}",
    }[state]
    turned = f" · address replaced {moment(link.rotated_at, '')}" if link.rotated_at else ""
    return f"Created {moment(link.created_at, '')} · {ends} · {opened}{turned}"


def _actions(book: LinkBook, link: Link, state: str) -> None:
    ref = str(link.id)
    if link.kind == "frozen":
        _button("Open", "report", link, ":material/description:", "The frozen report, here in the app.")
    if state == "revoked":
        return
    if state == "paused":
        st.button(
            "Resume",
            key=f"resume_{ref}",
            icon=":material/play_circle:",
            on_click=_set,
            args=(book.resume, ref),
        )
    elif state == "open":
        st.button(
            "Pause", key=f"pause_{ref}", icon=":material/pause_circle:", on_click=_set, args=(book.pause, ref)
        )
    _button("Change", "change", link, ":material/tune:", "Label, expiry, passphrase, downloads, embedding.")
    _button("New address", "rotate", link, ":material/autorenew:", "The old address is dead at once.")
    _button("Revoke", "revoke", link, ":material/link_off:", "Close it for good.")


def _button(label: str, name: str, link: Link, icon: str, words: str) -> None:
    key = f"{name}_{link.id}"
    st.button(label, key=key, icon=icon, help=words, on_click=open_dialog, args=(key,))


def _set(change: Callable[[str], Link], ref: str) -> None:
    change(ref)


def _dialogs(book: LinkBook, link: Link) -> None:
    for name, ask in (
        ("revoke", ask_revoke),
        ("change", ask_change),
        ("rotate", ask_rotate),
        ("report", ask_report),
    ):
        if is_open(f"{name}_{link.id}"):
            ask(book, link)


@st.dialog("Revoke this link?", on_dismiss=close_dialog)
def ask_revoke(book: LinkBook, link: Link) -> None:
    """Close a link for good after a second click."""
    st.markdown(f"**{md_escape(link.name)}**")
    kept = "The frozen report stays in the home. " if link.kind == "frozen" else ""
    st.markdown(
        f"It stops opening at once, for everybody and for good. {kept}To close it for a while, pause it."
    )
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep it", key="revoke_no", on_click=close_dialog):
            st.rerun()
        if st.button(
            "Revoke for good",
            key="revoke_yes",
            type="primary",
            icon=":material/link_off:",
            on_click=_revoke,
            args=(book, str(link.id)),
        ):
            st.rerun()


def _revoke(book: LinkBook, ref: str) -> None:
    book.revoke(ref, datetime.now(UTC))
    close_dialog()
    st.toast("The link is revoked.")
