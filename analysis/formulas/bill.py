"""Metrics of a bill and of what it is matched to."""

from analysis.formulas.formula import Formula

METRICS = (
    Formula(
        "bill_explained",
        "Explained share of charges",
        "charges that a run, job, campaign or team bears / (those + charges held by nobody + absolute "
        "amounts of the charges that are neither); credits are no charges",
        "frac",
        "bill",
        "exact",
    ),
    Formula(
        "bill_effective",
        "Effective cost",
        "sum of EffectiveCost (amortised) of the invoice's lines; billed cost where a provider states no "
        "effective one; a charge over several months by seconds",
        "usd",
        "bill",
        "exact, to the cent",
    ),
    Formula(
        "bill_billed",
        "Invoice",
        "sum of BilledCost of the invoice's lines; never added to the effective cost",
        "usd",
        "bill",
        "exact, to the cent",
    ),
    Formula(
        "bill_matched",
        "Matched",
        "sum over lines of effective cost x GPU-seconds held by known runs and jobs / max(bought, held); "
        "whole lines that a tag or a person books",
        "usd",
        "bill",
        "exact, to the cent",
    ),
    Formula(
        "bill_open",
        "Not explained",
        "effective cost - credits - matched charges - unused commitments, unused reservations and idle "
        "capacity - GPU time that nobody held",
        "usd",
        "bill",
        "exact, to the cent",
    ),
    Formula(
        "bill_unused",
        "Unused commitments",
        "sum of effective cost of unmatched lines with CommitmentDiscountStatus Unused, no reservation",
        "usd",
        "bill",
        "exact, to the cent",
    ),
    Formula(
        "bill_reserved",
        "Unused reservations",
        "sum of effective cost of unmatched lines with CapacityReservationStatus Unused",
        "usd",
        "bill",
        "exact, to the cent",
    ),
    Formula(
        "bill_capacity",
        "Idle capacity",
        "sum of effective cost of unmatched lines of idle cluster capacity (OpenCost __idle__)",
        "usd",
        "bill",
        "exact, to the cent",
    ),
    Formula(
        "bill_unheld",
        "GPU time that nobody held",
        "sum of effective cost of GPU time that no run or job held, when a scheduler file covers the machine",
        "usd",
        "bill",
        "exact, to the cent",
    ),
    Formula(
        "bill_idle",
        "Held by nobody",
        "unused commitments + unused reservations + idle capacity + GPU time that no run or job held by a "
        "scheduler file",
        "usd",
        "bill",
        "exact, to the cent",
    ),
    Formula(
        "bill_credits",
        "Credits",
        "sum of effective cost of credit lines, whoever bears them: in no share of the charges",
        "usd",
        "bill",
        "exact, to the cent",
    ),
    Formula(
        "bill_over_matched",
        "Over-matched lines",
        "lines of a named machine of which more GPU-seconds were held than bought, by more than 1 %",
        "lines",
        "bill",
        "exact",
    ),
    Formula(
        "held_not_billed",
        "Held, not on the bill",
        "sum over runs and jobs of GPU-hours held in the period - GPU-hours that a charge paid",
        "gpu_h",
        "bill",
        "exact",
    ),
)
