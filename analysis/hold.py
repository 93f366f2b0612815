"""What it costs to hold a score that falls between training cycles (M14)."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from analysis.common import figure, nothing, result
from analysis.frames import NAN, known, number
from analysis.learning_words import percent_1
from analysis.result import Assumption, Figure, Notice, Result
from analysis.served_pair import Pair, PairParams, load_pair
from analysis.words import digits3, money
from data.view import View
from models.draws import money_draws
from models.hold import Cycle, Decay, decay_of, hold, hold_interval, simulate_hold
from models.stats import Interval

DRAWS = 2000
WEEKLY_POINTS = (0.5, 1.0, 2.0, 5.0)
"""Falls a week for which the table gives the cost whatever was typed."""
NO_FALL = "say how fast the score falls: points lost in how many days"
SENSITIVITY = ["points_per_week", "period_days", "usd", "usd_low", "usd_high", "held", "asked"]
SAW = ["day", "score", "target"]
EMPTY = {"sensitivity": SENSITIVITY, "saw": SAW}
PERIODS, STEPS = 3, 240


class HoldParams(PairParams):
    """`target`: the score that is never to be lost, 0..1 (None: the score before). `fall_points` in
    `fall_days`: how the score falls after a cycle; nothing measures it here. `cycle_days`: how long a cycle
    takes (None: as long as the run held its GPUs). `period_days`: of the dollars.
    """

    question: ClassVar[str] = "hold"
    target: float | None = Field(default=None, gt=0, lt=1)
    fall_points: float | None = Field(default=None, gt=0, lt=100)
    fall_days: float = Field(default=7.0, gt=0, le=3660)
    law: Literal["exponential", "linear"] = "exponential"
    floor: float = Field(default=0.0, ge=0, lt=1)
    cycle_days: float | None = Field(default=None, ge=0, le=3660)
    period_days: float = Field(default=30.0, gt=0, le=3660)


@dataclass(frozen=True)
class Cycles:
    """A cycle as measured, value and joint draws; its peak is the score after, `days` how long it takes."""

    before: float
    after: float
    target: float
    value: Cycle
    draws: Cycle
    days: float
    n: int


def compute(view: View, params: HoldParams) -> Result:
    """Tables: sensitivity (USD a period by fall a week), saw (the score over three periods).

    Without a typed fall there is no headline figure, only the table. Raises UserError for an unknown run.
    """
    pair = load_pair(view, params)
    if pair.spend.runs.empty:
        return nothing("hold", view, params, EMPTY)
    cycles, why = _cycles(params, pair)
    tables = {name: pd.DataFrame(columns=columns) for name, columns in EMPTY.items()}
    found, period = None, math.nan
    if cycles is not None:
        tables["sensitivity"] = _sensitivity(params, cycles)
        decay, why = _decay(params, cycles, params.fall_points, params.fall_days)
        if decay is not None:
            found = _usd(params, cycles, decay)
            period = float(hold(cycles.target, decay, cycles.value).period_days)
            tables["saw"] = _saw(cycles, decay, period)
    return result(
        "hold", view, params, _answer(params, pair, cycles, found, period, why),
        headline=_figures(params, cycles, found, period, why), tables=tables,
        assumptions=[*pair.spend.assumptions, *pair.evals.assumptions, *_assumptions(params, cycles)],
        notices=[*pair.spend.notices, *_notices(pair, cycles)], prices=pair.spend.allocations,
    )  # fmt: skip


def _cycles(params: HoldParams, pair: Pair) -> tuple[Cycles | None, str]:
    """The measured cycle of the run, or why there is none."""
    row = pair.row
    if row is None:
        return None, pair.missing
    draws = pair.gains.draws.get((row["run"], row["benchmark_id"], row["key"]))
    if draws is None or row["unit"] != "points":
        return None, f"the gain on {row['benchmark']} has no interval"
    if not known(pair.usd[0]):
        return None, f"the spend of {pair.run} is not known; type what a cycle costs"
    before, after = float(row["before_score"]), float(row["after_score"])
    target = before if params.target is None else params.target
    drawn = np.maximum(np.resize(draws, DRAWS) / 100, 0.0)
    usd, low, high = pair.usd
    priced = 0 < low <= usd <= high
    usd_draws = money_draws(usd, low, high, DRAWS, params.seed + 5) if priced else np.full(DRAWS, usd)
    days = params.cycle_days if params.cycle_days is not None else _held_days(pair)
    if not known(days):
        return None, f"how long {pair.run} held its GPUs is not known; type the days of a cycle"
    value = Cycle(max(after - before, 0.0), usd, days, after)
    return Cycles(
        before,
        after,
        target,
        value,
        Cycle(drawn, usd_draws, days, before + drawn),
        days,
        round(float(row["n"])),
    ), ""


def _held_days(pair: Pair) -> float:
    """Days in which the run held GPUs: the longest pool of each attempt, added up."""
    longest: dict[int, float] = {}
    for row in pair.spend.rows:
        if row["run"] == pair.run:
            seconds = number(row["seconds"])
            longest[row["attempt"]] = max(longest.get(row["attempt"], 0.0), seconds)
    return math.fsum(longest.values()) / 86_400 if longest else NAN


def _decay(params: HoldParams, cycles: Cycles, points: float | None, days: float) -> tuple[Decay | None, str]:
    """The decay that a fall from the score after the cycle shows, or what is missing."""
    if points is None:
        return None, NO_FALL
    later = cycles.after - points / 100
    if later <= (params.floor if params.law == "exponential" else 0.0):
        return None, f"a fall of {digits3(points)} points ends below the floor: type a smaller one"
    return decay_of(params.law, cycles.after, later, days, params.floor), ""


def _usd(params: HoldParams, cycles: Cycles, decay: Decay) -> Interval:
    return hold_interval(
        cycles.target, (decay, cycles.value), (decay, cycles.draws), params.period_days, cycles.n
    )


def _sensitivity(params: HoldParams, cycles: Cycles) -> pd.DataFrame:
    rows = []
    asked = None if params.fall_points is None else params.fall_points * 7 / params.fall_days
    for points in sorted({*WEEKLY_POINTS, *([asked] if asked is not None else [])}):
        if asked is not None and points == asked:
            decay, _ = _decay(params, cycles, params.fall_points, params.fall_days)
        else:
            decay, _ = _decay(params, cycles, points, 7.0)
        if decay is None:
            continue
        found = _usd(params, cycles, decay)
        period = float(hold(cycles.target, decay, cycles.value).period_days)
        held = "held" if math.isfinite(found.value) else "cannot be held"
        rows.append((points, period, found.value, found.low, found.high, held, points == asked))
    return pd.DataFrame(rows, columns=SENSITIVITY)


def _saw(cycles: Cycles, decay: Decay, period: float) -> pd.DataFrame:
    """The score lived through day by day; three periods where it is held, else thrice the days of a cycle."""
    length = period if math.isfinite(period) and period > 0 else max(cycles.days, 7.0)
    horizon = PERIODS * length
    lived = simulate_hold(cycles.target, decay, cycles.value, horizon, horizon / STEPS, cycles.after)
    return pd.DataFrame({"day": lived.days, "score": lived.scores, "target": cycles.target})


def _figures(
    params: HoldParams, cycles: Cycles | None, found: Interval | None, period: float, why: str
) -> list[Figure]:
    if cycles is None or found is None:
        return [figure("usd_to_hold", None, missing=why), figure("cycle_period_days", None, missing=why)]
    label = f"Hold {percent_1(cycles.target)}, per {params.period_days:g} days"
    held = math.isfinite(found.value)
    return [
        figure(
            "usd_to_hold", found.value if held else None, label=label, low=found.low,
            high=found.high if math.isfinite(found.high) else None, interval="ci95", n=found.n,
            boundary=params.boundary, missing=_cannot(cycles, period),
        ),
        figure(
            "cycle_period_days", period if math.isfinite(period) and period > 0 else None,
            missing="it never falls below the target" if math.isinf(period) else _cannot(cycles, period),
        ),
    ]  # fmt: skip


def _cannot(cycles: Cycles, period: float) -> str:
    if not cycles.target < cycles.after:
        return f"a cycle does not lift the score above {percent_1(cycles.target)}, so it cannot hold it"
    return (
        f"it falls through {percent_1(cycles.target)} in {digits3(period)} days, sooner than a cycle of "
        f"{digits3(cycles.days)} days ends"
    )


def _answer(
    params: HoldParams, pair: Pair, cycles: Cycles | None, found: Interval | None, period: float, why: str
) -> str:
    if cycles is None or pair.row is None:
        return f"What it costs to hold a score is not known: {why}."
    where = f"{percent_1(cycles.target)} on {pair.row['benchmark']}"
    if found is None:
        return f"What it costs to hold {where} depends on how fast it falls: {why}."
    if math.isinf(found.value):
        return f"Holding {where} is not possible this way: {_cannot(cycles, period)}."
    if found.value == 0:
        return f"Holding {where} costs nothing: it never falls below."
    high = f"to {money(found.high)}" if math.isfinite(found.high) else "without an upper end"
    return (
        f"Holding {where} costs {money(found.value)} (95 % interval {money(found.low)} {high}) per "
        f"{params.period_days:g} days: a cycle like {pair.run} every {digits3(period)} days "
        f"({params.boundary} boundary)."
    )


def _assumptions(params: HoldParams, cycles: Cycles | None) -> list[Assumption]:
    if cycles is None:
        return []
    out = [
        Assumption("a further cycle", "gains and costs what the measured one did", "", "assumed", "ours", ""),
        Assumption("days of a cycle", cycles.days, "days", "derived" if params.cycle_days is None else "user",
                   "time the run held its GPUs" if params.cycle_days is None else "typed", ""),
    ]  # fmt: skip
    if params.fall_points is not None:
        fall = f"{digits3(params.fall_points)} points in {digits3(params.fall_days)} days, {params.law}"
        out.append(Assumption("fall of the score", fall, "", "user", "typed", ""))
    return out


def _notices(pair: Pair, cycles: Cycles | None) -> list[Notice]:
    if cycles is None:
        return []
    words = "How fast a score falls is typed, not measured: the interval holds gain and price, not the fall."
    return [Notice("fall_assumed", words, pair.run)]
