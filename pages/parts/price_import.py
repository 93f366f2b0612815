"""Import of a price list on the page: preview first, then one decision."""

from datetime import date

import pandas as pd
import streamlit as st

from data.catalogue import Catalogue
from data.catalogue_types import KIND_WORDS, RENT_KINDS, USD
from data.errors import UserError
from data.money.import_checks import by_trap
from data.money.import_plan import ImportChoices, ImportPlan, plan_import
from data.money.import_rows import TITLES
from data.money.price_entry import import_prices
from data.store import Store
from data.workspace import utc_now
from pages.parts.download import csv_button
from pages.parts.notices import show_error
from pages.parts.price_forms import done, who
from pages.parts.words import md_escape

MOST_NAMES = 12


def show_import(store: Store, book: Catalogue) -> None:
    """Choose a file, say where it comes from, look at what it would do, and import it."""
    st.caption(
        f"{', '.join(TITLES.values())}; read by column name. Nothing is stored before you import. The files "
        "carry no date: say yourself where and when they were taken."
    )
    file = st.file_uploader("Price list (CSV)", type=["csv"], key="price_file")
    row = st.columns([2, 2, 1, 1, 1])
    provider = row[0].text_input("Provider", key="price_import_provider", max_chars=80)
    source = row[1].text_input(
        "Source", key="price_import_source", placeholder="repository and commit, page …"
    )
    day = row[2].date_input("Taken on", value=utc_now().date(), format="YYYY-MM-DD", key="price_import_day")
    currency = row[3].text_input("Currency", value=USD, max_chars=3, key="price_import_currency")
    kind = row[4].selectbox("Kind of list prices", RENT_KINDS, index=2, format_func=KIND_WORDS.__getitem__)
    if file is None:
        return
    data = file.getvalue()
    try:
        plan = plan_import(data, file.name, book, ImportChoices(provider.strip(), {}, currency, kind))
        names = _names(plan, book)
        if names:
            plan = plan_import(data, file.name, book, ImportChoices(provider.strip(), names, currency, kind))
    except UserError as error:
        show_error(error)
        return
    _preview(plan, book)
    if st.button(
        f"Import {len(plan.prices)} prices",
        type="primary",
        icon=":material/download_done:",
        disabled=not plan.prices,
        key="price_import_go",
    ):
        _import(store, plan, day, source)


def _names(plan: ImportPlan, book: Catalogue) -> dict[str, str]:
    """A person's own answers for GPU names that lead to no platform."""
    if not plan.unknown:
        return {}
    platforms = {p.platform_id: p.name for p in book.platforms() if p.kind != "cpu"}
    with st.expander(f"{len(plan.unknown)} GPU names lead to no platform", icon=":material/help:"):
        st.caption("Nothing is guessed. Name the platform where you know it; the rest stays set aside.")
        out = {}
        for gpu, rows in list(plan.unknown.items())[:MOST_NAMES]:
            likely = [p for p in plan.offered[gpu] if p in platforms]
            picked = st.selectbox(
                f"{gpu} ({rows} rows)",
                [*likely, *(p for p in platforms if p not in likely)],
                index=None,
                format_func=platforms.__getitem__,
                placeholder=_offer([platforms[p] for p in likely]),
                key=f"price_import_name_{gpu}",
            )
            st.caption(md_escape(plan.reasons[gpu]))
            if picked:
                out[gpu] = picked
    return out


def _offer(names: list[str]) -> str:
    return f"{' or '.join(names)}?" if names else "not in the catalogue"


def _preview(plan: ImportPlan, book: Catalogue) -> None:
    ignored = sum(plan.ignored.values())
    st.markdown(
        f"**{TITLES[plan.format]}**: {plan.rows:,} rows = {plan.priced:,} priced + {len(plan.set_aside):,} "
        f"set aside + {ignored:,} ignored{' (machines without a GPU)' if ignored else ''}. They make "
        f"**{len(plan.prices):,} prices**: one an offer, not one a row."
    )
    for _, _, words in plan.findings:
        st.markdown(f":orange[:material/info:] {md_escape(words)}")
    for code, n, words in by_trap(plan.dropped_spot):
        st.markdown(f":orange[:material/info:] {n} spot prices left out: {md_escape(words)}", help=code)
    if plan.prices:
        names = {p.platform_id: p.name for p in book.platforms()}
        frame = pd.DataFrame(plan.prices)
        frame["platform_id"] = frame["platform_id"].map(names)
        frame["kind"] = frame["kind"].map(lambda k: KIND_WORDS.get(k, k))
        shown = frame[["platform_id", "kind", "value", "unit", "provider", "region", "note", "price_id"]]
        shown.columns = pd.Index(
            ["Platform", "Kind", "Price", "Unit", "Provider", "Region", "Offer", "Price id"]
        )
        st.dataframe(shown, hide_index=True, alt=f"{len(shown)} prices that the import would enter")
    if plan.set_aside:
        with st.expander(f"{len(plan.set_aside)} rows set aside", icon=":material/rule:"):
            for _, n, words in by_trap(plan.set_aside):
                st.markdown(f"- {n}: {md_escape(words)}")
            rows = pd.DataFrame(
                [(r.line, r.gpu, r.instance, r.why, r.cells) for r in plan.set_aside],
                columns=["Line", "GPU", "Instance", "Why", "Row"],
            )
            csv_button(rows, "set-aside.csv", key="price_import_aside")
            st.dataframe(rows, hide_index=True, alt="Rows that are no price, each with its reason")


def _import(store: Store, plan: ImportPlan, day: date, source: str) -> None:
    try:
        import_prices(
            store, plan.prices, as_of=day, source=source, file=plan.file, sha256=plan.sha256, who=who()
        )
    except UserError as error:
        show_error(error)
        return
    done(f"{len(plan.prices)} prices of {plan.file} entered, counting from {day}.")
