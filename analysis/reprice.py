"""The same runs at other prices, beside what they cost as stored. A scenario: no stored price moves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import pandas as pd
from pydantic import field_validator

from analysis.common import figure, nothing, result
from analysis.frames import NAN, Row, known, number, ratio, records, table
from analysis.params import CommonParams
from analysis.prices import Pricing, split_price
from analysis.result import Assumption, Figure, Notice, Result
from analysis.spend import Spend, compute_spend
from analysis.words import digits3, listing, money, plural
from data.catalogue import Catalogue
from data.catalogue_types import RENT_PER, STATUS_WORDS, Price, price_words
from data.errors import UserError
from data.view import View

NUMBERS = ["gpu_hours", "usd_stored", "usd_new", "change_usd", "change_frac"]
RUNS = ["run", "campaign", *NUMBERS, "why"]
PRICES = ["which", "platform", "price_id", "version", "usd_per_h", "as_of", "badge", "price_source"]
NOT_MOVED = "metered"


class RepriceParams(CommonParams):
    """`to_price`: another kind.tier; `book_day`: YYYY-MM-DD, the book of that day; `usd_values`:
    platform=USD.

    Empty means: as stored. A value is USD a GPU-hour (a chip-hour where the platform is rented so).
    """

    question = "reprice"
    to_price: str = ""
    book_day: str = ""
    usd_values: tuple[str, ...] = ()

    @field_validator("book_day")
    @classmethod
    def _day(cls, value: str) -> str:
        if value:
            date.fromisoformat(value)
        return value

    @field_validator("usd_values")
    @classmethod
    def _amounts(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for one in given:
            platform, sign, amount = one.partition("=")
            if not (platform and sign) or not 0 < float(amount) < float("inf"):
                raise ValueError(f"{one} is not platform=USD with an amount above 0")
        return given


@dataclass(frozen=True)
class _Scenario:
    """The prices of the scenario, and how people say them."""

    pricing: Pricing
    words: str
    is_same: bool


def compute(view: View, params: RepriceParams) -> Result:
    """Price the picked runs twice; UserError for a price, day or platform that does not exist."""
    scenario = _scenario(view.catalogue, params)
    stored = compute_spend(view, params)
    if stored.runs.empty:
        return nothing("reprice", view, params, {"runs": RUNS, "prices": PRICES})
    other = compute_spend(view, params, scenario.pricing)
    rows = _runs(stored, other)
    both = [row for row in rows if known(row["change_usd"])]
    keys = [*_keys(stored, view.catalogue), *_keys(other, scenario.pricing.catalogue)]
    return result(
        "reprice",
        view,
        params,
        _answer(rows, both, scenario, params),
        headline=_figures(both, params),
        tables={
            "runs": table(rows, RUNS, NUMBERS),
            "prices": _prices(stored, other, view.catalogue, scenario.pricing.catalogue),
        },
        assumptions=[*_named(stored, "as stored"), *_named(other, "re-priced")],
        notices=_notices(stored, other, rows, scenario),
        prices=pd.DataFrame({"price_id": keys}),
    )


def _scenario(book: Catalogue, params: RepriceParams) -> _Scenario:
    price, words = params.to_price or params.price, []
    if params.to_price and split_price(price) not in book.price_menu():
        known_ones = ", ".join(f"{kind}.{tier}" for kind, tier in book.price_menu())
        raise UserError(
            f"'{price}' is no price of the book", "parameter to_price", f"Use one of {known_ones}."
        )
    if params.to_price:
        words.append(price_words(*split_price(price)))
    if params.book_day:
        book = book.on(date.fromisoformat(params.book_day))
        words.append(f"the book of {params.book_day}")
    amounts = dict(_amount(one, book) for one in params.usd_values)
    for platform, usd in amounts.items():
        book = _with_amount(book, platform, price, usd)
        words.append(f"{money(usd)} on {book.platform(platform).name}")  # type: ignore[union-attr]
    replaced = None if params.to_price else frozenset(amounts)
    same = not (params.book_day or amounts) and price == params.price
    return _Scenario(Pricing(book, price, replaced), listing(words, 6) or "the same prices", same)


def _amount(text: str, book: Catalogue) -> tuple[str, float]:
    platform, _, amount = text.partition("=")
    if book.platform(platform) is None:
        names = ", ".join(p.platform_id for p in book.platforms())
        raise UserError(f"'{platform}' is no platform", "parameter usd_values", f"Use one of {names}.")
    return platform, float(amount)


def _with_amount(book: Catalogue, platform_id: str, price: str, usd: float) -> Catalogue:
    """The book with one price of the platform under the picked entry: the amount that was typed."""
    kind, tier = split_price(price)
    rows = {
        name: row
        for name, row in book._prices.items()
        if not (row.platform_id == platform_id and row.kind == kind and row.per in RENT_PER)
    }
    old = next((p for p in book.prices() if p.platform_id == platform_id and p.per in RENT_PER), None)
    per = old.per if old is not None else "GPU-hour"
    name = f"scenario-{platform_id}"
    rows[name] = Price(
        price_id=name,
        platform_id=platform_id,
        kind=kind,
        tier=tier,
        provider="",
        region="",
        value=usd,
        unit=f"USD per {per}",
        currency="USD",
        as_of="",
        status="user",
        source="typed into the scenario",
        note="",
    )
    return replace(book, _prices=rows)


def _runs(stored: Spend, other: Spend) -> list[Row]:
    new = {row["run"]: row for row in records(other.runs)}
    out = []
    for row in records(stored.runs):
        usd, usd_new = number(row["usd"]), number(new[row["run"]]["usd"])
        lacking = [w for w, v in (("as stored", usd), ("re-priced", usd_new)) if not known(v)]
        out.append(
            {
                "run": row["run"],
                "campaign": row["campaign"],
                "gpu_hours": number(row["gpu_hours"]),
                "usd_stored": usd,
                "usd_new": usd_new,
                "change_usd": usd_new - usd if not lacking else NAN,
                "change_frac": ratio(usd_new - usd, usd) if not lacking else NAN,
                "why": f"no dollars {' and '.join(lacking)}" if lacking else "",
                "low": (number(row["usd_low"]), number(new[row["run"]]["usd_low"])),
                "high": (number(row["usd_high"]), number(new[row["run"]]["usd_high"])),
                "basis": row["basis"],
            }
        )
    return out


def _figures(both: Sequence[Row], params: RepriceParams) -> list[Figure]:
    if not both:
        missing = "no picked run has dollars on both sides: see the warnings"
        names = ("spend_as_stored", "spend_repriced", "reprice_difference")
        return [figure(name, None, boundary=params.boundary, missing=missing) for name in names]
    out = []
    for place, (name, column) in enumerate(
        (("spend_as_stored", "usd_stored"), ("spend_repriced", "usd_new"))
    ):
        ends = {e: sum(row[e][place] for row in both) for e in ("low", "high")}
        total = sum(row[column] for row in both)
        out.append(figure(name, total, **ends, interval="quote_range", n=len(both), boundary=params.boundary))
    change = sum(row["change_usd"] for row in both)
    return [*out, figure("reprice_difference", change, n=len(both), boundary=params.boundary)]


def _keys(spend: Spend, book: Catalogue) -> list[str]:
    return [book.price_key(name) for name in spend.allocations["price_id"].dropna().unique()]


def _prices(stored: Spend, other: Spend, book: Catalogue, scenario: Catalogue) -> pd.DataFrame:
    out: dict[tuple[str, str], Row] = {}
    for which, spend, held in (("as stored", stored, book), ("re-priced", other, scenario)):
        for row in spend.rows:
            if row["price_id"] is not None:
                version = held.price_key(row["price_id"]).rpartition("@")[2]
                out[which, row["price_id"]] = {
                    "which": which,
                    "platform": row["platform"],
                    "price_id": row["price_id"],
                    "version": number(version),
                    "usd_per_h": row["usd_per_h"],
                    "as_of": row["price_date"],
                    "badge": STATUS_WORDS[row["price_status"]],
                    "price_source": row["price_source"],
                }
    return table(list(out.values()), PRICES, ["version", "usd_per_h"]).astype({"version": "Int64"})


def _named(spend: Spend, which: str) -> list[Assumption]:
    return [replace(one, name=f"{which}: {one.name}") for one in spend.assumptions]


def _notices(stored: Spend, other: Spend, rows: Sequence[Row], scenario: _Scenario) -> list[Notice]:
    out = [*stored.notices, *other.notices]
    hosted = [row["run"] for row in rows if NOT_MOVED in row["basis"]]
    if hosted:
        words = f"{listing(hosted)} pay by the token: the scenario changes prices of GPU-hours alone."
        out.append(Notice("tokens_not_repriced", words, "; ".join(hosted)))
    lacking = [row["run"] for row in rows if row["why"]]
    if lacking:
        words = f"{listing(lacking)} left out of the totals: no dollars on one of the two sides."
        out.append(Notice("reprice_left_out", words, "; ".join(lacking)))
    if scenario.is_same:
        out.append(Notice("reprice_same", "The scenario names no other price: both sides are the same."))
    return out


def _answer(rows: Sequence[Row], both: Sequence[Row], scenario: _Scenario, params: RepriceParams) -> str:
    if not both:
        return f"At {scenario.words} none of the {len(rows)} picked runs has dollars on both sides."
    old, new = (sum(row[name] for row in both) for name in ("usd_stored", "usd_new"))
    times = f" ({digits3(new / old)} times)" if old > 0 else ""
    left = len(rows) - len(both)
    tail = f" {left} {plural('run', left)} left out." if left else ""
    what = f"{len(both)} {plural('run', len(both))}"
    return (
        f"At {scenario.words} {what} would cost {money(new)} instead of {money(old)}{times}, "
        f"{params.boundary} boundary; what is stored stays as it is.{tail}"
    )
