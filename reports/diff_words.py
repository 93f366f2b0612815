"""A comparison of two reports as Markdown."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.diff import Diff

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")
SAME = "The two reports say the same: nothing that a reader sees differs."
LONGEST = 200


def escaped(text: str) -> str:
    """Return text as it stands in a cell of a Markdown table, with nothing in it that Markdown reads."""
    flat = " ".join(text.split())
    cut = flat if len(flat) <= LONGEST else flat[: LONGEST - 1] + "…"
    return _SPECIAL.sub(r"\\\1", cut)


def markdown(found: "Diff") -> str:
    """Return one table a kind of difference, and how many numbers are unchanged."""
    head = f"# Difference of two reports\n\nFrom `{found.a[:12]}` to `{found.b[:12]}`.\n"
    if found.same:
        return f"{head}\n{SAME}\n"
    numbers = [(n.section, n.label, *n.words(), n.note) for n in found.numbers]
    parts = [
        _table("Data", ("What", "Then", "Now"), ((v.name, v.then, v.now) for v in found.data)),
        _table("Prices", ("What", "Then", "Now"), ((v.name, v.then, v.now) for v in found.prices)),
        _table("Formulas", ("What", "Then", "Now"), ((v.name, v.then, v.now) for v in found.formulas)),
        _table(
            "Parameters",
            ("Where", "Parameter", "Then", "Now"),
            ((p.section, p.name, p.then, p.now) for p in found.parameters),
        ),
        _table("Numbers", ("Where", "What", "Then", "Now", "Change", "Note"), numbers),
        _table("Assumptions", ("What", "Then", "Now"), ((a.name, a.then, a.now) for a in found.assumptions)),
        _table(
            "Tables",
            ("Where", "Table", "Rows then", "Rows now", "Added", "Removed", "Changed"),
            (
                (t.section, t.table, *(f"{n:,}" for n in (t.then, t.now, t.added, t.removed, t.changed)))
                for t in found.tables
            ),
        ),
        _table("Sections", ("What",), ((one,) for one in found.sections)),
    ]
    still = f"{found.unchanged_numbers:,} numbers are unchanged.\n"
    return "\n".join([head, *(part for part in parts if part), still])


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in rows]
    if not lines:
        return ""
    rule = "|" + "---|" * len(columns)
    return "\n".join([f"## {title}\n", "| " + " | ".join(columns) + " |", rule, *lines, ""])
