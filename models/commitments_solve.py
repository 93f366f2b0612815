"""The mix with the lowest expected cost, exactly: integer programme with tangents (scipy's HiGHS).

The worlds and the cost of a mix: `models.commitments`. The shortfall of every world and year enters as
tangents; those that bind are added until the solution is exact (Kelley, The cutting-plane method, J. SIAM 8,
1960). All amounts are present values in USD.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp

from models.commitments import (
    OWN,
    RESERVED_1Y,
    RESERVED_3Y,
    Mix,
    Problem,
    UnservedError,
    World,
    expected_usd,
)
from models.workload import Floats

FIRST_CUTS = 9
SIZE = 1e4
"""Dollars are told to the solver in parts of 1 / SIZE of the dearest year or unit: its tolerances (1e-7 for
costs, 1e-6 for rows) are absolute.
"""
SLACK = 1e-5
"""By how much of such a part the on-demand dollars of a solution may be understated: 1e-9 of the year."""
ROUNDS = 200
INFEASIBLE = 2
"""Status of scipy for a programme that nothing fulfils."""


@dataclass(frozen=True)
class _Columns:
    """Places of the variables: units, 3-year servers, first-year servers, then by world and year the later
    servers and the on-demand dollars.
    """

    problem: Problem

    @property
    def years(self) -> int:
        return self.problem.worlds[0].years

    @cached_property
    def part_usd(self) -> float:
        """USD of one unit of account in the solver."""
        worlds = self.problem.worlds
        years = [s.at(0) for w in worlds for s in w.shortfalls]
        units = [w.own_usd or 0.0 for w in worlds]
        servers = [(w.reserved_3y_usd or 0.0) * self.problem.node for w in worlds]
        return max(*years, *units, *servers, 1.0) / SIZE

    @property
    def count(self) -> int:
        return 3 + len(self.problem.worlds) * (2 * self.years - 1)

    def later(self, world: int, year: int) -> int:
        """Servers of one-year reservations of that year."""
        return 2 if year == 0 else 3 + world * (self.years - 1) + year - 1

    def burst(self, world: int, year: int) -> int:
        """On demand of that year, in `part_usd`."""
        return 3 + len(self.problem.worlds) * (self.years - 1) + world * self.years + year

    def fleet(self, world: int, year: int) -> Floats:
        """Row of coefficients: GPUs committed beyond those held, (count,)."""
        row = np.zeros(self.count)
        row[0], row[1], row[self.later(world, year)] = self.problem.unit, self.problem.node, self.problem.node
        return row

    def prices(self) -> Floats:
        """Objective: expected present value in `part_usd`, (count,)."""
        out = np.zeros(self.count)
        for s, world in enumerate(self.problem.worlds):
            prob = world.prob_frac / self.part_usd
            out[0] += prob * (world.own_usd or 0.0)
            out[1] += prob * (world.reserved_3y_usd or 0.0) * self.problem.node
            for year in range(self.years):
                rents = world.reserved_1y_usd
                out[self.later(s, year)] += prob * (rents[year] if rents else 0.0) * self.problem.node
                out[self.burst(s, year)] += world.prob_frac
        return out

    def bounds(self) -> tuple[Floats, Floats]:
        """Lowest and highest values: no more than what holds every peak alone."""
        low, high = np.zeros(self.count), np.full(self.count, np.inf)
        problem = self.problem
        peak = max(s.peak for w in problem.worlds for s in w.shortfalls)
        places = {OWN: [0], RESERVED_3Y: [1]}
        places[RESERVED_1Y] = list(range(2, 3 + len(problem.worlds) * (self.years - 1)))
        for part, columns in places.items():
            size = problem.unit if part == OWN else problem.node
            high[columns] = math.ceil(peak / size) if problem.can(part) else 0.0
        if problem.units_max is not None:
            high[0] = min(high[0], problem.units_max)
        if problem.own_fixed is not None:
            low[0] = high[0] = problem.own_fixed
        return low, high


class _Cuts:
    """Rows of the programme: fleets that must be held, and tangents that are added where they bind."""

    def __init__(self, columns: _Columns) -> None:
        self.columns = columns
        self.rows: list[Floats] = []
        self.least: list[float] = []
        problem = columns.problem
        pairs = [(s, year) for s in range(len(problem.worlds)) for year in range(columns.years)]
        self._fleets = {pair: columns.fleet(*pair) for pair in pairs}
        self._bursts = {pair: columns.burst(*pair) for pair in pairs}
        for s, world in enumerate(problem.worlds):
            for year, short in enumerate(world.shortfalls):
                needed = world.must_hold(year, problem.burst_max) - problem.held
                if needed > 0:
                    self._add(self._fleets[s, year], needed)
                for fleet in np.linspace(0, short.peak, FIRST_CUTS):
                    self.touch(s, year, float(fleet))

    def _add(self, row: Floats, least: float) -> None:
        self.rows.append(row)
        self.least.append(least)

    def touch(self, world: int, year: int, fleet: float) -> None:
        """Add `burst >= tangent at fleet`."""
        problem = self.columns.problem
        intercept, slope = problem.worlds[world].shortfalls[year].tangent(fleet)
        usd = self.columns.part_usd
        row = -slope / usd * self._fleets[world, year]
        row[self._bursts[world, year]] = 1.0
        self._add(row, (intercept + slope * problem.held) / usd)

    def violated(self, x: Floats) -> bool:
        """Add the tangents at a solution that understates its on-demand dollars; False when it does not."""
        found, problem = False, self.columns.problem
        for s, world in enumerate(problem.worlds):
            for year, short in enumerate(world.shortfalls):
                fleet = problem.held + float(self._fleets[s, year] @ x)
                told, true = float(x[self._bursts[s, year]]), short.at(fleet) / self.columns.part_usd
                if true > told + SLACK:
                    self.touch(s, year, fleet)
                    found = True
        return found


def _check(found: Any) -> None:
    """UnservedError for a programme without a solution, RuntimeError for a solver that failed."""
    if found.x is not None and found.status == 0:
        return
    if found.status == INFEASIBLE:
        raise UnservedError("no allowed mix serves the demand: raise the units or what on demand can give")
    raise RuntimeError(f"the solver failed: {found.message}")


def _solved(columns: _Columns, cuts: _Cuts, bounds: tuple[Floats, Floats], whole: Floats) -> Any:
    """What HiGHS says, in a second try without presolve: it gives up on a few programmes with it."""
    rows = LinearConstraint(np.array(cuts.rows), np.array(cuts.least), np.inf)
    found = None
    for presolve in (True, False):
        found = milp(
            columns.prices(), constraints=rows, bounds=bounds, integrality=whole,
            options={"mip_rel_gap": 0.0, "presolve": presolve},
        )  # fmt: skip
        if found.status in (0, INFEASIBLE):
            break
    return found


def best_mix(problem: Problem) -> tuple[Mix, float]:
    """The mix with the lowest expected cost and that cost; UnservedError when no mix serves every world."""
    columns = _Columns(problem)
    cuts = _Cuts(columns)
    low, high = columns.bounds()
    whole = np.zeros(columns.count)
    whole[: columns.burst(0, 0)] = 1
    for _ in range(ROUNDS):
        found = _solved(columns, cuts, (low, high), whole)
        _check(found)
        x = np.where(whole > 0, np.round(found.x), found.x)
        if not cuts.violated(x):
            mix = Mix(*(int(n) for n in x[:3]))
            return mix, expected_usd(problem, mix)
    raise RuntimeError("the tangents did not settle")


def unit_dual_usd(problem: Problem, units: int) -> float:
    """Shadow price of one more unit that costs nothing, USD: the dual of `units = n` with parts of servers.

    `min of the rest's cost` as a function of n falls by this much a unit just at n (linear programme, HiGHS).
    """
    free = replace(
        problem, worlds=tuple(replace(w, own_usd=0.0) for w in problem.worlds), own_fixed=None, units_max=None
    )
    columns = _Columns(free)
    cuts = _Cuts(columns)
    low, high = columns.bounds()
    pin = np.zeros((1, columns.count))
    pin[0, 0] = 1.0
    for _ in range(ROUNDS):
        found = linprog(
            columns.prices(), A_ub=-np.array(cuts.rows), b_ub=-np.array(cuts.least), A_eq=pin, b_eq=[units],
            bounds=np.column_stack([low, high]), method="highs",
        )  # fmt: skip
        _check(found)
        if not cuts.violated(found.x):
            return -float(found.eqlin.marginals[0]) * columns.part_usd
    raise RuntimeError("the tangents did not settle")


def unit_values(problem: Problem, first: int, last: int) -> dict[int, float]:
    """Lowest expected cost of everything else with `first` to `last` units owned, USD; their cost left out.

    inf where so few units cannot serve every world.
    """
    free = replace(
        problem,
        worlds=tuple(replace(w, own_usd=0.0) for w in problem.worlds),
        units_max=None,
        offered=tuple({*problem.offered, OWN}),
    )
    out = {}
    for units in range(first, last + 1):
        try:
            out[units] = best_mix(replace(free, own_fixed=units))[1]
        except UnservedError:
            out[units] = math.inf
    return out


def foresight(problem: Problem, world: World) -> tuple[Mix, float]:
    """Best mix and cost for one who knows that this world comes."""
    return best_mix(replace(problem, worlds=(replace(world, prob_frac=1.0),)))
