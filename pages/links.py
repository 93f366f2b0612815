"""Links: every shared report of this home, and what its author may still do with it."""

from datetime import UTC, datetime

import streamlit as st

from pages.parts.frame import show_title
from pages.parts.link_cards import show_card
from pages.parts.report_diff import report_diff
from pages.parts.state import current
from reports.addresses import is_local_only
from reports.links import Link, LinkBook

PER_PAGE = 12
STATES = ("open", "paused", "expired", "revoked")


def found_by(link: Link, words: str) -> bool:
    """Say whether every word stands in the label, the title, the kind or what is hidden."""
    text = f"{link.label} {link.title} {link.kind} {link.hidden or ''}".lower()
    return all(word in text for word in words.lower().split())


def show_list(book: LinkBook, links: list[Link], now: datetime) -> None:
    """Draw the filter and the links that pass it, newest first, a page at a time."""
    counts = {state: sum(link.state(now) == state for link in links) for state in STATES}
    told = ", ".join(f"{n:,} {state}" for state, n in counts.items() if n and state != "open")
    noun = "link opens" if counts["open"] == 1 else "links open"
    st.markdown(f"##### {counts['open'] or 'No'} {noun} now{f'; {told}' if told else ''}.")
    if counts["open"] and is_local_only():
        st.caption(
            "This app listens on your machine only: these links open for nobody else until "
            "`IPD_BASE_URL` is set."
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input(
            "Search", key="links_search", placeholder="label, title, what is hidden", icon=":material/search:"
        )
        wanted = st.pills(
            "State",
            [state for state in STATES if counts[state]],
            format_func=lambda state: f"{state} {counts[state]:,}",
            selection_mode="multi",
            key="links_states",
        )
    shown = [one for one in links if found_by(one, words or "") and (not wanted or one.state(now) in wanted)]
    if not shown:
        st.info("No link passes this search.", icon=":material/search_off:")
        return
    page = 1
    if len(shown) > PER_PAGE:
        page = st.pagination(-(-len(shown) // PER_PAGE), key="links_page")
    for link in shown[(page - 1) * PER_PAGE : page * PER_PAGE]:
        show_card(book, link, now)


show_title("Links")
home = current().store.home
kept = LinkBook(home)
every = kept.all()
if not every:
    with st.container(border=True):
        st.markdown("**Nothing is shared yet.**")
        st.caption(
            "*Share* at the top of every page freezes what is on screen into a report. A link to it opens "
            "without an account, shows the same numbers for ever, and can be paused or revoked here."
        )
        st.page_link("overview.py", label="Go to the Overview", icon=":material/dashboard:")
else:
    show_list(kept, every, datetime.now(UTC))
    frozen = [(one.label or one.title, one.report_hash) for one in every if one.kind == "frozen"]
    if len({found for _, found in frozen}) > 1:
        with st.expander("Compare two reports", icon=":material/difference:"):
            report_diff(current().store, frozen, "links")
    st.caption(
        "A link is known only to whoever made it: this page keeps a fingerprint of it, not the link itself. "
        "Looks by programs that draw previews in chats are not counted as opened."
    )
