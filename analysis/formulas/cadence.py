"""Metrics of a programme that comes back every period."""

from analysis.formulas.formula import Formula

_HELD = "GPUs of whole racks or nodes, spares included; judges and sandboxes of a measured run"
_DRAWS = "p10_p90 of draws: step on the platform, failures over their published range, chain of jobs"

METRICS = (
    Formula(
        "cadence_gpus",
        "Working GPUs",
        "fewest held GPUs with P(finish) at least as wanted, of equals the fastest; or as asked",
        "GPUs",
        "GPUs that work, without spares",
        "exact",
    ),
    Formula(
        "cadence_racks",
        "Whole racks",
        "max(ceil(working GPUs / GPUs of whole groups in a rack), ceil(working x (1 + spare) / GPUs a rack))",
        "racks",
        "whole racks, spares included",
        "exact",
    ),
    Formula(
        "cadence_cycle_h",
        "Cycle",
        "sum over campaigns of steps x mean step + evaluations + saves + failures + start-ups and queue, + "
        "maintenance and waiting for programmes of higher priority",
        "h",
        "wall time from the start of the period to the last campaign's end",
        _DRAWS,
    ),
    Formula(
        "cadence_p_finish",
        "P(finish by the deadline)",
        "share of draws of the cycle that end by the deadline",
        "fraction",
        "one cycle",
        "95 % (Wilson) of the number of draws; what is uncertain in the inputs is in the share itself",
    ),
    Formula(
        "cadence_slack_h",
        "Slack",
        "deadline - cycle",
        "h",
        "one cycle",
        _DRAWS,
    ),
    Formula(
        "cadence_goodput",
        "Goodput",
        "seconds of steps kept / wall time, mean of draws",
        "fraction",
        "one cycle, waiting for other programmes left out",
        "p10_p90 of draws; the value is their mean",
    ),
    Formula(
        "cadence_checkpoint_steps",
        "Best steps between saves",
        "whole steps next to sqrt(2 d M)(1 + sqrt(d/2M)/3 + d/18M) - d with the higher goodput; d seconds of "
        "a save, M mean seconds to failure; M itself once d reaches 2 M",
        "steps",
        "one job",
        "exact for exponential failures",
    ),
    Formula(
        "cadence_usd_per_cycle",
        "Dollars a cycle",
        "held GPUs x USD a GPU-hour x hours paid (the whole period, or the cycle) + judges and sandboxes x "
        "cycle",
        "usd",
        _HELD,
        "quote_range, times p10 and p90 of the cycle where the cycle is paid",
    ),
    Formula(
        "cadence_usd_per_year",
        "Dollars a year",
        "dollars a cycle x 8,760 h / period",
        "usd",
        _HELD,
        "as dollars a cycle",
    ),
    Formula(
        "cadence_kwh_per_cycle",
        "Energy of a cycle",
        "held GPUs x kW a GPU x PUE x median cycle",
        "kWh",
        "at the meter, while the cycle runs; what an idle fleet draws is left out",
        "bounds: PUE low and high",
    ),
)
