"""Money on a learning curve: cost to a score, of the next point, what a budget buys, and where to stop.

Money comes in by a price function amount -> USD, so that one curve, fitted in tokens, steps or GPU-hours, is
priced on every platform. Functions of a `Sigmoid` take known curves and draws alike; those of a `Curve` add
the interval of its refits, joint with draws of the price where those are given.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.curve import Curve, Sigmoid, interval_of
from models.curve_fit import Floats
from models.curve_profile import amount_draws
from models.shapes import Num, num
from models.stats import Interval

POINT = 0.01
"""One percentage point of a score that is a fraction."""
FLAT = 0.01
"""A curve with less than this part of a point left below its top is flat: no evaluation could show more."""
SURE = 0.9
GO_ON, STOP, UNSURE = "go on", "stop", "cannot tell"
FAR = 1e6
"""The stop line is searched up to this many times the last amount seen."""
Price = Callable[[Floats], Floats]
"""USD spent after an amount, never falling; called with arrays shaped like the draws: it may hold its own."""


@dataclass(frozen=True)
class Target:
    """Amount or USD to a score. Infinite: not reachable, the target lies at or above the top.

    `reachable_frac` is how sure it is that it is reached at all; `beyond` how often the last amount seen
    goes into the amount needed (above 1: extrapolated).
    """

    interval: Interval
    reachable_frac: float
    beyond: float

    @property
    def reachable(self) -> bool:
        """True when the fitted curve reaches the target."""
        return math.isfinite(self.interval.value)

    @property
    def bounded(self) -> bool:
        """True when the interval has an upper end."""
        return math.isfinite(self.interval.high)


@dataclass(frozen=True)
class Forecast:
    """What a budget buys: amount, score of the curve, and the wider interval of one further evaluation."""

    amount: Interval
    score: Interval
    evaluation: Interval


@dataclass(frozen=True)
class Stop:
    """Where the marginal point becomes dearer than it is worth: amount, USD and score there.

    0: no point is ever worth its price; infinite: worth it as far as the search goes. `stop_frac` is the
    share of refits in which going on from the amount spent does not pay.
    """

    amount: Interval
    usd: Interval
    score: Interval
    stop_frac: float

    @property
    def verdict(self) -> str:
        """`stop` or `go on` where nine of ten refits agree, else `cannot tell`."""
        if self.stop_frac >= SURE:
            return STOP
        return GO_ON if self.stop_frac <= 1 - SURE else UNSURE


def amount_to_target(curve: Curve, target: float) -> Target:
    """Amount at which the curve reaches a score, with its profile interval (models/curve_profile.py)."""
    return _target(curve, target, lambda x: x, None)


def cost_to_target(curve: Curve, target: float, price: Price, price_draws: Price | None = None) -> Target:
    """USD at which the curve reaches a score: price(x(R)), profile interval; `price_draws`: joint with it."""
    return _target(curve, target, price, price_draws)


def _target(curve: Curve, target: float, price: Price, price_draws: Price | None) -> Target:
    drawn = price_draws or price
    amounts = amount_draws(curve, target)
    spent = float(usd_to(curve.fit, target, price))
    found = interval_of(spent, _usd(drawn, amounts), curve.n, curve.confidence)
    return Target(found, float(np.isfinite(amounts).mean()), float(curve.fit.amount(target)) / curve.x_last)


def usd_to(curve: Sigmoid, target: Num, price: Price) -> Floats:
    """USD to a score on a known curve or its draws; infinite where the target is not reachable."""
    return _usd(price, curve.amount(target))


def _usd(price: Price, amount: Floats) -> Floats:
    """price(amount) with infinite amounts kept infinite, whatever the price function makes of them."""
    known = np.isfinite(amount)
    usd = np.asarray(price(np.where(known, amount, 1.0)), dtype=np.float64)
    if not (np.isfinite(usd) & (usd >= 0)).all():
        raise ValueError("the price of an amount must be a number of USD, 0 or more")
    spent: Floats = np.where(known, usd, math.inf)
    return spent


def usd_per_point(curve: Sigmoid, x: Num, price: Price, point: float = POINT) -> Floats:
    """Marginal cost of a point at the amount x > 0: point (d$/dx) / (dR/dx); infinite where it is FLAT."""
    at = np.broadcast_to(num(x), np.broadcast_shapes(np.shape(x), np.shape(curve.top)))
    near = at * (1 + 1e-5)
    with np.errstate(divide="ignore", invalid="ignore"):
        usd = point * (_usd(price, near) - _usd(price, at)) / (near - at) / curve.slope(at)
    rises = (curve.slope(at) > 0) & (num(curve.top) - curve.score(at) >= FLAT * point)
    cost: Floats = np.where(rises | (usd == 0), usd, math.inf)
    return cost


def marginal_cost(
    curve: Curve, x: float, price: Price, price_draws: Price | None = None, point: float = POINT
) -> Interval:
    """Marginal USD per point after the amount x, with its interval (M5)."""
    drawn = price_draws or price
    return curve.interval(
        lambda s: usd_per_point(s, x, price, point), lambda s: usd_per_point(s, x, drawn, point)
    )


def amount_for(usd: float, price: Price, like: Num) -> Floats:
    """The amount that a budget buys, shaped like `like`: bisection of the price. 0 if a fixed part eats it.

    Raises ValueError when no amount up to 1e15 times `like` costs as much: such a budget is not a budget.
    """
    low, high = np.zeros_like(num(like)), np.asarray(num(like)) * 1.0
    for _ in range(50):
        short = _usd(price, high) < usd
        if not short.any():
            break
        high = np.where(short, high * 2, high)
    else:
        raise ValueError(f"no amount costs {usd:g} USD: check the price")
    for _ in range(80):
        middle = (low + high) / 2
        short = _usd(price, middle) < usd
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    amount: Floats = np.where(high > 1e-12 * num(like), high, 0.0)
    return amount


def forecast(
    curve: Curve, usd: float, price: Price, price_draws: Price | None = None, seed: int = 0
) -> Forecast:
    """Score after a budget, with the interval of the curve and of one evaluation more (noise added)."""
    shape = np.full_like(num(curve.draws.top), curve.x_last)
    drawn = amount_for(usd, price_draws or price, shape)
    amount = float(amount_for(usd, price, curve.x_last))
    scores = curve.draws.score(drawn)
    noise = np.random.default_rng(seed).standard_normal(scores.shape) * curve.noise_sd
    value = float(curve.fit.score(amount))
    seen = [interval_of(value, s, curve.n, curve.confidence) for s in (scores, scores + noise)]
    return Forecast(interval_of(amount, drawn, curve.n, curve.confidence), seen[0], seen[1])


def stop_amount(
    curve: Sigmoid, price: Price, usd_per_point_worth: float, first: float, last: float
) -> Floats:
    """Last amount in first..last at which the marginal point costs no more than it is worth.

    The marginal cost of an S-shaped curve falls and then rises: the later crossing counts. 0 where no point
    is worth its price, infinite where the last one still is.
    """
    shape = np.shape(curve.top)
    grid = np.geomspace(first, last, 320)
    paying = np.full(shape, -1)
    for index, x in enumerate(grid):
        paying = np.where(usd_per_point(curve, x, price) <= usd_per_point_worth, index, paying)
    low, high = grid[paying], grid[np.minimum(paying + 1, len(grid) - 1)]
    for _ in range(50):
        middle = np.sqrt(low * high)
        pays = usd_per_point(curve, middle, price) <= usd_per_point_worth
        low, high = np.where(pays, middle, low), np.where(pays, high, middle)
    stop: Floats = np.where(paying < 0, 0.0, np.where(paying == len(grid) - 1, math.inf, low))
    return stop


def stop_line(
    curve: Curve,
    usd_per_point_worth: float,
    price: Price,
    price_draws: Price | None = None,
    spent: float | None = None,
    totals: tuple[Price, Price] | None = None,
) -> Stop:
    """Where the marginal point costs more than it is worth; whether going on from the amount `spent` pays.

    Going on does not pay where the line is passed, or where all points up to the line are worth less than
    they cost together. `spent` is the last amount seen if not given. `totals`: USD by then and its draws,
    where the price above is a rate that was not paid all along. Raises ValueError unless a point is worth
    something.
    """
    if not usd_per_point_worth > 0:
        raise ValueError(f"a point must be worth more than 0 USD: {usd_per_point_worth}")
    now = curve.x_last if spent is None else spent
    first, last = min(curve.x_first, now) / 100, curve.x_last * FAR
    drawn_price = price_draws or price
    by_then = totals or (price, drawn_price)
    at = stop_amount(curve.fit, price, usd_per_point_worth, first, last)
    drawn = stop_amount(curve.draws, drawn_price, usd_per_point_worth, first, last)
    held = np.broadcast_to(np.asarray(now), drawn.shape)
    gain = curve.draws.score(np.maximum(drawn, held)) - curve.draws.score(held)
    costs = _usd(drawn_price, np.where(np.isfinite(drawn), np.maximum(drawn, held), held)) - _usd(
        drawn_price, held
    )
    stops = (drawn <= held) | (np.isfinite(drawn) & (gain / POINT * usd_per_point_worth < costs))
    made = [
        (float(at), drawn),
        (float(_usd(by_then[0], at)), _usd(by_then[1], drawn)),
        (float(curve.fit.score(at)), curve.draws.score(drawn)),
    ]
    ends = [interval_of(value, draws, curve.n, curve.confidence) for value, draws in made]
    return Stop(ends[0], ends[1], ends[2], float(stops.mean()))
