"""What an owned GPU-hour costs: annuity of the purchase, adders, housing, power, people, part by part.

Structure (public TCO models, SemiAnalysis and others): capital = [C - s C / (1+r)^N] x r / (1 - (1+r)^-N),
housing by the kW or by the building, power = kW x load x PUE x price, the rest by the year; all over
GPUs x 8,760 hours.
"""

import math
from dataclasses import dataclass, fields, replace

HOURS_PER_YEAR = 8760.0
MONTHS = 12.0


def annuity_usd_per_year(
    capex_usd: float, wacc_frac: float, life_years: float, residual_frac: float
) -> float:
    """Equal payment at each year's end that repays `capex_usd` less what is left of it after `life_years`.

    `[C - s C / (1+r)^N] x r / (1 - (1+r)^-N)`; at r = 0 a straight line, C (1 - s) / N. Raises ValueError on
    a life that is not above 0, a residual outside 0..1, a cost of capital below 0 or a price below 0.
    """
    if not (math.isfinite(capex_usd) and capex_usd >= 0):
        raise ValueError(f"the purchase must cost 0 USD or more: {capex_usd}")
    if not (math.isfinite(life_years) and life_years > 0):
        raise ValueError(f"the life must be above 0 years: {life_years}")
    if not 0 <= residual_frac <= 1:
        raise ValueError(f"the residual value must be 0..1 of the purchase: {residual_frac}")
    if not (math.isfinite(wacc_frac) and wacc_frac >= 0):
        raise ValueError(f"the cost of capital must be 0 or more: {wacc_frac}")
    if wacc_frac == 0:
        return capex_usd * (1 - residual_frac) / life_years
    # expm1 and log1p: a cost of capital of 1e-15 is a straight line too, not a division of rounding errors
    discount = math.exp(-life_years * math.log1p(wacc_frac))
    factor = -wacc_frac / math.expm1(-life_years * math.log1p(wacc_frac))
    return capex_usd * (1 - residual_frac * discount) * factor


def units_for(gpus: int, gpus_per_unit: int) -> int:
    """Whole servers or racks that hold at least `gpus`; raises ValueError below one GPU."""
    if gpus < 1 or gpus_per_unit < 1:
        raise ValueError(f"GPUs and GPUs a unit must be at least 1: {gpus}, {gpus_per_unit}")
    return -(-gpus // gpus_per_unit)


@dataclass(frozen=True)
class Purchase:
    """What is bought: `gpus` wanted, sold as units of `gpus_per_unit` at `usd_per_unit`.

    `network_frac` of the hardware and `network_usd_per_unit`: fabric, optics, cabling on top of it;
    `storage_usd`, `install_usd`: once, for all.
    """

    gpus: int
    gpus_per_unit: int
    usd_per_unit: float
    network_frac: float = 0.0
    network_usd_per_unit: float = 0.0
    storage_usd: float = 0.0
    install_usd: float = 0.0

    @property
    def units(self) -> int:
        """Whole units."""
        return units_for(self.gpus, self.gpus_per_unit)

    @property
    def bought_gpus(self) -> int:
        """GPUs that come with them."""
        return self.units * self.gpus_per_unit

    @property
    def hardware_usd(self) -> float:
        """USD of the units alone."""
        return self.units * self.usd_per_unit

    @property
    def network_usd(self) -> float:
        """USD of fabric, optics and cabling."""
        return self.hardware_usd * self.network_frac + self.units * self.network_usd_per_unit

    @property
    def capex_usd(self) -> float:
        """USD of everything bought."""
        return self.hardware_usd + self.network_usd + self.storage_usd + self.install_usd


@dataclass(frozen=True)
class Capital:
    """Terms of the money: cost of capital a year, life in years, residual as a share of the purchase."""

    wacc_frac: float
    life_years: float
    residual_frac: float = 0.0


@dataclass(frozen=True)
class Power:
    """Electricity of one GPU with its share of host, network and (utility kW) facility.

    Give `it_kw` with `pue`, or `utility_kw` with a PUE of exactly 1: utility kW holds the facility already.
    """

    usd_per_kwh: float
    pue: float
    it_kw: float | None = None
    utility_kw: float | None = None
    load_frac: float = 1.0

    def usd_per_gpu_h(self) -> float:
        """kW x load x PUE x USD per kWh; raises ValueError when IT and utility kW are mixed up."""
        if (self.it_kw is None) == (self.utility_kw is None):
            raise ValueError("power needs IT kW or utility kW, and not both")
        if self.utility_kw is not None and self.pue != 1:
            raise ValueError("utility kW holds the facility already: its PUE is 1")
        if self.pue < 1:
            raise ValueError(f"a PUE below 1 is impossible: {self.pue}")
        if not 0 <= self.load_frac <= 1:
            raise ValueError(f"the load must be 0..1 of the rated power: {self.load_frac}")
        kw = self.it_kw if self.it_kw is not None else self.utility_kw
        if kw is None or not (kw >= 0 and self.usd_per_kwh >= 0):
            raise ValueError(f"kW and USD per kWh must be 0 or more: {kw}, {self.usd_per_kwh}")
        return kw * self.load_frac * self.pue * self.usd_per_kwh


@dataclass(frozen=True)
class Colocation:
    """Rented space and power capacity: USD a month for each critical (IT) kW."""

    it_kw: float
    usd_per_kw_month: float
    power_included: bool = False

    def usd_per_gpu_h(self, wacc_frac: float) -> float:  # noqa: ARG002
        """kW x USD per kW-month x 12 / 8,760."""
        return self.it_kw * self.usd_per_kw_month * MONTHS / HOURS_PER_YEAR


@dataclass(frozen=True)
class Building:
    """An own data centre: USD a MW of IT load, written off over its own life at the cost of capital."""

    it_kw: float
    usd_per_mw: float
    life_years: float
    power_included: bool = False

    def usd_per_gpu_h(self, wacc_frac: float) -> float:
        """kW x USD per MW x capital recovery factor / 1,000 / 8,760."""
        yearly = annuity_usd_per_year(self.usd_per_mw, wacc_frac, self.life_years, 0.0)
        return self.it_kw * yearly / 1000 / HOURS_PER_YEAR


@dataclass(frozen=True)
class Running:
    """Yearly costs besides housing and power; None: not given, and left out (never taken for 0).

    `staff_per_1000_gpus` people at `usd_per_person`; support, spares, insurance as shares of the hardware
    price a year; software in USD a GPU and year.
    """

    staff_per_1000_gpus: float | None = None
    usd_per_person: float | None = None
    support_frac: float | None = None
    spares_frac: float | None = None
    insurance_frac: float | None = None
    software_usd_per_gpu_year: float | None = None


@dataclass(frozen=True)
class OwnInputs:
    """Everything that an owned GPU-hour is made of; `housing` and `power` None: not given, left out."""

    purchase: Purchase
    capital: Capital
    housing: Colocation | Building | None
    power: Power | None
    running: Running = Running()


@dataclass(frozen=True)
class OwnCost:
    """USD a bought GPU-hour by part at full use; None: the part was not given and is in no total."""

    hardware: float
    network: float
    storage: float
    install: float
    housing: float | None
    power: float | None
    staff: float | None
    support: float | None
    spares: float | None
    insurance: float | None
    software: float | None

    @property
    def capital(self) -> float:
        """USD a GPU-hour of everything bought."""
        return math.fsum((self.hardware, self.network, self.storage, self.install))

    @property
    def running(self) -> float:
        """USD a GPU-hour of what is paid while it runs: all but capital."""
        capital = ("hardware", "network", "storage", "install")
        return math.fsum(v for name, v in self.parts().items() if v is not None and name not in capital)

    @property
    def total(self) -> float:
        """USD a bought GPU-hour."""
        return math.fsum(v for v in self.parts().values() if v is not None)

    @property
    def missing(self) -> tuple[str, ...]:
        """Parts that were not given."""
        return tuple(name for name, value in self.parts().items() if value is None)

    def parts(self) -> dict[str, float | None]:
        """USD a GPU-hour by part, in order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def own_cost(inputs: OwnInputs) -> OwnCost:
    """Price one bought GPU-hour; raises ValueError naming what cannot be."""
    buy, money, run = inputs.purchase, inputs.capital, inputs.running
    gpu_hours = buy.bought_gpus * HOURS_PER_YEAR

    def capital(usd: float) -> float:
        terms = (money.wacc_frac, money.life_years, money.residual_frac)
        return annuity_usd_per_year(usd, *terms) / gpu_hours

    def of_hardware(frac: float | None) -> float | None:
        return None if frac is None else _not_negative(frac) * buy.hardware_usd / gpu_hours

    people = None
    if run.staff_per_1000_gpus is not None and run.usd_per_person is not None:
        people = _not_negative(run.staff_per_1000_gpus * run.usd_per_person) / 1000 / HOURS_PER_YEAR
    software = run.software_usd_per_gpu_year
    return OwnCost(
        hardware=capital(buy.hardware_usd),
        network=capital(buy.network_usd),
        storage=capital(buy.storage_usd),
        install=capital(buy.install_usd),
        housing=None if inputs.housing is None else inputs.housing.usd_per_gpu_h(money.wacc_frac),
        power=_power(inputs),
        staff=people,
        support=of_hardware(run.support_frac),
        spares=of_hardware(run.spares_frac),
        insurance=of_hardware(run.insurance_frac),
        software=None if software is None else _not_negative(software) / HOURS_PER_YEAR,
    )


def _power(inputs: OwnInputs) -> float | None:
    if inputs.housing is not None and inputs.housing.power_included:
        return 0.0
    return None if inputs.power is None else inputs.power.usd_per_gpu_h()


def _not_negative(value: float) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"a cost must be 0 or more: {value}")
    return value


def useful_usd_per_gpu_h(own_usd_per_gpu_h: float, allocated_frac: float, goodput_frac: float) -> float:
    """`own / (allocated x goodput)`: what a GPU-hour of kept work costs; raises ValueError outside (0, 1]."""
    for name, frac in (("allocated", allocated_frac), ("goodput", goodput_frac)):
        if not 0 < frac <= 1:
            raise ValueError(f"the {name} share must be above 0 and at most 1: {frac}")
    return own_usd_per_gpu_h / (allocated_frac * goodput_frac)


def with_life(inputs: OwnInputs, life_years: float) -> OwnInputs:
    """The same purchase written off over another life: the input that moves the answer most."""
    return replace(inputs, capital=replace(inputs.capital, life_years=life_years))
