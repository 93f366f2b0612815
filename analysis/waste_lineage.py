"""How much may be productive at least and at most: what lies outside the surviving lineage is not, with
samples or without. Inside an attempt of which a part survives, no file says which seconds those are: bounds
take both ends.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from analysis.frames import known
from analysis.waste_inside import Inside
from analysis.waste_owners import Owner
from analysis.waste_parts import Bill, Cut, Slot

WORK = ("lost", "productive")
OPEN = (*WORK, "unknown")


@dataclass(frozen=True)
class Ends:
    """US dollars: bounds of productive and of lost work, most of waiting for the other pool, and what of the
    unknown is surely not productive.
    """

    productive_low: float
    productive_high: float
    lost_low: float
    lost_high: float
    bubble_high: float
    outside: float


def lineage_ends(bill: Bill, inside: Inside, productive: float, lost: float) -> Ends:
    """Bounds of `productive` and `lost`, the values in US dollars: unproven work is not productive in the low
    one, and unknown time is in the high ones as far as the lineage of its attempt allows.
    """
    work, every = _usd(bill.cuts, WORK), _usd(bill.cuts, OPEN)
    unproven = sum(cut.unproven for cut in bill.cuts)
    nobody = _usd([cut for cut in bill.cuts if cut.slot is None], OPEN)
    most = nobody + _most(bill, inside.surviving_s, OPEN)
    return Ends(
        min(productive, max(0.0, work - _most(bill, inside.lost_s, WORK) - unproven)),
        max(productive, most),
        min(lost, max(0.0, work - _most(bill, inside.surviving_s, WORK))),
        max(lost, _most(bill, inside.lost_s, OPEN)),
        max(_usd(bill.cuts, ("bubble",)), _most(bill, inside.waiting_s, ("bubble", "unknown"))),
        max(0.0, every - most - lost),
    )


def _usd(cuts: Sequence[Cut], parts: Sequence[str]) -> float:
    return float(sum(cut.usd[part] for cut in cuts for part in parts))


def _most(bill: Bill, seconds_of: Callable[[Owner], float], parts: Sequence[str]) -> float:
    """Most dollars of `parts` in as many GPU-seconds of each owner as `seconds_of` allows, dearest first."""
    held = bill.slots.allocated()
    by_owner: dict[Owner, dict[Slot, list[Cut]]] = {}
    for cut in bill.cuts:
        if cut.slot is not None:
            by_owner.setdefault(cut.slot.owner, {}).setdefault(cut.slot, []).append(cut)
    return sum(_of_owner(slots, held, seconds_of(owner), parts) for owner, slots in by_owner.items())


def _of_owner(
    slots: Mapping[Slot, list[Cut]], held: Mapping[Slot, float], left_s: float, parts: Sequence[str]
) -> float:
    if left_s <= 0:
        return 0.0
    out, priced = 0.0, []
    for slot, cuts in slots.items():
        usd, whole = _usd(cuts, parts), float(sum(cut.share.usd for cut in cuts))
        if known(held[slot]) and held[slot] > 0 and whole > 0:
            priced.append((whole / held[slot], usd))
        else:
            out += usd
    for rate, usd in sorted(priced, reverse=True):
        taken = min(usd, rate * left_s)
        out, left_s = out + taken, left_s - taken / rate
    return out
