"""The metrics of intelligence per dollar under their numbers, M1 to M15."""

import re

from analysis.formulas import FORMULAS
from analysis.formulas.formula import Formula

_NUMBER = re.compile(r" \(M(\d+)\)$")
ALSO = {
    "spent_by_then": 3,
    "usd_per_rollout": 6,
    "usd_per_correct": 6,
    "usd_per_informative": 6,
    "goodput": 11,
    "break_even_usd_per_gpu_h": 12,
}
"""Formulas that other pages show under their plain names."""


def numbered() -> list[tuple[int, str, Formula]]:
    """(number, name without it, formula), by number; a number may have several formulas."""
    out = []
    for formula in FORMULAS.values():
        found = _NUMBER.search(formula.name)
        number = int(found[1]) if found else ALSO.get(formula.id)
        if number is not None:
            out.append((number, _NUMBER.sub("", formula.name), formula))
    return sorted(out, key=lambda row: row[0])
