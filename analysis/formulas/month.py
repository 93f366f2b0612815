"""Metrics of a month's money on one line."""

from analysis.formulas.formula import Formula

METRICS = (
    Formula(
        "month_productive",
        "Productive share of charges",
        "productive work of the waste identity / charges: the effective cost of the period before credits",
        "frac",
        "bill",
        "low: without working time that lacks a proof of progress or may be lost; high: with all unknown "
        "time that may be on the surviving lineage",
    ),
)
