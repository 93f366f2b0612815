"""The frozen report of a link, opened by its author inside the app: whatever has become of the link."""

import streamlit as st

from data.errors import UserError
from pages.parts.dialogs import close_dialog
from pages.parts.newer_banner import newer_banner
from pages.parts.notices import show_error
from pages.parts.state import current
from reports.export import file_stem
from reports.freeze import ReportError, load, read_page
from reports.links import Link, LinkBook

HEIGHT_PX = 640
GONE = "The page of this report is gone, or no longer the bytes that were frozen"


@st.dialog("Frozen report", width="large", on_dismiss=close_dialog)
def ask_report(book: LinkBook, link: Link) -> None:
    """Show the page as it was frozen; it is not counted as opened."""
    try:
        page = read_page(book.home, link.report_hash)
        if page is None:
            raise ReportError(GONE, link.report_hash[:12], "Freeze it again and make a new link.")
        report = load(book.home, link.report_hash)
    except UserError as error:
        show_error(error)
        return
    st.caption(
        f"As frozen, content {link.report_hash[:12]}. What you see here is not counted as opened, and the "
        "sentence about the link is left out."
    )
    newer_banner(current().store, report, f"link_{link.id}")
    st.iframe(page, height=HEIGHT_PX, alt="The frozen report")
    st.download_button(
        "HTML report",
        page,
        file_name=f"{file_stem(link.title)}.html",
        mime="text/html",
        key=f"html_link_{link.id}",
        icon=":material/description:",
        on_click="ignore",
    )
