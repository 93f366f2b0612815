"""Which GPUs to commit to before the demand is known: owned units, reservations, and on demand for the rest.

A two-stage stochastic programme with integer recourse. Decided today: units
to own, 3-year and first-year reservations. Decided at each renewal, when the world is known: the one-year
reservations of the later years. In a year of world `s` a fleet of N GPUs pays on demand for what exceeds it,

    f_sy(N) = sum over months m and levels i of `burst_m x share_i x max(0, gpus_im - N)`

(the newsvendor's shortfall; Porteus, Foundations of Stochastic Inventory Theory, 2002, ch. 1), convex and
piecewise linear in N. All amounts are present values in USD. Solved in `models.commitments_solve`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import mul

import numpy as np

from models.own_cost import HOURS_PER_YEAR
from models.tenure import HOURS_PER_MONTH, Demand, Path, annuity_pv
from models.workload import Floats

OWN, RESERVED_3Y, RESERVED_1Y = "own", "reserved_3y", "reserved_1y"
PARTS = (OWN, RESERVED_3Y, RESERVED_1Y)
MONTHS = 12
CLOSE = 1e-9


class UnservedError(ValueError):
    """No allowed mix serves the demand in every world: limits on units and on demand are too tight."""


@dataclass(frozen=True)
class Outlook:
    """Demand month by month, in GPUs: `base x scale[m] + add[m]`, once for every level of the base."""

    base: Demand
    scale: tuple[float, ...]
    add: tuple[float, ...]

    @cached_property
    def shares(self) -> Floats:
        """Share of the time of each level, (levels,)."""
        return np.array([share for _, share in self.base.levels])

    @cached_property
    def _levels(self) -> Floats:
        return np.array([gpus for gpus, _ in self.base.levels])

    def gpus(self, month: int, factor: float = 1.0) -> Floats:
        """Levels of that month in GPUs, (levels,), times the world's factor."""
        return factor * (self._levels * self.scale[month] + self.add[month])

    def above(self, month: int, fleet: float, factor: float = 1.0) -> float:
        """Mean GPUs beyond a fleet in that month."""
        return float(np.maximum(0.0, self.gpus(month, factor) - fleet) @ self.shares)

    def gpu_h(self, month: int, factor: float = 1.0) -> float:
        """GPU-hours of a month of 730 hours."""
        return float(self.gpus(month, factor) @ self.shares) * HOURS_PER_MONTH


@dataclass(frozen=True)
class StepPath(Path):
    """A price path that falls once more, by `step_frac`, from `step_month` on: the next generation came."""

    step_month: int = 0
    step_frac: float = 0.0

    def price(self, month: int) -> float:
        """Price of `month` (0 = first) as a multiple of today's."""
        return super().price(month) * (1 - self.step_frac if month >= self.step_month else 1.0)


class Shortfall:
    """`f(N) = sum of usd_k x max(0, gpus_k - N)`: convex, falling, 0 from the peak on."""

    def __init__(self, gpus: Floats, usd: Floats) -> None:
        """`gpus` (k,) levels in any order, `usd` (k,) what one GPU missing at that level costs."""
        order = np.argsort(-gpus, kind="stable")
        self._gpus = gpus[order]
        self._usd = np.concatenate([[0.0], np.cumsum(usd[order])])
        self._worth = np.concatenate([[0.0], np.cumsum(usd[order] * self._gpus)])

    @property
    def peak(self) -> float:
        """Highest level."""
        return float(self._gpus[0])

    def at(self, fleet: float) -> float:
        """USD for a fleet of that many GPUs."""
        value, slope = self.tangent(fleet)
        return value + slope * fleet

    def tangent(self, fleet: float) -> tuple[float, float]:
        """(intercept, slope) of the line that touches f at `fleet` and lies below it everywhere."""
        above = int(np.searchsorted(-self._gpus, -fleet, side="left"))
        return float(self._worth[above]), -float(self._usd[above])


@dataclass(frozen=True)
class World:
    """One way things may go, with its probability and prices; None: not on offer.

    `burst_usd`: one GPU on demand throughout a month, by month; `reserved_1y_usd`: one GPU for each year;
    `reserved_3y_usd`: one GPU over the horizon; `own_usd`: one unit over the horizon.
    """

    name: str
    prob_frac: float
    outlook: Outlook
    factor: float
    burst_usd: tuple[float, ...] | None
    reserved_1y_usd: tuple[float, ...] | None
    reserved_3y_usd: float | None
    own_usd: float | None

    @property
    def years(self) -> int:
        """Whole years of the horizon."""
        return len(self.outlook.scale) // MONTHS

    @cached_property
    def shortfalls(self) -> tuple[Shortfall, ...]:
        """What the part above a fleet costs, by year."""
        out = []
        for year in range(self.years):
            months = range(year * MONTHS, (year + 1) * MONTHS)
            gpus = np.concatenate([self.outlook.gpus(m, self.factor) for m in months])
            usd = np.concatenate(
                [self.outlook.shares * (self.burst_usd or (0.0,) * (m + 1))[m] for m in months]
            )
            out.append(Shortfall(gpus, usd))
        return tuple(out)

    def must_hold(self, year: int, burst_max: float | None) -> float:
        """GPUs that have to be committed in that year because on demand gives no more."""
        most = 0.0 if self.burst_usd is None else burst_max
        return 0.0 if most is None else max(0.0, self.shortfalls[year].peak - most)


@dataclass(frozen=True)
class Mix:
    """What is decided today: whole units owned, and whole servers reserved for three years or for one."""

    own_units: int = 0
    servers_3y: int = 0
    servers_1y: int = 0


@dataclass(frozen=True)
class Problem:
    """Worlds and sizes: a server of `node` GPUs is reserved, a unit of `unit` GPUs bought.

    `held`: GPUs already committed, paid whatever is decided (not in the cost). `offered`: parts that may be
    chosen. `own_fixed`: exactly so many units.
    """

    worlds: tuple[World, ...]
    node: int
    unit: int
    held: int = 0
    units_max: int | None = None
    burst_max: float | None = None
    offered: tuple[str, ...] = PARTS
    own_fixed: int | None = None

    def __post_init__(self) -> None:
        weight = math.fsum(w.prob_frac for w in self.worlds)
        if not self.worlds or abs(weight - 1) > CLOSE:
            raise ValueError("the probabilities of the worlds must add up to 1")
        if self.node < 1 or self.unit < 1 or self.held < 0:
            raise ValueError("servers and units hold 1 GPU or more, and what is held is not below 0")

    def can(self, part: str) -> bool:
        """Whether a part is offered and has a price in every world."""
        prices: dict[str, list[object]] = {
            OWN: [w.own_usd for w in self.worlds],
            RESERVED_3Y: [w.reserved_3y_usd for w in self.worlds],
            RESERVED_1Y: [w.reserved_1y_usd for w in self.worlds],
        }
        return part in self.offered and all(one is not None for one in prices[part])

    def base_gpus(self, mix: Mix) -> int:
        """GPUs that stay throughout: held, owned and reserved for three years."""
        return self.held + self.unit * mix.own_units + self.node * mix.servers_3y


@dataclass(frozen=True)
class Bill:
    """What a mix costs in one world, USD by part; `servers_1y`: one-year reservations by year; `short_gpus`:
    mean GPUs on demand by month.
    """

    own_usd: float
    reserved_3y_usd: float
    reserved_1y_usd: float
    burst_usd: float
    servers_1y: tuple[int, ...]
    short_gpus: tuple[float, ...]

    @property
    def total_usd(self) -> float:
        """All parts."""
        return self.own_usd + self.reserved_3y_usd + self.reserved_1y_usd + self.burst_usd


def bill(problem: Problem, world: World, mix: Mix) -> Bill:
    """Cost of a mix in one world, later one-year reservations chosen best; UnservedError where it cannot."""
    base, years = problem.base_gpus(mix), world.years
    servers = tuple(mix.servers_1y if y == 0 else _renewed(problem, world, y, base) for y in range(years))
    for year, count in enumerate(servers):
        fleet = base + problem.node * count
        if fleet < world.must_hold(year, problem.burst_max) - 1e-6:
            raise UnservedError(f"{world.name}: {fleet} GPUs and on demand do not serve the peak of a year")
    short = tuple(
        world.outlook.above(m, base + problem.node * servers[m // MONTHS], world.factor)
        for m in range(years * MONTHS)
    )
    return priced(problem, world, mix, servers, short)


def priced(
    problem: Problem, world: World, mix: Mix, servers_1y: tuple[int, ...], short_gpus: tuple[float, ...]
) -> Bill:
    """The same GPUs at the prices of `world`."""
    node = problem.node
    rents = world.reserved_1y_usd or (0.0,) * len(servers_1y)
    burst = world.burst_usd or (0.0,) * len(short_gpus)
    return Bill(
        mix.own_units * (world.own_usd or 0.0),
        mix.servers_3y * node * (world.reserved_3y_usd or 0.0),
        node * sum(map(mul, servers_1y, rents)),
        sum(map(mul, short_gpus, burst)),
        servers_1y,
        short_gpus,
    )


def expected_usd(problem: Problem, mix: Mix) -> float:
    """Probability-weighted cost of a mix."""
    return math.fsum(w.prob_frac * bill(problem, w, mix).total_usd for w in problem.worlds)


def _renewed(problem: Problem, world: World, year: int, base: int) -> int:
    """One-year servers of a later year: the smallest number from which one more does not pay."""
    if not problem.can(RESERVED_1Y) or world.reserved_1y_usd is None:
        return 0
    short, rent = world.shortfalls[year], world.reserved_1y_usd[year] * problem.node
    needed = math.ceil((world.must_hold(year, problem.burst_max) - base) / problem.node - 1e-9)
    low = max(0, needed)
    high = max(low, math.ceil((short.peak - base) / problem.node))
    while low < high:
        middle = (low + high) // 2
        at = base + problem.node * middle
        if short.at(at) - short.at(at + problem.node) > rent:
            low = middle + 1
        else:
            high = middle
    return low


def stranded_usd(capital_usd_per_gpu_h: float, life_months: int, path: StepPath) -> float:
    """What an owned GPU loses at the end of the horizon because the next generation came, USD today.

    At the horizon the annuity has `L` years of payments left (capital x 8,760 a year): owning counts the GPU
    at their present value. It is worth `step_frac` less then; 0 where a life ends with the horizon or the
    step comes after it.
    """
    used = path.months % life_months
    if not used or path.step_month >= path.months:
        return 0.0
    rest = annuity_pv(path.wacc_frac, 0.0, (life_months - used) / 12)
    bought = Path.price(path, path.months // life_months * life_months)
    today = math.exp(-path.months / 12 * math.log1p(path.wacc_frac))
    return path.step_frac * capital_usd_per_gpu_h * bought * HOURS_PER_YEAR * rest * today


def worst_tenth(costs: Sequence[float], weights: Sequence[float], tail_frac: float = 0.1) -> float:
    """Mean of the worst `tail_frac` of the probability (CVaR; Rockafellar & Uryasev, J. Risk 2, 2000)."""
    left, total = tail_frac * math.fsum(weights), 0.0
    whole = left
    for cost, weight in sorted(zip(costs, weights, strict=True), reverse=True):
        part = min(left, weight)
        total += part * cost
        left -= part
        if left <= 0:
            break
    return total / whole


def burst_usd(usd_per_gpu_h: float, path: Path) -> tuple[float, ...]:
    """Present value of one GPU on demand throughout each month."""
    return tuple(usd_per_gpu_h * HOURS_PER_YEAR * path.price(m) * path.weights[m] for m in range(path.months))
