"""One group of charges and the holds that it may have paid: who gets which GPU-seconds, and what is left."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import pairwise

from analysis.bill import Charge
from analysis.holds import Hold
from models.accrual import days, overlap_s

TOLERANCE = 0.01
"""Clocks of a bill and of a scheduler differ by seconds: up to this share more is no contradiction."""
_TINY = 1e-6

Key = tuple[Hold | None, date | None]
"""Holder and UTC day of a part; None: nobody is known to have held it."""


@dataclass
class Paid:
    """What a group of charges became. Weights are GPU-seconds, by charge number and (holder, day).

    `over`: (held, bought) GPU-seconds of charges that are claimed by more than they bought. `short`: charges
    left alone because more was held than they bought, so that nobody can tell which holder they paid.
    """

    weights: dict[int, dict[Key, float]] = field(default_factory=dict)
    over: dict[int, tuple[float, float]] = field(default_factory=dict)
    short: set[int] = field(default_factory=set)


class Ledger:
    """GPU-seconds of holds that charges have paid already."""

    def __init__(self, holds: Sequence[Hold]) -> None:
        self.paid: dict[int, list[tuple[datetime, datetime, float]]] = defaultdict(list)
        self.holds = tuple(holds)

    def free(self, hold: Hold, start: datetime, end: datetime) -> float:
        """GPU-seconds of `hold` in [start, end) that nothing has paid yet."""
        held = hold.gpu_s(start, end)
        if held <= 0:
            return 0.0
        taken = sum(gpus * overlap_s(a, b, start, end) for a, b, gpus in self.paid[hold.number])
        return max(0.0, held - taken)

    def pay(self, hold: Hold, start: datetime, end: datetime, gpu_s: float) -> None:
        """Note that a charge paid `gpu_s` of what `hold` held in [start, end)."""
        first, last = max(hold.start, start), min(hold.end, end)
        seconds = (last - first).total_seconds()
        if seconds <= 0 or gpu_s <= 0:
            return
        rows, gpus = self.paid[hold.number], gpu_s / seconds
        at = bisect_left(rows, (first, first, 0.0))
        before = rows[at - 1] if at else None
        if before and before[1] == first and abs(before[2] - gpus) <= _TINY:
            rows[at - 1] = (before[0], last, before[2])
        else:
            insort(rows, (first, last, gpus))


def pay(charges: Sequence[Charge], holds: Sequence[Hold], ledger: Ledger, mode: str) -> Paid:
    """Spread charges over the holds that they paid, in proportion to the GPU-seconds held.

    Every stretch of time between two edges of charges stands alone. With H GPU-seconds held and B bought
    there, a holder gets held/max(H, B) of each charge and the rest is nobody's. `mode` is about H > B:
    `claim` (a tag names the holder): fine, the remainder waits for other charges; `exact` (the machine is
    named): the charge is over-matched; `fit` (only time and kind agree): no charge is matched.
    """
    out = Paid()
    buyers = [c for c in charges if _buys(c)]
    edges = sorted({edge for c in buyers for edge in span(c)})
    segments = list(pairwise(edges))
    bought = _bought(buyers, edges)
    free = _free(holds, ledger, segments)
    for n, (start, end) in enumerate(segments):
        here, held = bought[n], free[n]
        b, h = sum(size for _, size in here), sum(size for _, size in held)
        if not here or h <= _TINY:
            continue
        if mode == "fit" and h > b * (1 + TOLERANCE):
            out.short |= {c.number for c, _ in here}
            continue
        _segment(out, here, held, max(b, h), (start, end))
        if mode == "exact" and h > b * (1 + TOLERANCE):
            _note_over(out, here, h / b)
        for hold, size in held:
            ledger.pay(hold, start, end, size if mode == "exact" else size * min(1.0, b / h))
    for charge in charges:
        if _buys(charge):
            _rest(out, charge)
        else:
            _follow(out, charge, buyers, holds, ledger, mode)
    return out


def span(charge: Charge) -> tuple[datetime, datetime]:
    """[start, end) of a charge with a clock; a moment or a day counts as its UTC day."""
    if charge.start is None:
        raise ValueError("a charge without a clock has no span")
    if charge.end is not None:
        return charge.start, charge.end
    midnight = datetime.combine(charge.start.date(), time.min)
    return midnight, midnight + timedelta(days=1)


def _buys(charge: Charge) -> bool:
    """Whether a charge bought a known amount of GPU time; corrections and credits follow those that did."""
    plain = charge.is_gpu and not (charge.correction or charge.credit or charge.unused)
    return plain and charge.start is not None and charge.gpu_s is not None and charge.gpu_s > 0


Sized = list[tuple[Charge, float]]
Held = list[tuple[Hold, float]]


def _bought(buyers: Sequence[Charge], edges: Sequence[datetime]) -> list[Sized]:
    """Charges and their GPU-seconds in every stretch, spread evenly over the time of a charge."""
    out: list[Sized] = [[] for _ in edges[1:]]
    for charge in buyers:
        start, end = span(charge)
        rate = (charge.gpu_s or 0.0) / (end - start).total_seconds()
        for n in range(bisect_left(edges, start), bisect_left(edges, end)):
            out[n].append((charge, rate * (edges[n + 1] - edges[n]).total_seconds()))
    return out


def _free(holds: Sequence[Hold], ledger: Ledger, segments: Sequence[tuple[datetime, datetime]]) -> list[Held]:
    out: list[Held] = [[] for _ in segments]
    ends = [end for _, end in segments]
    for hold in holds:
        n = max(0, bisect_left(ends, hold.start))
        while n < len(segments) and segments[n][0] < hold.end:
            if (size := ledger.free(hold, *segments[n])) > 0:
                out[n].append((hold, size))
            n += 1
    return out


def _segment(out: Paid, here: Sized, held: Held, base: float, at: tuple[datetime, datetime]) -> None:
    """Give every charge of a stretch to the holders of it, on the days on which they held."""
    shares = [(hold, day, size / base) for hold, size in held for day, size in _daily(hold, size, *at)]
    for charge, bought in here:
        weights = out.weights.setdefault(charge.number, {})
        for hold, day, frac in shares:
            weights[hold, day] = weights.get((hold, day), 0.0) + bought * frac


def _daily(hold: Hold, size: float, start: datetime, end: datetime) -> list[tuple[date, float]]:
    """GPU-seconds of a hold in [start, end) by UTC day."""
    parts = days(max(hold.start, start), min(hold.end, end))
    seconds = sum(part.seconds for part in parts)
    return [(part.day, size * part.seconds / seconds) for part in parts]


def _note_over(out: Paid, here: Sized, times: float) -> None:
    for charge, bought in here:
        held, paid = out.over.get(charge.number, (0.0, 0.0))
        out.over[charge.number] = held + bought * times, paid + bought


def _rest(out: Paid, charge: Charge) -> None:
    """What nobody held goes to the days that have room: each day bought its even part of the charge."""
    weights = out.weights.get(charge.number)
    if not weights:
        return
    bought = charge.gpu_s or 0.0
    if bought - sum(weights.values()) > bought * 1e-12:
        _fill(weights, span(charge), bought)


def _follow(
    out: Paid,
    charge: Charge,
    buyers: Sequence[Charge],
    holds: Sequence[Hold],
    ledger: Ledger,
    mode: str,
) -> None:
    """Corrections, credits and lines without GPU time go to the holders of the same machine and time.

    They take the same fractions as the charges that bought GPU time then; without any, the holders of their
    own quantity, and without a quantity the holders alone.
    """
    if charge.start is None:
        return
    at = span(charge)
    held = [(hold, size) for hold in holds if (size := hold.gpu_s(*at)) > 0]
    h = sum(size for _, size in held)
    if h <= 0:
        return
    b = sum((c.gpu_s or 0.0) * overlap_s(*span(c), *at) / _seconds(c) for c in buyers)
    b = b or abs(charge.gpu_s or 0.0)
    if mode == "fit" and (not b or h > b * (1 + TOLERANCE)):
        return
    weights: dict[Key, float] = {}
    for hold, size in held:
        for day, part in _daily(hold, size, *at):
            weights[hold, day] = weights.get((hold, day), 0.0) + part
    out.weights[charge.number] = weights
    if b > h * (1 + 1e-12):
        _fill(weights, at, b)
    if charge.is_gpu and not (buyers or charge.correction or charge.credit):
        for hold, size in held:
            ledger.pay(hold, *at, size)


def _fill(weights: dict[Key, float], at: tuple[datetime, datetime], base: float) -> None:
    """Add nobody's part: what `base` GPU-seconds, spread evenly over the days, leave beside the holders."""
    used: dict[date | None, float] = defaultdict(float)
    for (_, day), size in weights.items():
        used[day] += size
    left, parts = base - sum(used.values()), days(*at)
    seconds = sum(part.seconds for part in parts)
    room = {p.day: max(0.0, base * p.seconds / seconds - used[p.day]) for p in parts}
    total = sum(room.values())
    for day, size in room.items():
        if size > base * 1e-12:
            weights[None, day] = left * size / total


def _seconds(charge: Charge) -> float:
    start, end = span(charge)
    return (end - start).total_seconds()
