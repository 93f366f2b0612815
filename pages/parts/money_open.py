"""What a click on Money opens: lines of the bill, or runs behind a bar. Both stand in the address."""

from collections.abc import Mapping

import streamlit as st

from charts.reconciliation import HOW, REASONS
from charts.waste import OTHER
from pages.parts.choose import listed, write_address

GROUPS = {
    "open": "Not explained",
    "explained": "Explained",
    "idle": "Held by nobody",
    "matched": "Matched",
    "credits": "All credits",
    "other": OTHER,
    "all": "All lines",
}
BY_HOW = {f"matched:{key}": name for key, name in HOW.items()}
BY_WHY = {f"{group}:{key}": name for group, names in REASONS.items() for key, name in names.items()}
LINES = GROUPS | BY_HOW | BY_WHY
"""What can be asked of the lines of a bill: groups, then bars of its chart (`group:how`, `group:reason`)."""
FIRST_LINES = "open"
RUNGS = {"paid": "Paid", "allocated": "Allocated", "active": "Active", "effective": "Effective"}
BARS = {
    "not_allocated": "Not allocated",
    "idle": "Idle",
    "stalled": "Stalled",
    "unknown": "Unknown",
    "bubble": "Waiting",
    "lost": "Lost",
    "productive": "Productive",
}
ALL, ALL_MONTHS = "all", "All months"
INVOICE, CAMPAIGNS = "Invoice", "Campaigns"
SECTIONS = (CAMPAIGNS, INVOICE, "Waste", "Energy", "Shared costs")
_DRAWN, _SEEK = "_mo_lines_drawn", "_mo_seek"


def pick_lines() -> str:
    """Draw the choice of lines. Its section comes and goes, and Streamlit writes no address for a control
    that was not on the page when it was set: so here the address is the value.
    """
    st.session_state[_DRAWN] = True
    return listed("mo_lines", "Lines of the bill", LINES, FIRST_LINES, LINES.__getitem__, width=280)


def pick_month(months: Mapping[str, str], first: str) -> str:
    """Draw the choice of month (option -> its label) and write it into the address: what a bare address means
    changes with the data.
    """
    written = {month: months[month] if month == ALL else month for month in months}
    picked = listed("mo_month", "Month (UTC)", written, first, months.__getitem__, width=220)
    if "mo_month" not in st.query_params:
        st.query_params["mo_month"] = written[picked]
    return picked


def _pin_month() -> None:
    month = st.session_state["mo_month"]
    write_address("mo_month", ALL_MONTHS if month == ALL else month)


def forget_lines(section: str) -> None:
    """Take the choice of lines out of the address when its section has been left. A browser may send the old
    address once more, so it is looked at in every run.
    """
    if section != INVOICE and _DRAWN in st.session_state and "mo_lines" in st.query_params:
        del st.query_params["mo_lines"]


def open_bill_bar(name: str) -> None:
    """Before the next run: the lines of the bar of that name of the bill chart."""
    open_lines({label: pick for pick, label in (BY_HOW | BY_WHY).items()}[name])


def open_lines(pick: str) -> None:
    """Before the next run: the section of the bill with these lines."""
    st.session_state["mo_show"] = INVOICE
    write_address("mo_lines", LINES[pick])
    _pin_month()
    st.session_state[_SEEK] = "money_details"


def open_runs(figure: str) -> None:
    """Before the next run: who is behind a rung or a bar."""
    st.session_state["mo_bar"] = figure
    _pin_month()
    st.session_state[_SEEK] = "money_behind"


def open_campaigns() -> None:
    """Before the next run: what is no GPU time, where no bill lists it as lines."""
    st.session_state["mo_show"] = CAMPAIGNS
    _pin_month()
    st.session_state[_SEEK] = "money_details"


def seek() -> None:
    """Bring what a click opened onto the screen: it may stand below the fold, and Streamlit cannot scroll."""
    place = st.session_state.pop(_SEEK, None)
    if place:
        find = f"document.querySelector('.st-key-{place}')"
        st.html(
            f"<script>{find}?.scrollIntoView({{behavior: 'smooth', block: 'nearest'}})</script>",
            unsafe_allow_javascript=True,
        )
