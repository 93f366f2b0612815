"""The page of the price book: filters, forms, currencies, an import, a scenario."""

from collections.abc import Callable
from datetime import date

import pytest
from streamlit.testing.v1 import AppTest

from data.money.price_entry import override_price
from data.store import Store

LIST = "h100-sxm-reserved-3y-neocloud-2026-07"


@pytest.fixture
def page(app: Callable[..., AppTest], store: Store) -> Callable[..., AppTest]:
    def start(**query: str) -> AppTest:
        at = app("prices.py", **query)
        assert not at.exception
        return at

    return start


def text(at: AppTest) -> str:
    parts = [*at.markdown, *at.caption, *at.info, *at.error, *at.toast]
    return "\n".join(str(p.value) for p in parts)


def press(at: AppTest, label: str) -> AppTest:
    return next(b for b in at.button if b.label == label).click().run()


def field(boxes: object, label: str, nth: int = 0) -> object:
    return [b for b in boxes if b.label == label][nth]  # type: ignore[attr-defined]


def test_an_empty_home_shows_the_shipped_book(page: Callable[..., AppTest]) -> None:
    at = page()
    assert "none of them is yours yet" in text(at)
    table = at.dataframe[0].value
    assert set(table["badge"]) == {"vendor", "analyst", "derived"} and len(table) > 150


def test_filters_live_in_the_address_and_leave_what_fits(page: Callable[..., AppTest]) -> None:
    at = page(pb_platform="H100 SXM", pb_kind="3-year reservation", pb_search="survey")
    table = at.dataframe[0].value
    assert set(table["platform"]) == {"H100 SXM"} and set(table["kind"]) == {"3-year reservation"}
    assert "Choose one platform" not in text(at)


def test_a_price_is_added_and_becomes_yours(page: Callable[..., AppTest], store: Store) -> None:
    at = page()
    field(at.selectbox, "Platform", 1).set_value("h100-sxm")  # type: ignore[attr-defined]
    field(at.number_input, "Price").set_value(1.8)  # type: ignore[attr-defined]
    field(at.text_input, "Source", 0).set_value("our contract")  # type: ignore[attr-defined]
    at = press(at, "Add price")
    assert not at.exception
    payload = store.workspace.decisions(kinds=("price",))[0].payload
    assert (payload["platform_id"], payload["value"], payload["source"]) == ("h100-sxm", 1.8, "our contract")
    assert "1 is yours" in text(at)


def test_a_refusal_is_said_and_nothing_is_entered(page: Callable[..., AppTest], store: Store) -> None:
    at = press(page(pb_search=LIST), "Override")
    assert "does not say why" in text(at) and store.workspace.decisions() == []


def test_an_override_shows_both_versions(page: Callable[..., AppTest], store: Store) -> None:
    override_price(
        store, LIST, value=1.9, as_of=date(2026, 5, 1), source="contract", note="signed", who="fin"
    )
    at = page(pb_search=LIST)
    versions = next(d.value for d in at.dataframe if "Entered (UTC)" in d.value)
    assert list(versions["Price"]) == ["1.9 USD per GPU-hour", "2 USD per GPU-hour"]
    assert list(versions["Who"]) == ["fin", "shipped"] and versions["Why"][0] == "signed"


def test_a_rate_is_entered_and_echoed_both_ways(page: Callable[..., AppTest], store: Store) -> None:
    at = page()
    field(at.text_input, "Currency", -1).set_value("EUR")  # type: ignore[attr-defined]
    code = next(t for t in at.text_input if t.placeholder == "EUR")
    code.set_value("EUR")
    field(at.text_input, "USD a unit").set_value("1.25")  # type: ignore[attr-defined]
    next(t for t in at.text_input if t.placeholder.startswith("central bank")).set_value("bank")
    at = press(at, "Enter rate")
    assert not at.exception
    assert "1 EUR = 1.25 USD, 1 USD = 0.8 EUR" in text(at)


def test_runs_are_repriced_beside_what_is_stored(app: Callable[..., AppTest], example: Store) -> None:
    at = app("prices.py")
    at.selectbox(key="reprice_kind").set_value("on_demand.neocloud").run()
    assert not at.exception
    assert "what is stored stays as it is" in text(at)
    assert example.workspace.decisions(kinds=("price",)) == []
