"""Headline figures, the answer and the notices of the question about campaigns."""

import math
from collections.abc import Sequence
from decimal import Decimal

from analysis.common import figure
from analysis.frames import Row
from analysis.result import Figure, Notice
from analysis.shares import BILL, Shares
from analysis.spend import synthetic_notice
from analysis.words import listing, money, percent, plural
from models.cents import total

NOTHING = (
    "No charge and no allocation with a price lies in the period: load a bill, or runs with their pools."
)
NO_LINEAGE = (
    "A part of the bill names a run but no attempt: the compute boundary counts nothing of it as surviving, "
    "and its upper bound all of it."
)


def _own(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["campaign"]]


def _sum(rows: Sequence[Row], name: str) -> float:
    return float(total([row[name] for row in rows])) if rows else 0.0


def figures(rows: Sequence[Row], unallocated: Sequence[Row], lost: Sequence[Row]) -> list[Figure]:
    """Totals at each boundary, what no campaign bears, failed work and losses. A bill is exact."""
    mine = _own(rows)
    empty = not rows
    low = float(total([row["usd_low"] for row in lost])) if lost else 0.0
    bought_nothing = float(total([row["usd"] for row in lost])) if lost else 0.0
    paid = [
        ("spend_full", None if empty else _sum(mine, "usd_full"), "full", NOTHING),
        ("spend_campaign", None if empty else _sum(mine, "usd_campaign"), "campaign", NOTHING),
        ("spend_unallocated", None if empty else _sum(unallocated, "usd"), "full", NOTHING),
        ("spend_credits", None if empty else _sum(rows, "usd_credits"), "full", NOTHING),
        ("spend_total", None if empty else _sum(rows, "usd_net"), "full", NOTHING),
    ]
    out = [figure(name, value, boundary=edge, missing=why) for name, value, edge, why in paid]
    out.insert(2, _computed(mine, empty))
    for state in ("failed", "cancelled", "restarted"):
        value = None if empty else _sum(rows, f"usd_{state}")
        out.append(figure(f"spend_{state}", value, boundary="campaign", missing=NOTHING))
    out.append(
        figure(
            "lost_usd",
            None if empty else bought_nothing,
            low=low,
            high=bought_nothing,
            interval="bounds",
            boundary="campaign",
            missing=NOTHING,
        )
    )
    return out


def _computed(mine: Sequence[Row], empty: bool) -> Figure:
    """What surely survived; with the bounds where the bill does not say of which attempt a part is."""
    low, high = (math.fsum(row[f"usd_compute_{end}"] for row in mine) for end in ("low", "high"))
    ends = {"low": low, "high": high, "interval": "bounds"} if high > low else {}
    return figure("spend_compute", None if empty else low, **ends, boundary="compute", missing=NOTHING)


def answer(shares: Shares, rows: Sequence[Row], unallocated: Sequence[Row], lost: Sequence[Row]) -> str:
    """One sentence: the period's total, the dearest campaign, what nobody bears, and what bought nothing."""
    if not rows:
        return NOTHING
    whole, charges = (total([row[name] for row in rows]) for name in ("usd_net", "usd_full"))
    basis = "the bill" if shares.basis == BILL else "allocations at the chosen price and booked costs"
    period = "All periods" if shares.period == "all" else shares.period
    text = f"{period} cost {money(float(whole))} by {basis}"
    if whole != charges:
        text += f", after credits of {money(float(charges - whole))} that no boundary counts"
    mine = _own(rows)
    if mine:
        top = mine[0]
        part = f", {percent(float(top['usd_full'] / charges))} of the charges" if charges > 0 else ""
        text += f"; {top['campaign']} bears most, {money(float(top['usd_full']))}{part} (full boundary)"
    loose = total([row["usd"] for row in unallocated])
    if loose:
        text += f"; no campaign bears {money(float(loose))}"
    gone = total([row["usd"] for row in lost]) if lost else Decimal(0)
    if gone > 0:
        failed = total([row["usd_failed"] + row["usd_cancelled"] for row in rows])
        text += f". {money(float(gone))} bought nothing"
        text += f"; failed and cancelled attempts cost {money(float(failed))} in all" if failed > 0 else ""
    return f"{text}."


def notices(shares: Shares, rows: Sequence[Row], synthetic: Sequence[str]) -> list[Notice]:
    """What the period's basis leaves open, and campaigns that shipped nothing yet."""
    out = list(synthetic_notice(synthetic))
    if rows and shares.basis != BILL:
        foreign = any(notice.code == "currency_left_out" for notice in shares.notices)
        lacks = (
            "The GPU bill of the period has no rate into US dollars"
            if foreign
            else "No GPU bill covers the period"
        )
        words = f"{lacks}: allocations x price stand in, so nothing is not allocated."
        out.append(Notice("no_bill", words))
    open_ones = [row["campaign"] for row in _own(rows) if not row["shipped_checkpoint"]]
    if open_ones:
        few = plural("campaign", len(open_ones))
        words = f"No shipped checkpoint is named for {few} {listing(sorted(set(open_ones)))}."
        out.append(Notice("nothing_shipped", words))
    if any(row["usd_compute_high"] > row["usd_compute_low"] for row in _own(rows)):
        out.append(Notice("lineage_of_bill_unknown", NO_LINEAGE))
    return out
