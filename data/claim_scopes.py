"""What a claim of the catalogue acts on: our reading of its words, one row a claim."""

import functools
from dataclasses import dataclass
from pathlib import Path

from data.catalogue import FOLDER, Catalogue
from data.catalogue_rows import Line, read_rows, unique
from data.errors import CatalogueError

WHOLE = "step"
"""In `acts_on`: the claim speaks of the whole step."""
CLASSES = ("", "dense", "moe", "hybrid_moe")
PRECISIONS = ("", "bf16", "fp8", "fp4")


@dataclass(frozen=True)
class ClaimScope:
    """Phases a claim acts on (none: `why_not` says why), and what must hold for it to speak of a run.

    `model_class`: dense, moe or hybrid_moe. `baseline_precision`: it compares with this format and no other;
    `precision`: what the target must run or send. `price_basis` (kind.tier): prices the claim was made at,
    empty: those in use. `params_b`: billions of parameters behind a number of seconds.
    """

    claim_id: str
    acts_on: tuple[str, ...]
    model_class: str
    baseline_precision: str
    precision: str
    price_basis: str
    params_b: float | None
    reads_as: str
    why_not: str


def claim_scopes(catalogue: Catalogue) -> dict[str, ClaimScope]:
    """Scope by claim. Raises CatalogueError when a claim of the catalogue has none."""
    scopes = _scopes(FOLDER)
    lacks = [c.claim_id for c in catalogue.claims() if c.claim_id not in scopes]
    if lacks:
        raise CatalogueError(
            f"claim {lacks[0]} has no scope", "claim_scopes.csv", "Say there which phase it acts on."
        )
    return scopes


@functools.cache
def _scopes(folder: Path) -> dict[str, ClaimScope]:
    from models.moves import PHASES  # it brings SciPy, which no start of the app needs

    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: ClaimScope) -> None:
        line.need("claim_id")
        unique(seen, (row.claim_id,), line, "the scope of")
        for phase in row.acts_on:
            if phase not in (*PHASES, WHOLE):
                raise line.refuse(
                    f"phase {phase!r} is unknown", f"Use {WHOLE} or one of {', '.join(PHASES)}."
                )
        if row.model_class not in CLASSES:
            raise line.refuse(f"class {row.model_class!r} is unknown", "Use dense, moe or hybrid_moe.")
        if not {row.baseline_precision, row.precision} <= set(PRECISIONS):
            raise line.refuse("a precision is unknown", "Use bf16, fp8 or fp4.")
        line.need("reads_as" if row.acts_on else "why_not")

    return {row.claim_id: row for row in read_rows(folder / "claim_scopes.csv", ClaimScope, check)}
