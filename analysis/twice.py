"""Lines of a bill that may stand in two files: those that count each, and those that count once."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from analysis.result import Notice
from analysis.words import listing, plural
from data.queries.bills import Equal
from models.cents import cents, total

if TYPE_CHECKING:
    from analysis.bill import Charge


def twice(charges: Sequence["Charge"]) -> list[Notice]:
    """Lines that stand in two files: same period, provider, service, words, SKU, amounts and resource.

    A blank cell equals a blank cell, so that one bill in two versions of FOCUS is found too. Lines without
    money are left out.
    """
    seen: dict[tuple[object, ...], Counter[str]] = {}
    usd: dict[tuple[object, ...], Decimal] = {}
    for c in charges:
        if c.own or c.own_billed:
            named = c.provider, c.service, c.description, c.sku, c.resource_id, c.resource_name
            key = (c.start, c.end, *named, c.currency, c.own, c.own_billed)
            seen.setdefault(key, Counter())[c.upload_id] += 1
            usd[key] = c.effective or Decimal(0)
    again = {key: sum(files.values()) - max(files.values()) for key, files in seen.items() if len(files) > 1}
    if not again:
        return []
    n, amount = sum(again.values()), cents(total([usd[key] * count for key, count in again.items()]))
    words = (
        f"{n} {plural('line', n)}, ${amount:,} of effective cost, {'stands' if n == 1 else 'stand'} in more "
        "than one file with the same period, provider, service, description, SKU, resource and amounts, and "
        "each counts: if one bill was loaded twice, take one file back."
    )
    return [Notice("charges_twice", words, "costs")]


def once(equal: Sequence[Equal], charges: Sequence["Charge"]) -> list[Notice]:
    """Lines of a file that equal stored ones of another and count once (found when they were loaded)."""
    days = [c.day for c in charges if c.day]
    found = [one for one in equal if days and one.first <= max(days) and one.last >= min(days)]
    if not found:
        return []
    n, names = sum(one.lines for one in found), listing(sorted({one.file for one in found}))
    words = (
        f"{n} {plural('line', n)} of {names} ({listing([one.money for one in found])}) "
        f"{'equals a line' if n == 1 else 'equal lines'} of a file loaded before in every cell and "
        f"{'counts' if n == 1 else 'count'} once: overlapping exports. Charges of their own have to "
        "differ in a cell, or stand in one file."
    )
    return [Notice("lines_counted_once", words, "costs")]
