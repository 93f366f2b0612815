"""Links: every shared report of this home, and the way to close it."""

from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from pages.parts.dialogs import close_dialog, is_open, open_dialog
from pages.parts.frame import show_title
from pages.parts.state import current
from pages.parts.words import md_escape
from reports.addresses import is_local_only
from reports.links import Link, LinkBook

PER_PAGE = 20


def moment(value: datetime | None, none: str) -> str:
    """Return a UTC time as on screen."""
    return f"{value:%d %b %Y, %H:%M} UTC" if value else none


@st.dialog("Revoke this link?", on_dismiss=close_dialog)
def ask_revoke(book: LinkBook, link: Link) -> None:
    """Close a link for good after a second click."""
    st.markdown(f"**{md_escape(link.title)}**")
    st.markdown(
        "It stops opening at once, for everybody and for good. The frozen report stays in the home; "
        "to share the view again, make a new link."
    )
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep it", key="revoke_no", on_click=close_dialog):
            st.rerun()
        if st.button(
            "Revoke for good",
            key="revoke_yes",
            type="primary",
            icon=":material/link_off:",
            on_click=revoke,
            args=(book, str(link.id)),
        ):
            st.rerun()


def revoke(book: LinkBook, link_id: str) -> None:
    """Button callback: close the link and the dialog."""
    book.revoke(link_id)
    close_dialog()
    st.toast("The link is revoked.")


def show_open(book: LinkBook, link: Link) -> None:
    """Draw one open link."""
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"link_{link.id}"):
        opened = (
            f"opened {link.opens:,} times, last {moment(link.last_opened_at, '')}"
            if link.opens
            else "never opened"
        )
        with st.container(gap="xxsmall"):
            st.markdown(f"**{md_escape(link.title)}**")
            st.caption(
                f"Created {moment(link.created_at, '')} · opens until "
                f"{moment(link.expires_at, 'it is revoked')} · {opened}"
            )
        name = f"revoke_{link.id}"
        st.button("Revoke", key=name, icon=":material/link_off:", on_click=open_dialog, args=(name,))
    if is_open(name):
        ask_revoke(book, link)


def closed_table(links: list[Link], now: datetime) -> pd.DataFrame:
    """Return closed links as a table."""
    return pd.DataFrame(
        {
            "Title": [link.title for link in links],
            "State": [link.state(now) for link in links],
            "Created": [link.created_at for link in links],
            "Closed": [link.revoked_at or link.expires_at for link in links],
            "Last opened": [link.last_opened_at for link in links],
            "Opens": [link.opens for link in links],
        }
    )


show_title("Links")
book = LinkBook(current().store.home)
now = datetime.now(UTC)
links = book.all()
live = [link for link in links if link.state(now) == "open"]
closed = [link for link in links if link.state(now) != "open"]
if not links:
    with st.container(border=True):
        st.markdown("**Nothing is shared yet.**")
        st.caption(
            "*Share* at the top of every page freezes what is on screen into a report. A link to it opens "
            "without an account, shows the same numbers for ever, and can be revoked here."
        )
        st.page_link("overview.py", label="Go to the Overview", icon=":material/dashboard:")
else:
    noun = "link opens" if len(live) == 1 else "links open"
    st.markdown(f"##### {len(live) or 'No'} {noun} now; {len(closed)} closed.")
    if live and is_local_only():
        st.caption(
            "This app listens on your machine only: these links open for nobody else until "
            "`IPD_BASE_URL` is set."
        )
    shown = 1
    if len(live) > PER_PAGE:
        shown = st.pagination(-(-len(live) // PER_PAGE), key="links_page")
    for link in live[(shown - 1) * PER_PAGE : shown * PER_PAGE]:
        show_open(book, link)
    if closed:
        st.subheader("Closed", anchor=False)
        st.dataframe(
            closed_table(closed, now),
            hide_index=True,
            alt="Closed links with title, state, and when they were created, closed and last opened",
        )
    st.caption(
        "A link is known only to whoever made it: this page keeps a fingerprint of it, not the link itself."
    )
