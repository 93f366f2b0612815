"""Metrics of campaigns: who bears the bill, and what bought nothing."""

from analysis.formulas.formula import Formula

_BILL = "exact for a bill; without one allocations x price, see spend"

METRICS = (
    Formula(
        "spend_total",
        "Cost of the period",
        "sum of all shares of the period (effective cost), accrued by UTC day",
        "usd",
        "full",
        _BILL,
    ),
    Formula(
        "spend_full",
        "Borne by campaigns, full",
        "sum of shares of campaigns after sharing rules: pools, evaluations, storage, data, staff, other; "
        "before credits",
        "usd",
        "full",
        _BILL,
    ),
    Formula(
        "spend_campaign",
        "Borne by campaigns, pools",
        "shares of GPUs, judges, sandboxes and tokens of campaigns, failed and cancelled attempts included",
        "usd",
        "campaign",
        _BILL,
    ),
    Formula(
        "spend_compute",
        "Borne by campaigns, surviving pools",
        "sum of pool shares x share of the attempt's step seconds on the surviving lineage; shares that name "
        "no attempt count in the upper bound alone",
        "usd",
        "compute",
        _BILL,
    ),
    Formula(
        "spend_unallocated",
        "Borne by no campaign",
        "spend_total - spend_full - credits of campaigns",
        "usd",
        "full",
        _BILL,
    ),
    Formula(
        "spend_credits",
        "Credits",
        "sum of credit lines, of campaigns and of nobody; the part of spend_total that no boundary counts",
        "usd",
        "full",
        _BILL,
    ),
    Formula(
        "spend_failed",
        "Failed attempts",
        "sum of shares of attempts with status failed, also what survived of them",
        "usd",
        "campaign",
        _BILL,
    ),
    Formula(
        "spend_cancelled",
        "Cancelled attempts",
        "sum of shares of attempts with status cancelled, also what survived of them",
        "usd",
        "campaign",
        _BILL,
    ),
    Formula(
        "spend_restarted",
        "Restarted attempts",
        "sum of shares of attempts that ended otherwise, not completed, and were followed by another attempt",
        "usd",
        "campaign",
        _BILL,
    ),
    Formula(
        "lost_usd",
        "Dollars that bought nothing",
        "shares x time of start-up, after the last checkpoint that counts, of saved work nothing stands on, "
        "and of holds, over the attempt's time in that UTC day; plus what is paid outside any attempt",
        "usd",
        "campaign",
        "bounds: without .. with attempts of which no checkpoint is known",
    ),
)
