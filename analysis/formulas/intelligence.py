"""Metrics of what money bought: gain per dollar and per kWh, weighted gains, the frontier, dollars by bucket.

The M numbers are those under which the page lists them.
"""

from analysis.formulas.formula import Formula

_JOINT = (
    "95 %: joint draws of the gain (its confidence distribution) and of the price (90 % inside the quote "
    "range); never the ends of two intervals divided"
)

METRICS = (
    Formula(
        "gain_per_usd",
        "Gain per dollar (M1)",
        "gain / (spend / 1000); an interval that holds 0 ranks nothing",
        "points_per_1000_usd",
        "compute | campaign | full",
        _JOINT,
    ),
    Formula(
        "odds_per_usd",
        "Log-odds per dollar (M2)",
        "(logit(score after) - logit(score before)) / (spend / 1000), in nats",
        "nats_per_1000_usd",
        "compute | campaign | full",
        "95 %: joint draws of the price and of the log-odds gain by MOVER on Wilson limits at the effective "
        "number of tasks; not given for a gain corrected for a choice among checkpoints",
    ),
    Formula(
        "gain_per_energy",
        "Gain per energy (M13)",
        "gain / (energy at the meter / 1000)",
        "points_per_mwh",
        "compute | campaign | full",
        "95 %: joint draws of the gain and of the energy (90 % inside its bounds); none where the lower "
        "bound is 0",
    ),
    Formula(
        "error_cut",
        "Errors cut",
        "(score after - score before) / (1 - score before)",
        "frac",
        "none",
        "none: a reading of the two scores",
    ),
    Formula(
        "gain_weighted",
        "Weighted gain",
        "sum of w_i x gain_i / sum of w_i over benchmarks that a user gave weights, which stand in its name; "
        "no weights by default",
        "points",
        "none",
        "95 %: MOVER on the intervals of the benchmarks, whose tasks are taken as independent",
    ),
    Formula(
        "best_of_many",
        "Gain of the best of many checkpoints",
        "gain of the highest score - expected inflation; inflation: mean of (best estimate - its truth) over "
        "joint draws of all candidates around gains shrunk to their mean, else se x E[max of m normals]",
        "points",
        "none",
        "95 %: lower end simultaneous over all candidates (largest t of joint draws, else Bonferroni), upper "
        "end the ordinary one",
    ),
    Formula(
        "front_frac",
        "On the Pareto front of cost and score (M9)",
        "share of joint draws in which no other candidate costs no more, scores no less and differs in one",
        "frac",
        "compute | campaign | full",
        "none: a probability. Scores on shared tasks are drawn together (multivariate t, CR2 covariance), "
        "others from Wilson's interval; runs at the same prices share the drawn price",
    ),
    Formula(
        "best_frac",
        "Probability of being best (M9)",
        "share of joint draws in which the candidate has the highest score; a tie is shared",
        "frac",
        "none",
        "none: a probability, from the draws of front_frac",
    ),
    Formula(
        "at_equal_dollars",
        "Score at equal dollars, dollars at equal score (M9)",
        "difference of two measured curves of score against spend, linear between evaluations and never "
        "extrapolated",
        "points | usd",
        "compute | campaign | full",
        "95 %: joint draws of scores and prices; given where both curves reach in 97.5 % of draws",
    ),
    Formula(
        "bucket_usd",
        "Dollars by bucket (M10)",
        "dollars by phase on the surviving lineage, grouped; what failures lost, token bills and booked "
        "costs are buckets of their own; waits that lie inside unattributed time are moved out of it",
        "usd",
        "compute | campaign | full",
        "as spend; the buckets of a run add up to its spend",
    ),
    Formula(
        "bucket_productive",
        "Went to training and generation that survived",
        "(training + generation and reward) / spend",
        "frac",
        "compute | campaign | full",
        "exact for the phases that the file reports",
    ),
)
