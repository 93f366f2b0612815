"""Money on a fitted curve: cost to a target, the marginal point, what a budget buys, where to stop."""

from dataclasses import dataclass

import numpy as np

from analysis.learning_fit import Along, CurveParams, Fitted, Floats
from models.curve import Curve, first_held
from models.curve_cost import (
    POINT,
    Forecast,
    Price,
    Stop,
    Target,
    amount_to_target,
    cost_to_target,
    forecast,
    marginal_cost,
    stop_line,
    usd_per_point,
)
from models.stats import Interval

MOST_SCORE = 0.999


@dataclass(frozen=True)
class Priced:
    """Answers in money for one curve; None where nobody says a price, a budget or a worth."""

    target: float
    amount: Target
    cost: Target | None = None
    held_usd: float | None = None
    marginal: Interval | None = None
    budget_usd: float | None = None
    bought: Forecast | None = None
    stop: Stop | None = None


def target_of(params: CurveParams, curve: Curve) -> float:
    """The score asked for, else one point above the curve at its last evaluation."""
    if params.target is not None:
        return params.target
    return min(float(curve.fit.score(curve.x_last)) + POINT, MOST_SCORE)


def priced(found: Fitted, params: CurveParams) -> Priced:
    """All of it for a run that has a curve. Raises ValueError without one."""
    curve = found.curve
    if curve is None:
        raise ValueError(f"{found.run} has no curve")
    target = target_of(params, curve)
    amount = amount_to_target(curve, target)
    if found.no_usd:
        return Priced(target, amount)
    spent = found.along("usd")
    factors = factors_of(found, curve)
    steady, drawn = prices(spent, factors)
    budget = params.budget_usd if params.budget_usd is not None else 2 * float(spent.values[-1])
    cost = cost_to_target(curve, target, spent.at, lambda x: factors * spent.at(x))
    bought = forecast(curve, budget, spent.at, lambda x: factors * spent.at(x), seed=params.seed + 2)
    stop = None
    if params.worth_usd is not None:
        by_then = (spent.at, lambda x: factors * spent.at(x))
        stop = stop_line(curve, params.worth_usd, steady, drawn, totals=by_then)
    marginal = marginal_cost(curve, curve.x_last, steady, drawn)
    return Priced(target, amount, cost, _held(found, target), marginal, budget, bought, stop)


def factors_of(found: Fitted, curve: Curve) -> Floats:
    """Draws of the price over the price in use, one a refit; ones where its quotes are not known."""
    return np.ones(np.shape(curve.draws.top)) if found.factors is None else found.factors


def prices(spent: Along, factors: Floats) -> tuple[Price, Price]:
    """Price of an amount at the mean rate of the run, and joint with the draws of its price."""
    rate = spent.rate

    def steady(amount: Floats) -> Floats:
        return np.asarray(amount * rate)

    def drawn(amount: Floats) -> Floats:
        return np.asarray(amount * rate * factors)

    return steady, drawn


def _held(found: Fitted, target: float) -> float | None:
    """USD by the first evaluation whose interval lies at or above the target and was not lost again."""
    rows = found.points.dropna(subset=["low", "high", "usd"])
    usd, low, high = (rows[name].to_numpy(dtype=float) for name in ("usd", "low", "high"))
    return first_held(usd, low, high, target) if len(rows) else None


def marginal_line(found: Fitted, amounts: Floats) -> tuple[Floats, Floats, Floats]:
    """Marginal USD of a point at amounts (k,) and its pointwise 95 % ends; infinite on a flat curve."""
    curve, spent = found.curve, found.along("usd")
    if curve is None:
        raise ValueError(f"{found.run} has no curve")
    factors = factors_of(found, curve)
    steady, drawn = prices(spent, factors)
    value = usd_per_point(curve.fit, amounts, steady)
    ends = np.array(
        [
            np.quantile(usd_per_point(curve.draws, float(x), drawn), [0.025, 0.975], method="nearest")
            for x in amounts
        ]
    )
    return value, ends[:, 0], ends[:, 1]
