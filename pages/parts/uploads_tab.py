"""All uploads of the home: the list, one receipt opened up, and what was undone."""

from typing import Any

import pandas as pd
import streamlit as st

from data.queries import uploads as queries
from data.store import Store
from pages.parts import upload_actions as actions
from pages.parts.ledgertable import SYNTHETIC_COLOUR
from pages.parts.tables import table_height
from pages.parts.upload_card import show_card
from pages.parts.words import md_escape

COLUMNS = ["name", "uploaded_at", "format", "records", "stored", "quarantined", "ignored", "size_bytes"]


def show_uploads(store: Store) -> None:
    """Draw the list and the card of the picked upload."""
    with store.view() as view:
        listing = queries.listing(view)
    if listing.empty:
        st.caption("Nothing has been loaded yet.")
    else:
        _table(listing)
        names = dict(zip(listing["upload_id"], listing["name"], strict=True))
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
    )[[*COLUMNS, *(["synthetic"] if listing["synthetic"].any() else [])]]
    st.dataframe(
        shown,
        hide_index=True,
        key="uploads_table",
        alt="Uploads of this home",
        height=table_height(len(shown)),
        column_config=_column_config(),
    )


def _column_config() -> dict[str, Any]:
    column, number = st.column_config, st.column_config.NumberColumn
    return {
        "name": column.TextColumn("File", width=210, pinned=True),
        "uploaded_at": column.DatetimeColumn("Loaded (UTC)", format="D MMM YYYY, HH:mm", width=125),
        "format": column.TextColumn("Format", width=185),
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
