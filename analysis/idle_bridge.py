"""Two totals of GPU time that was bought and not held: what a bill calls paid and idle, what waste calls not
allocated. They differ by who bears the time; here by how much.
"""

from collections.abc import Sequence
from decimal import Decimal

import pandas as pd

from analysis.billlines import Sums
from analysis.frames import table
from analysis.shares import Share, Shares
from analysis.waste_parts import is_unheld
from analysis.words import listing
from models.cents import CENT, to_cents, total

COLUMNS = ["part", "label", "usd"]
IDLE, BORNE, UNKNOWN, OTHER, ROUNDED, NOT_ALLOCATED = (
    "paid_idle", "borne", "unknown", "other", "rounded", "not_allocated",
)  # fmt: skip
LABELS = {
    IDLE: "paid and idle, borne by nobody",
    UNKNOWN: "idle by a scheduler file that has no job in the period, so unknown in the waterfall",
    OTHER: "no GPU time: cores and credits of idle machines, unused commitments and reservations for "
    "something else",
    ROUNDED: "rounding to cents",
    NOT_ALLOCATED: "not allocated, whoever bears it",
}
Step = tuple[str, str, Decimal]


def idle_bridge(found: Shares, sums: Sums, not_allocated_usd: Decimal) -> pd.DataFrame:
    """Rows (COLUMNS) from `sums.idle` (GPU time, commitments and reservations that nobody held or bears) to
    `not_allocated_usd` (that nobody held, whoever bears it), both in cents; the rows between add up to the
    difference to the cent, and there are none where the two are equal.
    """
    gap = not_allocated_usd - sums.idle
    steps = _steps(found, gap)
    shown = to_cents([usd for _, _, usd in steps], gap) if steps else []
    rows = [(IDLE, f"{LABELS[IDLE]}{_kinds(sums)}", sums.idle)]
    rows += [(part, label, usd) for (part, label, _), usd in zip(steps, shown, strict=True) if usd]
    rows.append((NOT_ALLOCATED, LABELS[NOT_ALLOCATED], not_allocated_usd))
    return table([dict(zip(COLUMNS, row, strict=True)) for row in rows], COLUMNS, ["usd"])


def _kinds(sums: Sums) -> str:
    """What it is made of, where that is more than one kind: they differ in what would mend them."""
    kinds = (
        (sums.commitments, "unused commitments"),
        (sums.reservations, "unused reservations"),
        (sums.capacity, "idle capacity"),
        (sums.unheld, "GPU time"),
    )
    told = [f"{'-' if usd < 0 else ''}${abs(usd):,.2f} {words}" for usd, words in kinds if usd]
    return f" ({', '.join(told)})" if len(told) > 1 else ""


def _steps(found: Shares, gap: Decimal) -> list[Step]:
    """What leads from one total to the other, exact; adds up to `gap` but for parts of a cent."""
    borne = [s for s in found.shares if _bearer(s) and is_unheld(s, found.has_scheduler)]
    unknown = [s for s in found.shares if not _bearer(s) and _is_left_open(s, found.has_scheduler)]
    words = f"held by nobody, though a tag or a booking gives it to {_names(borne)}"
    steps = [(BORNE, words, _usd(borne)), (UNKNOWN, LABELS[UNKNOWN], -_usd(unknown))]
    rest = gap - total([usd for _, _, usd in steps])
    steps = [step for step in steps if step[2]]
    if abs(rest) > CENT:
        steps.append((OTHER, LABELS[OTHER], rest))
    elif gap and not steps:
        steps.append((ROUNDED, LABELS[ROUNDED], gap))
    return steps


def _is_left_open(share: Share, has_scheduler: bool) -> bool:
    """Whether a scheduler file says that nobody held it, while none has a job in the period."""
    return share.kind == "gpu" and share.how == "none" and share.known_idle and not has_scheduler


def _bearer(share: Share) -> str:
    """Who bears it, '' for nobody; a team goes unnamed, as a reader of a shared report may not know it."""
    return share.run or share.job or share.campaign or ("a team" if share.team else "")


def _usd(shares: Sequence[Share]) -> Decimal:
    return total([share.usd for share in shares])


def _names(shares: Sequence[Share]) -> str:
    sums: dict[str, Decimal] = {}
    for share in shares:
        sums[_bearer(share)] = sums.get(_bearer(share), Decimal(0)) + share.usd
    return listing(sorted(sums, key=lambda name: (-sums[name], name)))
