"""Every metric's formula, once: figures quote it, docs/metrics.md is checked against it."""

from pathlib import Path

from analysis.formulas import (
    backtest,
    bill,
    cadence,
    campaigns,
    commitments,
    core,
    curves,
    energy,
    forecast,
    intelligence,
    month,
    pools,
    prices,
    projection,
    tenure,
    waste,
)
from analysis.formulas.formula import Formula

FORMULAS_VERSION = "2"

_ALL: tuple[Formula, ...] = (
    *core.METRICS,
    *bill.METRICS,
    *campaigns.METRICS,
    *energy.METRICS,
    *tenure.METRICS,
    *commitments.METRICS,
    *forecast.METRICS,
    *waste.METRICS,
    *month.METRICS,
    *prices.METRICS,
    *backtest.METRICS,
    *projection.METRICS,
    *intelligence.METRICS,
    *curves.METRICS,
    *cadence.METRICS,
    *pools.METRICS,
)

FORMULAS: dict[str, Formula] = {item.id: item for item in _ALL}
DOC = Path(__file__).parents[2] / "docs" / "metrics.md"


def text(formula_id: str) -> str:
    """Formula text of one metric; KeyError when it is not defined."""
    return FORMULAS[formula_id].formula


def markdown() -> str:
    """The whole of docs/metrics.md."""
    head = (
        "# Metrics\n\nWritten by `analysis.formulas.write()` from the definitions in that folder, compared "
        f"with them by a test (formulas version {FORMULAS_VERSION}). Ratios are 0..1 inside and percent on "
        "screen; times are UTC; `points` are percentage points of a score that is a fraction.\n\n"
        "| id | metric | formula | unit | boundary | interval |\n|---|---|---|---|---|---|\n"
    )
    rows = (
        f"| `{f.id}` | {f.name} | {_cell(f.formula)} | {f.unit} | {_cell(f.boundary)} | "
        f"{_cell(f.interval)} |\n"
        for f in _ALL
    )
    return head + "".join(rows)


def _cell(content: str) -> str:
    return content.replace("|", "\\|")


def write() -> None:
    """Write docs/metrics.md."""
    DOC.write_text(markdown(), encoding="utf-8")
