"""Dollars and kilowatt-hours of a cycle and of a year on a fleet."""

import math
from dataclasses import dataclass

import numpy as np

from analysis.cadence_fleets import Fleet, ends_of_draws
from analysis.cadence_params import CadenceParams
from analysis.cadence_source import Source
from analysis.energyparts import power_of
from analysis.frames import NAN
from analysis.projection_money import Rent
from models.energy import figure_kwh

HOURS_PER_YEAR = 8760.0


@dataclass(frozen=True)
class Spent:
    """Value with its ends; NaN: no price, or nobody published a power."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> "Spent":
        """All three times `factor`."""
        return Spent(self.value * factor, self.low * factor, self.high * factor)


NOTHING = Spent(NAN, NAN, NAN)


def usd_per_cycle(source: Source, params: CadenceParams, fleet: Fleet, rent: Rent) -> Spent:
    """Dollars of a cycle: the fleet's period or its cycle at the price with its quotes, and what runs beside.

    A fleet that is paid for its cycle alone is paid until it ends; a cycle without an end has no amount.
    """
    cycle = ends_of_draws(fleet.run_h)
    if math.isnan(rent.usd) or math.isnan(cycle[1]):
        return NOTHING
    side = source.run.pools.side_usd_per_h
    period = params.pay == "period"
    if math.isinf(cycle[1]) and (side or not period):
        return NOTHING
    beside = [side * hours if side else 0.0 for hours in cycle]
    hours = (params.period_h,) * 3 if period else cycle
    prices = (rent.usd,) * 3
    if rent.choice is not None:
        prices = (rent.choice.low, rent.usd, rent.choice.high)
    gpus = fleet.fleet_gpus
    if period and prices[0] == prices[2]:
        return Spent(gpus * rent.usd * params.period_h + beside[1], NAN, NAN)  # one quote is no range
    ends = [gpus * p * h + more for p, h, more in zip(prices, hours, beside, strict=True)]
    return Spent(ends[1], ends[0], ends[2])


def usd_per_year(params: CadenceParams, cycle: Spent) -> Spent:
    """Cycles of a year at their period."""
    return cycle.scaled(HOURS_PER_YEAR / params.period_h)


def kwh_per_cycle(source: Source, fleet: Fleet, platform_id: str) -> Spent:
    """Energy at the meter of all held GPUs while the cycle runs, by published power and PUE."""
    book = source.asked.book
    power, _ = power_of(book, platform_id)
    pue = book.tco_default("pue")
    hours = float(np.median(fleet.run_h)) * fleet.fleet_gpus
    if pue is None or pue.value is None or not math.isfinite(hours):
        return NOTHING
    ends = (pue.value, pue.low or pue.value, pue.high or pue.value)
    found = [figure_kwh(power, hours, end) for end in ends]
    if found[0] is None:
        return NOTHING
    value, low, high = (NAN if one is None else one for one in found)
    return Spent(value, low, high)
