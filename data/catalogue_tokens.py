"""Prices by the token of hosted training services: the service prices of single models."""

from collections.abc import Iterable
from dataclasses import dataclass

from data.catalogue_services import STANDARD, TOKEN_KINDS, ServicePrice


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


def token_prices(rows: Iterable[ServicePrice]) -> tuple[TokenPrice, ...]:
    """The prices by the token of single models, in file order; those of plain inference are no training."""
    return tuple(
        TokenPrice(
            price_id=row.price_id,
            service=row.service,
            model=row.model,
            llm=row.llm,
            kind=row.kind,
            context=row.context,
            value=row.value,
            unit=row.unit,
            as_of=row.as_of,
            status=row.status,
            source=row.source,
            note=row.note,
        )
        for row in rows
        if row.kind in TOKEN_KINDS and row.llm and row.value is not None and "inference" not in row.methods
    )


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
