"""A programme on every platform asked for: the fleet that does, its curve, the platform spoken of."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.cadence_fleets import Fleet, Planner, ends_of_draws
from analysis.cadence_money import Spent, kwh_per_cycle, usd_per_cycle, usd_per_year
from analysis.cadence_params import CadenceParams
from analysis.cadence_source import Source
from analysis.cadence_steps import Carrier, Scaling, scaling_of
from analysis.projection_money import Rent
from analysis.projection_targets import Aim, aims
from data.errors import UserError
from data.view import View

CURVE_DRAWS = 2000
NEXT = ("gb200-nvl72", "gb300-nvl72", "vera-rubin-nvl72")
MOST_PLATFORMS = 3


@dataclass(frozen=True, eq=False)
class Plan:
    """One platform: its planners (curve with fewer draws, chosen with all), the chosen fleet, its money.

    `meets` False: no fleet does what is wanted, and the likeliest is shown. `fastest`: GPUs of the shortest
    median cycle on the curve.
    """

    aim: Aim
    curve: Planner
    whole: Planner
    fleet: Fleet
    meets: bool
    fastest: int
    rent: Rent
    usd: Spent
    usd_year: Spent
    kwh: Spent

    @property
    def cycle_h(self) -> tuple[float, float, float]:
        """p10, p50, p90 of when the cycle ends; NaN where unknown."""
        return ends_of(self.fleet)

    @property
    def known(self) -> bool:
        """True where a fleet has a cycle at all."""
        return not math.isnan(self.fleet.p_finish)


def ends_of(fleet: Fleet) -> tuple[float, float, float]:
    """p10, p50, p90 of hours until the cycle ends; infinite where it never does."""
    return ends_of_draws(fleet.finish_h)


def plans_of(view: View, source: Source, params: CadenceParams) -> tuple[Scaling, list[Plan]]:
    """Plans of all platforms in the order asked. Raises UserError for an unknown platform or focus."""
    book = view.catalogue
    asking = source.asked.params.model_copy(update={"targets": _targets(source, params)})
    found = aims(book, asking, source.run)
    if any("+" in one.target for one in found):
        raise UserError("A cadence is planned on one platform at a time", "parameter targets", "Drop the +.")
    own = source.run.pools.each[0].platform_id
    scaling = scaling_of(source, _few(params), replace(found[0], target=own, engines=own, trainer=own))
    plans = [_plan(source, params, one, scaling) for one in found]
    if params.focus and params.focus not in {one.aim.target for one in plans}:
        told = ", ".join(one.aim.target for one in plans)
        raise UserError(f"'{params.focus}' is not planned", "parameter focus", f"Use one of {told}.")
    return scaling, plans


def _targets(source: Source, params: CadenceParams) -> tuple[str, ...]:
    """Platforms as asked, else the source's own and the next ones."""
    if params.targets:
        return params.targets
    own = source.run.pools.each[0].platform_id
    return tuple(dict.fromkeys((own, *NEXT)))[:MOST_PLATFORMS]


def _few(params: CadenceParams) -> CadenceParams:
    return params.model_copy(update={"draws": min(params.draws, CURVE_DRAWS)})


def planner(
    source: Source, params: CadenceParams, aim: Aim, scaling: Scaling, like: Planner | None = None
) -> Planner:
    """A planner of one platform; `like`: one of the same draws, whose carried steps are taken over."""
    known = {} if like is None else like.carrier.known
    return Planner(Carrier(source, params, aim, scaling.growth_s, scaling.law, known), params)


def _plan(source: Source, params: CadenceParams, aim: Aim, scaling: Scaling) -> Plan:
    curve = planner(source, _few(params), aim, scaling)
    whole = planner(source, params, aim, scaling)
    fleet, meets = _chosen(params, curve, whole)
    rent = source.asked.rents.of(aim.engines)
    usd = usd_per_cycle(source, params, fleet, rent)
    return Plan(
        aim=aim,
        curve=curve,
        whole=whole,
        fleet=fleet,
        meets=meets,
        fastest=fastest_of(curve),
        rent=rent,
        usd=usd,
        usd_year=usd_per_year(params, usd),
        kwh=kwh_per_cycle(source, fleet, aim.engines),
    )


def _chosen(params: CadenceParams, curve: Planner, whole: Planner) -> tuple[Fleet, bool]:
    """The fleet asked for, else the smallest that does, else the likeliest; with all draws."""
    if params.gpus:
        fleet = whole.fleet(whole.snapped(params.gpus))
        return fleet, fleet.p_finish >= params.wanted
    found = curve.smallest(params.wanted)
    if found is not None:
        fleet = whole.fleet(found.gpus)
        if fleet.p_finish >= params.wanted:
            return fleet, True
        larger = [gpus for gpus in curve.counts() if gpus > found.gpus]
        for gpus in larger[:4]:
            fleet = whole.fleet(gpus)
            if fleet.p_finish >= params.wanted:
                return fleet, True
    fleets = [curve.fleet(gpus) for gpus in curve.counts()]
    known = [one for one in fleets if not math.isnan(one.p_finish)]
    if not known:
        return fleets[-1], False
    likeliest = max(known, key=lambda one: (one.p_finish, -float(np.median(one.run_h))))
    fleet = whole.fleet(likeliest.gpus)
    return fleet, fleet.p_finish >= params.wanted


def fastest_of(curve: Planner) -> int:
    """GPUs of the shortest median cycle on the curve; 0 where none is known."""
    known = [one for one in map(curve.fleet, curve.counts()) if not math.isnan(one.p_finish)]
    return min(known, key=lambda one: float(np.median(one.run_h))).gpus if known else 0


def focus_of(plans: Sequence[Plan], params: CadenceParams) -> Plan:
    """The platform spoken of: as asked, else the cheapest a year of those that do, else the likeliest."""
    if params.focus:
        return next(one for one in plans if one.aim.target == params.focus)
    does = [one for one in plans if one.meets]
    priced = [one for one in does if not math.isnan(one.usd.value)]
    if priced:
        return min(priced, key=lambda one: one.usd_year.value)
    known = does or [one for one in plans if one.known]
    return max(known, key=lambda one: one.fleet.p_finish) if known else plans[0]


def with_longer(source: Source, params: CadenceParams, plan: Plan, scaling: Scaling, times: float) -> Planner:
    """The same platform when every response is `times` as long."""
    longer = _few(params).model_copy(update={"length_times": params.length_times * times, "gpus": 0})
    return planner(source, longer, plan.aim, scaling, plan.curve)
