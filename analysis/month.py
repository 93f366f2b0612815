"""One line for the finance partner: billed, explained, productive, and what became of the rest."""

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import pandas as pd

from analysis import waste
from analysis.billlines import Sums
from analysis.common import figure, nothing, result
from analysis.frames import records
from analysis.idle_bridge import COLUMNS as IDLE
from analysis.idle_bridge import idle_bridge
from analysis.madeup import has_own
from analysis.reconciliation import (
    EXACT,
    corrections_words,
    idle_words,
    open_words,
    percent_words,
    sums_of,
    usd,
)
from analysis.result import Figure, Result
from analysis.shares import Shares, load_shares
from analysis.waste import WasteParams
from analysis.waste_words import period_words
from analysis.words import percent3
from data.queries.months import months
from data.view import View
from models.cents import cents, exact

MATCHED, UNUSED, NOT_HELD, OPEN, CREDITS = "matched", "unused", "not_held", "open", "credits"
RESERVED, CAPACITY = "reserved", "capacity"
UNKNOWN_WORK = "how much of it was productive work is not known"
NO_WORK = "nothing was paid"
VISIBLE = 0.005
"""Shares that differ by less than half a percent are told as one."""
PARTS = ["part", "label", "usd", "frac"]
LABELS = {
    MATCHED: "Matched to a run or job",
    UNUSED: "Commitments that nobody used",
    RESERVED: "Reserved capacity in which nothing ran",
    CAPACITY: "Idle capacity that no workload used",
    NOT_HELD: "GPU time that, by the scheduler, nobody held",
    OPEN: "Not explained",
    CREDITS: "Credits, apart from the charges",
}


class MonthParams(WasteParams):
    """The thresholds of `waste` decide what counts as productive. `run` has no use here."""

    question: ClassVar[str] = "month"


def compute(view: View, params: MonthParams) -> Result:
    """Tables: `parts` (part, label, usd, frac), which add up to the effective cost to the cent (`frac`: of
    the charges before credits); `idle` (part, label, usd), from what the bill calls held by nobody to what
    `waste` calls not allocated (without a bill empty).
    """
    found = load_shares(view, params)
    if not found.shares:
        return nothing("month", view, params, {"parts": PARTS, "idle": IDLE})
    inside = waste.compute(view, WasteParams(**{**params.model_dump(), "run": ""}))
    sums = sums_of(view, params, found)
    return result(
        "month", view, params, _answer(found, sums, inside), headline=_figures(found, sums, inside),
        tables={"parts": _table(found, sums), "idle": _idle(found, sums, inside)},
        assumptions=found.assumptions,
        notices=[n for n in inside.warnings if n.code != "whole_minutes"],
        prices=pd.DataFrame({"price_id": list(found.price_ids)}, dtype=object),
    )  # fmt: skip


@dataclass(frozen=True)
class Month:
    """A month (YYYY-MM, UTC) with a bill or a run; `is_example`: nothing in it is one's own."""

    month: str
    has_bill: bool
    is_example: bool


def periods(view: View, example: bool = True) -> list[Month]:
    """Months that hold a bill or a run, newest first; without `example` those of one's own where any is."""
    kept = example or not has_own(view)
    return [
        Month(
            str(row["month"]),
            bool(row["has_own_bill"] if row["has_own"] else row["has_bill"]),
            not row["has_own"],
        )
        for row in records(months(view))
        if kept or row["has_own"]
    ]


def _table(found: Shares, sums: Sums | None) -> pd.DataFrame:
    parts = {MATCHED: cents(found.usd)}
    if sums is not None:
        some = {RESERVED: sums.reservations, CAPACITY: sums.capacity}
        parts = {MATCHED: sums.borne, UNUSED: sums.commitments, **{n: usd for n, usd in some.items() if usd}}
        parts |= {NOT_HELD: sums.unheld, OPEN: sums.open} | ({CREDITS: sums.credits} if sums.credits else {})
    whole = float(sum((usd for name, usd in parts.items() if name != CREDITS), Decimal(0)))
    rows = [
        {
            "part": name,
            "label": LABELS[name],
            "usd": float(value),
            "frac": float(value) / whole if whole and name != CREDITS else None,
        }
        for name, value in parts.items()
    ]
    return pd.DataFrame(rows, columns=PARTS)


def _idle(found: Shares, sums: Sums | None, inside: Result) -> pd.DataFrame:
    rows = {row["bar"]: row["usd"] for row in records(inside.tables["waterfall"])}
    if sums is None or "not_allocated" not in rows:
        return pd.DataFrame(columns=IDLE)
    return idle_bridge(found, sums, cents(exact(rows["not_allocated"])))


def _productive(inside: Result) -> tuple[float, float, float] | None:
    """Dollars of productive work with their low and high bounds."""
    rows = {row["bar"]: row for row in records(inside.tables["waterfall"])}
    row = rows.get("productive")
    return None if row is None else (row["usd"], row["usd_low"], row["usd_high"])


def _unseen(inside: Result, work: tuple[float, float, float], whole: float) -> str:
    """Why no share of productive work can be named; '' where some of it was seen, or hardly any can be."""
    if work[0] > 0 or work[2] - work[1] <= VISIBLE * whole:
        return ""
    if inside.figure("working_share").n is None:
        return "no GPU sample of the period is loaded"
    return "no loaded GPU sample shows a run at work in it"


def _answer(found: Shares, sums: Sums | None, inside: Result) -> str:
    text = f"{period_words(found.period)}: {_paid(found, sums)}"
    if _has_foreign(found):
        text += ", lines with no rate into US dollars left out"
    if sums is not None and sums.explained is not None:
        of = f"{usd(sums.charges)} of {'' if _is_flat(found, sums) else 'effective (amortised) '}charges"
        text += (
            f". Of {of}, {usd(sums.borne)} ({percent_words(sums.explained)}) is explained by runs, jobs and "
        )
        text += f"campaigns{idle_words(sums)}; {open_words(sums)}.{corrections_words(sums)}"
    work, whole = _productive(inside), _whole(found, sums)
    if work is not None and whole > 0:
        unseen = _unseen(inside, work, whole)
        said = (
            f"{UNKNOWN_WORK}, as {unseen}" if unseen else _productive_words(*(part / whole for part in work))
        )
        if sums is None or sums.explained is None:
            return f"{text}; {said}."
        return f"{text} {_start(said.replace(' of it ', ' of the charges ', 1))}."
    return text if text.endswith(".") else f"{text}."


def _start(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _is_flat(found: Shares, sums: Sums) -> bool:
    """Whether the invoice asks for what the period costs."""
    return found.invoice_usd is None or cents(found.invoice_usd) == sums.effective


def _whole(found: Shares, sums: Sums | None) -> float:
    """What shares are of: the charges before credits, else all that runs come to."""
    return float(cents(found.usd) if sums is None else sums.charges)


def _productive_words(value: float, low: float, high: float) -> str:
    """Share of the cost with its bounds; a share at its lower bound is the least, for the rest is open."""
    if high - low <= VISIBLE:
        return f"{percent3(value)} of it was productive work"
    if value - low <= VISIBLE:
        return f"at least {percent3(low)} of it was productive work, at most {percent3(high)}"
    return f"{percent3(value)} of it was productive work ({percent3(low)} to {percent3(high)})"


def _has_foreign(found: Shares) -> bool:
    return any(notice.code == "currency_left_out" for notice in found.notices)


def _paid(found: Shares, sums: Sums | None) -> str:
    if sums is None:
        which = "invoice of GPUs in US dollars" if _has_foreign(found) else "invoice of GPUs"
        return f"no {which} is loaded; the runs come to {usd(found.usd)} at the prices of the book"
    billed = f"{usd(sums.effective if found.invoice_usd is None else found.invoice_usd)} billed"
    return f"{billed} after {usd(-sums.credits)} of credits" if sums.credits else billed


def _figures(found: Shares, sums: Sums | None, inside: Result) -> list[Figure]:
    whole = _whole(found, sums)
    work = _productive(inside) if whole > 0 else None
    billed = None if found.invoice_usd is None else float(cents(found.invoice_usd))
    unseen = _unseen(inside, work, whole) if work else ""
    ends = (
        {"low": work[1] / whole, "high": work[2] / whole, "interval": "bounds"} if work and not unseen else {}
    )
    why = (
        f"{unseen}: it is at most {percent3(work[2] / whole)} of the charges" if work and unseen else NO_WORK
    )
    lacks = "no bill of this month is loaded"
    share = None if sums is None or sums.explained is None else float(sums.explained)
    rest = None if sums is None else float(sums.open)
    return [
        figure("bill_billed", billed, unit=EXACT, missing=lacks),
        figure("bill_effective", float(cents(found.usd)), unit=EXACT, missing=lacks),
        figure("bill_explained", share, missing=lacks),
        figure("bill_idle", None if sums is None else float(sums.idle), unit=EXACT, missing=lacks),
        figure("bill_open", rest, unit=EXACT, missing=lacks, n=None if sums is None else sums.open_lines),
        *([figure("bill_credits", float(sums.credits), unit=EXACT)] if sums and sums.credits else []),
        figure("month_productive", work[0] / whole if work and not unseen else None, **ends, missing=why),
    ]
