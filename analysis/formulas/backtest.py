"""Metrics of the back-test: how wrong projections were on published pairs."""

from analysis.formulas.formula import Formula

_BOUNDARY = "published pairs"

METRICS = (
    Formula(
        "backtest_error",
        "Median error",
        "median of |predicted ratio / published ratio - 1| over pairs of rows that differ in the platform; "
        "no row of the tested model is used",
        "frac",
        _BOUNDARY,
        "ci95: whole models drawn again, from three models on",
    ),
    Formula(
        "backtest_bias",
        "Bias",
        "geometric mean of predicted ratio / published ratio",
        "ratio",
        _BOUNDARY,
        "p10_p90 of predicted / published",
    ),
    Formula(
        "backtest_coverage",
        "Inside p10..p90",
        "pairs whose published ratio lies between p10 and p90 / pairs with a band; the band holds the "
        "10 % and 90 % quantiles of residuals of other models, each predicted without its own model: every "
        "model counts once, n models of the class (dense, moe) hold n / (n + 1), residuals of the other "
        "class are scaled by the ratio of the spreads of the classes in training",
        "frac",
        _BOUNDARY,
        "ci95: exact binomial",
    ),
    Formula(
        "backtest_decode",
        "Decode ratio",
        "(s (memory_b / eta_bw + compute_b / eta_f) + c0) / tpot_a with c0 = tpot_a - s (memory_a / eta_bw + "
        "compute_a / eta_f), mean log over a grid of eta_bw, eta_f, power of the FLOP/s ratio, largest "
        "share; x exp(sum of other models' median log residuals of the class and generations / (n + 1))",
        "ratio",
        _BOUNDARY,
        "p10_p90",
    ),
    Formula(
        "backtest_training",
        "Training ratio",
        "peak ratio x factors of platform (by precision, dense or MoE, kind of metric), of the generation "
        "and of the model parallelism on the source: ridge regression of log ratios on other models, "
        "mean over a grid of penalties",
        "ratio",
        _BOUNDARY,
        "p10_p90",
    ),
    Formula(
        "backtest_step",
        "RL step ratio",
        "f + (1 - f) x (0.5 (0.5 + 0.5 / (bandwidth x GPUs)) + 0.4 / (FLOP/s x GPUs) + 0.1); f: share that "
        "did not scale in pairs of other models x n / (n + 1)",
        "ratio",
        _BOUNDARY,
        "p10_p90",
    ),
)
