"""Metrics of forecasts and of how good they were."""

from analysis.formulas.formula import Formula

_DRAWS = "p10..p90 of draws: days of history in blocks of a week, a level that wanders, the plan's ranges"
METRICS = (
    Formula(
        "forecast_usd",
        "Spend over the horizon",
        "median over draws of: known days + days of history drawn in blocks x level x (1+g)^m + planned "
        "GPU-hours x price, all x (1-d)^(m/12)",
        "usd",
        "bill | rent",
        _DRAWS,
    ),
    Formula(
        "forecast_gpu_h",
        "GPU-hours over the horizon",
        "as the spend, without prices; bill: GPU-hours bought, else GPU-hours held",
        "gpu_h",
        "bill | rent",
        _DRAWS,
    ),
    Formula(
        "forecast_over",
        "Probability of going over budget",
        "share of draws whose spend over the horizon exceeds budget x months",
        "frac",
        "bill | rent",
        "95 % (Wilson) of the number of draws; what is uncertain in the inputs is in the share itself",
    ),
    Formula(
        "forecast_level",
        "How far the level moves a month",
        "root mean square of log changes of the spend of whole months, from 4 of them on",
        "frac",
        "bill | rent",
        "exact for the months",
    ),
    Formula(
        "forecast_coverage",
        "Months inside their p10-p90",
        "months whose spend fell between the kept p10 and p90 / months that are over; 80 % is right",
        "frac",
        "bill | rent",
        "95 % Wilson score interval; months of one forecast are not independent",
    ),
    Formula(
        "forecast_pinball",
        "Mean pinball loss",
        "mean over p10, p50, p90 and months of q x max(0, y - x) + (1-q) x max(0, x - y)",
        "usd",
        "bill | rent",
        "exact",
    ),
    Formula(
        "forecast_skill",
        "Better than going on as before",
        "1 - pinball loss / pinball loss of the mean day of the history x days, as all three quantiles",
        "frac",
        "bill | rent",
        "exact",
    ),
    Formula(
        "forecast_bias",
        "Bias of the median",
        "sum of kept p50 / sum of what was spent - 1: above 0, forecasts were too high",
        "frac",
        "bill | rent",
        "exact",
    ),
)
