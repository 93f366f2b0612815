"""Prices move nothing by themselves: doubling, overriding, currencies, and the re-price scenario."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

import analysis
from analysis.prices import price_rows
from analysis.result import Result
from data.catalogue import Catalogue, load_catalogue
from data.errors import UserError
from data.money.currency import set_rate
from data.money.price_entry import add_price, override_price
from data.store import Store
from data.view import View
from data.workspace import Decision
from tests.analysis.conftest import Home, pool, tiny_book

H100 = "h100-sxm-reserved-3y-neocloud-2026-07"
MONEY = ("usd", "usd_low", "usd_high", "usd_full", "lost_usd")


def ask(home: Home, question: str = "reprice", **params: Any) -> Result:
    return analysis.run(question, home.view(), params)


def by_run(result: Result, column: str) -> dict[str, float]:
    frame = result.tables["runs"]
    return dict(zip(frame["run"], frame[column], strict=True))


@pytest.mark.parametrize("boundary", ["compute", "campaign", "full"])
def test_doubling_every_price_doubles_every_rent_cost(home: Home, boundary: str) -> None:
    one = ask(home, "ledger", boundary=boundary).tables["ledger"]
    home.book = doubled(home.book)
    two = ask(home, "ledger", boundary=boundary).tables["ledger"]
    for name in [c for c in MONEY if c in one]:
        assert list(two[name]) == pytest.approx([2 * v for v in one[name]], nan_ok=True)


def doubled(book: Catalogue) -> Catalogue:
    rows = {k: replace(p, value=None if p.value is None else 2 * p.value) for k, p in book._prices.items()}
    return replace(book, _prices=rows)


def decided(number: int, **payload: Any) -> Decision:
    return Decision(number, datetime(2026, 6, 1), "price", None, None, payload, None)


def overridden(book: Catalogue, value: float, currency: str = "USD") -> Catalogue:
    """The book with a person's version of the H100 price on top."""
    row = vars(book.versions_of(H100)[0])
    told = {name: row[name] for name in ("price_id", "platform_id", "kind", "tier", "provider", "region")}
    told |= {"action": "set", "value": value, "unit": f"{currency} per GPU-hour", "currency": currency}
    told |= {"as_of": "2026-01-01", "source": "contract", "note": "signed"}
    return book.pinned([decided(7, **told)], date(2026, 6, 2))


def test_an_override_with_the_same_value_changes_nothing_but_the_version(home: Home) -> None:
    before = ask(home, "ledger")
    home.book = overridden(home.book, 2.0)
    after = ask(home, "ledger")
    assert after.answer == before.answer and after.headline == before.headline
    for name, frame in before.tables.items():
        assert frame.equals(after.tables[name]), name
    assert set(after.versions["prices"]) ^ set(before.versions["prices"]) == {f"{H100}@1", f"{H100}@2"}
    assert after.versions["catalogue"] == f"{before.versions['catalogue']}+7"


def test_a_price_without_a_rate_gives_no_dollars_and_says_so(home: Home) -> None:
    home.book = overridden(home.book, 1.5, "EUR")
    result = ask(home, "ledger")
    frame = result.tables["ledger"].set_index("run")
    assert frame["usd"].isna().to_dict() == {"steady": True, "broken": False, "apart": True}
    assert any("1.5 EUR per GPU-hour" in w.text and "no rate of EUR" in w.text for w in result.warnings)


def test_the_scenario_stands_beside_what_is_stored(home: Home) -> None:
    stored = {"steady": 160.0, "broken": 36.0}
    result = ask(home, runs=["steady", "broken"], usd_values=["h100-sxm=3.5"])
    assert by_run(result, "usd_stored") == stored
    assert by_run(result, "usd_new") == {"steady": 280.0, "broken": 36.0}
    assert by_run(result, "change_usd") == {"steady": 120.0, "broken": 0.0}
    figures = {f.name: f for f in result.headline}
    assert figures["reprice_difference"].value == 120.0
    new = figures["spend_repriced"]
    assert (new.value, new.low, new.high) == (316.0, 316.0, 316.0)
    assert "$316 instead of $196" in result.answer
    again = ask(home, "ledger", runs=["steady", "broken"]).tables["ledger"]
    assert dict(zip(again["run"], again["usd"], strict=True)) == stored


def test_both_versions_of_every_price_are_named(home: Home) -> None:
    home.book = overridden(home.book, 1.9)
    result = ask(home, runs=["steady"], book_day="2026-01-02")
    assert by_run(result, "usd_new") == {"steady": pytest.approx(152.0)}
    assert result.versions["prices"] == [f"{H100}@2"]
    scenario = ask(home, runs=["steady"], usd_values=["h100-sxm=2"])
    assert scenario.versions["prices"] == [f"{H100}@2", "scenario-h100-sxm@1"]
    assert set(scenario.tables["prices"]["which"]) == {"as stored", "re-priced"}


def test_another_kind_takes_the_place_of_a_price_of_a_pools_own(home: Home) -> None:
    own = next(
        p.price_id for p in home.book.prices() if p.platform_id == "h100-sxm" and p.kind == "on_demand"
    )
    home.add("runs", {"run": "own", "campaign": "math", "synthetic": False})
    home.add("attempts", {"run": "own", "attempt": 1, "status": "completed"})
    home.add("allocations", pool("own", 1, "all", "colocated", "h100-sxm", 3600, gpus=1, price_id=own))
    price = home.book.price_by_id(own)
    assert price is not None
    result = ask(home, runs=["own"], to_price="on_demand.neocloud")
    assert by_run(result, "usd_stored") == {"own": pytest.approx(price.usd_per_gpu_h)}
    assert by_run(result, "usd_new") == {"own": pytest.approx(3.99)}
    same = ask(home, runs=["own"])
    assert by_run(same, "change_usd") == {"own": 0.0}
    assert "reprice_same" in {w.code for w in same.warnings}


def test_a_run_without_dollars_on_one_side_is_left_out_and_said(home: Home) -> None:
    result = ask(home, book_day="2026-01-01")
    assert {f.value for f in result.headline} == {None}
    assert "none of the 3 picked runs" in result.answer
    part = ask(home, runs=["steady", "broken"], to_price="spot.neocloud")
    assert part.tables["runs"].set_index("run")["why"].to_dict() == {
        "steady": "",
        "broken": "no dollars re-priced",
    }
    assert "1 run left out" in part.answer and "reprice_left_out" in {w.code for w in part.warnings}


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"to_price": "on_demand.friends"}, "to_price"),
        ({"usd_values": ["h1000=2"]}, "no platform"),
        ({"usd_values": ["h100-sxm=-2"]}, "values"),
        ({"usd_values": ["h100-sxm"]}, "values"),
        ({"book_day": "May"}, "book_day"),
    ],
)
def test_a_scenario_that_cannot_be_is_refused(home: Home, params: dict[str, Any], word: str) -> None:
    with pytest.raises(UserError, match=word):
        ask(home, **params)


def test_nothing_is_loaded(empty_home: Home) -> None:
    assert {w.code for w in ask(empty_home).warnings} == {"empty_home"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "home")
    yield store
    store.close()


def book_of(store: Store, **params: Any) -> Result:
    with store.view() as view:
        return analysis.run("pricebook", view, params)


def test_the_book_lists_every_price_in_force_with_its_version(store: Store) -> None:
    shipped = [p for p in load_catalogue().prices() if p.value is not None]
    first = book_of(store)
    assert len(first.tables["prices"]) == len(shipped) and "none of them is yours" in first.answer
    override_price(
        store, H100, value=1.9, as_of=date(2026, 5, 1), source="contract", note="signed", who="fin"
    )
    add_price(
        store,
        platform_id="b200-hgx",
        kind="spot",
        tier="neocloud",
        value=2.5,
        currency="EUR",
        as_of=date(2026, 5, 1),
        source="mail",
    )
    result = book_of(store, platform="h100-sxm")
    row = result.tables["prices"].set_index("price_id").loc[H100]
    assert (row["price_value"], row["badge"], row["version"], row["user_name"]) == (1.9, "yours", 2, "fin")
    history = result.tables["history"]
    assert set(history["platform_id"]) == {"h100-sxm"}
    states = history[history["price_id"] == H100].set_index("version")["state"]
    assert states.to_dict() == {1: "replaced", 2: "in force"}
    assert "2 are yours, 1 of them in the place of a shipped one" in result.answer
    assert "1 price in EUR: There is no rate of EUR" in result.warnings[0].text
    assert f"{H100}@2" in result.versions["prices"]
    set_rate(store, "EUR", "1.1", date(2026, 5, 1), "central bank")
    told = book_of(store)
    assert told.warnings == () and list(told.tables["rates"]["usd_per_unit"]) == [1.1]
    own = told.tables["prices"].query("currency == 'EUR'")
    assert own["usd"].tolist() == pytest.approx([2.75])


def test_the_tiny_book_is_dated(home: Home) -> None:
    view: View = home.view()
    assert view.catalogue.on(date(2026, 8, 1)).price("h100-sxm", "reserved_3y", "neocloud") is not None
    assert tiny_book().on(date(2020, 1, 1)).prices() == ()


def test_the_price_taken_is_named_as_people_say_it_with_its_id() -> None:
    pools = [
        {"platform": "gb200-nvl72", "price_id": None, "role": "train"},
        {"platform": "x86-reference", "price_id": None, "role": "sandbox"},
    ]
    _, assumptions, _ = price_rows(pools, load_catalogue(), "reserved_3y.neocloud")
    named = {a.unit: a.name for a in assumptions}
    assert named["USD per GPU-hour"].startswith(
        "price per GPU-hour on GB200 NVL72 (3-year reservation · neocloud; gb200-nvl72-reserved-3y-neocloud"
    )
    assert not any("_" in name for name in named.values()) and len(named) == 2
