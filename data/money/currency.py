"""Exchange rates that people entered: dated, versioned, never invented. The US dollar is 1."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from data.errors import UserError

if TYPE_CHECKING:
    from data.store import Store
    from data.view import View
    from data.workspace import Decision

USD = "USD"
_CODE = re.compile(r"[A-Z]{3}")
_REMEDY = "Write the US dollars that one unit buys, such as 1.08."


@dataclass(frozen=True)
class Rate:
    """US dollars that one unit of `code` buys from `date` on, until the next dated rate.

    `date` is None for the US dollar alone, which is 1 on every day. `version` counts the entries for the same
    code and date, `decision` is the id of the entry. `retired`: taken back, so that it counts for no day.
    """

    code: str
    usd_per_unit: Decimal
    date: date | None
    source: str
    status: str = "user"
    version: int = 1
    decision: int = 0
    at: datetime | None = None
    who: str = ""
    note: str = ""
    retired: bool = False


ONE = Rate(USD, Decimal(1), None, "by definition", "derived")


def usd_rate(view: "View", code: str, day: date) -> Rate | None:
    """Newest rate of `code` dated on or before `day`; None when none was entered. USD is always 1."""
    return rate_on(rate_versions(view.money), code, day)


def why_no_rate(view: "View", code: str, day: date) -> str:
    """Sentence for a currency without a rate on a day; it names the first rate there is, if any."""
    return missing_rate(rate_versions(view.money), code, day)


def rate_on(versions: Iterable[Rate], code: str, day: date) -> Rate | None:
    """`usd_rate` on versions already read."""
    wanted = code.strip().upper()
    if wanted == USD:
        return ONE
    dated = [(r.date, r) for r in live_rates(versions) if r.code == wanted and r.date is not None]
    usable = [(at, rate) for at, rate in dated if at <= day]
    return max(usable, key=lambda pair: pair[0])[1] if usable else None


def missing_rate(versions: Iterable[Rate], code: str, day: date) -> str:
    """`why_no_rate` on versions already read."""
    wanted = code.strip().upper()
    dates = sorted(r.date for r in live_rates(versions) if r.code == wanted and r.date is not None)
    stays = f"amounts in {wanted} stay in {wanted}"
    if dates:
        return f"The first rate of {wanted} is dated {dates[0]}, after {day}: {stays}."
    return f"There is no rate of {wanted}: {stays}. Enter one on the Price book page."


def live_rates(versions: Iterable[Rate]) -> list[Rate]:
    """The newest version of each code and date, those taken back left out."""
    newest: dict[tuple[str, date | None], Rate] = {}
    for rate in versions:
        newest[rate.code, rate.date] = rate
    return [rate for rate in newest.values() if not rate.retired]


def rate_versions(decisions: Iterable["Decision"]) -> list[Rate]:
    """Every version of every rate, oldest entry first."""
    out: list[Rate] = []
    count: dict[tuple[str, str], int] = {}
    for one in decisions:
        if one.kind == "currency_rate":
            key = str(one.payload["code"]), str(one.payload["date"])
            count[key] = count.get(key, 0) + 1
            out.append(_rate(one, count[key]))
    return out


def _rate(one: "Decision", version: int) -> Rate:
    told: dict[str, Any] = one.payload
    return Rate(
        code=told["code"],
        usd_per_unit=Decimal(told["usd_per_unit"]),
        date=date.fromisoformat(told["date"]),
        source=told["source"],
        version=version,
        decision=one.id,
        at=one.at,
        who=told.get("who", ""),
        note=told.get("note", ""),
        retired=told["action"] == "retire",
    )


def set_rate(
    store: "Store",
    code: str,
    usd_per_unit: str,
    day: date,
    source: str,
    *,
    who: str = "",
    note: str = "",
) -> "Decision":
    """Enter a rate, or a new version of the one of that day; UserError for what cannot be a rate."""
    payload = checked_rate(code, usd_per_unit, day, source)
    return store.workspace.decide("currency_rate", {**payload, "who": who.strip(), "note": note.strip()})


def checked_rate(code: str, usd_per_unit: str, day: date, source: str) -> dict[str, str]:
    """The payload of a rate; UserError names the field that cannot be used."""
    name = currency_code(code)
    if name == USD:
        raise UserError("The US dollar is 1 on every day", "currency", "Enter a rate of another currency.")
    try:
        value = Decimal(str(usd_per_unit).strip())
    except InvalidOperation:
        raise UserError(f"'{usd_per_unit}' is not a number", "US dollars a unit", _REMEDY) from None
    if not value.is_finite() or value <= 0:
        raise UserError(f"A rate of {usd_per_unit} is not a rate", "US dollars a unit", _REMEDY)
    if not source.strip():
        raise UserError("The rate has no source", "source", "Say where it was read.")
    told = {"action": "set", "code": name, "usd_per_unit": str(value), "date": day.isoformat()}
    return {**told, "source": source.strip()}


def retire_rate(store: "Store", code: str, day: date, *, who: str = "", note: str = "") -> "Decision":
    """Take a rate back: it counts for no day any more and stays visible. UserError when there is none."""
    name = currency_code(code)
    held = live_rates(rate_versions(store.workspace.decisions(live_only=True, kinds=("currency_rate",))))
    found = [rate for rate in held if (rate.code, rate.date) == (name, day)]
    if not found:
        raise UserError(f"There is no rate of {name} dated {day}", "currency", "Choose one from the table.")
    rate = found[0]
    told = {"action": "retire", "code": name, "usd_per_unit": str(rate.usd_per_unit)}
    told |= {"date": day.isoformat(), "source": rate.source, "who": who.strip(), "note": note.strip()}
    return store.workspace.decide("currency_rate", told)


def currency_code(text: str) -> str:
    """Three capital letters; UserError for anything else."""
    code = text.strip().upper()
    if not _CODE.fullmatch(code):
        raise UserError(f"'{text}' is not a currency code", "currency", "Write three letters, such as EUR.")
    return code
