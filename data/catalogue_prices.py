"""Prices of the catalogue with what people decided on top: lookups by kind and tier, by id and by day."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Self

from data import catalogue_types as t
from data.money.currency import USD, Rate, missing_rate, rate_on, rate_versions
from data.money.prices import in_force, price_versions

if TYPE_CHECKING:
    from data.workspace import Decision

_CORE_TIERS = (("on_demand", "marketplace"), ("on_demand", "hyperscaler"), ("on_demand", "neocloud"))
_NEVER = date.min


class PriceLookups:
    """The half of `Catalogue` that answers what something costs."""

    version: str
    price_book_date: str
    day: date | None
    dated: bool
    _platforms: dict[str, t.Platform]
    _prices: dict[str, t.Price]
    _versions: dict[str, tuple[t.Price, ...]]
    _rates: tuple[Rate, ...]

    def pinned(self, decisions: Sequence["Decision"], day: date) -> Self:
        """This catalogue with people's live decisions about prices and currencies on top, as of `day`."""
        versions = price_versions(self._prices, decisions)
        rates = tuple(rate_versions(decisions))
        ids = [one.id for one in decisions if one.kind in ("price", "currency_rate")]
        if not ids:
            return replace(self, day=day)  # type: ignore[type-var]
        told = [v.as_of for found in versions.values() for v in found if v.decision]
        told += [rate.date.isoformat() for rate in rates if rate.date]
        pending = f"~{day}" if max(told) > day.isoformat() else ""
        rows = in_force(self._prices, versions, day, dated=False)
        return replace(  # type: ignore[type-var]
            self,
            version=f"{self.version}+{max(ids)}{pending}",
            price_book_date=_newest(rows.values()),
            _prices=rows,
            _versions=versions,
            _rates=rates,
            day=day,
        )

    def on(self, day: date) -> Self:
        """The book of one day: only prices dated on or before it, at the exchange rates of that day."""
        shipped = {p.price_id: p for p in self._shipped()}
        rows = in_force(shipped, self._versions, day, dated=True)
        return replace(  # type: ignore[type-var]
            self, price_book_date=_newest(rows.values()), _prices=rows, day=day, dated=True
        )

    def _shipped(self) -> Iterable[t.Price]:
        for name in dict.fromkeys((*self._prices, *self._versions)):
            found = self._versions.get(name) or (self._prices[name],)
            if not found[0].decision:
                yield found[0]

    def prices(self) -> tuple[t.Price, ...]:
        """All price rows in force, unpublished ones included."""
        return tuple(self._prices.values())

    def versions_of(self, price_id: str) -> tuple[t.Price, ...]:
        """Every version of a price, oldest first; empty when nobody knows the id."""
        if price_id in self._versions:
            return self._versions[price_id]
        row = self._prices.get(price_id)
        return () if row is None else (row,)

    def all_versions(self) -> tuple[t.Price, ...]:
        """Every version of every price, those that count no more included."""
        names = dict.fromkeys((*self._prices, *self._versions))
        return tuple(v for name in names for v in self.versions_of(name))

    def price_key(self, price_id: str) -> str:
        """`id@version` of the version in force; an id that is no price of the book stays as it is."""
        row = self._prices.get(price_id)
        return price_id if row is None else row.key

    def rates(self) -> tuple[Rate, ...]:
        """Every version of every exchange rate."""
        return self._rates

    def usd(self, row: t.Price) -> float | None:
        """The price in US dollars at the rate of the book's day; None: no value, or no rate of it."""
        rate = self._rate(row.currency)
        return None if row.value is None or rate is None else row.value * float(rate.usd_per_unit)

    def _rate(self, currency: str) -> Rate | None:
        return rate_on(self._rates, currency, self.day or _NEVER)

    def price(self, platform_id: str, kind: str, tier: str) -> t.PriceChoice | None:
        """Rent or cost of owning under a picker entry; None: no such price. Never a neighbour's price."""
        return self._choice(platform_id, kind, tier, t.RENT_PER) if kind in t.HELD_KINDS else None

    def price_on(self, platform_id: str, kind: str, tier: str, day: date) -> t.PriceChoice | None:
        """`price` among the prices dated on or before `day`; None: there was none yet, or it has no date."""
        return self.on(day).price(platform_id, kind, tier)

    def core_price(self, platform_id: str) -> t.PriceChoice | None:
        """Rent of a CPU platform in USD per vCPU-hour; the picker has no CPU entries, so its kind is said."""
        found = (self._choice(platform_id, k, tier, (t.CORE_PER,)) for k, tier in _CORE_TIERS)
        return next((c for c in found if c is not None), None)

    def price_by_id(self, price_id: str) -> t.PriceChoice | None:
        """A price by id, with the range of quotes around it; None when unknown, in no dollars or no rent."""
        row = self._prices.get(price_id)
        if row is None or row.per not in (*t.RENT_PER, t.CORE_PER) or row.kind not in t.HELD_KINDS:
            return None
        return self._with_range(row)

    def price_menu(self) -> list[tuple[str, str]]:
        """Picker entries (kind, tier) that at least one platform has, the default first."""
        pairs = {(p.kind, p.tier) for p in self._prices.values() if p.tier and _is_held(p)}
        return sorted(pairs, key=lambda kt: (t.HELD_KINDS.index(kt[0]), t.TIERS.index(kt[1])))

    def why_no_price(self, platform_id: str, kind: str, tier: str) -> str:
        """Sentence that says which kinds and tiers the platform does have."""
        known = self._platforms.get(platform_id)
        if known is None:
            return f"{platform_id} is not in the catalogue, so it has no price."
        held = self._held(platform_id, kind, tier, t.RENT_PER)
        if held is not None and held.value is not None:
            return (
                f"The price {t.price_words(kind, tier)} for {known.name} is {held.value:g} {held.unit}. "
                f"{missing_rate(self._rates, held.currency, self.day or _NEVER)}"
            )
        rows = [p for p in self._prices.values() if p.platform_id == platform_id and _is_rent(p)]
        picks = sorted({(p.kind, p.tier) for p in rows if p.tier}, key=lambda kt: t.RENT_KINDS.index(kt[0]))
        until = f" with a date up to {self.day}" if self.dated else ""
        head = f"No price {t.price_words(kind, tier)} for {known.name}{until} is published"
        if picks:
            return f"{head}; there is {', '.join(t.price_words(k, x) for k, x in picks)}."
        if self.core_price(platform_id):
            return f"{head}: it is a CPU, rented by the vCPU-hour."
        return f"{head}, nor any other rent a GPU-hour."

    def why_no_price_id(self, price_id: str) -> str:
        """Sentence for a price that a pool names and that gives no dollars."""
        row = self._prices.get(price_id)
        if row is not None and row.value is not None and row.currency != USD:
            return f"Price '{price_id}' is {row.value:g} {row.unit}. " + missing_rate(
                self._rates, row.currency, self.day or _NEVER
            )
        newest = max(self._versions.get(price_id, ()), key=lambda v: (v.as_of, v.decision), default=None)
        if row is None and newest is not None:
            word = "is retired since" if newest.retired else "counts only from"
            return f"Price '{price_id}' {word} {newest.as_of}."
        return f"Price '{price_id}' is not in the price book."

    def quotes(self, platform_id: str, kind: str, unit: str) -> tuple[t.Price, ...]:
        """Quotes in force of one platform, kind and unit: what a range spans."""
        per = unit.partition(" per ")[2]
        return tuple(
            p
            for p in self._prices.values()
            if (p.platform_id, p.kind, p.per) == (platform_id, kind, per) and p.value is not None
        )

    def _choice(self, platform_id: str, kind: str, tier: str, per: Sequence[str]) -> t.PriceChoice | None:
        row = self._held(platform_id, kind, tier, per)
        return None if row is None else self._with_range(row)

    def _held(self, platform_id: str, kind: str, tier: str, per: Sequence[str]) -> t.Price | None:
        """The row behind a picker entry: a person's newest one, else the shipped one."""
        wanted = (platform_id, kind, tier)
        rows = [
            p for p in self._prices.values() if (p.platform_id, p.kind, p.tier) == wanted and p.per in per
        ]
        mine = [p for p in rows if p.decision]
        if mine:
            return max(mine, key=lambda p: (p.as_of, p.decision))
        return rows[0] if rows else None

    def _with_range(self, row: t.Price) -> t.PriceChoice | None:
        usd = self.usd(row)
        if usd is None:
            return None
        quotes = [(q, self.usd(q)) for q in self.quotes(row.platform_id, row.kind, row.unit)]
        values = [value for _, value in quotes if value is not None]
        dates = sorted(q.as_of for q, value in quotes if q.as_of and value is not None)
        rate = self._rate(row.currency)
        return t.PriceChoice(
            price_id=row.price_id,
            platform_id=row.platform_id,
            kind=row.kind,
            tier=row.tier,
            usd_per_gpu_h=usd,
            unit=f"{USD} per {row.per}",
            provider=row.provider,
            status=row.status,
            source=row.source,
            as_of=row.as_of,
            note=row.note,
            low=min(values),
            high=max(values),
            n_quotes=len(values),
            first_as_of=dates[0] if dates else "",
            last_as_of=dates[-1] if dates else "",
            version=row.version,
            currency=row.currency,
            own_value=row.value,
            rate_note=_rate_note(rate) if row.currency != USD else "",
        )


def _rate_note(rate: Rate | None) -> str:
    if rate is None or rate.date is None:
        return ""
    return f"{rate.usd_per_unit} USD per {rate.code} ({rate.source}, {rate.date})"


def _newest(rows: Iterable[t.Price]) -> str:
    return max((p.as_of for p in rows if p.value is not None), default="")


def _is_held(row: t.Price) -> bool:
    return row.kind in t.HELD_KINDS and row.per in t.RENT_PER and row.value is not None


def _is_rent(row: t.Price) -> bool:
    return row.kind in t.RENT_KINDS and row.per in t.RENT_PER and row.value is not None
