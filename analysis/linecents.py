"""The cents of each line of a bill, decided once, and of groups of lines, so that every table agrees.

Largest remainder from the totals of `Sums` down to GPU lines and others, services, bearers (or reasons) and
lines: a service is exactly the sum of its lines, and each level is within a cent of its exact sum, credits
and charges each, as their totals stand apart.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from analysis.billlines import RESTS, Line, Sums, rest_of
from models.cents import cents, to_cents, total

K = TypeVar("K", bound=Hashable)
Path = tuple[Hashable, ...]


@dataclass(frozen=True)
class LineCents:
    """Dollars of a line in whole cents; `billed` None: the line states none."""

    matched: Decimal
    unmatched: Decimal
    billed: Decimal | None

    @property
    def effective(self) -> Decimal:
        """What the line costs."""
        return self.matched + self.unmatched


def line_cents(lines: Sequence[Line], sums: Sums) -> dict[int, LineCents]:
    """Cents by line number: they add up to `sums` in each of its totals, and to the invoice. In each total
    the GPU lines are rounded as one, so that they add up to `gpu_usd`.
    """
    paths = [((x.charge.provider, x.charge.service), _borne_by(x)) for x in lines]
    matched, unmatched = [Decimal(0)] * len(lines), [Decimal(0)] * len(lines)
    for credit, whole in (False, sums.borne), (True, sums.credits_borne):
        places = [i for i, line in enumerate(lines) if bool(line.charge.credit) is credit]
        mine = [(lines[i].charge.is_gpu, *paths[i]) for i in places]
        for i, usd in zip(places, _nested(mine, [lines[i].matched for i in places], whole), strict=True):
            matched[i] = usd
    for rest in RESTS:
        places = [i for i, line in enumerate(lines) if rest_of(line) == rest]
        why = [(lines[i].charge.is_gpu, paths[i][0], lines[i].why) for i in places]
        amounts = _nested(why, [lines[i].unmatched for i in places], sums.rests[rest])
        for i, usd in zip(places, amounts, strict=True):
            unmatched[i] = usd
    asked = [line.charge.billed or Decimal(0) for line in lines]
    if asked == [line.matched + line.unmatched for line in lines]:
        billed = [ours + rest for ours, rest in zip(matched, unmatched, strict=True)]
    else:
        billed = _nested([path[:1] for path in paths], asked, cents(total(asked)))
    return {
        line.charge.number: LineCents(ours, rest, None if line.charge.billed is None else said)
        for line, ours, rest, said in zip(lines, matched, unmatched, billed, strict=True)
    }


def gpu_usd(lines: Sequence[Line], sums: Sums) -> Decimal:
    """Cents of all GPU lines, as `line_cents` has them."""
    shown = line_cents(lines, sums)
    return total([shown[line.charge.number].effective for line in lines if line.charge.is_gpu])


def group_cents(
    amounts: Iterable[tuple[K, int, Decimal]], known: Mapping[int, tuple[Decimal, Decimal]], whole: Decimal
) -> dict[K, Decimal]:
    """Sums by key in cents that add up to `whole`, from (key, line, exact dollars).

    `known` holds the exact dollars and the cents of each line: a group that is one whole line has its cents.
    """
    groups: dict[K, dict[int, list[Decimal]]] = {}
    for key, line, usd in amounts:
        groups.setdefault(key, {}).setdefault(line, []).append(usd)
    exact = {key: total([usd for found in mine.values() for usd in found]) for key, mine in groups.items()}
    out = {}
    for key, mine in groups.items():
        line = next(iter(mine))
        if len(mine) == 1 and exact[key] == known[line][0]:
            out[key] = known[line][1]
        elif not exact[key]:
            out[key] = Decimal(0)
    free = [key for key in groups if key not in out]
    if not free and total(list(out.values())) != whole:
        free, out = list(groups), {}
    left = whole - total(list(out.values()))
    out |= zip(free, near_cents([exact[key] for key in free], left), strict=True)
    return {key: out[key] for key in groups}


def _borne_by(line: Line) -> Hashable:
    return frozenset((p.run, None if p.run else p.job, p.campaign, p.team) for p in line.parts if p.borne)


def _nested(paths: Sequence[Path], exact: Sequence[Decimal], whole: Decimal) -> list[Decimal]:
    """`exact` in cents that add up to `whole`, shared out along `paths` (all of one length)."""
    if not paths or not paths[0]:
        return to_cents(exact, whole)
    groups: dict[Hashable, list[int]] = {}
    for i, path in enumerate(paths):
        groups.setdefault(path[0], []).append(i)
    wholes = to_cents([total([exact[i] for i in found]) for found in groups.values()], whole)
    out = [Decimal(0)] * len(paths)
    for found, part in zip(groups.values(), wholes, strict=True):
        amounts = _nested([paths[i][1:] for i in found], [exact[i] for i in found], part)
        for i, usd in zip(found, amounts, strict=True):
            out[i] = usd
    return out


def near_cents(exact: Sequence[Decimal], whole: Decimal) -> list[Decimal]:
    """`to_cents`; what `whole` is more or less than a cent off goes to the largest amount."""
    gap = whole - total(exact)
    moved = list(exact)
    if moved and abs(gap) >= Decimal("0.01"):
        moved[max(range(len(moved)), key=lambda i: (abs(moved[i]), -i))] += gap
    return to_cents(moved, whole)
