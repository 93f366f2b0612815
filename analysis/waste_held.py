"""GPU-hours that were held while no loaded bill covers them: in no dollar, and in no share of dollars."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from analysis.holds import Hold, load_holds
from analysis.moneyparams import ALL
from analysis.result import Notice
from analysis.shares import BILL, Share, Shares
from analysis.words import count, listing, month_words
from data.view import View

LEAST_FRAC, LEAST_H = 0.01, 0.05
"""Holds exceed what charges name by rounding of their ends: less than this is no gap."""


@dataclass(frozen=True)
class Unbilled:
    """GPU-hours held and those of them that charges pay; `months` (YYYY-MM) with holds and no bill."""

    held_h: float
    paid_h: float
    months: tuple[str, ...]

    @property
    def gap_h(self) -> float:
        """GPU-hours in no dollar."""
        return self.held_h - self.paid_h


def unbilled(view: View, found: Shares, listed: list[Share], run: str) -> Unbilled | None:
    """What `run` (all runs and jobs for '') held beyond the charges `listed`; None where nothing is missing,
    or where a charge or a hold does not say how much it is.
    """
    mine = [s for s in listed if s.kind == "gpu" and s.how != "none"]
    if found.basis != BILL or any(s.gpu_s is None for s in mine) or not (run or found.period == ALL):
        return None
    span = None if found.period == ALL else (found.start, found.end)
    holds = load_holds(view, span, found.scope)
    if run in holds.untimed:
        return None
    own = [h for h in holds.holds if (h.run == run if run else not h.loose)]
    ends = span or (min([found.start, *(h.start for h in own)]), max([found.end, *(h.end for h in own)]))
    held = sum(h.gpu_s(*ends) for h in own) / 3600
    paid = sum(s.gpu_s or 0.0 for s in mine) / 3600
    if held - paid <= max(LEAST_H, LEAST_FRAC * held):
        return None
    billed = {f"{s.day:%Y-%m}" for s in found.shares if s.day is not None and s.kind == "gpu"}
    return Unbilled(held, paid, tuple(sorted(set(_months(own, ends)) - billed)))


def _months(holds: Iterable[Hold], span: tuple[datetime, datetime]) -> Iterable[str]:
    for hold in holds:
        day, end = max(hold.start, span[0]), min(hold.end, span[1])
        while day < end:
            yield f"{day:%Y-%m}"
            day = datetime(day.year + day.month // 12, day.month % 12 + 1, 1)


def held_words(found: Unbilled, run: str) -> str:
    """'80 of the 128 GPU-hours that r held'."""
    return f"{count(found.paid_h)} of the {count(found.held_h)} GPU-hours that {run or 'runs and jobs'} held"


def unbilled_notice(found: Unbilled, run: str) -> Notice:
    """Say what is missing, and what would supply it."""
    where = "no line of a loaded bill covers them"
    if found.months:
        where = f"no bill of {listing([month_words(month) for month in found.months])} is loaded: load it"
    words = (
        f"Dollars here are of {held_words(found, run)}. The other {count(found.gap_h)} are in no dollar and "
        f"in no share of dollars, as {where}. What samples say of GPU-hours is of all that were held."
    )
    return Notice("held_not_billed", words, run)
