"""Three measures of lost work, and how they lead to each other: outside the surviving lineage (what Overview
counts), what bought nothing (by the clock), and the part of the first in which GPUs were seen working.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from analysis.frames import Row, known, number
from models.cents import cents, total

COLUMNS = ["part", "label", "usd"]
LINEAGE, AROUND, CLOCK, NOTHING = "lineage", "around", "clock", "nothing"
LABELS = {
    LINEAGE: "known to be outside the surviving lineage (pools of runs less what may have survived)",
    AROUND: "start-up and holds of attempts that survived whole, and paid outside any attempt",
    CLOCK: "attempts that were lost in whole or in part: by seconds of the clock instead of share of steps",
    NOTHING: "bought nothing",
}


def lost_bridge(
    outside: Decimal, lost: Sequence[Row], kept: Mapping[tuple[str, int | None, bool], float]
) -> list[Row]:
    """Rows COLUMNS from `outside`, the dollars known to be outside the lineage, to those that bought nothing,
    in cents; the rows between add up to the difference. Empty when nothing was lost by either measure.
    """
    nothing = cents(total([row["usd"] for row in lost]))
    if not outside and not nothing:
        return []
    around = cents(total([row["usd"] for row in lost if _survived(row, kept)]))
    rows = [(LINEAGE, outside), (AROUND, around), (CLOCK, nothing - outside - around)]
    told = [row for row in rows if row[1] or row[0] == LINEAGE]
    return [{"part": name, "label": LABELS[name], "usd": usd} for name, usd in [*told, (NOTHING, nothing)]]


def _survived(row: Row, kept: Mapping[tuple[str, int | None, bool], float]) -> bool:
    """Whether the loss is of an attempt that counts whole, or of no attempt."""
    if row["attempt"] is None:
        return True
    frac = number(kept.get((row["run"], row["attempt"], False)))
    return known(frac) and frac == 1.0
