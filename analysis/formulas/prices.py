"""Metrics of the price book: what runs would cost at other prices."""

from analysis.formulas.formula import Formula

METRICS = (
    Formula(
        "spend_as_stored",
        "Spend as stored",
        "spend at the picked kind and tier and the book in force; runs priced on both sides only",
        "usd",
        "compute | campaign | full",
        "lowest..highest quote of the same platform and kind",
    ),
    Formula(
        "spend_repriced",
        "Spend re-priced",
        "the same GPU-hours x the scenario's prices: another kind and tier, the book of another day, or "
        "amounts typed in; runs priced on both sides only",
        "usd",
        "compute | campaign | full",
        "lowest..highest quote of the same platform and kind",
    ),
    Formula(
        "reprice_difference",
        "Difference",
        "spend_repriced - spend_as_stored",
        "usd",
        "compute | campaign | full",
        "exact for the two prices used; no interval of its own",
    ),
)
