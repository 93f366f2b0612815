"""'Use this as a price': the cost of owning becomes a price of the price book, with what it is made of."""

from datetime import UTC, datetime

import streamlit as st

from analysis.frames import records
from analysis.result import Result
from analysis.words import money
from data.errors import UserError
from data.money.price_entry import add_price, override_price
from data.store import Store
from pages.parts.notices import show_error

SOURCE = "Rent or own, this tool"


def price_id(platform: str) -> str:
    """The id under which the cost of owning a platform is kept."""
    return f"yours-own-{platform}"


def breakdown_note(result: Result) -> str:
    """Parts of the owned GPU-hour and the settings a person gave, in one line."""
    rows = records(result.tables["breakdown"])
    parts = [f"{r['label']} {money(r['usd_per_gpu_h'])}" for r in rows if r["given"] and r["usd_per_gpu_h"]]
    left = [str(r["label"]) for r in rows if not r["given"]]
    settings = records(result.tables["settings"])
    mine = [f"{r['name']}={r['value']:g}" for r in settings if r["status"] == "user"]
    tail = f"; not in it: {', '.join(left)}" if left else ""
    return f"{', '.join(parts)}{tail}. Given: {', '.join(mine) or 'nothing'}."


def record(store: Store, platform: str, usd_per_gpu_h: float, note: str) -> str:
    """Keep the price: a new one, or a new version of it. Returns its id; raises UserError."""
    name, today = price_id(platform), datetime.now(UTC).date()
    with store.view() as view:
        there = bool(view.catalogue.versions_of(name))
    value = round(usd_per_gpu_h, 4)
    if there:
        override_price(store, name, value=value, as_of=today, source=SOURCE, note=note, tier="owned")
    else:
        add_price(
            store, platform_id=platform, kind="own_tco", tier="owned", value=value, as_of=today,
            source=SOURCE, note=note, price_id=name, provider="your own cluster",
        )  # fmt: skip
    return name


def offer(store: Store, result: Result, platform: str) -> None:
    """Draw the button; without a cost of owning there is none."""
    rows = result.tables.get("breakdown")
    if rows is None or rows.empty:
        return
    total = float(rows["usd_per_gpu_h"].sum())
    label = f"Use {money(total)} as a price of owning"
    tip = "Kept in the price book with its parts. Older versions stay, and results say which one they used."
    if st.button(label, key="own_use", icon=":material/sell:", help=tip):
        try:
            name = record(store, platform, total, breakdown_note(result))
        except UserError as error:
            show_error(error)
            return
        st.success(f"Kept as price {name}: {money(total)} a GPU-hour.", icon=":material/check:")
