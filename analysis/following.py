"""Credits and corrections that go with a line that a tag gives to somebody: same machine, same time."""

from collections import defaultdict
from collections.abc import Sequence

from analysis.bill import Charge
from analysis.holds import machine_names
from analysis.paying import span
from models.accrual import overlap_s

Bond = tuple[Charge, ...]
"""Lines that a credit or correction is about."""


def bonds(charges: Sequence[Charge]) -> dict[int, Bond]:
    """Lines that each credit or correction goes with, by its number; only where a tag names one of them.

    A credit or correction that names a run, campaign or job itself, or no machine, or no time, is left out.
    GPU lines of the machine come first: others count where there is none.
    """
    by_name: dict[str, list[Charge]] = defaultdict(list)
    for line in charges:
        if not _reduces(line) and line.start is not None and not line.unused:
            for name in machine_names(line):
                by_name[name].append(line)
    out = {}
    for charge in charges:
        if (
            _reduces(charge)
            and charge.start is not None
            and not (charge.run or charge.campaign or charge.job)
        ):
            found = {line.number: line for n in machine_names(charge) for line in by_name.get(n, ())}
            there = [one for one in found.values() if overlap_s(*span(one), *span(charge)) > 0]
            lines = [one for one in there if one.is_gpu] or there
            if any(_names(one) for one in lines):
                out[charge.number] = tuple(sorted(lines, key=lambda one: one.number))
    return out


def _reduces(charge: Charge) -> bool:
    return charge.credit or charge.correction


def _names(charge: Charge) -> bool:
    return bool(charge.run or charge.campaign or charge.job)
