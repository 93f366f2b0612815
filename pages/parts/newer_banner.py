"""Newer data exists: what a frozen report was made from, and what its questions would say today."""

import pandas as pd
import streamlit as st

from data.errors import UserError
from data.store import Store
from pages.parts.notices import show_error
from pages.parts.words import md_escape
from reports.freeze import FrozenReport
from reports.newer import Newer, compare_with_today, quick

COLUMNS = ("Where", "What", "Then", "Now", "Change", "Note")


def newer_banner(store: Store, report: FrozenReport, key: str) -> None:
    """Say whether data, prices, catalogue or formulas are newer than the report's; on a click, what changes.

    Nothing is asked before the click. The report and its link stay as they are.
    """
    try:
        why = quick(store, report)
    except UserError as error:
        show_error(error)
        return
    if not why:
        st.caption(
            "Nothing is newer than this report: data, prices, catalogue and formulas are those it has."
        )
        return
    with st.container(border=True, key=f"newer_{key}"):
        st.markdown("**Newer data exists.** " + " ".join(map(md_escape, why)))
        st.caption("The report keeps the numbers that it was frozen with, and so does its link.")
        if st.button("Compare with today", key=f"newer_ask_{key}", icon=":material/difference:"):
            try:
                with st.spinner("Asking the same questions today …"):
                    found = compare_with_today(store, report)
            except UserError as error:
                show_error(error)
                return
            show_differences(found, key)


def show_differences(found: Newer, key: str) -> None:
    """Draw what is another number today, and say what can no longer be asked."""
    for line in found.refused:
        st.markdown(f"- Can no longer be asked. {md_escape(line)}")
    if found.diff is None:
        return
    rows = [(n.section, n.label, *n.words(), n.note) for n in found.differences]
    if rows:
        st.dataframe(
            pd.DataFrame(rows, columns=list(COLUMNS)),
            hide_index=True,
            key=f"newer_rows_{key}",
            alt="Numbers that differ: where, what, then, now, change, and whether it is within the intervals",
        )
    else:
        st.markdown("Asked today, every number is the same.")
    moved = len(found.diff.tables)
    still = f"{found.diff.unchanged_numbers:,} numbers are unchanged"
    tables = "1 table has" if moved == 1 else f"{moved} tables have"
    st.caption(f"{still}; {tables} other rows." if moved else f"{still}.")
