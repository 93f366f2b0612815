"""Metrics of a month's money on one line."""

from analysis.formulas.formula import Formula

METRICS = (
    Formula(
        "month_productive",
        "Productive",
        "productive work of the waste identity / effective cost of the period before credits",
        "frac",
        "bill",
        "low: without working time that lacks a proof of progress; high: all unknown time worked",
    ),
)
