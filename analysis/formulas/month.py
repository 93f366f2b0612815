"""Metrics of a month's money on one line."""

from analysis.formulas.formula import Formula

METRICS = (
    Formula(
        "month_explained",
        "Explained",
        "(dollars matched to a run or job + unused commitments + GPU time that, by the scheduler, nobody "
        "held) / effective cost of the period",
        "frac",
        "bill",
        "exact",
    ),
    Formula(
        "month_unexplained",
        "Not explained",
        "effective cost - explained dollars, a line each in the reconciliation",
        "usd",
        "bill",
        "exact",
    ),
    Formula(
        "month_productive",
        "Productive",
        "productive work of the waste identity / effective cost of the period",
        "frac",
        "bill",
        "low: without working time that lacks a proof of progress; high: all unknown time worked",
    ),
)
