"""Prices by the token of hosted training services: data/catalog/token_prices.csv."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from data import catalogue_types as t
from data.catalogue_rows import Line, check_evidence, read_rows, unique

TOKEN_KINDS = ("prefill", "cached_prefill", "sample", "train")
UNIT = "USD per million tokens"
STANDARD = "standard"


@dataclass(frozen=True)
class TokenPrice:
    """One price of a list: `llm` is the catalogue's id of `model`, or its name in small letters.

    `context`: standard, or the longer context window that costs more. `value` in USD per million tokens.
    """

    price_id: str
    service: str
    model: str
    llm: str
    kind: str
    context: str
    value: float
    unit: str
    as_of: str
    status: str
    source: str
    note: str


@dataclass(frozen=True)
class TokenRates:
    """Prices of one model on the newest list that has them all; `cached` where the list has it."""

    prefill: TokenPrice
    sample: TokenPrice
    train: TokenPrice
    cached: TokenPrice | None

    @property
    def rows(self) -> tuple[TokenPrice, ...]:
        """The price rows that are there."""
        return tuple(p for p in (self.prefill, self.cached, self.sample, self.train) if p is not None)


def load_token_prices(folder: Path) -> tuple[TokenPrice, ...]:
    """All rows in file order; raises CatalogueError naming file and line."""
    ids: dict[tuple[str, ...], str] = {}
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: TokenPrice) -> None:
        for column in ("price_id", "service", "model", "llm", "context"):
            line.need(column)
        check_evidence(line, value="value", allowed=t.FACT_STATUSES, date="as_of")
        unique(ids, (row.price_id,), line, "price id")
        unique(seen, (row.service, row.llm, row.kind, row.context, row.as_of), line, "the price of")
        if row.kind not in TOKEN_KINDS:
            raise line.refuse(f"kind {row.kind!r} is unknown", f"Use one of {', '.join(TOKEN_KINDS)}.")
        if row.unit != UNIT:
            raise line.refuse(f"unit {row.unit!r} is unknown", f"Convert it to {UNIT}.")
        if row.value <= 0:
            raise line.refuse(
                f"a price of {row.value:g} is not a price", "Remove the row when it is unknown."
            )

    return tuple(read_rows(folder / "token_prices.csv", TokenPrice, check))


def token_rates(prices: Iterable[TokenPrice], service: str, llm: str) -> TokenRates | None:
    """Newest whole list (prefill, sample, train) of a model at standard context; None when there is none."""
    wanted = llm.strip().casefold()
    lists: dict[str, dict[str, TokenPrice]] = {}
    for price in prices:
        names = (price.llm.casefold(), price.model.casefold(), price.model.rpartition("/")[2].casefold())
        if price.service == service and price.context == STANDARD and wanted in names:
            lists.setdefault(price.as_of, {})[price.kind] = price
    whole = {day: kinds for day, kinds in lists.items() if {"prefill", "sample", "train"} <= set(kinds)}
    if not whole:
        return None
    kinds = whole[max(whole)]
    return TokenRates(kinds["prefill"], kinds["sample"], kinds["train"], kinds.get("cached_prefill"))
