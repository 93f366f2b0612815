"""Hardware and prices: platforms side by side, quotes over time, claims, models and benchmarks."""

import pandas as pd
import streamlit as st

from analysis import platforms as question
from charts import platforms as charts
from pages.parts.answer import show_answer
from pages.parts.assumptions import show_how
from pages.parts.choose import segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import csv_button, show_chart
from pages.parts.frame import show_title
from pages.parts.notices import show_warnings
from pages.parts.pictures import picture
from pages.parts.search import chosen_first, search_rows
from pages.parts.spec_table import comparison_html
from pages.parts.state import current, note, settle
from pages.parts.tables import UNKNOWN, as_shown, column_config
from pages.parts.urlcheck import UrlNotice, quote

LEAD = (
    "badge",
    "statement",
    "name",
    "field",
    "platform_id",
    "parameter",
    "value",
    "unit",
    "kind",
    "tier",
    "provider",
)
LABELS = {
    "badge": "Basis",
    "as_of": "Date",
    "date": "Date",
    "source_date": "Date",
    "value": "Value",
    "applies_to_phase": "Phase",
    "n_tasks": "Tasks",
    "params_total_b": "Parameters (billion)",
    "params_active_b": "Active (billion)",
    "kv_bytes_per_token_bf16": "KV cache (bytes a token)",
}
HIDDEN = {"preferred", "price_id", "status", "claim_id", "model_id", "quantity"}


def show_rows(frame: pd.DataFrame, name: str, text: str, noun: str) -> None:
    """Draw the rows that match the search, or say that none does."""
    rows = search_rows(frame, text)
    if rows.empty:
        st.info(f"None of the {len(frame)} {noun} holds all of these words.", icon=":material/search_off:")
        return
    order = [c for c in LEAD if c in rows.columns] + [c for c in rows.columns if c not in LEAD]
    rows = rows[[c for c in order if c not in HIDDEN and rows[c].map(str).str.strip().ne("").any()]]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.caption(f"{len(rows)} of {len(frame)} {noun}")
        csv_button(rows, f"{name}.csv", key=f"hw_csv_{name}")
    st.dataframe(
        as_shown(rows),
        hide_index=True,
        key=f"hw_table_{name}",
        column_config=column_config(rows, LABELS),
        placeholder=UNKNOWN,
        alt=f"Table of {len(rows)} {noun}, each with its basis and source",
    )


def compared(names: dict[str, str]) -> list[str]:
    """Draw the platform picker, after naming what the address asks for in vain."""
    _check_compared(names)
    picked: list[str] = st.multiselect(
        "Platforms to compare",
        list(names),
        default=list(question.DEFAULT),
        format_func=names.__getitem__,
        max_selections=question.MOST,
        key="hw_compare",
        bind="query-params",
        placeholder="Pick up to five platforms",
        on_change=settle,
        args=("hw_compare",),
    )
    return picked


def _check_compared(names: dict[str, str]) -> None:
    """Leave in the address what the picker can take: names as it shows them, each once, at most `MOST`."""
    given = st.query_params.get_all("hw_compare")
    asked = list(dict.fromkeys(names.get(v, v) for v in given if v))
    known = [v for v in asked if v in names.values()]
    kept = known[: question.MOST]
    if not asked or kept == given:
        return
    lost = [v for v in asked if v not in known]
    if lost or len(known) > len(kept):
        plural = "s" if len(lost) > 1 else ""
        why = (
            f"platform{plural} {quote(lost)}, which the catalogue does not hold"
            if lost
            else f"{len(known)} platforms"
        )
        shown = quote(kept or [names[p] for p in question.DEFAULT])
        note(UrlNotice("hw_compare", f"The address asks for {why}; showing {shown}."))
    if kept:
        st.query_params["hw_compare"] = kept
    else:
        del st.query_params["hw_compare"]
    st.rerun()


def show_prices(result: object, book_rows: pd.DataFrame, text: str) -> None:
    """Quotes of one kind over time, then every row of the price book."""
    kinds = [*question.rent_kinds(result.tables["prices"])]
    if kinds:
        default = state.common.price.partition(".")[0]
        kind = segments(
            "hw_kind",
            "Kind of price",
            kinds,
            default if default in kinds else kinds[0],
            lambda k: charts.KIND_WORDS.get(k, k),
            "List prices and three-year rents differ by a factor of two: they never share a chart.",
        )
        show_chart(picture(charts.price_dots, result, state.theme, kind), key="hw_price_dots")
    st.page_link("prices.py", label="Add, override, date or import prices", icon=":material/sell:")
    show_rows(book_rows, "prices", text, "entries, unpublished prices included")


state = current()
with state.view() as view:
    book = view.catalogue
head = st.container()
names = {p.platform_id: p.name for p in book.platforms()}
chosen = compared(names)
result = compute_or_stop("platforms", {"compare": chosen})
with head:
    show_title("Hardware and prices", [result])
    show_answer(result)
show_warnings(result)
st.html(comparison_html(result.tables["comparison"], state.theme))
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
    st.caption(
        "Open a badge for source, date and condition. Bars: share of the largest in the row. "
        "Rates are dense, bandwidths one way. Nothing here is a live quote."
    )
    csv_button(result.tables["comparison"], "platforms-comparison.csv", key="hw_csv_comparison")
text = st.text_input(
    "Search the catalogue",
    key="hw_search",
    bind="query-params",
    placeholder="rubin nvfp4, lambda h100, gsm8k …",
    icon=":material/search:",
)
tables = {
    "prices": chosen_first(question.prices_table(book), chosen),
    "claims": question.claims_table(book),
    "models": question.llms_table(book),
    "benchmarks": question.benchmarks_table(book),
    "cost parameters": question.tco_table(book),
    "facts": question.facts_table(book),
}
if text.strip():
    hits = [f"{len(search_rows(frame, text))} {noun}" for noun, frame in tables.items()]
    st.caption(f"Found: {', '.join(hits)}.")
tabs = st.tabs(["Prices", "Bars", "Claims", "LLMs", "Benchmarks", "Cost parameters", "All facts"])
with tabs[0]:
    show_prices(result, tables["prices"], text)
with tabs[1]:
    show_chart(picture(charts.bars, result, state.theme), key="hw_bars")
with tabs[2]:
    st.caption(
        "Statements somebody made, for scenarios only. Several describe one effect: do not multiply them."
    )
    show_rows(tables["claims"], "claims", text, "claims")
with tabs[3]:
    show_rows(tables["models"], "llms", text, "models")
with tabs[4]:
    show_rows(tables["benchmarks"], "benchmarks", text, "benchmarks")
with tabs[5]:
    show_rows(tables["cost parameters"], "tco", text, "cost parameters")
with tabs[6]:
    show_rows(tables["facts"], "facts", text, "facts")
show_how([result], key="hardware")
