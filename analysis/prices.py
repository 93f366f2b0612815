"""Prices of allocations: which catalogue row each one is paid at, and the assumption that says so."""

from dataclasses import dataclass

import pandas as pd

from analysis.frames import Row, records, table, text
from analysis.result import Assumption, Notice
from data.catalogue import Catalogue
from data.catalogue_types import PriceChoice, price_words

RATES = ("usd_per_h", "low_per_h", "high_per_h")
COLUMNS = ("price_id", "price_status", "price_source", "price_date", "usd_per_h", "low_per_h", "high_per_h")


@dataclass(frozen=True)
class Priced:
    """Allocations with the price columns of `COLUMNS`; `usd_per_h` is null where no price exists."""

    allocations: pd.DataFrame
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]


@dataclass(frozen=True)
class Pricing:
    """Which book and picker entry allocations are priced with.

    `replaced`: platforms on which the entry also takes the place of a pool's own price; None: on all.
    """

    catalogue: Catalogue
    price: str
    replaced: frozenset[str] | None = frozenset()

    def asked(self, rows: list[Row]) -> list[Row]:
        """Allocations without the own prices that are replaced; sandbox cores keep theirs."""
        return [{**row, "price_id": None} if self._replaces(row) else row for row in rows]

    def _replaces(self, row: Row) -> bool:
        if row["role"] == "sandbox" or text(row["platform"]) is None:
            return False
        return self.replaced is None or row["platform"] in self.replaced


def split_price(price: str) -> tuple[str, str]:
    """Split 'kind.tier'."""
    kind, _, tier = price.partition(".")
    return kind, tier


def price_name(choice: PriceChoice) -> str:
    """Id of a price, with its version once it has another than the first."""
    return choice.price_id if choice.version == 1 else choice.key


def source_words(choice: PriceChoice) -> str:
    """Source of a price; one in another currency also names the rate it was converted at."""
    if not choice.rate_note:
        return choice.source
    return f"{choice.source}; asked in {choice.currency}, at {choice.rate_note}"


def attach_prices(allocations: pd.DataFrame, catalogue: Catalogue, price: str) -> Priced:
    """Price every allocation: its own price_id first, else the picker's kind and tier on its platform.

    Sandbox pools are priced per core-hour, everything else per GPU-hour. A price that does not exist leaves
    nulls and a notice; it is never replaced by another.
    """
    rows, assumptions, notices = price_rows(records(allocations), catalogue, price)
    numbers = [c for c in allocations.columns if allocations[c].dtype.kind in "fi" and c != "attempt"]
    columns = [*("own_price_id" if c == "price_id" else c for c in allocations.columns), *COLUMNS, "sandbox"]
    return Priced(table(rows, columns, [*numbers, *RATES]), assumptions, notices)


def price_rows(
    rows: list[Row], catalogue: Catalogue, price: str
) -> tuple[list[Row], tuple[Assumption, ...], tuple[Notice, ...]]:
    """`attach_prices` on rows: each gets COLUMNS and `sandbox`, its own price moves to `own_price_id`."""
    out, found, assumptions, notices = [], {}, {}, []
    for row in rows:
        sandbox = row["role"] == "sandbox"
        key = text(row["platform"]), text(row["price_id"]), sandbox
        if key not in found:
            choice = _choose(catalogue, key[:2], price, sandbox)
            found[key] = dict(zip(COLUMNS, _row(choice), strict=True))
            if choice is None:
                notices.append(_missing(key[:2], price, sandbox, catalogue))
            else:
                assumptions[choice.price_id] = _assume(choice, key[:2], sandbox, catalogue)
        kept = {name: value for name, value in row.items() if name != "price_id"}
        out.append({**kept, "own_price_id": key[1], **found[key], "sandbox": sandbox})
    return out, tuple(assumptions[k] for k in sorted(assumptions)), tuple(notices)


def _choose(
    catalogue: Catalogue, names: tuple[str | None, str | None], price: str, sandbox: bool
) -> PriceChoice | None:
    platform, own = names
    if own is not None:
        return catalogue.price_by_id(own)
    if platform is None:
        return None
    if sandbox:
        return catalogue.core_price(platform)
    return catalogue.price(platform, *split_price(price))


def _row(choice: PriceChoice | None) -> tuple[object, ...]:
    if choice is None:
        return (None, None, None, None, None, None, None)
    usd = choice.usd_per_gpu_h
    low = usd if choice.low is None else choice.low
    high = usd if choice.high is None else choice.high
    return (choice.price_id, choice.status, choice.source, choice.as_of, usd, min(low, usd), max(high, usd))


def _assume(
    choice: PriceChoice, names: tuple[str | None, str | None], sandbox: bool, catalogue: Catalogue
) -> Assumption:
    what = "core-hour" if sandbox else "GPU-hour"
    picked = price_words(choice.kind, choice.tier).rstrip(" ·")
    platform = catalogue.platform(names[0]) if names[0] else None
    where = platform.name if platform else names[0] or "an unnamed platform"
    chosen = "set in the run details" if names[1] else picked
    return Assumption(
        name=f"price per {what} on {where} ({chosen}; {price_name(choice)})",
        value=choice.usd_per_gpu_h,
        unit=f"USD per {what}",
        status=choice.status,
        source=source_words(choice),
        date=choice.as_of or "",
    )


def _missing(names: tuple[str | None, str | None], price: str, sandbox: bool, catalogue: Catalogue) -> Notice:
    platform, own = names
    if own is not None:
        return Notice("price_missing", catalogue.why_no_price_id(own), f"price_id {own}")
    if sandbox:
        where = platform or "sandbox pool"
        return Notice(
            "sandbox_unpriced", f"Sandbox cores on {where} have no price; left out of the dollars.", where
        )
    if platform is None:
        return Notice(
            "price_missing",
            "A pool names no platform, so it has no price. Name it in the run details.",
            "allocations",
        )
    return Notice("price_missing", catalogue.why_no_price(platform, *split_price(price)), platform)
