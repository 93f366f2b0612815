"""Rent, reserve or own: what each way to hold GPUs costs for the same demand over a horizon.

Every yearly cost counts as in the annuity of `models.own_cost`: a year's cost is paid at that year's end and
spread evenly inside it, so its present value over [a, b] years is `USD a year x [(1+r)^-a - (1+r)^-b] / r`
(b - a at r = 0). Rents and purchases are thereby discounted alike, at constant prices the break-even
utilisation `u* = own / rent` is exact, and the costs of two horizons in a row add up.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from models.own_cost import HOURS_PER_YEAR, annuity_usd_per_year

HOURS_PER_MONTH = HOURS_PER_YEAR / 12


@dataclass(frozen=True)
class Demand:
    """GPUs needed, as (level, share of the time); the shares add up to 1.

    From measured days: one level a day, GPU-hours / 24, days without work included.
    """

    levels: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        shares = math.fsum(share for _, share in self.levels)
        if not self.levels or abs(shares - 1) > 1e-9 or any(g < 0 or s < 0 for g, s in self.levels):
            raise ValueError("demand needs levels of 0 or more GPUs whose shares add up to 1")

    @classmethod
    def of_days(cls, gpu_hours: Sequence[float]) -> "Demand":
        """One level a day of the window."""
        return cls(tuple((hours / 24, 1 / len(gpu_hours)) for hours in gpu_hours))

    @classmethod
    def flat(cls, gpus: float, utilisation_frac: float) -> "Demand":
        """`gpus` are all busy for that share of the time, and none of them else."""
        return cls(((gpus, utilisation_frac), (0.0, 1 - utilisation_frac)))

    @property
    def mean_gpus(self) -> float:
        """GPU-hours an hour."""
        return math.fsum(gpus * share for gpus, share in self.levels)

    @property
    def peak_gpus(self) -> float:
        """Highest level that occurs."""
        return max(gpus for gpus, share in self.levels if share > 0)

    def within(self, fleet: float) -> float:
        """Mean GPUs that a fleet of this size serves."""
        return math.fsum(min(gpus, fleet) * share for gpus, share in self.levels)

    def above(self, fleet: float) -> float:
        """Mean GPUs beyond a fleet of this size: what bursts."""
        return self.mean_gpus - self.within(fleet)


def annuity_pv(wacc_frac: float, start_years: float, end_years: float) -> float:
    """Present value of 1 USD a year over [start, end]; see the module for how it is counted."""
    if wacc_frac == 0:
        return end_years - start_years
    rate = math.log1p(wacc_frac)
    return math.exp(-rate * start_years) * -math.expm1(-rate * (end_years - start_years)) / wacc_frac


@dataclass(frozen=True)
class Path:
    """Horizon in whole months, cost of capital, and by how much prices fall a year (below 0: rise)."""

    months: int
    wacc_frac: float
    decline_frac: float = 0.0

    def price(self, month: int) -> float:
        """Price of `month` (0 = first) as a multiple of today's."""
        return float((1 - self.decline_frac) ** (month / 12))

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """Present value of 1 USD a year during each month."""
        return tuple(annuity_pv(self.wacc_frac, m / 12, (m + 1) / 12) for m in range(self.months))


def present_value(usd_per_year: Callable[[int], float], path: Path, first: int = 0) -> float:
    """Present value of the months from `first` on; `usd_per_year(month)` is the rate of that month."""
    return math.fsum(usd_per_year(m) * path.weights[m] for m in range(first, path.months))


@dataclass(frozen=True)
class Terms:
    """A committed GPU-hour: paid all the time, agreed anew every `term_months` at the path's price."""

    usd_per_gpu_h: float
    term_months: int

    def at(self, month: int, path: Path) -> float:
        """USD a GPU-hour in that month."""
        return self.usd_per_gpu_h * path.price(month // self.term_months * self.term_months)


@dataclass(frozen=True)
class Owned:
    """Bought GPUs: capital a GPU-hour (bought again at the path's price after `life_months`), and running."""

    capital_usd_per_gpu_h: float
    running_usd_per_gpu_h: float
    life_months: int

    def at(self, month: int, path: Path) -> float:
        """USD a GPU-hour in that month."""
        again = month // self.life_months * self.life_months
        return self.capital_usd_per_gpu_h * path.price(again) + self.running_usd_per_gpu_h


@dataclass(frozen=True)
class Cost:
    """Present values in USD over the horizon; `useful_gpu_h` is what the money bought.

    `usd_per_useful_gpu_h` is the constant price a useful GPU-hour that has the same present value.
    """

    fleet_gpus: float
    committed_usd: float
    burst_usd: float
    useful_gpu_h: float
    usd_per_useful_gpu_h: float
    utilisation_frac: float

    @property
    def total_usd(self) -> float:
        """Present value of all."""
        return self.committed_usd + self.burst_usd


def cost_of(
    demand: Demand,
    path: Path,
    goodput_frac: float,
    burst_usd_per_gpu_h: float,
    fleet_gpus: float = 0.0,
    committed: Terms | Owned | None = None,
) -> Cost:
    """Serve `demand` with a committed fleet, paid all the time, and rent on demand for the rest.

    Without a fleet all is on demand. Raises ValueError on a goodput outside (0, 1], no demand at all, or a
    fleet without terms.
    """
    if not 0 < goodput_frac <= 1:
        raise ValueError(f"the goodput must be above 0 and at most 1: {goodput_frac}")
    if demand.mean_gpus <= 0:
        raise ValueError("without demand nothing can be compared")
    if fleet_gpus > 0 and committed is None:
        raise ValueError("a fleet needs terms")
    burst = demand.above(fleet_gpus) * HOURS_PER_YEAR * burst_usd_per_gpu_h
    paid = 0.0
    if committed is not None:
        terms = committed
        paid = fleet_gpus * HOURS_PER_YEAR * present_value(lambda m: terms.at(m, path), path)
    rented = burst * present_value(path.price, path) if burst else 0.0
    yearly = demand.mean_gpus * HOURS_PER_YEAR * goodput_frac
    years = path.months / 12
    return Cost(
        fleet_gpus=fleet_gpus,
        committed_usd=paid,
        burst_usd=rented,
        useful_gpu_h=yearly * years,
        usd_per_useful_gpu_h=(paid + rented) / (yearly * annuity_pv(path.wacc_frac, 0, years)),
        utilisation_frac=demand.within(fleet_gpus) / fleet_gpus if fleet_gpus > 0 else 1.0,
    )


def best_base(demand: Demand, committed_pv: float, burst_pv: float, sold_by: int = 1) -> int:
    """Fleet with the lowest cost: one more GPU pays when it is busy for more than `committed / burst`.

    `committed_pv` and `burst_pv` are present values of one GPU-hour held all the time and used on demand;
    whole units of `sold_by` GPUs. The cost is convex in the fleet, so the best sizes lie at its levels.
    """
    if burst_pv <= 0:
        return 0
    sizes = {0}
    for gpus, _ in demand.levels:
        units = gpus / sold_by
        sizes |= {math.floor(units + 1e-9) * sold_by, math.ceil(units - 1e-9) * sold_by}
    return min(sorted(sizes), key=lambda n: n * committed_pv + demand.above(n) * burst_pv)


def break_even_utilisation(own_usd_per_gpu_h: float, rent_usd_per_gpu_h: float) -> float:
    """`u* = own / rent`: share of the bought hours above which owning is cheaper; above 1: never."""
    if not (rent_usd_per_gpu_h > 0 and own_usd_per_gpu_h >= 0):
        raise ValueError(f"prices must be above 0: {own_usd_per_gpu_h}, {rent_usd_per_gpu_h}")
    return own_usd_per_gpu_h / rent_usd_per_gpu_h


def break_even_months(
    capex_usd_per_gpu: float,
    rent_usd_per_gpu_h: Callable[[int], float],
    running_usd_per_gpu_h: float,
    utilisation_frac: float,
    months: int,
) -> float | None:
    """Months until the rent saved has paid the purchase back; None: not within `months`.

    Each month saves `(rent x utilisation - running) x 730`: running costs are paid also while the GPU idles.
    `rent_usd_per_gpu_h(month)` is the rent of that month: on demand moves every month, a reservation at each
    new term (`Terms.at`). At constant prices and full use this is `capex / ((rent - running) x 730)`.
    Not discounted, no residual value.
    """
    left = capex_usd_per_gpu
    for month in range(months):
        saved = (rent_usd_per_gpu_h(month) * utilisation_frac - running_usd_per_gpu_h) * HOURS_PER_MONTH
        if saved >= left:
            return month + (left / saved if saved > 0 else 0.0)
        left -= saved
    return None


def unpaid_usd(
    capex_usd: float, wacc_frac: float, life_years: float, residual_frac: float, after_years: float
) -> float:
    """What the annuity has not paid after some years inside the life: what the hardware must then be worth.

    At r = 0 a straight line from the purchase to the residual. At the end of the life the residual.
    """
    if not 0 <= after_years <= life_years:
        raise ValueError(f"{after_years} years lie outside a life of {life_years}")
    yearly = annuity_usd_per_year(capex_usd, wacc_frac, life_years, residual_frac)
    grown = math.exp(after_years * math.log1p(wacc_frac))
    return (capex_usd - yearly * annuity_pv(wacc_frac, 0, after_years)) * grown


def lease_usd_per_gpu_h(
    capex_usd_per_gpu: float,
    upfront_frac: float,
    lease_rate_frac: float,
    term_years: float,
    wacc_frac: float,
    life_years: float,
    residual_frac: float,
) -> float:
    """Capital part of a leased GPU that is the user's after the term, USD a GPU-hour.

    `upfront` of the price at once, the rest in equal yearly payments at the lessor's rate; their present
    value at the user's cost of capital, less the residual, is spread over the life as an annuity. At a
    lessor's rate equal to the cost of capital it is the price of buying.
    """
    if not 0 <= upfront_frac <= 1:
        raise ValueError(f"the upfront share must be 0..1: {upfront_frac}")
    financed = capex_usd_per_gpu * (1 - upfront_frac)
    yearly = annuity_usd_per_year(financed, lease_rate_frac, term_years, 0.0)
    paid = capex_usd_per_gpu * upfront_frac + yearly * annuity_pv(wacc_frac, 0, term_years)
    residual = capex_usd_per_gpu * residual_frac * math.exp(-life_years * math.log1p(wacc_frac))
    return (paid - residual) / annuity_pv(wacc_frac, 0, life_years) / HOURS_PER_YEAR
