"""All uploads of the home: the list, one receipt opened up, and what was undone."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from data.queries import uploads as queries
from data.store import Store
from pages.parts import upload_actions as actions
from pages.parts.join_form import short
from pages.parts.ledgertable import SYNTHETIC_COLOUR
from pages.parts.tables import table_height
from pages.parts.upload_card import show_card
from pages.parts.words import md_escape

COLUMNS = [
    "name", "files", "run", "format", "records", "stored", "quarantined", "ignored", "uploaded_at",
    "size_bytes", "why",
]  # fmt: skip
SUMMED = ["records", "stored", "quarantined", "ignored", "size_bytes"]
FLOOD = 5
"""So many uploads of one run, name and format (a job that pushes) become one line."""


def show_uploads(store: Store) -> None:
    """Draw the list and the card of the picked upload."""
    with store.view() as view:
        listing = queries.listing(view)
    if listing.empty:
        st.caption("Nothing has been loaded yet.")
    else:
        rows = with_runs(listing)
        _table(grouped(rows))
        names = dict(zip(rows["upload_id"], labels(rows), strict=True))
        picked = st.selectbox(
            "Open an upload",
            list(names),
            index=None,
            format_func=names.__getitem__,
            placeholder="Receipt, lines set aside, undo, original file",
            key="open_upload",
        )
        if picked in names:
            show_card(store, picked, key=f"open_{picked}")
    _undone(store)


def _table(listing: pd.DataFrame) -> None:
    titles = actions.format_titles()
    shown = listing.assign(
        format=[titles.get(f, f) for f in listing["format"]],
        synthetic=[["synthetic"] if made_up else [] for made_up in listing["synthetic"]],
    )
    flooded = bool((listing["files"] > 1).any())
    wanted = [name for name in COLUMNS if name != "files" or flooded]
    shown = shown[[*wanted, *(["synthetic"] if listing["synthetic"].any() else [])]]
    st.dataframe(
        shown,
        hide_index=True,
        key="uploads_table",
        alt="Uploads of this home",
        height=table_height(len(shown)),
        column_config=_column_config(),
    )


def with_runs(listing: pd.DataFrame) -> pd.DataFrame:
    """The listing with `run` (runs and their attempts) and `why` in words."""
    words = [
        short(joins) if len(joins) or not len(tied) else tied_words([str(run) for run in tied])
        for joins, tied in zip(listing["joins"], listing["tied"], strict=True)
    ]
    return listing.assign(run=[run for run, _ in words], why=[why for _, why in words])


def tied_words(runs: Sequence[str]) -> tuple[str, str]:
    """Runs that jobs of a scheduler file belong to, and why; as plain text for a table."""
    more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
    return ", ".join(runs[:3]) + more, "its jobs are tied to the run, see the receipt"


def grouped(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for many uploads of one run, name and format, with their number as `files`; newest first."""
    heads = [", ".join(sorted({str(j["run"]) for j in joins})) for joins in rows["joins"]]
    keyed = rows.assign(files=1, head=heads)
    out: list[pd.DataFrame] = []
    for _, group in keyed.groupby(["head", "name", "format", "synthetic"], sort=False):
        if len(group) < FLOOD or not group["head"].iloc[0]:
            out.append(group)
            continue
        sums = group[SUMMED].sum()
        attempts = [joined for joins in group["joins"] for joined in joins]
        once = {
            (j["run"], j["attempt"]): j for j in sorted(attempts, key=lambda j: (j["run"], j["attempt"] or 0))
        }
        one = group.head(1).assign(files=len(group), **sums)
        out.append(one.assign(run=short(list(once.values()))[0], why=f"{len(group):,} uploads of one name"))
    return pd.concat(out).sort_values("uploaded_at", ascending=False, kind="stable")


def labels(rows: pd.DataFrame) -> list[str]:
    """What an upload is called where it is picked: its name, with the time where several share one."""
    often = rows["name"].duplicated(keep=False)
    return [
        f"{name} ({at:%d %b %H:%M:%S})" if several else str(name)
        for name, at, several in zip(rows["name"], rows["uploaded_at"], often, strict=True)
    ]


def _column_config() -> dict[str, Any]:
    column, number = st.column_config, st.column_config.NumberColumn
    return {
        "name": column.TextColumn("File", width=210, pinned=True),
        "files": number("Uploads", format="localized", width=66),
        "run": column.TextColumn("Run · attempt", width=150),
        "why": column.TextColumn("Joined because", width=210),
        "uploaded_at": column.DatetimeColumn("Loaded (UTC)", format="D MMM YYYY, HH:mm", width=125),
        "format": column.TextColumn("Format", width=170),
        "records": number("Records", format="localized", width=66),
        "stored": number("Stored", format="localized", width=66),
        "quarantined": number("Set aside", format="localized", width=75),
        "ignored": number("Ignored", format="localized", width=62),
        "size_bytes": number("Size", format="bytes", width=66),
        "synthetic": column.MultiselectColumn(
            "Data", options=["synthetic"], color=SYNTHETIC_COLOUR, width=85
        ),
    }


def _undone(store: Store) -> None:
    undone = actions.undone(store)
    if not undone:
        return
    st.markdown("**Undone** :small[The originals are kept.]")
    for decision in undone[:20]:
        name = str(decision.payload.get("name", decision.upload_sha256))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(md_escape(name))
            st.button(
                "Bring it back",
                key=f"back_{decision.id}",
                icon=":material/redo:",
                on_click=actions.bring_back,
                args=(store, decision),
            )
