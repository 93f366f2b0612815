"""The price book as a question: every price in force, every version, every exchange rate."""

from collections import Counter

import pandas as pd

from analysis.common import result
from analysis.frames import Row, table
from analysis.params import CommonParams
from analysis.result import Assumption, Notice, Result
from analysis.words import plural
from data.catalogue import Catalogue
from data.catalogue_types import RENT_KINDS, STATUS_WORDS, Price
from data.errors import UserError
from data.money.currency import live_rates, missing_rate
from data.view import View

LEAD = ["price_id", "platform_id", "platform", "kind", "tier", "badge", "provider", "region"]
PRICES = [
    *LEAD,
    "price_value",
    "unit",
    "currency",
    "usd",
    "as_of",
    "status",
    "price_source",
    "price_note",
    "version",
    "user_name",
    "entered_at",
]
VERSIONS = [*PRICES, "state", "day"]
RATES = [
    "code",
    "usd_per_unit",
    "date",
    "source",
    "status",
    "version",
    "state",
    "user_name",
    "note",
    "entered_at",
]
NUMBERS = ["price_value", "usd", "version"]
IN_FORCE, EARLIER, PENDING, RETIRED, REPLACED = "in force", "earlier", "not yet", "retired", "replaced"


class PriceBookParams(CommonParams):
    """`platform`: whose versions the table `history` holds; empty: all."""

    question = "pricebook"
    platform: str = ""


def compute(view: View, params: PriceBookParams) -> Result:
    """The book of a view; UserError for a platform that the catalogue does not know."""
    book = view.catalogue
    if params.platform and book.platform(params.platform) is None:
        names = ", ".join(p.platform_id for p in book.platforms())
        raise UserError(f"'{params.platform}' is no platform", "platform", f"Use one of {names}.")
    prices = table([_row(book, p) for p in book.prices() if p.value is not None], PRICES, NUMBERS)
    wanted = [v for v in book.all_versions() if params.platform in ("", v.platform_id)]
    versions = [{**_row(book, v), "state": state_of(book, v), "day": _day(v)} for v in wanted]
    history = table(versions, VERSIONS, NUMBERS)
    history["day"] = pd.to_datetime(history["day"])
    return result(
        "pricebook",
        view,
        params,
        _answer(book),
        tables={"prices": prices, "history": history, "rates": _rates(book)},
        assumptions=_assumptions(book),
        notices=_notices(view, book),
        prices=prices.loc[prices["status"] == "user", ["price_id"]],
    )


def _row(book: Catalogue, price: Price) -> Row:
    known = book.platform(price.platform_id)
    return {
        **vars(price),
        "platform": known.name if known is not None else price.platform_id,
        "badge": STATUS_WORDS[price.status],
        "price_value": price.value,
        "usd": book.usd(price),
        "price_source": price.source,
        "price_note": price.note,
        "user_name": price.who,
        "entered_at": price.at,
    }


def state_of(book: Catalogue, price: Price) -> str:
    """A version on the book's day: in force, earlier, not yet, retired, or replaced by a correction."""
    if book.price_key(price.price_id) == price.key:
        return IN_FORCE
    mine = [v for v in book.versions_of(price.price_id) if v.decision]
    if price.decision:
        replaced = any(v.as_of == price.as_of and v.decision > price.decision for v in mine)
    else:
        replaced = not price.from_day or price.from_day >= min(v.as_of for v in mine)
    if replaced:
        return REPLACED
    if price.retired:
        return RETIRED
    return PENDING if book.day is not None and price.from_day > book.day.isoformat() else EARLIER


def _day(price: Price) -> str | None:
    """Middle of the month or year that a partial date names, so that a dot claims no first day."""
    return price.as_of + {4: "-07-01", 7: "-15"}.get(len(price.as_of), "") if price.as_of else None


def _rates(book: Catalogue) -> pd.DataFrame:
    live = {(rate.code, rate.date, rate.version) for rate in live_rates(book.rates())}
    rows = [
        {
            **vars(rate),
            "usd_per_unit": float(rate.usd_per_unit),
            "date": rate.date.isoformat() if rate.date else "",
            "state": IN_FORCE
            if (rate.code, rate.date, rate.version) in live
            else RETIRED
            if rate.retired
            else REPLACED,
            "user_name": rate.who,
            "entered_at": rate.at,
        }
        for rate in book.rates()
    ]
    return table(rows, RATES, ["usd_per_unit", "version"])


def _answer(book: Catalogue) -> str:
    rows = [p for p in book.prices() if p.value is not None]
    mine = [p for p in rows if p.decision]
    over = sum(1 for p in mine if book.versions_of(p.price_id)[0].decision == 0)
    platforms = len({p.platform_id for p in rows})
    head = f"The book holds {len(rows)} prices of {platforms} platforms, the newest of {book.price_book_date}"
    if not mine:
        return f"{head}; none of them is yours yet."
    tail = f", {over} of them in the place of a shipped one" if over else ""
    return f"{head}; {len(mine)} {'is' if len(mine) == 1 else 'are'} yours{tail}."


def _assumptions(book: Catalogue) -> list[Assumption]:
    return [
        Assumption(f"US dollars per {r.code}", float(r.usd_per_unit), "usd", r.status, r.source, f"{r.date}")
        for r in live_rates(book.rates())
    ]


def _notices(view: View, book: Catalogue) -> list[Notice]:
    foreign = Counter(p.currency for p in book.prices() if p.value is not None and book.usd(p) is None)
    out = []
    for code, n in sorted(foreign.items()):
        words = f"{n} {plural('price', n)} in {code}: {missing_rate(book.rates(), code, view.day)}"
        out.append(Notice("price_without_rate", words, code))
    return out


def kinds_of(prices: pd.DataFrame) -> list[str]:
    """Kinds that a table of prices holds, rents first."""
    held = set(prices["kind"])
    return [k for k in RENT_KINDS if k in held] + sorted(held - set(RENT_KINDS))
