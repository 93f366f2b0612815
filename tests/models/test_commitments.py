"""Commitments: hand-worked newsvendor, the optimum against enumeration, shadow price, worst tenth."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from models.commitments import (
    Mix,
    Outlook,
    Problem,
    StepPath,
    UnservedError,
    World,
    bill,
    expected_usd,
    stranded_usd,
    worst_tenth,
)
from models.commitments_solve import best_mix, foresight, unit_dual_usd, unit_values
from models.tenure import Demand, Path, present_value


def world(
    levels: list[tuple[float, float]], *, months: int = 12, name: str = "plan", prob: float = 1.0,
    factor: float = 1.0, burst: float = 10.0, r1: float | None = None, r3: float | None = None,
    own: float | None = None, growth: float = 0.0, add: float = 0.0,
) -> World:  # fmt: skip
    """`burst` USD a GPU and month on demand; the others for a year or the horizon."""
    outlook = Outlook(Demand(tuple(levels)), tuple((1 + growth) ** m for m in range(months)), (add,) * months)
    years = None if r1 is None else (r1,) * (months // 12)
    return World(name, prob, outlook, factor, (burst,) * months, years, r3, own)


def test_newsvendor_by_hand() -> None:
    """Half of the time 8 GPUs, half 24, on demand $120 a GPU and year.

    A server of 8 for $800 a year ($100 a GPU) pays when busy for more than 100/120 of the time: the first 8
    are (always), the second and third are busy half of the time only. 8 reserved: $800 + half of 16 x $120 =
    $960; none: 16 x $120 = $1,920.
    """
    problem = Problem((world([(8, 0.5), (24, 0.5)], r3=100.0),), node=8, unit=8)
    mix, usd = best_mix(problem)
    assert mix == Mix(servers_3y=1) and usd == pytest.approx(800 + 960)
    assert expected_usd(problem, Mix()) == pytest.approx(1920)
    assert expected_usd(problem, Mix(servers_3y=3)) == pytest.approx(2400)


def test_renewals_wait_for_the_news() -> None:
    """Two years, demand 8 GPUs or, as likely, 16 in the second year's world: what is only known later is
    reserved later. One year costs $60 a GPU, three years $100 for both; on demand $120 a year.

    The base of 8 is busy in every world: three years, $800. The other 8 exist with probability one half: a
    year of them costs $480 today or, when known, $480 in the half of the worlds that need it. Today it is
    taken only if it is worth more: half of 8 x $120 = $480, a tie; at $61 it is not.
    """
    low = world([(8, 1.0)], months=24, name="low", prob=0.5, r1=61.0, r3=100.0)
    high = world([(16, 1.0)], months=24, name="high", prob=0.5, r1=61.0, r3=100.0)
    problem = Problem((low, high), node=8, unit=8)
    mix, usd = best_mix(problem)
    assert mix == Mix(servers_3y=1, servers_1y=0)
    assert bill(problem, low, mix).servers_1y == (0, 0) and bill(problem, high, mix).servers_1y == (0, 1)
    assert usd == pytest.approx(800 + 0.5 * (8 * 120 + 8 * 61))
    assert foresight(problem, high)[1] == pytest.approx(1600)


def brute(problem: Problem, most: int) -> float:
    """Lowest expected cost by enumerating every mix and every renewal, sums of max(0, d - N) written out."""
    units = most if problem.units_max is None else min(most, problem.units_max)
    sizes = range(problem.held + units * problem.unit + 2 * most * problem.node + 1)
    above = {
        (w.name, y): [_short(problem, w, y, n) for n in sizes] for w in problem.worlds for y in range(w.years)
    }
    best = math.inf
    for own, three, first in itertools.product(range(units + 1), range(most + 1), range(most + 1)):
        base, total = problem.held + own * problem.unit + three * problem.node, 0.0
        for w in problem.worlds:
            cost = own * w.own_usd + three * problem.node * w.reserved_3y_usd
            for year in range(w.years):
                choices = [first] if year == 0 else range(most + 1)
                cost += min(
                    n * problem.node * w.reserved_1y_usd[year] + above[w.name, year][base + n * problem.node]
                    for n in choices
                )
            total += w.prob_frac * cost
        best = min(best, total)
    return best


def _short(problem: Problem, w: World, year: int, fleet: int) -> float:
    usd = 0.0
    for m in range(12 * year, 12 * year + 12):
        for level, share in w.outlook.base.levels:
            short = max(0.0, w.factor * (level * w.outlook.scale[m] + w.outlook.add[m]) - fleet)
            if problem.burst_max is not None and short > problem.burst_max:
                return math.inf
            usd += w.burst_usd[m] * share * short
    return usd


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = [(float(g), 0.2) for g in rng.integers(0, 14, 5)]
    years = 2
    own, r1, r3 = rng.uniform(200, 700), rng.uniform(40, 130), rng.uniform(80, 230)
    worlds = tuple(
        replace(
            world(levels, months=12 * years, name=name, prob=prob, factor=factor, burst=rng.uniform(6, 14),
                  r1=r1, r3=r3, own=own, growth=rng.uniform(-0.01, 0.02), add=float(rng.integers(0, 3))),
            own_usd=own,
        )
        for name, prob, factor in (("down", 0.3, 0.7), ("plan", 0.5, 1.0), ("up", 0.2, 1.3))
    )  # fmt: skip
    limits = [{}, {"units_max": 1}, {"held": 4}, {"burst_max": 9.0}][seed % 4]
    problem = Problem(worlds, node=2, unit=6, **limits)
    mix, usd = best_mix(problem)
    assert usd == pytest.approx(brute(problem, 12), rel=1e-9)
    assert usd == pytest.approx(expected_usd(problem, mix))


def test_worth_of_units_and_their_dual() -> None:
    """Levels 8 and 24 as above, servers of 1 GPU at $100, units of 8: the first unit replaces 8 reserved
    GPUs ($800), the second and third save half of 8 x $120 = $480 each, the fourth nothing.
    """
    problem = Problem((world([(8, 0.5), (24, 0.5)], r3=100.0, own=500.0),), node=1, unit=8)
    values = list(unit_values(problem, 0, 4).values())
    assert [a - b for a, b in itertools.pairwise(values)] == pytest.approx([800, 480, 480, 0])
    assert best_mix(problem)[0] == Mix(own_units=1)
    assert unit_dual_usd(replace(problem, worlds=problem.worlds), 2) == pytest.approx(480)


def test_limits_that_serve_nobody_are_refused() -> None:
    one = world([(24, 1.0)], own=500.0)
    problem = Problem((one,), node=8, unit=8, units_max=1, burst_max=8.0)
    with pytest.raises(UnservedError):
        best_mix(problem)
    assert best_mix(replace(problem, units_max=2))[0] == Mix(own_units=2)


def test_prices_scale_and_demand_never_makes_it_cheaper() -> None:
    levels = [(3.0, 0.3), (9.0, 0.5), (20.0, 0.2)]
    costs = []
    for factor in (0.5, 1.0, 1.1, 2.0):
        costs.append(
            best_mix(Problem((world(levels, factor=factor, r1=90.0, own=600.0),), node=2, unit=8))[1]
        )
    assert costs == sorted(costs)
    twice = world(levels, r1=180.0, own=1200.0, burst=20.0)
    assert best_mix(Problem((twice,), node=2, unit=8))[1] == pytest.approx(2 * costs[1])


def test_a_step_in_the_price_path() -> None:
    """No discount, no decline: 12 months at 1, then 12 at 0.6: 1 + 0.6 years' worth."""
    path = StepPath(24, 0.0, 0.0, step_month=12, step_frac=0.4)
    assert present_value(path.price, path) == pytest.approx(1.6)
    assert present_value(Path(24, 0.0).price, path) == pytest.approx(2.0)


def test_worst_tenth_by_hand() -> None:
    """5 % at 100, 20 % at 40: the worst tenth is half 100 and half 40."""
    assert worst_tenth([10, 100, 40], [0.75, 0.05, 0.2]) == pytest.approx(70)


def test_what_the_next_generation_takes_from_owned_gpus() -> None:
    """Life 4 years, horizon 3, no discount: one year of $1 x 8,760 is unpaid; 30 % of it are lost."""
    path = StepPath(36, 0.0, 0.0, step_month=9, step_frac=0.3)
    assert stranded_usd(1.0, 48, path) == pytest.approx(0.3 * 8760)
    assert stranded_usd(1.0, 36, path) == 0.0
    assert stranded_usd(1.0, 48, StepPath(36, 0.0, 0.0, step_month=36, step_frac=0.3)) == 0.0


def test_large_fleets_are_no_rounding_error() -> None:
    """500 GPUs busy 90 % of three years at $9 against $5 reserved: all are reserved, 500 x 26,280 x $5, in
    two worlds of which one costs less on demand. Solver tolerances are absolute, dollars are not.
    """
    hours = 26_280.0
    worlds = tuple(
        world([(500, 0.9), (0, 0.1)], months=36, name=name, prob=0.5, burst=usd * 730, r3=5 * hours)
        for name, usd in (("plan", 9.0), ("next", 7.0))
    )
    mix, usd = best_mix(Problem(worlds, node=4, unit=72))
    assert mix == Mix(servers_3y=125) and usd == pytest.approx(500 * hours * 5)


@pytest.mark.parametrize("seed", [42, 57, 82, 106, 119])
def test_no_neighbour_is_cheaper(seed: int) -> None:
    """Fleets of tens to thousands of GPUs; with presolve HiGHS gives up on these five."""
    rng = np.random.default_rng(seed)
    peak, n = 10 ** rng.uniform(1, 4), rng.integers(1, 60)
    levels = [(float(gpus), 1 / n) for gpus in rng.gamma(1.5, peak / 4, n)]
    years, rent = int(rng.integers(1, 4)), rng.uniform(500, 6000)
    names = ["a", "b", "c"][: rng.integers(1, 4)]
    worlds = [
        world(
            levels, months=12 * years, name=name, prob=1 / len(names), factor=rng.uniform(0.5, 1.5),
            burst=rent * rng.uniform(0.6, 1), r1=rent * 12 * rng.uniform(0.3, 0.9),
            r3=rent * 12 * years * rng.uniform(0.2, 0.8),
            own=None if seed % 3 == 0 else 72 * rent * 12 * years * rng.uniform(0.2, 0.8),
            growth=rng.uniform(-0.02, 0.03),
        )
        for name in names
    ]  # fmt: skip
    problem = Problem(tuple(worlds), node=8, unit=72, held=int(rng.integers(0, 3)) * 8)
    mix, usd = best_mix(problem)
    for units, three, one in itertools.product((-1, 0, 1), repeat=3):
        own = mix.own_units + units if problem.can("own") else 0
        near = (own, mix.servers_3y + three, mix.servers_1y + one)
        if min(near) >= 0:
            assert expected_usd(problem, Mix(*near)) >= usd * (1 - 1e-7)
