"""What owning is computed from: every setting with its value, range, source and badge."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from analysis.params import CommonParams
from analysis.result import Assumption
from data.catalogue import Catalogue
from data.catalogue_types import Price
from data.errors import UserError

ALL_IN = {
    "h100-sxm": ("all_in_capex_usd_per_gpu_h100_cluster", 8),
    "gb200-nvl72": ("all_in_capex_usd_per_rack_gb200", 1),
}
"""Published prices that hold the network already: parameter, and how many of its unit a sold unit holds."""
Frac = Annotated[float | None, Field(ge=0, le=1)]
Usd = Annotated[float | None, Field(ge=0)]
YOURS = "your setting"


class OwnParams(CommonParams):
    """What owning needs; None: the published value, or left out where nobody published one.

    `buy`: the platform ('' for the one that the picked runs used most). `wacc_frac` has no published value:
    it must be given. `range_frac`: width of the range of inputs without a published one.
    """

    question = "own_cost"
    buy: str = ""
    gpus: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    unit_usd: Usd = None
    all_in: bool | None = None
    network_frac: Frac = None
    network_usd_per_unit: Usd = None
    storage_usd: Usd = None
    install_usd: Usd = None
    wacc_frac: Annotated[float | None, Field(ge=0, le=1)] = None
    life_years: Annotated[float | None, Field(ge=0.5, le=15)] = None
    residual_frac: Frac = None
    housing: Literal["colo", "building", "none"] = "colo"
    colo_usd_per_kw_month: Usd = None
    colo_with_power: bool = False
    building_usd_per_mw: Usd = None
    building_life_years: Annotated[float | None, Field(gt=0, le=60)] = None
    power_basis: Literal["it", "utility"] = "it"
    it_kw: Usd = None
    utility_kw: Usd = None
    load_frac: Frac = None
    pue: Annotated[float | None, Field(ge=1, le=4)] = None
    usd_per_kwh: Usd = None
    staff_per_1000_gpus: Usd = None
    usd_per_person: Usd = None
    support_frac: Frac = None
    spares_frac: Frac = None
    insurance_frac: Frac = None
    software_usd_per_gpu_year: Usd = None
    utilisation_frac: Annotated[float | None, Field(gt=0, le=1)] = None
    goodput_frac: Annotated[float | None, Field(gt=0, le=1)] = None
    range_frac: Annotated[float, Field(ge=0, le=0.9)] = 0.2
    seed: int = 7


@dataclass(frozen=True)
class Setting:
    """One input: `value` None when nobody published it and nobody gave it; `low`, `high` its range."""

    name: str
    label: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    status: str
    source: str
    date: str
    note: str = ""
    published_range: bool = False

    def assumption(self) -> Assumption | None:
        """The setting as an assumption; None without a value."""
        if self.value is None:
            return None
        return Assumption(self.label, self.value, self.unit, self.status, self.source, self.date)


_TCO = {
    "network_frac": (
        "Network, cabling and switches on the hardware",
        "cabling_switch_insurance_adder_fraction",
    ),
    "life_years": ("Economic life", "economic_life_years"),
    "colo_usd_per_kw_month": ("Colocation a critical kW", "colo_usd_per_kw_month"),
    "building_usd_per_mw": ("Own building", "dc_build_usd_per_mw_ai_liquid"),
    "pue": ("PUE", "pue"),
    "usd_per_kwh": ("Electricity", "electricity_usd_per_kwh"),
    "install_usd": ("Set-up, once", "setup_cost_usd"),
    "staff_per_1000_gpus": ("Operations staff for 1,000 GPUs", "ops_staff_per_1000_gpus"),
    "usd_per_person": ("Cost of one person", "staff_cost_usd_per_year"),
    "wacc_frac": ("Cost of capital (WACC)", "wacc"),
}
_NOBODY = {
    "network_usd_per_unit": ("Network and optics a unit", "USD per unit"),
    "storage_usd": ("Storage, once", "USD"),
    "support_frac": ("Support contract", "fraction of hardware a year"),
    "spares_frac": ("Spares and returns", "fraction of hardware a year"),
    "insurance_frac": ("Insurance", "fraction of hardware a year"),
    "software_usd_per_gpu_year": ("Software", "USD per GPU-year"),
    "building_life_years": ("Life of the building", "year"),
}
_KW = {
    "it_kw": ("IT power a GPU", "all_in_kw_per_gpu"),
    "utility_kw": ("Utility power a GPU", "all_in_utility_kw_per_gpu"),
}
_UNITS = {"network_frac": "fraction of hardware", "wacc_frac": "fraction per year"}


def settings_of(book: Catalogue, params: OwnParams, platform_id: str) -> dict[str, Setting]:
    """Every setting by name for one platform; raises UserError when the platform is not in the catalogue."""
    if book.platform(platform_id) is None:
        known = ", ".join(p.platform_id for p in book.platforms())
        raise UserError(f"'{platform_id}' is no platform", "parameter buy", f"Use one of {known}.")
    out = {name: _of_tco(book, params, name, *spec) for name, spec in _TCO.items()}
    for name, (label, unit) in _NOBODY.items():
        out[name] = _given(params, Setting(name, label, None, None, None, unit, "unsourced", "", ""))
    for name, (label, field) in _KW.items():
        out[name] = _of_fact(book, params, platform_id, name, label, field)
    out["unit_usd"] = _capex(book, params, platform_id)
    if is_all_in(params, platform_id):
        words = "inside the purchase price, which is all in"
        for name in ("network_frac", "network_usd_per_unit"):
            old = out[name]
            out[name] = Setting(name, old.label, 0.0, None, None, old.unit, "derived", words, "")
    for fixed in (_LOAD, _RESIDUAL):
        out[fixed.name] = _given(params, fixed)
    return {name: _ranged(one, params.range_frac) for name, one in out.items()}


_LOAD = Setting(
    "load_frac", "Mean power against rated power", 1.0, None, None, "fraction", "derived",
    "upper bound: nobody published a value; measure it from telemetry", "",
)  # fmt: skip
_RESIDUAL = Setting(
    "residual_frac", "Value left at the end of life", 0.0, 0.0, 0.35, "fraction of purchase", "derived",
    "nothing is left; a low-trust page prints 25-35 % after 36 months (v2-pseo-ai.pages.dev)", "2026",
    published_range=True,
)  # fmt: skip


def _given(params: OwnParams, setting: Setting) -> Setting:
    """The user's value in place of the published one; its range stays where it still holds the value."""
    value = getattr(params, setting.name)
    if value is None:
        return setting
    low, high = setting.low, setting.high
    keep = low is not None and high is not None and low <= value <= high
    return Setting(
        setting.name, setting.label, float(value), low if keep else None, high if keep else None,
        setting.unit, "user", YOURS, "", setting.note, keep and setting.published_range,
    )  # fmt: skip


def _ranged(setting: Setting, range_frac: float) -> Setting:
    """A setting without a range gets one of +-`range_frac` around a value that somebody guessed or gave."""
    if setting.value is None or setting.low is not None or setting.status not in ("user", "derived"):
        return setting
    if setting.source.startswith("inside"):
        return setting
    low, high = setting.value * (1 - range_frac), setting.value * (1 + range_frac)
    if setting.unit.startswith("fraction"):
        high = min(high, 1.0)
    if setting.name == "pue":
        low = max(low, 1.0)
    return Setting(
        setting.name, setting.label, setting.value, low, high, setting.unit, setting.status, setting.source,
        setting.date, setting.note, False,
    )  # fmt: skip


def _of_tco(book: Catalogue, params: OwnParams, name: str, label: str, parameter: str) -> Setting:
    row = book.tco_default(parameter)
    if row is None:
        raise KeyError(parameter)
    unit = _UNITS.get(name, row.unit)
    published = row.low is not None and row.high is not None
    return _given(
        params,
        Setting(
            name, label, row.value, row.low, row.high, unit, row.status, row.source, row.source_date,
            row.note, published,
        ),
    )  # fmt: skip


def _of_fact(
    book: Catalogue, params: OwnParams, platform_id: str, name: str, label: str, field: str
) -> Setting:
    fact = book.fact(platform_id, field)
    if fact is None or fact.number is None:
        return _given(params, Setting(name, label, None, None, None, "kW", "unsourced", "", ""))
    found = Setting(
        name, label, fact.number, None, None, "kW", fact.status, fact.source, fact.date, fact.condition
    )
    return _given(params, found)


def unit_size(book: Catalogue, platform_id: str) -> tuple[int, str]:
    """GPUs of what is sold as a whole, and its name: a rack where racks are sold, else a server."""
    for field, word in (("gpus_per_rack", "rack"), ("gpus_per_node", "server")):
        fact = book.fact(platform_id, field)
        if fact is not None and fact.number:
            return int(fact.number), word
    return 1, "GPU"


def is_all_in(params: OwnParams, platform_id: str) -> bool:
    """True when the purchase price holds network and cabling already."""
    if params.all_in is not None:
        return params.all_in
    return params.unit_usd is None and platform_id in ALL_IN


def _racks(book: Catalogue, platform_id: str) -> list[Price]:
    """Quotes of a whole rack in USD; in another currency a person gives `unit_usd`."""
    rows = [p for p in book.prices() if (p.platform_id, p.kind) == (platform_id, "purchase_rack")]
    return [p for p in rows if p.value is not None and p.unit == "USD per rack"]


def _capex(book: Catalogue, params: OwnParams, platform_id: str) -> Setting:
    size, word = unit_size(book, platform_id)
    label, unit = f"Price of one {word} ({size} GPUs)", f"USD per {word}"
    nothing = Setting("unit_usd", label, None, None, None, unit, "unsourced", "", "")
    if platform_id in ALL_IN and params.all_in is not False:
        parameter, times = ALL_IN[platform_id]
        row = book.tco_default(parameter)
        if row is not None and row.value is not None:
            low, high = (None if v is None else v * times for v in (row.low, row.high))
            nothing = Setting(
                "unit_usd", label, row.value * times, low, high, unit, row.status, row.source,
                row.source_date, "all in: network included", low is not None,
            )  # fmt: skip
        return _given(params, nothing)
    rows = _racks(book, platform_id) if word == "rack" else []
    picked = next((p for p in rows if p.tier == "owned"), None)
    if picked is not None and picked.value is not None:
        values = [p.value for p in rows if p.value is not None]
        nothing = Setting(
            "unit_usd", label, picked.value, min(values), max(values), unit, picked.status, picked.source,
            picked.as_of, f"{picked.provider}; {picked.price_id}", len(values) > 1,
        )  # fmt: skip
    return _given(params, nothing)
