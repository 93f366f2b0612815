"""One book: shipped rows with people's on top, by version and by day; every version stays."""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.catalogue import Catalogue, load_catalogue
from data.errors import UserError
from data.money.currency import set_rate
from data.money.price_entry import add_price, override_price, retire_price
from data.money.prices import in_force
from data.store import Store
from data.workspace import utc_now
from tests.examples import some

LIST = "h100-sxm-reserved-3y-neocloud-2026-07"
RENT = ("h100-sxm", "reserved_3y", "neocloud")
JAN, MAY, JUNE, AUG = (date(2026, month, 1) for month in (1, 5, 6, 8))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "home")
    yield store
    store.close()


def book(store: Store) -> Catalogue:
    with store.view() as view:
        return view.catalogue


def usd(store: Store, *pick: str) -> float | None:
    choice = book(store).price(*(pick or RENT))
    return None if choice is None else choice.usd_per_gpu_h


def usd_on(store: Store, day: date, *pick: str) -> float | None:
    choice = book(store).price_on(*(pick or RENT), day)
    return None if choice is None else choice.usd_per_gpu_h


def add(store: Store, **more: Any) -> str:
    row = {"platform_id": "h100-sxm", "kind": "reserved_3y", "tier": "neocloud", "value": 1.8, "as_of": JUNE}
    return str(add_price(store, **{**row, "source": "our contract", **more}).payload["price_id"])


def override(store: Store, value: float, day: date, **more: Any) -> None:
    told = {"price_id": LIST, "source": "our contract", "note": "signed", **more}
    override_price(store, value=value, as_of=day, **told)


def test_without_decisions_the_book_is_the_shipped_one(store: Store) -> None:
    found, shipped = book(store), load_catalogue()
    assert found.version == shipped.version and found.prices() == shipped.prices()


def test_an_added_price_with_a_tier_is_what_the_picker_means(store: Store) -> None:
    name = add(store, who="finance")
    choice = book(store).price(*RENT)
    assert choice is not None
    assert (choice.price_id, choice.key, choice.status) == (name, f"{name}@1", "user")
    assert choice.usd_per_gpu_h == 1.8 and (choice.low, choice.high) == (1.3, 2.0)
    kept = book(store).price_by_id(LIST)
    assert kept is not None and kept.usd_per_gpu_h == 2.0


def test_a_new_kind_and_tier_joins_the_menu(store: Store) -> None:
    assert ("spot", "hyperscaler") not in book(store).price_menu()
    add(store, kind="spot", tier="hyperscaler")
    assert ("spot", "hyperscaler") in book(store).price_menu()
    add(store, kind="contract_1y", tier="", value=9)
    assert usd(store, "h100-sxm", "contract_1y", "neocloud") == 2.35


def test_an_override_is_a_new_version_and_the_old_ones_stay(store: Store) -> None:
    before = book(store).version
    override(store, 1.9, MAY, who="finance")
    override(store, 1.7, JUNE)
    found = book(store)
    assert [(v.version, v.value, v.who, v.note) for v in found.versions_of(LIST)] == [
        (1, 2.0, "", "3-year commitment"),
        (2, 1.9, "finance", "signed"),
        (3, 1.7, "", "signed"),
    ]
    assert found.price_key(LIST) == f"{LIST}@3" and usd(store) == 1.7
    assert found.version == f"{before}+2"


def test_a_price_has_a_history(store: Store) -> None:
    override(store, 1.9, MAY)
    override(store, 1.7, AUG)
    days = (date(2026, 4, 30), MAY, date(2026, 7, 31), AUG)
    assert [usd_on(store, day) for day in days] == [None, 1.9, 1.9, 1.7]


def test_an_entry_for_the_past_does_not_undo_a_later_one(store: Store) -> None:
    override(store, 1.7, AUG)
    override(store, 1.9, MAY)
    assert usd(store) == 1.7 and usd_on(store, JUNE) == 1.9


def test_a_correction_of_the_same_day_counts(store: Store) -> None:
    override(store, 1.9, MAY)
    override(store, 1.85, MAY)
    assert usd(store) == usd_on(store, MAY) == 1.85


def test_an_override_dated_before_the_shipped_row_counts(store: Store) -> None:
    override(store, 1.6, JAN)
    assert usd(store) == 1.6 and usd_on(store, MAY) == 1.6


def test_a_price_of_the_future_counts_when_its_day_has_come(store: Store) -> None:
    tomorrow = utc_now().date() + timedelta(days=1)
    override(store, 1.5, tomorrow)
    assert usd(store) == 2.0 and usd_on(store, tomorrow) == 1.5
    assert book(store).version.endswith(f"~{utc_now().date()}")


def test_a_dated_lookup_never_takes_a_later_or_undated_price(store: Store) -> None:
    assert usd_on(store, date(2026, 6, 30)) is None and usd_on(store, date(2026, 7, 1)) == 2.0
    undated = ("gh200", "on_demand", "neocloud")
    assert usd(store, *undated) == 2.29 and usd_on(store, AUG, *undated) is None
    assert "with a date up to 2026-05-01" in book(store).on(MAY).why_no_price(*RENT)


def test_a_retired_price_counts_no_more_and_days_before_keep_it(store: Store) -> None:
    name = add(store)
    retire_price(store, name, as_of=AUG, note="contract ended")
    assert usd(store) == 2.0 and usd_on(store, date(2026, 7, 31)) == 1.8 and usd_on(store, AUG) == 2.0
    assert book(store).why_no_price_id(name) == f"Price '{name}' is retired since 2026-08-01."
    assert [v.retired for v in book(store).versions_of(name)] == [False, True]
    with pytest.raises(UserError, match="retired since"):
        retire_price(store, name, as_of=AUG, note="again")
    override(store, 1.75, AUG, price_id=name)
    assert usd(store) == 1.75


def test_a_shipped_price_can_be_retired(store: Store) -> None:
    retire_price(store, LIST, as_of=MAY, note="nobody sells at this price")
    assert usd(store) is None and LIST not in {p.price_id for p in book(store).prices()}


def test_retiring_before_the_newest_version_is_refused(store: Store) -> None:
    override(store, 1.7, AUG)
    with pytest.raises(UserError, match="counts from 2026-08-01"):
        retire_price(store, LIST, as_of=JUNE, note="too early")


def test_a_view_keeps_the_book_that_it_was_opened_with(store: Store) -> None:
    with store.view() as view:
        override(store, 1.5, MAY)
        choice = view.catalogue.price(*RENT)
    assert choice is not None and (choice.usd_per_gpu_h, choice.version) == (2.0, 1)


def test_another_currency_without_a_rate_never_yields_dollars(store: Store) -> None:
    name = add(store, currency="EUR", value=1.5)
    assert usd(store) is None and book(store).price_by_id(name) is None
    why = book(store).why_no_price(*RENT)
    assert "1.5 EUR per GPU-hour" in why and "no rate of EUR" in why
    assert "no rate of EUR" in book(store).why_no_price_id(name)
    assert all(q.currency == "USD" for q in book(store).prices() if q.unit.startswith("USD"))


def test_another_currency_is_converted_at_the_rate_of_the_day(store: Store) -> None:
    add(store, currency="EUR", value=1.5)
    set_rate(store, "EUR", "1.10", JUNE, "central bank")
    set_rate(store, "EUR", "1.20", AUG, "central bank")
    choice = book(store).price(*RENT)
    assert choice is not None and choice.usd_per_gpu_h == pytest.approx(1.8)
    assert (choice.unit, choice.currency, choice.own_value) == ("USD per GPU-hour", "EUR", 1.5)
    assert choice.rate_note == "1.20 USD per EUR (central bank, 2026-08-01)"
    assert usd_on(store, JUNE) == pytest.approx(1.65)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"platform_id": "h1000"}, "platform"),
        ({"kind": "weekly"}, "kind"),
        ({"tier": "friends"}, "tier"),
        ({"tier": "owned"}, "tier"),
        ({"per": "moon"}, "unit"),
        ({"value": 0}, "not a price"),
        ({"value": float("nan")}, "not a price"),
        ({"value": -1.0}, "not a price"),
        ({"source": " "}, "no source"),
        ({"currency": "EURO"}, "currency"),
        ({"price_id": "Not An Id"}, "no price id"),
        ({"price_id": LIST}, "already"),
    ],
)
def test_what_cannot_be_a_price_is_refused(store: Store, change: dict[str, Any], word: str) -> None:
    with pytest.raises(UserError, match=word):
        add(store, **change)
    assert store.workspace.decisions() == []


def test_an_override_needs_a_reason_and_a_price_that_exists(store: Store) -> None:
    with pytest.raises(UserError, match="why"):
        override(store, 1.5, MAY, note=" ")
    with pytest.raises(UserError, match="no price nothing"):
        override(store, 1.5, MAY, price_id="nothing")


def test_two_prices_of_one_kind_get_ids_of_their_own(store: Store) -> None:
    assert add(store) != add(store, as_of=AUG, value=1.7)
    assert usd(store) == 1.7 and usd_on(store, JUNE) == 1.8


@settings(max_examples=some(17), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 400), st.floats(0.1, 100), st.booleans()), max_size=6),
    st.integers(0, 400),
)
def test_the_newest_day_wins_and_of_one_day_the_later_entry(
    entries: list[tuple[int, float, bool]], at: int
) -> None:
    """Against a plain loop over the entries in the order of their days."""
    shipped = {LIST: load_catalogue().versions_of(LIST)[0]}
    start, versions = date(2026, 1, 1), [shipped[LIST]]
    for number, (day, value, retired) in enumerate(entries, start=1):
        fields = {k: v for k, v in vars(shipped[LIST]).items() if k not in ("version", "decision", "value")}
        told = {**fields, "as_of": (start + timedelta(days=day)).isoformat(), "retired": retired}
        versions.append(type(shipped[LIST])(**told, value=value, version=number + 1, decision=number))
    wanted: float | None = shipped[LIST].value
    for day, value, retired in sorted(entries, key=lambda entry: entry[0]):
        if day <= at:
            wanted = None if retired else value
    found = in_force(shipped, {LIST: tuple(versions)}, start + timedelta(days=at), dated=False)
    assert (found[LIST].value if LIST in found else None) == wanted
