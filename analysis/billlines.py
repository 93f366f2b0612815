"""Lines of a bill with what is borne of them, and the totals in cents that every table adds up to."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from analysis.bill import Bill, Charge
from analysis.matching import Matched
from analysis.parts import NONE, UNHELD, WHY, Part
from models.cents import cents, to_cents, total

MATCHED, NOT_HELD, OPEN, CREDITS = "matched", "unheld", "open", "credits"
COMMITMENTS, RESERVATIONS, CAPACITY = "commitments", "reservations", "capacity"
RESTS = (COMMITMENTS, RESERVATIONS, CAPACITY, NOT_HELD, OPEN, CREDITS)
"""What the unmatched part of a line can be."""
_CREDITS_BORNE, _IDLE = "credits_borne", (COMMITMENTS, RESERVATIONS, CAPACITY, NOT_HELD)
_UNUSED = {WHY["idle_capacity"]: CAPACITY, WHY["reserved"]: RESERVATIONS}
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
    """Totals in cents: effective = charges + credits; charges = borne + idle + open. Each is within a cent of
    its exact sum (largest remainder). `matched` and `unmatched` are the sides of all lines, credits too.

    `unheld` is GPU time that nobody held by a scheduler that knows the machine; other time stays in `open`.
    `explained`, `idle_frac` and `open_frac` are exact shares of the charges and add up to 1, corrections
    that nothing explains counted as amounts; None where the charges come to nothing.
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
    """Of `unused`: idle capacity of a cluster, as OpenCost names it."""
    reservations: Decimal = Decimal(0)
    """Of `unused`: capacity reservations in which nothing ran; the rest are commitments."""
    credits_borne: Decimal = Decimal(0)
    """Of `matched`: credits of runs, jobs and campaigns (negative)."""
    credits_loose: Decimal = Decimal(0)
    """Of `unmatched`: credits of nobody (negative)."""
    idle_frac: Decimal | None = None

    @property
    def credits(self) -> Decimal:
        """All credits, in cents (negative)."""
        return self.credits_borne + self.credits_loose

    @property
    def charges(self) -> Decimal:
        """What the period costs before credits, in cents."""
        return self.effective - self.credits

    @property
    def borne(self) -> Decimal:
        """Charges that a run, job, campaign or team bears, in cents."""
        return self.matched - self.credits_borne

    @property
    def idle(self) -> Decimal:
        """Charges that are known to be held by nobody, in cents."""
        return self.unused + self.unheld

    @property
    def open_frac(self) -> Decimal | None:
        """Share of the charges that nothing explains."""
        return (
            None if self.explained is None or self.idle_frac is None else 1 - self.explained - self.idle_frac
        )

    @property
    def commitments(self) -> Decimal:
        """Commitments (a promise to spend) that nobody used, in cents."""
        return self.unused - self.capacity - self.reservations

    @property
    def rests(self) -> dict[str, Decimal]:
        """What is not matched by RESTS, in cents; adds up to `unmatched`."""
        unused = (self.commitments, self.reservations, self.capacity)
        return dict(zip(RESTS, (*unused, self.unheld, self.open, self.credits_loose), strict=True))

    @property
    def open(self) -> Decimal:
        """What nothing explains, in cents."""
        return self.unmatched - self.unused - self.unheld - self.credits_loose


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
    return bool(line.unmatched) and not (line.charge.unused or line.charge.credit or line.known_idle)


def rest_of(line: Line) -> str:
    """Which of RESTS the unmatched part of a line is."""
    if line.charge.credit:
        return CREDITS
    if line.known_idle:
        return NOT_HELD
    if not line.charge.unused:
        return OPEN
    return _UNUSED.get(line.why, COMMITMENTS)


def add_lines(lines: Sequence[Line]) -> Sums:
    """Totals; `known_idle` of a line says that what no run or job held of it is known to be idle."""
    open_lines = [line for line in lines if is_open(line)]
    ours = {
        credit: total([x.matched for x in lines if x.charge.credit is credit]) for credit in (False, True)
    }
    exact = {MATCHED: ours[False], _CREDITS_BORNE: ours[True]}
    for rest in RESTS:
        exact[rest] = total([line.unmatched for line in lines if rest_of(line) == rest])
    effective, idle = cents(total(list(exact.values()))), total([exact[name] for name in _IDLE])
    gross = ours[False] + idle + total([abs(line.unmatched) for line in open_lines])
    shown = dict(zip(exact, to_cents(list(exact.values()), effective), strict=True))
    matched = shown[MATCHED] + shown[_CREDITS_BORNE]
    return Sums(
        effective, matched, effective - matched, ours[False] / gross if gross > 0 else None,
        len(open_lines), any(line.unmatched < 0 for line in open_lines),
        shown[COMMITMENTS] + shown[RESERVATIONS] + shown[CAPACITY], shown[NOT_HELD], shown[CAPACITY],
        shown[RESERVATIONS], shown[_CREDITS_BORNE], shown[CREDITS], idle / gross if gross > 0 else None,
    )  # fmt: skip
