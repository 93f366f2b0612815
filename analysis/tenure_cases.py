"""Ways to hold GPUs for one demand: their prices, fleets and costs, once and over draws."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from analysis.own_cost import Owning, draw_values, spread
from analysis.own_inputs import Frac, OwnParams, Setting, Usd
from data.catalogue import Catalogue
from data.errors import UserError
from models.own_cost import units_for
from models.tenure import (
    Cost,
    Demand,
    Owned,
    Path,
    Terms,
    best_base,
    cost_of,
    lease_usd_per_gpu_h,
    present_value,
)

OPTIONS = {
    "on_demand": "On demand",
    "reserved_1y": "1-year reservation",
    "reserved_3y": "3-year reservation",
    "own": "Own",
    "lease": "Own by lease",
    "mixed_reserved": "Reserved base, rest on demand",
    "mixed_own": "Owned base, rest on demand",
}
RATES = {
    "on_demand": ("On demand", "on_demand", "on_demand_usd"),
    "reserved_1y": ("1-year contract", "contract_1y", "reserve_1y_usd"),
    "reserved_3y": ("3-year reservation", "reserved_3y", "reserve_3y_usd"),
}
TERM_MONTHS = {"reserved_1y": 12, "reserved_3y": 36}
SPOKEN = {
    "on_demand": "renting on demand",
    "reserved_1y": "a 1-year reservation",
    "reserved_3y": "a 3-year reservation",
    "own": "owning",
    "lease": "owning by lease",
    "mixed_reserved": "a reserved base with the rest on demand",
    "mixed_own": "an owned base with the rest on demand",
}
OWNED = ("own", "lease", "mixed_own")
Change = Annotated[float | None, Field(ge=-1, le=0.95)]


class TenureParams(OwnParams):
    """Own settings, what is rented instead, and how prices move.

    `gpus`: fleet of the committed options, 0 for the peak of the demand. With `utilisation_frac` the demand
    is flat (`gpus` busy for that share of the time); else it is what the picked runs used, day by day.
    `decline_*`: how much rents and hardware fall a year (below 0: rise); nobody published one.
    """

    question = "tenure"
    tier: Literal["neocloud", "hyperscaler", "marketplace"] = "neocloud"
    on_demand_usd: Usd = None
    reserve_1y_usd: Usd = None
    reserve_3y_usd: Usd = None
    horizon_months: Annotated[int, Field(ge=1, le=120)] = 36
    decline_low: Change = None
    decline_mid: Change = None
    decline_high: Change = None
    lease_rate_frac: Frac = None
    lease_upfront_frac: Frac = None
    lease_term_years: Annotated[float | None, Field(gt=0, le=15)] = None


@dataclass(frozen=True)
class Case:
    """Everything that the cost of all options follows from."""

    demand: Demand
    goodput_frac: float
    path: Path
    rates: Mapping[str, float | None]
    own_capital: float
    own_running: float
    life_months: int
    lease_capital: float | None

    def terms(self, option: str) -> Terms | Owned | None:
        """What a committed GPU-hour of an option costs; None where a price is missing."""
        if option in TERM_MONTHS:
            rate = self.rates.get(option)
            return None if rate is None else Terms(rate, TERM_MONTHS[option])
        capital = self.lease_capital if option == "lease" else self.own_capital
        return None if capital is None else Owned(capital, self.own_running, self.life_months)

    def rent_at(self, option: str, month: int) -> float | None:
        """USD a rented GPU-hour in that month, on the option's own price path; None without a quote."""
        if option == "on_demand":
            rate = self.rates.get(option)
            return None if rate is None else rate * self.path.price(month)
        terms = self.terms(option)
        return None if terms is None else terms.at(month, self.path)

    def pv_per_gpu_h(self, option: str) -> float | None:
        """Present value of one GPU-hour an hour of a year, held all the time or rented all the time."""
        if option == "on_demand":
            rate = self.rates.get("on_demand")
            return None if rate is None else rate * present_value(self.path.price, self.path)
        terms = self.terms(option)
        return None if terms is None else present_value(lambda m: terms.at(m, self.path), self.path)


@dataclass(frozen=True)
class Fleets:
    """Committed GPUs by option; `base_of` is the reservation that the mix is built on ('' when none)."""

    sizes: Mapping[str, int]
    base_of: str


def fleets_of(case: Case, wanted: int, node: int, unit: int) -> Fleets:
    """Whole servers are reserved and whole units bought; a mix holds the base that costs least."""
    rounded = units_for(wanted, node) * node
    bought = units_for(wanted, unit) * unit
    sizes = {"on_demand": 0, "reserved_1y": rounded, "reserved_3y": rounded, "own": bought, "lease": bought}
    burst = case.pv_per_gpu_h("on_demand")
    values = {name: case.pv_per_gpu_h(name) for name in TERM_MONTHS}
    known = {name: value for name, value in values.items() if value is not None}
    base_of = min(known, key=lambda name: known[name]) if known else ""
    if burst is not None:
        if base_of:
            sizes["mixed_reserved"] = best_base(case.demand, known[base_of], burst, node)
        own = case.pv_per_gpu_h("own")
        sizes["mixed_own"] = best_base(case.demand, own or 0.0, burst, unit)
    return Fleets(sizes, base_of)


def costs_of(case: Case, fleets: Fleets) -> dict[str, Cost]:
    """Cost of every option that can be priced."""
    out = {}
    for option in OPTIONS:
        fleet = fleets.sizes.get(option)
        if fleet is None:
            continue
        burst = case.rates.get("on_demand")
        if burst is None:
            if case.demand.above(fleet) > 1e-9:
                continue
            burst = 0.0
        base = {"mixed_reserved": fleets.base_of, "mixed_own": "own"}.get(option, option)
        terms = None if option == "on_demand" else case.terms(base)
        if option != "on_demand" and terms is None:
            continue
        out[option] = cost_of(case.demand, case.path, case.goodput_frac, burst, fleet, terms)
    return out


def rate_settings(book: Catalogue, params: TenureParams, platform: str) -> dict[str, Setting]:
    """What is rented instead: the user's quote, else the price book's; value None says why in its note."""
    out = {}
    for name, (label, kind, field) in RATES.items():
        given, choice = getattr(params, field), book.price(platform, kind, params.tier)
        if given is not None:
            if given <= 0:
                raise UserError("A rent must be above 0", f"parameter {field}", "Give USD a GPU-hour.")
            spread = params.range_frac * given
            out[name] = Setting(
                name, label, given, given - spread, given + spread, "USD per GPU-hour", "user",
                "your setting", "",
            )  # fmt: skip
        elif choice is None:
            why = book.why_no_price(platform, kind, params.tier)
            out[name] = Setting(name, label, None, None, None, "USD per GPU-hour", "unsourced", "", "", why)
        else:
            out[name] = Setting(
                name, label, choice.usd_per_gpu_h, choice.low, choice.high, choice.unit, choice.status,
                choice.source, choice.as_of, f"{choice.provider}; {choice.price_id}", choice.n_quotes > 1,
            )  # fmt: skip
    return out


def lease_settings(book: Catalogue, params: TenureParams) -> dict[str, Setting]:
    """Terms of the lease; the lessor's rate has no published value."""
    out = {}
    for name, label, parameter in (
        ("lease_upfront_frac", "Paid upfront", "lease_upfront_fraction"),
        ("lease_term_years", "Term of the lease", "lease_term_years"),
    ):
        row, given = book.tco_default(parameter), getattr(params, name)
        if row is None:
            raise KeyError(parameter)
        told = (row.value, row.status, row.source, row.source_date)
        value, status, source, date = (given, "user", "your setting", "") if given is not None else told
        out[name] = Setting(name, label, value, None, None, row.unit, status, source, date)
    rate = params.lease_rate_frac
    status = "unsourced" if rate is None else "user"
    low, high = (
        (None, None) if rate is None else (rate * (1 - params.range_frac), rate * (1 + params.range_frac))
    )
    out["lease_rate_frac"] = Setting(
        "lease_rate_frac", "Rate of the lessor", rate, low, high, "fraction per year", status,
        "" if rate is None else "your setting", "",
    )  # fmt: skip
    return out


@dataclass(frozen=True)
class Setup:
    """Inputs of the comparison besides the purchase: demand, rents, lease, path."""

    own: Owning
    params: TenureParams
    demand: Demand
    goodput_frac: float
    rates: dict[str, Setting]
    lease: dict[str, Setting]

    def case(
        self,
        values: Mapping[str, float | None] | None = None,
        rates: Mapping[str, float | None] | None = None,
        **more: float | None,
    ) -> Case:
        """The case of these setting values and rents; `decline`, `lease_rate`, `utilisation` and `goodput`
        replace the middle ones.
        """
        v = {**self.own.values(), **(values or {})}
        cost = self.own.cost(v)
        wacc, life = v["wacc_frac"] or 0.0, v["life_years"] or 1.0
        demand = self.demand
        used = more.get("utilisation")
        if used is not None:
            demand = Demand.flat(self.params.gpus, min(1.0, used))
        decline = more.get("decline")
        return Case(
            demand=demand,
            goodput_frac=min(1.0, more.get("goodput") or self.goodput_frac),
            path=Path(
                self.params.horizon_months,
                wacc,
                (self.params.decline_mid or 0.0) if decline is None else decline,
            ),
            rates=rates or {name: one.value for name, one in self.rates.items()},
            own_capital=cost.capital,
            own_running=cost.running,
            life_months=max(1, round(life * 12)),
            lease_capital=self._lease(v, more.get("lease_rate")),
        )

    def _lease(self, v: Mapping[str, float | None], rate: float | None) -> float | None:
        rate = self.lease["lease_rate_frac"].value if rate is None else rate
        upfront, term = self.lease["lease_upfront_frac"].value, self.lease["lease_term_years"].value
        if rate is None or upfront is None or term is None:
            return None
        buy = self.own.inputs(v).purchase
        return lease_usd_per_gpu_h(
            buy.capex_usd / buy.bought_gpus, upfront, rate, term, v["wacc_frac"] or 0.0,
            v["life_years"] or 1.0, v["residual_frac"] or 0.0,
        )  # fmt: skip

    def draws(self, size: int) -> list[Case]:
        """Joint draws of every input that has a range, rents and price path among them."""
        rng = np.random.default_rng(self.params.seed + 1)
        rents = {name: spread(rng, one, size) for name, one in self.rates.items() if one.value is not None}
        middle = self.params.decline_mid
        path = Setting(
            "decline", "", middle, self.params.decline_low, self.params.decline_high, "", "user", "", ""
        )
        declines = spread(rng, path, size) if middle is not None and path.low is not None else None
        lease = self.lease["lease_rate_frac"]
        lessor = spread(rng, lease, size) if lease.value is not None else None
        return [
            self.case(
                values,
                {name: float(rents[name][i]) if name in rents else None for name in self.rates},
                decline=None if declines is None else float(declines[i]),
                lease_rate=None if lessor is None else float(lessor[i]),
            )
            for i, values in enumerate(draw_values(self.own, size))
        ]


def flat_case(case: Case, fleet: int, utilisation_frac: float) -> Case:
    """The same prices with a fleet that is busy for a share of the time."""
    return replace(case, demand=Demand.flat(fleet, utilisation_frac))


def whole_gpus(demand: Demand) -> int:
    """GPUs that hold the peak."""
    return max(1, math.ceil(demand.peak_gpus - 1e-9))
