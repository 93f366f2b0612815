"""What people enter about prices, checked before it is decided: add, override, retire, import."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from data import catalogue_types as t
from data.errors import UserError
from data.money.currency import currency_code
from data.money.prices import IMPORT, RETIRE, SET

if TYPE_CHECKING:
    from data.catalogue import Catalogue
    from data.store import Store
    from data.workspace import Decision

ENTRY_KINDS = (*t.RENT_KINDS, "own_tco", "purchase_gpu", "purchase_rack")
ENTRY_PER = (*t.RENT_PER, t.CORE_PER, "unit", "rack")
PREFIX = "yours-"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,119}")


def add_price(
    store: "Store",
    *,
    platform_id: str,
    kind: str,
    value: float,
    as_of: date,
    source: str,
    tier: str = "",
    per: str = "GPU-hour",
    currency: str = t.USD,
    provider: str = "",
    region: str = "",
    price_id: str = "",
    note: str = "",
    who: str = "",
) -> "Decision":
    """Enter a new price that counts from `as_of` on; UserError names the field that cannot be used.

    Without `price_id` it gets one of its own. With a tier it becomes what the picker entry stands for.
    """
    code = currency_code(currency)
    row: dict[str, Any] = {"platform_id": platform_id, "kind": kind, "tier": tier}
    row |= {"provider": provider, "region": region}
    row |= {"value": value, "unit": f"{code} per {per}", "currency": code, "as_of": as_of.isoformat()}
    row |= {"source": source.strip(), "note": note.strip(), "who": who.strip()}
    with store.exclusive():
        book = _book(store)
        row["price_id"] = price_id.strip() or _free_id(
            book, f"{PREFIX}{platform_id}-{kind}-{tier or provider}"
        )
        if book.versions_of(row["price_id"]):
            raise UserError(
                f"There is a price {row['price_id']} already",
                "price id",
                "Override it, or choose another id.",
            )
        _check(book, row)
        return store.workspace.decide("price", {"action": SET, **row})


def override_price(
    store: "Store",
    price_id: str,
    *,
    value: float,
    as_of: date,
    source: str,
    note: str,
    currency: str | None = None,
    tier: str | None = None,
    provider: str | None = None,
    who: str = "",
) -> "Decision":
    """Enter a new version of a price, shipped or yours, that counts from `as_of` on; the others stay visible.

    A `note` that says why is required. Platform, kind and what it is paid for stay as they are.
    """
    if not note.strip():
        raise UserError("The override does not say why", "note", "Write what changed, or what was wrong.")
    with store.exclusive():
        book = _book(store)
        last = _newest(book, price_id)
        code = last.currency if currency is None else currency_code(currency)
        row = _row(last) | {"value": value, "currency": code, "unit": f"{code} per {last.per}"}
        row |= {"provider": last.provider if provider is None else provider.strip()}
        row |= {"tier": last.tier if tier is None else tier, "as_of": as_of.isoformat()}
        row |= {"source": source.strip(), "note": note.strip(), "who": who.strip()}
        _check(book, row)
        return store.workspace.decide("price", {"action": SET, **row})


def retire_price(store: "Store", price_id: str, *, as_of: date, note: str, who: str = "") -> "Decision":
    """Let a price count no more from `as_of` on; days before keep it. A `note` that says why is required."""
    if not note.strip():
        raise UserError("Retiring a price needs a reason", "note", "Write why it counts no more.")
    with store.exclusive():
        book = _book(store)
        last = _newest(book, price_id)
        entered = [v for v in book.versions_of(price_id) if v.decision]
        newest = max((v.as_of for v in entered), default="")
        if last.retired and newest <= as_of.isoformat():
            raise UserError(
                f"Price {price_id} is retired since {newest}", "price id", "Override it to revive it."
            )
        if newest > as_of.isoformat():
            raise UserError(
                f"A version of {price_id} counts from {newest} on",
                "date",
                f"Retire it from {newest} or later.",
            )
        told = {**_row(last), "action": RETIRE, "value": None, "as_of": as_of.isoformat()}
        told |= {"source": last.source, "note": note.strip(), "who": who.strip()}
        return store.workspace.decide("price", told)


def import_prices(
    store: "Store",
    rows: Sequence[Mapping[str, Any]],
    *,
    as_of: date,
    source: str,
    file: str,
    sha256: str,
    note: str = "",
    who: str = "",
) -> "Decision":
    """Enter all prices of one file as one decision; a price that is known gets a new version.

    UserError when there is none, a row cannot be used, or the same file was imported with this date before.
    """
    if not rows:
        raise UserError("The file holds no price that can be used", file, "Read why its rows were set aside.")
    if not source.strip():
        raise UserError("The import has no source", "source", "Say where the file comes from.")
    shared = {"as_of": as_of.isoformat(), "source": source.strip(), "note": note.strip(), "who": who.strip()}
    with store.exclusive():
        book = _book(store)
        _refuse_again(store, file, sha256, shared["as_of"])
        for row in rows:
            _check(book, {**shared, **row})
        payload = {
            "action": IMPORT,
            "file": file,
            "sha256": sha256,
            **shared,
            "prices": [dict(r) for r in rows],
        }
        return store.workspace.decide("price", payload)


def _refuse_again(store: "Store", file: str, sha256: str, as_of: str) -> None:
    for one in store.workspace.decisions(live_only=True, kinds=("price",)):
        told = one.payload
        if told["action"] == IMPORT and (told["sha256"], told["as_of"]) == (sha256, as_of):
            what = f"This file was imported on {one.at:%Y-%m-%d} with this date"
            raise UserError(what, file, "Nothing is left to do.")


def _book(store: "Store") -> "Catalogue":
    with store.view() as view:
        return view.catalogue


def _newest(book: "Catalogue", price_id: str) -> t.Price:
    found = book.versions_of(price_id)
    if not found:
        raise UserError(f"There is no price {price_id}", "price id", "Choose one from the table.")
    return found[-1]


def _row(last: t.Price) -> dict[str, Any]:
    names = ("price_id", "platform_id", "kind", "tier", "provider", "region", "unit", "currency")
    return {name: getattr(last, name) for name in names}


def _check(book: "Catalogue", row: Mapping[str, Any]) -> None:
    """Refuse what a price cannot be."""
    if book.platform(row["platform_id"]) is None:
        _one_of("platform", row["platform_id"], [p.platform_id for p in book.platforms()])
    if not book.versions_of(row["price_id"]):
        _one_of("kind", row["kind"], ENTRY_KINDS)
        _one_of("unit", str(row["unit"]).partition(" per ")[2], ENTRY_PER)
    if row["tier"]:
        rented = row["kind"] in t.RENT_KINDS
        _one_of("tier", row["tier"], [tier for tier in t.TIERS if (tier != "owned") == rented])
    value = row["value"]
    if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise UserError(f"{value} is not a price", "value", "Write an amount above 0.")
    if not row["source"]:
        raise UserError("The price has no source", "source", "Say where it was read, or name the contract.")
    if not _NAME.fullmatch(row["price_id"]):
        raise UserError(
            f"'{row['price_id']}' is no price id",
            "price id",
            "Use small letters, digits, dots, dashes and underscores.",
        )


def _one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UserError(f"'{value}' is not a known {name}", name, f"Use one of {', '.join(allowed)}.")


def slug(text: str) -> str:
    """Text as part of a price id.

    >>> slug("Oracle Cloud, eu-1")
    'oracle-cloud-eu-1'
    """
    return re.sub(r"[^a-z0-9.]+", "-", text.casefold()).strip("-.")


def _free_id(book: "Catalogue", wanted: str) -> str:
    base = slug(wanted.replace("_", "-"))
    name, number = base, 1
    while book.versions_of(name):
        number += 1
        name = f"{base}-{number}"
    return name
