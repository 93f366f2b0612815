"""Prices of allocations: which catalogue row each one is paid at, and the assumption that says so."""

from dataclasses import dataclass

import pandas as pd

from analysis.result import Assumption, Notice
from data.catalogue import Catalogue
from data.catalogue_types import PriceChoice

COLUMNS = ("price_id", "price_status", "price_source", "price_date", "usd_per_h", "low_per_h", "high_per_h")


@dataclass(frozen=True)
class Priced:
    """Allocations with the price columns of `COLUMNS`; `usd_per_h` is null where no price exists."""

    allocations: pd.DataFrame
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]


def split_price(price: str) -> tuple[str, str]:
    """Split 'kind.tier'."""
    kind, _, tier = price.partition(".")
    return kind, tier


def attach_prices(allocations: pd.DataFrame, catalogue: Catalogue, price: str) -> Priced:
    """Price every allocation: its own price_id first, else the picker's kind and tier on its platform.

    Sandbox pools are priced per core-hour, everything else per GPU-hour. A price that does not exist leaves
    nulls and a notice; it is never replaced by another.
    """
    keys = allocations[["platform", "price_id", "role"]].copy()
    keys["sandbox"] = keys.pop("role").eq("sandbox")
    distinct = keys.drop_duplicates()
    rows, assumptions, notices = [], {}, []
    for platform, own, sandbox in distinct.itertuples(index=False):
        names = _text(platform), _text(own)
        choice = _choose(catalogue, names, price, bool(sandbox))
        rows.append(_row(choice))
        if choice is None:
            notices.append(_missing(names, price, bool(sandbox), catalogue))
        else:
            assumptions[choice.price_id] = _assume(choice, names, bool(sandbox))
    table = pd.concat(
        [
            distinct.reset_index(drop=True).rename(columns={"price_id": "own_price_id"}),
            pd.DataFrame(rows, columns=list(COLUMNS)).astype(
                {"usd_per_h": "float64", "low_per_h": "float64", "high_per_h": "float64"}
            ),
        ],
        axis=1,
    )
    left = allocations.rename(columns={"price_id": "own_price_id"})
    left["sandbox"] = left["role"].eq("sandbox")
    merged = _null_safe_merge(left, table)
    return Priced(merged, tuple(assumptions[k] for k in sorted(assumptions)), tuple(notices))


def _null_safe_merge(left: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Merge on platform, own price and sandbox, where missing equals missing."""
    keys = ["platform", "own_price_id"]
    for frame in (left, table):
        for key in keys:
            frame[f"{key}__key"] = frame[key].astype(object).where(frame[key].notna(), "")
    on = [f"{k}__key" for k in keys] + ["sandbox"]
    merged = left.merge(table.drop(columns=keys), on=on, how="left", validate="many_to_one")
    return merged.drop(columns=[f"{k}__key" for k in keys])


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, str) and value else None


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


def _assume(choice: PriceChoice, names: tuple[str | None, str | None], sandbox: bool) -> Assumption:
    what = "core-hour" if sandbox else "GPU-hour"
    picked = f"{choice.kind} {choice.tier}".strip()
    chosen = "set in the run details" if names[1] else picked
    return Assumption(
        name=f"price per {what} on {names[0] or 'an unnamed platform'} ({choice.price_id}, {chosen})",
        value=choice.usd_per_gpu_h,
        unit=f"USD per {what}",
        status=choice.status,
        source=choice.source,
        date=choice.as_of or "",
    )


def _missing(names: tuple[str | None, str | None], price: str, sandbox: bool, catalogue: Catalogue) -> Notice:
    platform, own = names
    if own is not None:
        return Notice("price_missing", f"Price '{own}' is not in the price book.", f"price_id {own}")
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
