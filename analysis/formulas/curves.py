"""Metrics of a learning curve, of serving and of holding a score."""

from analysis.formulas.formula import Formula

_ANY = "compute | campaign | full"
_FIT = "95 %: bootstrap of refits, joint with draws of the price between its quotes"

METRICS = (
    Formula(
        "curve_top",
        "Top of the learning curve (M3)",
        "A of R(x) = R0 + (A - R0) / (1 + (x_mid / x)^B), fitted to the scores after x tokens, steps or "
        "GPU-hours of the surviving lineage, warm-up left out by rule",
        "frac",
        "none",
        "95 %: bootstrap of refits; the end of the scale where evaluations do not bound it",
    ),
    Formula(
        "cost_to_target",
        "Cost to reach a score (M4)",
        "price of the amount x_mid ((R - R0) / (A - R))^(1/B); beyond the last evaluation at the run's mean "
        "rate",
        "usd",
        _ANY,
        "95 %: profile of the fit, joint with draws of the price; without an upper end, or not reachable "
        "(A <= R)",
    ),
    Formula(
        "usd_per_next_point",
        "Dollars of the next point (M5)",
        "0.01 x mean USD of a unit of x / (dR/dx) at the last evaluation",
        "usd_per_point",
        _ANY,
        _FIT + "; without an upper end where less than 0.01 point may be left to the top",
    ),
    Formula(
        "score_at_budget",
        "Score that a budget buys",
        "R(x) at the x whose price is the budget",
        "frac",
        _ANY,
        _FIT + "; the table adds that of one further evaluation",
    ),
    Formula(
        "stop_spend",
        "Stop line",
        "last spend at which the marginal point costs no more than the worth that was typed",
        "usd",
        _ANY,
        _FIT + "; stop or go on where nine of ten draws agree, else cannot tell",
    ),
    Formula(
        "assumed_stage_usd",
        "Assumed cost of published stages",
        "published GPUs x steps x assumed minutes / 60 / assumed goodput x assumed USD a GPU-hour, or a "
        "typed total",
        "usd",
        "compute",
        "the assumed spread of the price; none by default",
    ),
    Formula(
        "points_per_10k_usd",
        "Points per $10k of published stages",
        "100 x gain / (cost / 10,000)",
        "points per $10k",
        "compute",
        "95 %: joint draws of the price and of the gain, its variance from totals with an assumed "
        "correlation",
    ),
    Formula(
        "serving_usd_per_mtok",
        "Dollars per million tokens in service",
        "USD a GPU-hour / (tokens/s/GPU x 3600 x share of time in use) x 1e6, or typed, or as "
        "evaluations paid",
        "usd_per_million_tokens",
        "serving",
        "none: the price is taken as it stands",
    ),
    Formula(
        "usd_per_success",
        "Dollars per solved task (M7)",
        "USD of an attempt / pass rate; attempts independent, a verifier tells which passed",
        "usd_per_success",
        "serving",
        "95 %: draws of the pass rate (Jeffreys)",
    ),
    Formula(
        "lifetime_usd_per_success",
        "Lifetime dollars per solved task (M8)",
        "(spend + N x USD of an attempt) / (N x pass rate) over N attempts",
        "usd_per_success",
        "compute | campaign | full, with serving",
        "95 %: joint draws of the spend between its quotes and of the pass rate",
    ),
    Formula(
        "break_even_successes",
        "Solved tasks that pay the campaign back (M8)",
        "spend / (c0 / p0 - c1 / p1), in solved tasks",
        "solved tasks",
        "compute | campaign | full, with serving",
        "95 %: joint draws of the spend and of both pass rates on the same tasks; without an upper end where "
        "no saving is not ruled out",
    ),
    Formula(
        "usd_to_hold",
        "Dollars to hold a score (M14)",
        "USD of a cycle / days in which the score falls from its peak to the target x days of the period; a "
        "cycle ends when the score is at the target",
        "usd",
        _ANY,
        "95 %: joint draws of gain and price; the typed fall is taken as it stands; not possible where a "
        "cycle ends too late or gains nothing",
    ),
    Formula(
        "cycle_period_days",
        "Days between cycles",
        "exponential: ln((peak - floor) / (target - floor)) / rate; linear: (peak - target) / rate",
        "days",
        "none",
        "none: from the typed fall and the measured peak",
    ),
    Formula(
        "usd_per_mtok_generated",
        "Dollars per million generated tokens (M15)",
        "spend x share of steps that report them / (generated tokens on the surviving lineage / 1e6)",
        "usd_per_million_tokens",
        _ANY,
        "as spend",
    ),
    Formula(
        "usd_per_mtok_trained",
        "Dollars per million trained tokens (M15)",
        "spend x share of steps that report them / (tokens that entered an optimiser step on the surviving "
        "lineage / 1e6)",
        "usd_per_million_tokens",
        _ANY,
        "as spend",
    ),
)
