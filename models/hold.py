"""Cost to hold a score that decays between training cycles (M14), and USD per million tokens (M15).

The score of a model in service falls as its environment changes. A training cycle lifts it by a gain, never
above a top, and costs USD. Holding a score at or above X means that it is never below X once it is there.
All numbers may be arrays of joint draws (draws,); they broadcast.

Decay over t days: exponential S(t) = F + (S(0) - F) exp(-rate t) towards a floor F, rate per day; or linear
S(t) = S(0) - rate t, rate in score per day. A cycle acts at its end: S -> min(top, S + gain). Cycles run one
at a time and take `cycle.days`, so they end no closer together than that.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from models.curve import interval_of
from models.curve_fit import Floats
from models.shapes import Num, num
from models.stats import Interval

MTOK = 1e6
Law = Literal["exponential", "linear"]


@dataclass(frozen=True)
class Decay:
    """How a score falls: law, rate (per day, or score per day) and the floor of the exponential law."""

    law: Law
    rate: Num
    floor: Num = 0.0

    def after(self, score: Num, days: Num) -> Floats:
        """The score `days` later; a score at or below the floor stays where it is."""
        if self.law == "linear":
            return np.asarray(num(score) - num(self.rate) * num(days))
        above = np.maximum(num(score) - num(self.floor), 0.0)
        return np.asarray(num(score) - above * -np.expm1(-num(self.rate) * num(days)))

    def stays_above(self, score: Num) -> npt.NDArray[np.bool_]:
        """Where a score once reached is never lost: nothing decays, or the floor lies there."""
        still = num(self.rate) == 0
        return np.asarray(still | ((num(score) <= num(self.floor)) & (self.law == "exponential")))

    def days(self, high: Num, low: Num) -> Floats:
        """Days from a score down to a lower one: ln((high - F) / (low - F)) / rate, or (high - low) / rate.

        0 where high is not above low; infinite where it never falls so far.
        """
        high, low = num(high), num(low)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.law == "linear":
                days = (high - low) / num(self.rate)
            else:
                left = (high - num(self.floor)) / (low - num(self.floor))
                days = np.where(low <= num(self.floor), math.inf, np.log(left) / num(self.rate))
        days = np.where(num(self.rate) > 0, days, math.inf)
        found: Floats = np.where(high > low, days, 0.0)
        return found


@dataclass(frozen=True)
class Cycle:
    """One training cycle: its gain in score, USD, days it takes, and the top that no cycle exceeds."""

    gain: Num
    usd: Num
    days: Num = 0.0
    top: Num = 1.0


@dataclass(frozen=True)
class Hold:
    """What holding costs: days between cycles, and USD a day; both of the shape of the draws.

    `usd_per_day` is infinite where the score cannot be held: the target is not below the top, a cycle gains
    nothing, or the score falls through the target before the next cycle can end. 0 where it never falls
    below the target.
    """

    period_days: Floats
    usd_per_day: Floats

    def usd_per(self, days: float) -> Floats:
        """USD for a period of `days`."""
        return self.usd_per_day * days


def decay_of(law: Law, before: float, after: float, days: float, floor: float = 0.0) -> Decay:
    """The decay that a fall from `before` to `after` within `days` shows.

    Exponential: rate = ln((before - F) / (after - F)) / days. Raises ValueError unless days > 0 and
    floor < after <= before.
    """
    if not days > 0 or after > before or (law == "exponential" and not after > floor):
        raise ValueError(
            f"a decay needs days above 0 and floor < after <= before: {days}, {floor}, {after}, {before}"
        )
    if law == "linear":
        return Decay(law, (before - after) / days)
    return Decay(law, math.log((before - floor) / (after - floor)) / days, floor)


def hold(target: Num, decay: Decay, cycle: Cycle) -> Hold:
    """M14, cost to hold: USD of a cycle / days between cycles, each cycle ending just when the score is at X.

    The score then runs from min(top, X + gain) down to X: period P = days of that fall, USD a day = K / P. No
    schedule that keeps the score at or above X needs fewer cycles in the long run: the fall is never slower
    from higher up, and the top cuts more off a cycle that starts higher.
    """
    goal, gain, days = num(target), num(cycle.gain), num(cycle.days)
    if not (np.all(gain >= 0) and np.all(num(cycle.usd) >= 0) and np.all(days >= 0)):
        raise ValueError("gain, USD and days of a cycle must be 0 or more")
    if not np.all(num(decay.rate) >= 0):
        raise ValueError("a decay rate must be 0 or more")
    peak = np.minimum(num(cycle.top), goal + gain)
    stays = decay.stays_above(goal) & (goal <= num(cycle.top))
    period: Floats = np.where(stays, math.inf, decay.days(peak, goal))
    held = (peak > goal) & (period >= days)
    with np.errstate(divide="ignore", invalid="ignore"):
        usd = num(cycle.usd) / period
    return Hold(period, np.where(stays, 0.0, np.where(held, usd, math.inf)))


def cheapest_cycle(
    target: float, decay: Decay, peaks: Floats, usd_of: Callable[[Floats], Floats], cycle_days: float = 0.0
) -> tuple[float, Hold]:
    """The peak, of several (n,), to which a cycle had best lift the score, and what holding then costs.

    `usd_of(peaks)` is the USD of a cycle from the target up to each peak, for instance a fixed part plus the
    cost between both scores on a learning curve. Large cycles are dear and decay faster, small ones pay the
    fixed part more often (the trade of Harris 1913's economic order quantity). Infinite cost: none holds it.
    """
    heights = np.asarray(peaks, dtype=np.float64)
    cycle = Cycle(np.maximum(heights - target, 0.0), usd_of(heights), cycle_days, math.inf)
    costs = hold(target, decay, cycle)
    best = int(np.argmin(costs.usd_per_day))
    return float(heights[best]), Hold(costs.period_days[best], costs.usd_per_day[best])


def hold_interval(
    target: float,
    value: tuple[Decay, Cycle],
    draws: tuple[Decay, Cycle],
    days: float,
    n: int,
    confidence: float = 0.95,
) -> Interval:
    """USD per `days` with its interval from joint draws of decay and cycle; infinite ends: cannot be held."""
    drawn = np.atleast_1d(hold(target, *draws).usd_per(days))
    return interval_of(float(hold(target, *value).usd_per(days)), drawn, n, confidence)


@dataclass(frozen=True)
class Sawtooth:
    """A held score: days (n,), scores (n,), the days at which cycles ended, and the USD spent in all."""

    days: Floats
    scores: Floats
    cycle_days: Floats
    usd: float


def simulate_hold(
    target: float, decay: Decay, cycle: Cycle, horizon_days: float, step_days: float, start: float
) -> Sawtooth:
    """Lives through a horizon step by step; a cycle ends whenever the next step would fall below the target.

    A cycle cannot end sooner than `cycle.days` after the one before: then the score does fall below. Numbers
    only, no draws. Raises ValueError unless 0 < step <= horizon.
    """
    if not 0 < step_days <= horizon_days:
        raise ValueError(f"0 < step <= horizon is needed: {step_days}, {horizon_days}")
    score, last = start, -math.inf
    scores, cycles = [start], []
    count = round(horizon_days / step_days)
    for index in range(1, count + 1):
        day = index * step_days
        if float(decay.after(score, step_days)) < target and day - last >= float(cycle.days):
            score = max(score, min(float(cycle.top), score + float(cycle.gain)))
            cycles.append(day)
            last = day
        score = float(decay.after(score, step_days))
        scores.append(score)
    days: Floats = np.arange(count + 1, dtype=np.float64) * step_days
    return Sawtooth(days, np.array(scores), np.array(cycles), len(cycles) * float(cycle.usd))


@dataclass(frozen=True)
class TokenCost:
    """M15: USD per million generated and per million trained tokens (infinite where there are none)."""

    usd_per_mtok_generated: Floats
    usd_per_mtok_trained: Floats


def token_cost(usd: Num, generated_tokens: Num, trained_tokens: Num) -> TokenCost:
    """USD inside a boundary / million tokens.

    Generated: every token that the engines wrote, dropped ones included. Trained: tokens that entered an
    optimiser step, once each time they did. Raises ValueError below 0.
    """
    spent, made, trained = num(usd), num(generated_tokens), num(trained_tokens)
    if not (np.all(spent >= 0) and np.all(made >= 0) and np.all(trained >= 0)):
        raise ValueError("USD and tokens must be 0 or more")
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [np.where(tokens > 0, spent / tokens * MTOK, math.inf) for tokens in (made, trained)]
    return TokenCost(found[0], found[1])


def gain_per_usd_from_tokens(gain: Num, generated_tokens: Num, usd_per_mtok_generated: Num) -> Floats:
    """M1 from M15: gain per million generated tokens / USD per million of them. Score per USD.

    The two are linked: halving the price of a token doubles the gain per USD only while a token still teaches
    as much.
    """
    if not (np.all(num(generated_tokens) > 0) and np.all(num(usd_per_mtok_generated) > 0)):
        raise ValueError("generated tokens and their price must be above 0")
    return np.asarray(num(gain) / (num(generated_tokens) / MTOK) / num(usd_per_mtok_generated))
