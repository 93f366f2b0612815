"""Forms of the price book: add, override, retire, exchange rates. Nothing entered is ever overwritten."""

from datetime import date
from typing import Any

import pandas as pd
import streamlit as st

from analysis.pricebook import state_of
from data.catalogue import Catalogue
from data.catalogue_types import KIND_WORDS, TIERS, USD, Price
from data.errors import UserError
from data.money.currency import retire_rate, set_rate
from data.money.price_entry import ENTRY_KINDS, ENTRY_PER, add_price, override_price, retire_price
from data.store import Store
from data.workspace import utc_now
from pages.parts.notices import show_error

NO_TIER = ""
SAID = "_prices_said"


def who() -> str:
    """Name of the signed-in person, empty when nobody signs in."""
    return str(getattr(st.user, "name", "") or getattr(st.user, "email", "") or "")


def done(text: str) -> None:
    """Say after the next run what was entered, and start that run."""
    st.session_state[SAID] = text
    st.rerun()


def show_said() -> None:
    """Say once what the last form did."""
    text = st.session_state.pop(SAID, None)
    if text:
        st.toast(text, icon=":material/check:")


def tier_word(tier: str) -> str:
    """A tier as people say it."""
    return tier.replace("_", " ") or "none: a quote that no picker entry uses"


def show_add(store: Store, book: Catalogue) -> None:
    """The form for a price that the book does not hold."""
    names = {p.platform_id: p.name for p in book.platforms()}
    with st.form("price_add", border=False):
        first = st.columns(4)
        told: dict[str, Any] = {
            "platform_id": first[0].selectbox("Platform", list(names), format_func=names.__getitem__),
            "kind": first[1].selectbox("Kind", ENTRY_KINDS, format_func=lambda k: KIND_WORDS.get(k, k)),
            "tier": first[2].selectbox(
                "Tier",
                [*TIERS, NO_TIER],
                format_func=tier_word,
                help="With a tier it is what the picker uses.",
            ),
            "provider": first[3].text_input("Provider", max_chars=80),
        }
        second = st.columns(4)
        told["value"] = second[0].number_input("Price", min_value=0.0, value=None, format="%.4f", step=0.1)
        told["currency"] = second[1].text_input("Currency", value=USD, max_chars=3)
        told["per"] = second[2].selectbox("Per", ENTRY_PER)
        told["as_of"] = second[3].date_input("Counts from", value=utc_now().date(), format="YYYY-MM-DD")
        third = st.columns([1, 2, 2])
        told["region"] = third[0].text_input("Region", max_chars=80)
        told["source"] = third[1].text_input("Source", placeholder="contract, page, mail …", max_chars=300)
        told["note"] = third[2].text_input("Note", max_chars=300)
        if not st.form_submit_button("Add price", type="primary", icon=":material/add:"):
            return
    if told["value"] is None:
        st.error("Write the price first.", icon=":material/error:")
        return
    try:
        entered = add_price(store, **told, who=who())
    except UserError as error:
        show_error(error)
        return
    done(f"{entered.payload['price_id']} counts from {told['as_of']}.")


def show_change(store: Store, book: Catalogue, ids: list[str]) -> None:
    """Pick a price that the table shows, see its versions, and enter a new one or retire it."""
    if not ids:
        st.info("No price matches the filters above.", icon=":material/search_off:")
        return
    price_id = st.selectbox("Price", ids, key="price_pick", format_func=lambda one: _price_words(book, one))
    versions = book.versions_of(price_id)
    last = versions[-1]
    st.dataframe(version_table(book, versions), hide_index=True, alt=f"All versions of {price_id}")
    left, right = st.columns([3, 2])
    with left.form(f"price_override_{price_id}"):
        st.markdown("**New version**")
        row = st.columns(3)
        value = row[0].number_input("Price", min_value=0.0, value=last.value, format="%.4f", step=0.1)
        currency = row[1].text_input("Currency", value=last.currency, max_chars=3)
        day = row[2].date_input("Counts from", value=utc_now().date(), format="YYYY-MM-DD")
        source = st.text_input("Source", value=last.source, max_chars=300)
        note = st.text_input("Why", placeholder="what changed, or what was wrong", max_chars=300)
        row = st.columns(2)
        provider = row[0].text_input("Provider", value=last.provider, max_chars=80)
        tiers = [*TIERS, NO_TIER]
        tier = row[1].selectbox("Tier", tiers, index=tiers.index(last.tier), format_func=tier_word)
        if st.form_submit_button("Override", type="primary", icon=":material/edit:"):
            more = {"currency": currency, "source": source, "note": note, "tier": tier}
            _override(store, price_id, value, day, provider=provider, **more)
    with right.form(f"price_retire_{price_id}"):
        st.markdown("**Retire**")
        until = st.date_input("Counts no more from", value=utc_now().date(), format="YYYY-MM-DD")
        why = st.text_input("Why", placeholder="contract ended, list withdrawn …", max_chars=300)
        if st.form_submit_button("Retire", icon=":material/event_busy:"):
            _retire(store, price_id, until, why)


def _price_words(book: Catalogue, price_id: str) -> str:
    last = book.versions_of(price_id)[-1]
    value = "no value" if last.value is None else f"{last.value:g} {last.currency}"
    return f"{price_id} · {value}"


def _override(store: Store, price_id: str, value: float | None, day: date, **more: str) -> None:
    if value is None:
        st.error("Write the price first.", icon=":material/error:")
        return
    try:
        override_price(store, price_id, value=value, as_of=day, who=who(), **more)
    except UserError as error:
        show_error(error)
        return
    done(f"{price_id} has a new version from {day}.")


def _retire(store: Store, price_id: str, day: date, note: str) -> None:
    try:
        retire_price(store, price_id, as_of=day, note=note, who=who())
    except UserError as error:
        show_error(error)
        return
    done(f"{price_id} counts no more from {day}.")


def version_table(book: Catalogue, versions: tuple[Price, ...]) -> pd.DataFrame:
    """All versions of one price, the newest first."""
    rows = [
        {
            "Version": v.version,
            "State": state_of(book, v),
            "Price": "–" if v.value is None else f"{v.value:g} {v.unit}",
            "Counts from": v.as_of or "no date",
            "Source": v.source,
            "Why": v.note,
            "Who": v.who or ("shipped" if not v.decision else "not signed in"),
            "Entered (UTC)": "" if v.at is None else f"{v.at:%Y-%m-%d %H:%M}",
        }
        for v in reversed(versions)
    ]
    return pd.DataFrame(rows)


def show_rates(store: Store, book: Catalogue, frame: pd.DataFrame) -> None:
    """Exchange rates: the table with every version, and a form for a new one."""
    st.caption(
        "A rate counts from its day until the next one of its currency. None is shipped: a price or a bill "
        "in a currency without a rate keeps its own currency and gives no dollars."
    )
    if frame.empty:
        st.info("No rate has been entered yet.", icon=":material/currency_exchange:")
    else:
        _rate_table(frame)
    _rate_form(store)
    live = [r for r in book.rates() if r.date is not None and not r.retired]
    if live:
        _take_back_form(store, sorted({f"{r.code} {r.date}" for r in live}))


def _rate_table(frame: pd.DataFrame) -> None:
    st.dataframe(
        frame.drop(columns=["status", "entered_at"]),
        hide_index=True,
        alt="Exchange rates with every version",
        column_config={
            "code": "Currency",
            "usd_per_unit": st.column_config.NumberColumn("USD a unit", format="%.6g"),
            "date": "Counts from",
            "source": "Source",
            "version": st.column_config.NumberColumn("Version", format="%d"),
            "state": "State",
            "user_name": "Who",
            "note": "Note",
        },
    )


def _rate_form(store: Store) -> None:
    with st.form("rate_add", border=False):
        row = st.columns([1, 1, 1, 2, 1], vertical_alignment="bottom")
        code = row[0].text_input("Currency", placeholder="EUR", max_chars=3)
        value = row[1].text_input("USD a unit", placeholder="1.08", max_chars=20)
        day = row[2].date_input("Counts from", value=utc_now().date(), format="YYYY-MM-DD")
        source = row[3].text_input("Source", placeholder="central bank, contract …", max_chars=300)
        if row[4].form_submit_button("Enter rate", type="primary", icon=":material/add:"):
            _enter_rate(store, code, value, day, source)


def _take_back_form(store: Store, labels: list[str]) -> None:
    with st.form("rate_retire", border=False):
        row = st.columns([2, 3, 1], vertical_alignment="bottom")
        picked = row[0].selectbox("Take a rate back", labels)
        note = row[1].text_input("Why", max_chars=300)
        if row[2].form_submit_button("Take back", icon=":material/undo:"):
            _take_back(store, picked, note)


def _enter_rate(store: Store, code: str, value: str, day: date, source: str) -> None:
    try:
        entered = set_rate(store, code, value, day, source, who=who())
    except UserError as error:
        show_error(error)
        return
    usd = float(entered.payload["usd_per_unit"])
    name = entered.payload["code"]
    done(f"From {day}: 1 {name} = {usd:g} USD, 1 USD = {1 / usd:.4g} {name}.")


def _take_back(store: Store, label: str, note: str) -> None:
    code, day = label.split(" ", 1)
    try:
        retire_rate(store, code, date.fromisoformat(day), who=who(), note=note)
    except UserError as error:
        show_error(error)
        return
    done(f"The rate of {code} dated {day} counts no more.")
