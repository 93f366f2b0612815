"""Exchange rates: dated, versioned, and none that nobody entered."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from data.errors import UserError
from data.money.currency import rate_versions, retire_rate, set_rate, usd_rate, why_no_rate
from data.store import Store

MARCH, MAY, JUNE = date(2026, 3, 1), date(2026, 5, 1), date(2026, 6, 1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "home")
    yield store
    store.close()


def rate(store: Store, code: str, day: date) -> Decimal | None:
    with store.view() as view:
        found = usd_rate(view, code, day)
    return None if found is None else found.usd_per_unit


def test_the_dollar_is_one_on_every_day(store: Store) -> None:
    assert rate(store, "usd", date(1999, 1, 1)) == 1


def test_a_rate_counts_from_its_day_until_the_next(store: Store) -> None:
    set_rate(store, "eur", "1.08", MARCH, "central bank", who="finance")
    set_rate(store, "EUR", "1.10", JUNE, "central bank")
    assert [rate(store, "EUR", day) for day in (date(2026, 2, 28), MARCH, MAY, JUNE)] == [
        None,
        Decimal("1.08"),
        Decimal("1.08"),
        Decimal("1.10"),
    ]


def test_a_currency_without_a_rate_is_said_and_not_taken_for_dollars(store: Store) -> None:
    with store.view() as view:
        assert usd_rate(view, "EUR", MAY) is None
        assert "no rate of EUR" in why_no_rate(view, "EUR", MAY)
    set_rate(store, "EUR", "1.10", JUNE, "central bank")
    with store.view() as view:
        assert "dated 2026-06-01, after 2026-05-01" in why_no_rate(view, "EUR", MAY)


def test_a_new_version_leaves_the_old_one_visible(store: Store) -> None:
    set_rate(store, "EUR", "1.08", MARCH, "central bank")
    set_rate(store, "EUR", "1.09", MARCH, "central bank", who="finance", note="typed wrong")
    assert rate(store, "EUR", MAY) == Decimal("1.09")
    with store.view() as view:
        versions = rate_versions(view.money)
    assert [(v.version, v.usd_per_unit, v.who) for v in versions] == [
        (1, Decimal("1.08"), ""),
        (2, Decimal("1.09"), "finance"),
    ]


def test_a_rate_taken_back_counts_for_no_day_and_the_one_before_counts_again(store: Store) -> None:
    set_rate(store, "EUR", "1.08", MARCH, "central bank")
    set_rate(store, "EUR", "1.50", MAY, "a guess")
    retire_rate(store, "EUR", MAY, note="not a source")
    assert rate(store, "EUR", JUNE) == Decimal("1.08")
    with pytest.raises(UserError, match="no rate of EUR dated 2026-05-01"):
        retire_rate(store, "EUR", MAY)


def test_a_view_keeps_the_rates_that_it_was_opened_with(store: Store) -> None:
    set_rate(store, "EUR", "1.08", MARCH, "central bank")
    with store.view() as view:
        set_rate(store, "EUR", "1.20", MARCH, "central bank")
        found = usd_rate(view, "EUR", MAY)
    assert found is not None and found.usd_per_unit == Decimal("1.08")


@pytest.mark.parametrize(
    ("code", "value", "source", "word"),
    [
        ("EURO", "1.08", "x", "currency code"),
        ("USD", "1", "x", "1 on every day"),
        ("EUR", "one", "x", "not a number"),
        ("EUR", "0", "x", "not a rate"),
        ("EUR", "-1", "x", "not a rate"),
        ("EUR", "NaN", "x", "not a rate"),
        ("EUR", "Infinity", "x", "not a rate"),
        ("EUR", "1.08", " ", "no source"),
    ],
)
def test_what_cannot_be_a_rate_is_refused(
    store: Store, code: str, value: str, source: str, word: str
) -> None:
    with pytest.raises(UserError, match=word):
        set_rate(store, code, value, MARCH, source)
    assert store.workspace.decisions(kinds=("currency_rate",)) == []
