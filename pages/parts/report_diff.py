"""Two frozen reports side by side: choose them, read what differs, take it along as Markdown."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from data.errors import UserError
from data.store import Store
from pages.parts.notices import show_error
from reports.diff import Diff, diff
from reports.freeze import load

TABLES = {
    "Data, prices, formulas": ("What", "Then", "Now"),
    "Parameters": ("Where", "Parameter", "Then", "Now"),
    "Numbers": ("Where", "What", "Then", "Now", "Change", "Note"),
    "Assumptions": ("What", "Then", "Now"),
    "Tables": ("Where", "Table", "Rows then", "Rows now", "Added", "Removed", "Changed"),
    "Sections": ("What",),
}


def report_diff(store: Store, reports: Sequence[tuple[str, str]], key: str) -> None:
    """Let a person choose two of `reports` (label, hash), newest first; draw what differs."""
    kept = {found: label for label, found in reversed(list(reports))}
    hashes = list(dict.fromkeys(found for _, found in reports))
    if len(hashes) < 2:
        st.caption("Two reports can be compared as soon as two different ones are frozen.")
        return
    left, right = st.columns(2)
    names = {found: f"{kept[found]} · {found[:8]}" for found in hashes}
    a = left.selectbox("Earlier report", hashes, index=1, format_func=names.__getitem__, key=f"diff_a_{key}")
    b = right.selectbox("Later report", hashes, index=0, format_func=names.__getitem__, key=f"diff_b_{key}")
    if not st.button("Compare", key=f"diff_ask_{key}", icon=":material/difference:"):
        return
    try:
        found = diff(load(store.home, str(a)), load(store.home, str(b)))
    except UserError as error:
        show_error(error)
        return
    show_diff(found, key)


def show_diff(found: Diff, key: str) -> None:
    """Draw one table a kind of difference."""
    if found.same:
        st.markdown("The two reports say the same: nothing that a reader sees differs.")
        return
    rows = {
        "Data, prices, formulas": [
            (v.name, v.then, v.now) for v in (*found.data, *found.prices, *found.formulas)
        ],
        "Parameters": [(p.section, p.name, p.then, p.now) for p in found.parameters],
        "Numbers": [(n.section, n.label, *n.words(), n.note) for n in found.numbers],
        "Assumptions": [(a.name, a.then, a.now) for a in found.assumptions],
        "Tables": [(t.section, t.table, t.then, t.now, t.added, t.removed, t.changed) for t in found.tables],
        "Sections": [(one,) for one in found.sections],
    }
    for title, columns in TABLES.items():
        if rows[title]:
            st.markdown(f"**{title}**")
            frame = pd.DataFrame(rows[title], columns=list(columns))
            st.dataframe(frame, hide_index=True, key=f"diff_{title}_{key}", alt=f"{title} that differ")
    st.caption(f"{found.unchanged_numbers:,} numbers are unchanged.")
    st.download_button(
        "Markdown",
        found.to_markdown(),
        file_name=f"difference-{found.a[:8]}-{found.b[:8]}.md",
        mime="text/markdown",
        key=f"diff_file_{key}",
        icon=":material/description:",
        on_click="ignore",
    )
