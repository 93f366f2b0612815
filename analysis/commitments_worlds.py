"""Demand, worlds and prices behind commitments: from typed parameters to a programme that can be solved."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated

import numpy as np
from pydantic import Field

from analysis.own_cost import Owning, spread
from analysis.own_inputs import Setting
from analysis.plan import Planned, parse
from analysis.tenure_cases import Case, Setup, TenureParams
from data.errors import UserError
from models.accrual import month_of
from models.commitments import Outlook, Problem, StepPath, World, burst_usd, stranded_usd
from models.own_cost import HOURS_PER_YEAR
from models.tenure import Demand, Path

Frac = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int | None, Field(ge=0, le=1_000_000)]
TERM_3Y = 36


class CommitmentsParams(TenureParams):
    """Everything of `tenure` (the terms of the lease have no use), and what may come.

    `plan`: campaigns to come, on top of the history (`analysis.plan`). `growth_frac_month`: of the history's
    demand. `held_gpus`: committed already, paid whatever is decided. `racks_max`: units that can be placed;
    `burst_max_gpus`: GPUs that can be had on demand at once; None: no limit. `down_*`, `up_*`: how far and
    how likely demand is lower or higher. `next_*`: month, odds and price drop of the next generation.
    """

    question = "commitments"
    horizon_months: Annotated[int, Field(ge=12, le=60, multiple_of=12)] = 36
    plan: tuple[str, ...] = ()
    growth_frac_month: Annotated[float, Field(ge=-0.5, le=1)] = 0.0
    held_gpus: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    racks_max: Whole = None
    burst_max_gpus: Whole = None
    down_frac: Frac = 0.3
    down_prob: Frac = 0.25
    up_frac: Annotated[float, Field(ge=0, le=5)] = 0.3
    up_prob: Frac = 0.25
    next_months: Annotated[int, Field(ge=1, le=60)] = 9
    next_prob: Frac = 0.5
    next_drop_frac: Annotated[float, Field(ge=0, le=0.95)] = 0.3

    def checked(self) -> "CommitmentsParams":
        """Itself; UserError when the probabilities of demand exceed 1."""
        if self.down_prob + self.up_prob > 1 + 1e-12:
            raise UserError(
                "The demand cannot be lower and higher with more than certainty",
                "down_prob, up_prob",
                "Give two probabilities that add up to 1 or less.",
            )
        return self


YOURS = "your setting"
EVEN = "even odds, for nobody published any: give yours"
DROP = (
    "between 0 (H100 to B200: list rents of one neocloud x1.68, published decode x1.58) and 0.5 (the claim "
    "for Vera Rubin at the end of maximum throughput, about 2x): give yours"
)
_BELIEFS = {
    "down_frac": ("Demand lower by", "fraction", "the case of the question: 30 % lower"),
    "down_prob": ("Probability of lower demand", "fraction", EVEN),
    "up_frac": ("Demand higher by", "fraction", "as far up as down: give yours"),
    "up_prob": ("Probability of higher demand", "fraction", EVEN),
    "next_months": ("Months until the next generation", "months", "the case of the question: nine months"),
    "next_prob": ("Probability of the next generation", "fraction", EVEN),
    "next_drop_frac": ("Price drop it brings for the same work", "fraction", DROP),
    "growth_frac_month": ("Growth of the demand", "fraction per month", "no trend is taken for granted"),
}
_ENDS = {"next_prob": (0.0, 1.0), "next_drop_frac": (0.0, 0.5), "next_months": (3.0, 24.0)}


def beliefs(params: CommitmentsParams) -> dict[str, Setting]:
    """What may come, as settings with badge and source; ranges where the tornado moves them."""
    out = {}
    for name, (label, unit, source) in _BELIEFS.items():
        value = float(getattr(params, name))
        given = value != CommitmentsParams.model_fields[name].default
        low, high = _ENDS.get(name, (None, None))
        if low is not None and high is not None:
            low, high = min(low, value), max(high, value)
        told = ("user", YOURS) if given else ("derived", source)
        out[name] = Setting(name, label, value, low, high, unit, *told, "")
    return out


@dataclass(frozen=True)
class Stage:
    """All that is fixed before prices: who asks, demand month by month, first month, plan, sizes."""

    params: CommitmentsParams
    own: Owning
    setup: Setup
    outlook: Outlook
    months: tuple[str, ...]
    planned: tuple[Planned, ...]
    node: int


def months_from(after: date, count: int) -> tuple[str, ...]:
    """Names of `count` months, the one after `after` first."""
    first = after.year * 12 + after.month
    return tuple(month_of(date(n // 12, n % 12 + 1, 1)) for n in range(first, first + count))


def outlook_of(base: Demand, params: CommitmentsParams, months: tuple[str, ...]) -> Outlook:
    """The base grown from month to month, with the planned campaigns of each month on top."""
    plan = parse(params.plan)
    scale = tuple((1 + params.growth_frac_month) ** m for m in range(len(months)))
    add = tuple(sum(p.gpu_h_per_day for p in plan if p.holds(name)) / 24 for name in months)
    return Outlook(base, scale, add)


def case_of(
    stage: Stage,
    values: Mapping[str, float | None] | None = None,
    rates: Mapping[str, float | None] | None = None,
    decline: float | None = None,
) -> Case:
    """Prices at these settings; without a price of owning the owned part is 0 and not on offer."""
    if not stage.own.lacking:
        return stage.setup.case(values, rates, decline=decline)
    params, own = stage.params, {**stage.own.values(), **(values or {})}
    wacc, life = own["wacc_frac"] or 0.0, own["life_years"] or 1.0
    fall = params.decline_mid or 0.0 if decline is None else decline
    rates = rates or {name: one.value for name, one in stage.setup.rates.items()}
    path = Path(params.horizon_months, wacc, fall)
    return Case(stage.setup.demand, 1.0, path, rates, 0.0, 0.0, max(1, round(life * 12)), None)


def drawn_cases(stage: Stage, size: int) -> list[Case]:
    """Joint draws of all inputs with a range: those of `tenure`; of rents alone where owning has no price."""
    if not stage.own.lacking:
        return stage.setup.draws(size)
    rng = np.random.default_rng(stage.params.seed + 1)
    rates = stage.setup.rates
    rents = {name: spread(rng, one, size) for name, one in rates.items() if one.value is not None}
    middle = case_of(stage)
    return [
        replace(middle, rates={n: float(rents[n][i]) if n in rents else None for n in rates})
        for i in range(size)
    ]


DEMANDS = ("plan", "down", "up")
NEXT = "_next"


def factor_of(params: CommitmentsParams, demand: str) -> float:
    """By what the demand is multiplied in that world."""
    return {"plan": 1.0, "down": 1 - params.down_frac, "up": 1 + params.up_frac}[demand]


def worlds_of(stage: Stage, case: Case, params: CommitmentsParams | None = None) -> dict[str, World]:
    """All six worlds, also those of probability 0: demand as planned, lower, higher, each with and without
    the next generation.
    """
    params = params or stage.params
    odds = {"down": params.down_prob, "up": params.up_prob}
    odds["plan"] = max(0.0, 1 - odds["down"] - odds["up"])
    out = {}
    for ending, chance in (("", 1 - params.next_prob), (NEXT, params.next_prob)):
        drop = params.next_drop_frac if ending else 0.0
        old = case.path
        path = StepPath(old.months, old.wacc_frac, old.decline_frac, params.next_months, drop)
        prices = _prices(stage, replace(case, path=path), path)
        for demand in DEMANDS:
            name, factor = f"{demand}{ending}", factor_of(params, demand)
            out[name] = World(name, odds[demand] * chance, stage.outlook, factor, *prices)
    return {f"{demand}{ending}": out[f"{demand}{ending}"] for demand in DEMANDS for ending in ("", NEXT)}


Prices = tuple[tuple[float, ...] | None, tuple[float, ...] | None, float | None, float | None]


def _prices(stage: Stage, case: Case, path: StepPath) -> Prices:
    """What `World` wants: on demand by month, one year by year, three years, a unit."""
    rent, one, years = case.rates.get("on_demand"), case.terms("reserved_1y"), path.months // 12
    yearly = None
    if one is not None:
        rents = [HOURS_PER_YEAR * one.at(12 * y, path) for y in range(years)]
        yearly = tuple(rents[y] * sum(path.weights[12 * y : 12 * y + 12]) for y in range(years))
    three = case.pv_per_gpu_h("reserved_3y") if path.months >= TERM_3Y else None
    unit = None
    if not stage.own.lacking:
        held = (case.pv_per_gpu_h("own") or 0.0) * HOURS_PER_YEAR
        unit = stage.own.unit_gpus * (held + stranded_usd(case.own_capital, case.life_months, path))
    return (
        None if rent is None else burst_usd(rent, path),
        yearly,
        None if three is None else three * HOURS_PER_YEAR,
        unit,
    )


def problem_of(stage: Stage, worlds: Mapping[str, World]) -> Problem:
    """The programme over the worlds that can come."""
    params = stage.params
    return Problem(
        tuple(w for w in worlds.values() if w.prob_frac > 0),
        stage.node,
        stage.own.unit_gpus,
        params.held_gpus,
        params.racks_max,
        None if params.burst_max_gpus is None else float(params.burst_max_gpus),
    )
