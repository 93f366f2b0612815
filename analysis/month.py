"""One line for the finance partner: billed, explained, productive, and what became of the rest."""

from decimal import Decimal
from typing import ClassVar

import pandas as pd

from analysis import waste
from analysis.common import figure, nothing, result
from analysis.frames import records
from analysis.reconciliation import percent_words, usd
from analysis.result import Figure, Result
from analysis.shares import BILL, Share, Shares, load_shares
from analysis.waste import WasteParams
from analysis.waste_words import period_words
from analysis.words import percent
from data.queries.months import months
from data.view import View
from models.cents import cents, total

EXACT = "usd_exact"
MATCHED, UNUSED, NOT_HELD, OPEN = "matched", "unused", "not_held", "open"
PARTS = ["part", "label", "usd", "frac"]
LABELS = {
    MATCHED: "Matched to a run or job",
    UNUSED: "Commitments that nobody used",
    NOT_HELD: "GPU time that, by the scheduler, nobody held",
    OPEN: "Not explained",
}


class MonthParams(WasteParams):
    """The thresholds of `waste` decide what counts as productive. `run` has no use here."""

    question: ClassVar[str] = "month"


def compute(view: View, params: MonthParams) -> Result:
    """Table `parts` (part, label, usd, frac): they add up to the effective cost to the cent."""
    found = load_shares(view, params)
    if not found.shares:
        return nothing("month", view, params, {"parts": PARTS})
    inside = waste.compute(view, WasteParams(**{**params.model_dump(), "run": ""}))
    parts = _parts(found)
    return result(
        "month", view, params, _answer(found, parts, inside), headline=_figures(found, parts, inside),
        tables={"parts": _table(parts)}, assumptions=found.assumptions,
        notices=found.notices, prices=pd.DataFrame({"price_id": list(found.price_ids)}, dtype=object),
    )  # fmt: skip


def periods(view: View) -> list[tuple[str, bool]]:
    """Months (YYYY-MM, UTC) that hold a bill or a run, newest first, and whether a bill is there."""
    return [(str(row["month"]), bool(row["has_bill"])) for row in records(months(view))]


def part_of(share: Share, has_scheduler: bool) -> str:
    """Which part of the bill a share belongs to."""
    if share.kind == "unused":
        return UNUSED
    if share.how != "none":
        return MATCHED
    return NOT_HELD if share.kind == "gpu" and has_scheduler else OPEN


def _parts(found: Shares) -> dict[str, Decimal]:
    """Cents of each part; the last takes the rounding so that all add up to the rounded total."""
    sums = {
        name: cents(total([s.usd for s in found.shares if part_of(s, found.has_scheduler) == name]))
        for name in (MATCHED, UNUSED, NOT_HELD)
    }
    return sums | {OPEN: cents(found.usd) - sum(sums.values(), Decimal(0))}


def _table(parts: dict[str, Decimal]) -> pd.DataFrame:
    whole = float(sum(parts.values(), Decimal(0)))
    rows = [
        {
            "part": name,
            "label": LABELS[name],
            "usd": float(value),
            "frac": float(value) / whole if whole else None,
        }
        for name, value in parts.items()
    ]
    return pd.DataFrame(rows, columns=PARTS)


def _explained(parts: dict[str, Decimal]) -> tuple[Decimal, Decimal | None]:
    whole = sum(parts.values(), Decimal(0))
    explained = whole - parts[OPEN]
    return explained, explained / whole if whole > 0 else None


def _productive(inside: Result) -> tuple[float, float, float] | None:
    rows = {row["bar"]: row for row in records(inside.tables["waterfall"])}
    row = rows.get("productive")
    return None if row is None else (row["usd"], row["usd_low"], row["usd_high"])


def _answer(found: Shares, parts: dict[str, Decimal], inside: Result) -> str:
    when = period_words(found.period)[3:]
    whole = cents(found.usd)
    explained, share = _explained(parts)
    if found.basis != BILL:
        head = (
            f"{when}: no invoice of GPUs is loaded; the runs come to {usd(whole)} at the prices of the book"
        )
    else:
        billed = found.invoice_usd
        head = f"{when}: {usd(billed if billed is not None else whole)} billed, {usd(explained)} explained"
        head += f" ({percent_words(share)})" if share is not None else ""
    work = _productive(inside)
    if work is None or not whole > 0:
        return f"{head}."
    value, low, high = (part / float(whole) for part in work)
    text = f"{head}; {percent(value)} of the month's cost was productive work"
    if high - low > 0.005:
        text += f" ({percent(low)} to {percent(high)})"
    return f"{text}. {usd(parts[OPEN])} is not explained." if found.basis == BILL else f"{text}."


def _figures(found: Shares, parts: dict[str, Decimal], inside: Result) -> list[Figure]:
    _, share = _explained(parts)
    whole = float(cents(found.usd))
    work = _productive(inside) if whole > 0 else None
    billed = None if found.invoice_usd is None else float(cents(found.invoice_usd))
    ends = {"low": work[1] / whole, "high": work[2] / whole, "interval": "bounds"} if work else {}
    lacks = "no bill of this month is loaded"
    bill = found.basis == BILL
    return [
        figure("bill_billed", billed, unit=EXACT, missing=lacks),
        figure("bill_effective", whole, unit=EXACT, missing=lacks),
        figure("month_explained", float(share) if share is not None and bill else None, missing=lacks),
        figure("month_unexplained", float(parts[OPEN]) if bill else None, unit=EXACT, missing=lacks),
        figure("month_productive", work[0] / whole if work else None, **ends, missing="nothing was paid"),
    ]
