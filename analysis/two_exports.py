"""A provider that exports one month twice, as billed and amortised: each export counts in its own view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from analysis.frames import Row, records, text
from analysis.result import Notice
from analysis.words import plural
from data.queries import bills as queries
from data.view import View
from models.cents import cents, total

if TYPE_CHECKING:
    from analysis.bill import Charge

Place = tuple[str | None, str]
"""Account and month (YYYY-MM) in which a line starts."""
Span = tuple[datetime, datetime]


@dataclass(frozen=True)
class Exports:
    """Uploads by what they hold, and what both have: `days` [first, last) of amortised exports by account and
    month, `commitments` whose use they spread (a purchase is in them, whatever its day), `months` of exports
    of actual costs.
    """

    actual: frozenset[str] = frozenset()
    amortised: frozenset[str] = frozenset()
    days: Mapping[Place, Span] = field(default_factory=dict)
    commitments: frozenset[str] = frozenset()
    months: frozenset[Place] = frozenset()

    def restates(self, row: Row, start: datetime | None) -> bool:
        """Whether an amortised export has the cost of this line of an export of actual costs."""
        if start is None or row["upload_id"] not in self.actual:
            return False
        purchase = str(row["category"] or "").casefold() == "purchase"
        if purchase and row["commitment_id"] in self.commitments:
            return True
        first, last = self.days.get(_place(row, start), (start, start))
        return first <= start < last

    def is_paired(self, row: Row, start: datetime | None) -> bool:
        """Whether it is a line of an amortised export, and the actual costs of its month are loaded too."""
        return start is not None and row["upload_id"] in self.amortised and _place(row, start) in self.months


def load_exports(view: View) -> Exports:
    """Exports of providers that write actual and amortised costs into files of their own; none of a kind
    without the other is named.
    """
    rows = records(queries.exports(view))
    spread = [row for row in rows if row["amortised"]]
    billed = [row for row in rows if not row["amortised"]]
    if not (spread and billed):
        return Exports()
    days: dict[Place, Span] = {}
    for row in spread:
        place = (text(row["account"]), str(row["month"]))
        first, last = days.get(place, (row["first"], row["last"]))
        days[place] = min(first, row["first"]), max(last, row["last"])
    return Exports(
        frozenset(str(row["upload_id"]) for row in billed),
        frozenset(str(row["upload_id"]) for row in spread),
        days,
        frozenset(name for row in spread if (name := text(row["commitment_id"]))),
        frozenset((text(row["account"]), str(row["month"])) for row in billed),
    )


def _place(row: Row, start: datetime) -> Place:
    return text(row["account"]), f"{start:%Y-%m}"


def both_said(charges: Sequence["Charge"]) -> list[Notice]:
    """How much of a bill counts for the invoice alone because an amortised export has its cost."""
    found = [c for c in charges if c.restated and c.own_billed is not None]
    if not found:
        return []
    usd = cents(total([c.billed or Decimal(0) for c in found]))
    n = len(found)
    words = (
        f"{n} {plural('line', n)} of an export of actual costs, ${usd:,} billed, {'is' if n == 1 else 'are'} "
        "in an amortised export of the same account and month: the one counts for the invoice, the other "
        "for the cost."
    )
    return [Notice("actual_and_amortised", words, "costs")]
