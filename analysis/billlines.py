"""Lines of a bill with what is borne of them, and the five totals in cents that every table adds up to."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from analysis.bill import Bill, Charge
from analysis.matching import Matched
from analysis.parts import NONE, UNHELD, WHY, Part
from models.cents import cents, to_cents, total

MATCHED, COMMITMENTS, CAPACITY, NOT_HELD, OPEN = "matched", "commitments", "capacity", "unheld", "open"
RESTS = (COMMITMENTS, CAPACITY, NOT_HELD, OPEN)
"""What the unmatched part of a line can be."""
_UNHELD_WORDS = tuple(WHY[reason] for reason in UNHELD)


@dataclass(frozen=True)
class Line:
    """A charge with its parts: what is borne by somebody, and what is not (both exact)."""

    charge: Charge
    parts: tuple[Part, ...]
    matched: Decimal
    unmatched: Decimal
    how: str
    status: str
    why: str
    known_idle: bool = False


@dataclass(frozen=True)
class Sums:
    """Totals in cents: effective = matched + unused + unheld + open; all but `matched` is `unmatched`. Each
    is within a cent of its exact sum (largest remainder).

    `unheld` is GPU time that nobody held by a scheduler that knows the machine; other time stays in `open`.
    `explained` is exact: 1 less the open amounts, credits counted as amounts.
    """

    effective: Decimal
    matched: Decimal
    unmatched: Decimal
    explained: Decimal | None
    open_lines: int
    negative_open: bool
    unused: Decimal
    unheld: Decimal
    capacity: Decimal = Decimal(0)
    """Of `unused`: idle capacity of a cluster, as OpenCost names it; the rest are commitments."""

    @property
    def commitments(self) -> Decimal:
        """Unused commitments and reservations, in cents."""
        return self.unused - self.capacity

    @property
    def rests(self) -> dict[str, Decimal]:
        """What is not matched by RESTS, in cents; adds up to `unmatched`."""
        return dict(zip(RESTS, (self.commitments, self.capacity, self.unheld, self.open), strict=True))

    @property
    def open(self) -> Decimal:
        """What nothing explains, in cents."""
        return self.unmatched - self.unused - self.unheld


def read_lines(bill: Bill, matched: Matched) -> list[Line]:
    """The lines of a bill with who bears them, in the order of the bill."""
    parts: dict[int, list[Part]] = defaultdict(list)
    for part in matched.parts:
        parts[part.charge.number].append(part)
    return [_line(charge, tuple(parts[charge.number]), matched) for charge in bill.charges]


def _line(charge: Charge, parts: tuple[Part, ...], matched: Matched) -> Line:
    borne = total([part.usd for part in parts if part.borne])
    rest = total([part.usd for part in parts if not part.borne])
    how = matched.how.get(charge.number, NONE)
    found = {part.how for part in parts if part.how != NONE}
    how = found.pop() if len(found) == 1 else how
    why = WHY[matched.why[charge.number]] if rest and charge.number in matched.why else ""
    idle = charge.number in matched.known_idle and not charge.unused and why in _UNHELD_WORDS
    return Line(charge, parts, borne, rest, how, _status(charge, borne, rest, parts, matched), why, idle)


def _status(charge: Charge, borne: Decimal, rest: Decimal, parts: tuple[Part, ...], matched: Matched) -> str:
    if charge.unused:
        return "unused"
    if charge.credit:
        return "credit"
    if charge.correction:
        return "correction"
    if charge.number in matched.over:
        return "over-matched"
    if not borne and not rest:
        return "matched" if any(part.borne for part in parts) else "no cost"
    return "matched" if not rest else "partly" if borne else "unmatched"


def is_open(line: Line) -> bool:
    """Whether something of it is not explained."""
    return bool(line.unmatched) and not line.charge.unused and not line.known_idle


def rest_of(line: Line) -> str:
    """Which of RESTS the unmatched part of a line is."""
    if line.known_idle:
        return NOT_HELD
    if not line.charge.unused:
        return OPEN
    return CAPACITY if line.why == WHY["idle_capacity"] else COMMITMENTS


def add_lines(lines: Sequence[Line]) -> Sums:
    """Totals; `known_idle` of a line says that what no run or job held of it is known to be idle."""
    open_lines = [line for line in lines if is_open(line)]
    exact = {MATCHED: total([line.matched for line in lines])}
    for rest in RESTS:
        exact[rest] = total([line.unmatched for line in lines if rest_of(line) == rest])
    whole = total(list(exact.values()))
    effective, gross = cents(whole), total([abs(line.unmatched) for line in open_lines])
    shown = dict(zip(exact, to_cents(list(exact.values()), effective), strict=True))
    return Sums(
        effective, shown[MATCHED], effective - shown[MATCHED],
        max(Decimal(0), 1 - gross / whole) if whole > 0 else None,
        len(open_lines), any(line.unmatched < 0 for line in open_lines),
        shown[COMMITMENTS] + shown[CAPACITY], shown[NOT_HELD], shown[CAPACITY],
    )  # fmt: skip
