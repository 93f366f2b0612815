"""How RL clusters run, as published: failures, start-ups, checkpoints, sandboxes, queues, with sources."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from data.catalogue import FOLDER
from data.catalogue_rows import Line, read_rows, unique
from data.errors import UserError

STATUSES = frozenset({"published", "second_hand", "vendor_page"})
FILE = "rl_operations.csv"


@dataclass(frozen=True)
class Operation:
    """One published figure under its `condition`; `low` and `high`: printed range, None without one."""

    fact: str
    value: float
    low: float | None
    high: float | None
    unit: str
    condition: str
    kind: str
    status: str
    source: str
    source_date: str
    note: str


def operation(fact: str, folder: Path = FOLDER) -> Operation:
    """One figure by name. Raises UserError for a name that is not there, naming where to look."""
    found = operations(folder)
    if fact not in found:
        raise UserError(f"The figure {fact!r} is not known", FILE, f"Use one of {', '.join(found)}.")
    return found[fact]


@functools.cache
def operations(folder: Path = FOLDER) -> Mapping[str, Operation]:
    """All figures by name, in file order; raises CatalogueError for a row without unit, source or status."""
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: Operation) -> None:
        for column in ("fact", "unit", "condition", "kind", "source", "source_date"):
            line.need(column)
        unique(seen, (row.fact,), line, "figure")
        if row.status not in STATUSES:
            raise line.refuse(
                f"status {row.status!r} is unknown", f"Use one of {', '.join(sorted(STATUSES))}."
            )
        ends = [end for end in (row.low, row.high) if end is not None]
        if len(ends) == 1 or (ends and not ends[0] <= row.value <= ends[1]):
            raise line.refuse(
                f"{row.value:g} does not lie in its range", "Give low <= value <= high, or none."
            )

    return {row.fact: row for row in read_rows(folder / FILE, Operation, check)}
