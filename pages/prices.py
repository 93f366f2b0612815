"""Price book: every price with its versions, yours on top of the shipped ones; currencies, re-price."""

import pandas as pd
import streamlit as st

from analysis.pricebook import kinds_of
from charts import pricebook as charts
from data.catalogue_types import KIND_WORDS, STATUS_WORDS
from data.queries.frame import platforms as platforms_held
from pages.parts.answer import show_answer
from pages.parts.assumptions import show_how
from pages.parts.choose import dropdown, segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import csv_button, show_chart
from pages.parts.frame import show_title
from pages.parts.notices import docs_address, show_warnings
from pages.parts.pictures import picture
from pages.parts.price_forms import show_add, show_change, show_rates, show_said
from pages.parts.price_import import show_import
from pages.parts.price_scenario import show_scenario
from pages.parts.search import search_rows
from pages.parts.state import current
from pages.parts.tables import UNKNOWN, column_config, table_height

ALL = "all"
COLUMNS = ["platform", "price_value", "unit", "badge", "kind", "tier", "usd", "as_of", "provider", "region"]
COLUMNS += ["price_source", "price_note", "version", "price_id"]
LABELS = {
    "badge": "Basis",
    "platform": "Platform",
    "price_value": "Price",
    "usd": "In USD",
    "as_of": "Counts from",
    "price_source": "Source",
    "price_note": "Note",
    "price_id": "Price id",
}


def kind_word(kind: str) -> str:
    """A kind of price as people say it."""
    return "all kinds" if kind == ALL else KIND_WORDS.get(kind, kind.replace("_", " "))


def filtered(frame: pd.DataFrame) -> pd.DataFrame:
    """Draw search and filters and return the rows they leave."""
    text = st.text_input(
        "Search the book",
        key="pb_search",
        bind="query-params",
        placeholder="rubin reserved, lambda h100, contract …",
        icon=":material/search:",
    )
    row = st.columns(4)
    names = dict(zip(frame["platform_id"], frame["platform"], strict=True))
    with row[0]:
        platform = dropdown(
            "pb_platform", "Platform", [ALL, *names], ALL, lambda p: names.get(p, "all platforms")
        )
    with row[1]:
        kind = dropdown("pb_kind", "Kind", [ALL, *kinds_of(frame)], ALL, kind_word)
    with row[2]:
        tiers = sorted(set(frame["tier"]) - {""})
        tier = dropdown("pb_tier", "Tier", [ALL, *tiers], ALL, lambda t: "all tiers" if t == ALL else t)
    with row[3]:
        badges = [word for word in dict.fromkeys(STATUS_WORDS.values()) if word in set(frame["badge"])]
        badge = dropdown("pb_basis", "Basis", [ALL, *badges], ALL, lambda b: "all bases" if b == ALL else b)
    for column, picked in (("platform_id", platform), ("kind", kind), ("tier", tier), ("badge", badge)):
        if picked != ALL:
            frame = frame[frame[column] == picked]
    frame = search_rows(frame, text)
    return frame.sort_values("status", key=lambda s: s != "user", kind="stable")


def show_book(frame: pd.DataFrame, total: int) -> None:
    """The table of the book and its CSV, equal to the screen."""
    if frame.empty:
        st.info(f"None of the {total} prices fits the search and the filters.", icon=":material/search_off:")
        return
    rows = frame[COLUMNS]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.caption(f"{len(rows)} of {total} prices. Nothing here is a live quote.")
        csv_button(rows, "price-book.csv", key="pb_csv")
    shown = rows.assign(kind=rows["kind"].map(kind_word))
    st.dataframe(
        shown,
        hide_index=True,
        key="pb_table",
        column_config=column_config(shown, LABELS)
        | {
            "price_value": st.column_config.NumberColumn("Price", format="%,.6g"),
            "usd": st.column_config.NumberColumn("In USD", format="%,.6g"),
            "tier": st.column_config.TextColumn("Tier", width=110),
            "version": st.column_config.NumberColumn("Version", format="%d"),
        },
        height=table_height(len(shown)),
        placeholder=UNKNOWN,
        alt=f"Table of {len(rows)} prices, each with its basis, source and version",
    )


def show_history(platform: str, kinds: list[str]) -> None:
    """Dots of every dated version of one kind, for one platform."""
    default = state.common.price.partition(".")[0]
    kind = segments(
        "pb_history", "Kind in the chart", kinds, default if default in kinds else kinds[0], kind_word
    )
    told = compute_or_stop("pricebook", {"platform": platform})
    show_chart(picture(charts.history, told, state.theme, kind), key="pb_history_chart")


state = current()
with state.view() as view:
    book = view.catalogue
    held = platforms_held(view)
result = compute_or_stop("pricebook")
show_said()
show_title("Price book", [result])
show_answer(result)
show_warnings(result)
prices = result.tables["prices"]
rows = filtered(prices)
show_book(rows, len(prices))
ids = list(dict.fromkeys(rows["platform_id"]))
if len(ids) == 1:
    show_history(ids[0], kinds_of(result.tables["history"].query("platform_id == @ids[0]")))
elif ids:
    st.caption("Choose one platform to see its prices over time.")
tabs = st.tabs(["Re-price", "Add", "Override or retire", "Currencies", "Import a list"])
with tabs[0]:
    show_scenario(state, book, held)
with tabs[1]:
    show_add(state.store, book)
with tabs[2]:
    old = result.tables["history"].query("state != 'in force'")["price_id"]
    gone = [one for one in dict.fromkeys(old) if one not in set(prices["price_id"])]
    show_change(state.store, book, [*rows["price_id"], *gone])
with tabs[3]:
    show_rates(state.store, book, result.tables["rates"])
with tabs[4]:
    show_import(state.store, book)
st.caption(
    "What a version is, how a currency is converted, what an import sets aside: "
    f"[Prices]({docs_address('Prices')})."
)
show_how([result], key="pricebook")
