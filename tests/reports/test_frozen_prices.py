"""A report keeps the numbers and the versions it was frozen with when the book moves on."""

from datetime import date
from pathlib import Path

import analysis
from data.money.price_entry import add_price, override_price
from data.store import Store
from reports.freeze import FreezeOptions, freeze, load, save
from reports.html import render
from reports.redact import Redaction

H100 = "h100-sxm-reserved-3y-neocloud-2026-07"


def test_a_result_from_before_an_override_keeps_its_numbers(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "home")
    try:
        with store.view() as view:
            before = analysis.run("platforms", view, {"compare": ["h100-sxm"]})
        report = freeze([before], "Prices")
        save(report, store.home, render)
        override_price(store, H100, value=9.0, as_of=date(2026, 1, 1), source="contract", note="signed")
        with store.view() as view:
            after = analysis.run("platforms", view, {"compare": ["h100-sxm"]})
        kept = load(store.home, report.hash).sections[0]
    finally:
        store.close()
    assert (kept["headline"][0]["value"], after.headline[0].value) == (2.0, 9.0)
    assert kept["versions"]["prices"] == [f"{H100}@1"] and after.versions["prices"] == [f"{H100}@2"]
    assert "+" not in kept["versions"]["catalogue"] and after.versions["catalogue"].endswith("+1")


def test_hidden_dollars_hide_prices_in_any_currency(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "home")
    try:
        more = {"platform_id": "h100-sxm", "kind": "spot", "as_of": date(2026, 1, 1), "source": "mail"}
        add_price(store, tier="hyperscaler", value=7.77, currency="EUR", **more)  # type: ignore[arg-type]
        add_price(store, tier="marketplace", value=6.66, **more)  # type: ignore[arg-type]
        with store.view() as view:
            book = analysis.run("pricebook", view, {})
            spot = analysis.run("platforms", view, {"compare": ["h100-sxm"], "price": "spot.hyperscaler"})
    finally:
        store.close()
    report = freeze([book, spot], "Prices", FreezeOptions(Redaction(dollars=True)))
    assert "7.77 EUR per GPU-hour" in spot.to_json()
    page = render(report)
    for amount in ("7.77", "6.66"):
        assert amount not in report.to_json() + page[: page.index("<script>")]
