"""Re-price on the page: the picked runs at other prices, beside what is stored."""

import streamlit as st

from analysis.result import Result
from charts import pricebook as charts
from data.catalogue import Catalogue
from data.catalogue_types import price_words
from data.errors import UserError
from pages.parts.answer import show_answer
from pages.parts.assumptions import show_how
from pages.parts.compute import compute
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.notices import show_error, show_warnings
from pages.parts.pictures import picture
from pages.parts.state import PageState
from pages.parts.tables import show_table

SAME = "as picked in the sidebar"


def show_scenario(state: PageState, book: Catalogue, platforms: list[str]) -> None:
    """Choose other prices for the runs of the sidebar and see the difference; nothing is stored."""
    st.caption(
        "A scenario for the runs picked in the sidebar. Neither the book nor any stored result changes."
    )
    menu = [f"{kind}.{tier}" for kind, tier in book.price_menu()]
    first, second = st.columns(2)
    to_price = first.selectbox(
        "Kind and tier",
        ["", *menu],
        format_func=lambda p: price_words(*p.split(".", 1)) if p else SAME,
        key="reprice_kind",
    )
    day = second.date_input(
        "Book of the day",
        value=None,
        format="YYYY-MM-DD",
        key="reprice_day",
        help="Only prices dated on or before this day count, at the exchange rates of that day.",
    )
    amounts = _amounts(book, platforms)
    if not (to_price or day or amounts):
        st.info("Choose another kind, a day of the book, or write an amount.", icon=":material/price_change:")
        return
    try:
        asked = {"to_price": to_price, "book_day": day.isoformat() if day else "", "usd_values": amounts}
        result = compute("reprice", asked)
    except UserError as error:
        show_error(error)
        return
    _show(result, state)


def _amounts(book: Catalogue, platforms: list[str]) -> list[str]:
    """Prices a person writes for the first platforms, as `platform=usd`."""
    names = {p.platform_id: p.name for p in book.platforms()}
    amounts: list[str] = []
    for place, platform in zip(st.columns(max(1, min(4, len(platforms)))), platforms[:4], strict=False):
        usd = place.number_input(
            f"{names.get(platform, platform)}, USD per GPU-hour",
            min_value=0.0,
            value=None,
            step=0.1,
            format="%.4f",
            key=f"reprice_usd_{platform}",
            placeholder="from the book",
        )
        amounts += [f"{platform}={usd!r}"] if usd else []
    return amounts


def _show(result: Result, state: PageState) -> None:
    show_answer(result)
    if result.tables["runs"].empty:
        return
    show_figures(result)
    show_warnings(result)
    show_chart(picture(charts.change_by_run, result, state.theme), key="reprice_chart")
    labels = {
        "usd_stored": "USD as stored",
        "usd_new": "USD re-priced",
        "change_usd": "Difference (USD)",
        "change_frac": "Difference (%)",
        "why": "Why not",
    }
    show_table(result, "runs", title="Runs as stored and re-priced", labels=labels)
    show_table(
        result,
        "prices",
        title="Prices and versions used on each side",
        labels={"which": "Side", "badge": "Basis"},
    )
    show_how([result], key="reprice")
