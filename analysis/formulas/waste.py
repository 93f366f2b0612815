"""Metrics of the waste identity."""

from analysis.formulas.formula import Formula

METRICS = (
    Formula(
        "gpu_paid",
        "Paid for GPUs",
        "sum of the effective cost of GPU charges and of unused commitments in the period; without a bill: "
        "allocated GPU-hours x price",
        "usd",
        "bill | campaign",
        "exact",
    ),
    Formula(
        "working_share",
        "Worked, of GPU charges",
        "working / paid, where paid = not_allocated + idle + stalled + working + unknown",
        "frac",
        "bill | campaign",
        "low: without working time that lacks a proof of progress; high: all unknown time worked",
    ),
    Formula(
        "waste_share",
        "Wasted, of GPU charges",
        "(not_allocated + idle + stalled) / paid",
        "frac",
        "bill | campaign",
        "low: unknown time worked; high: it and unproven working time are waste",
    ),
    Formula(
        "stalled_usd",
        "Stalled",
        "GPU-seconds with GPU-Util high and no tensor or memory traffic, or low power, or a frozen step "
        "counter, for as long as the threshold says, x dollars a GPU-second of their charge",
        "usd",
        "bill | campaign",
        "high: unknown and unproven time stalled",
    ),
    Formula(
        "productive_usd",
        "Productive",
        "working - bubble (short waits for the other pool) - lost (attempts outside the surviving lineage)",
        "usd",
        "bill | campaign",
        "low: without working time that lacks a proof of progress or may be lost; high: with all unknown "
        "time that may be on the surviving lineage",
    ),
    Formula(
        "waste_coverage",
        "Known, of GPU charges",
        "1 - unknown / paid",
        "frac",
        "none",
        "exact",
    ),
)
