"""What an owned GPU-hour costs, part by part, and what a useful one costs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.common import figure, result
from analysis.frames import Row, number, records, table
from analysis.own_inputs import OwnParams, Setting, is_all_in, settings_of, unit_size
from analysis.params import CommonParams
from analysis.result import Assumption, Figure, Notice, Result
from analysis.spend import compute_spend, filters_of, synthetic_notice
from analysis.words import digits3, listing, money, percent
from data.errors import UserError
from data.queries import spend as spend_queries
from data.queries import tenure as queries
from data.view import View
from models.own_cost import (
    HOURS_PER_YEAR,
    Building,
    Capital,
    Colocation,
    OwnCost,
    OwnInputs,
    Power,
    Purchase,
    Running,
    own_cost,
    useful_usd_per_gpu_h,
    with_life,
)

DEFAULT_PLATFORM = "h100-sxm"
LIVES = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
DRAWS = 300
PART_WORDS = {
    "hardware": ("Hardware", "annuity of the units bought"),
    "network": ("Network and cabling", "annuity of the adder on the hardware and of what is paid a unit"),
    "storage": ("Storage", "annuity of the storage bought"),
    "install": ("Set-up", "annuity of what is paid once"),
    "housing": ("Housing", "IT kW x USD a kW-month x 12 / 8,760; building: USD a MW x recovery factor"),
    "power": ("Power", "kW x load x PUE x USD a kWh; PUE is 1 for utility kW"),
    "staff": ("Staff", "people for 1,000 GPUs x USD a year / 1,000 / 8,760"),
    "support": ("Support", "share of the hardware price a year"),
    "spares": ("Spares and returns", "share of the hardware price a year"),
    "insurance": ("Insurance", "share of the hardware price a year"),
    "software": ("Software", "USD a GPU-year / 8,760"),
}
NO_WACC = (
    "The cost of owning needs your cost of capital (WACC, a year): no published number was found, so none is "
    "taken for granted. Give yours."
)


@dataclass(frozen=True)
class Owning:
    """The settings of one platform and what they make of a purchase; `cost` None: `lacking` says why."""

    platform: str
    name: str
    unit_gpus: int
    unit_word: str
    settings: dict[str, Setting]
    params: OwnParams
    gpus: int
    lacking: str

    def values(self) -> dict[str, float | None]:
        """The value of every setting."""
        return {name: one.value for name, one in self.settings.items()}

    def inputs(self, values: Mapping[str, float | None] | None = None) -> OwnInputs:
        """Model inputs from these or other values; raises UserError for kW that are mixed up."""
        return _inputs(self, values or self.values())

    def cost(self, values: Mapping[str, float | None] | None = None) -> OwnCost:
        """USD a bought GPU-hour, part by part; raises UserError for what cannot be priced."""
        try:
            return own_cost(self.inputs(values))
        except ValueError as error:
            raise UserError(str(error), "cost of owning", "Change that setting.") from error

    def assumptions(self) -> list[Assumption]:
        """Every setting that holds a value and is used."""
        unused = self._unused()
        told = (one.assumption() for name, one in self.settings.items() if name not in unused)
        return [one for one in told if one is not None]

    def _unused(self) -> set[str]:
        out = {"building_usd_per_mw", "building_life_years"} if self.params.housing != "building" else set()
        out |= {"colo_usd_per_kw_month"} if self.params.housing != "colo" else set()
        return out | ({"utility_kw"} if self.params.power_basis == "it" else {"pue"})

    def ranged(self) -> dict[str, Setting]:
        """Settings that are used and have a range."""
        unused = self._unused()
        return {
            name: one
            for name, one in self.settings.items()
            if name not in unused and one.value is not None and one.low is not None and one.low != one.high
        }


def owning(view: View, params: OwnParams, gpus: int = 0) -> Owning:
    """Resolve what is bought: the platform, whole units, every setting, and what is lacking for a price."""
    platform = params.buy or most_used(view, params)
    found = settings_of(view.catalogue, params, platform)
    size, word = unit_size(view.catalogue, platform)
    known = view.catalogue.platform(platform)
    name = known.name if known else platform
    lacking = ""
    if found["unit_usd"].value is None:
        lacking = f"No purchase price of {name} is published: give the price of one {word} ({size} GPUs)."
    elif params.wacc_frac is None:
        lacking = NO_WACC
    if params.power_basis == "utility" and params.pue not in (None, 1.0):
        raise UserError(
            "Utility kW holds the facility already, so its PUE is 1",
            "parameter pue",
            "Leave PUE out, or use IT power.",
        )
    return Owning(platform, name, size, word, found, params, params.gpus or gpus or size, lacking)


def most_used(view: View, params: CommonParams) -> str:
    """The catalogue's platform with most GPU-hours of the picked runs; H100 when there is none."""
    rows = [r for r in records(queries.gpu_hours(view, filters_of(params))) if number(r["gpu_h"]) > 0]
    rows = [r for r in rows if view.catalogue.platform(r["platform"]) is not None]
    return str(max(rows, key=lambda r: (r["gpu_h"], r["platform"]))["platform"]) if rows else DEFAULT_PLATFORM


def _inputs(own: Owning, v: Mapping[str, float | None]) -> OwnInputs:
    params = own.params
    price, wacc, life = v["unit_usd"], v["wacc_frac"], v["life_years"]
    if price is None or wacc is None or life is None:
        raise UserError(own.lacking or "The life is not known", "cost of owning", "Give that setting.")
    it, rent, mw = v["it_kw"], v["colo_usd_per_kw_month"], v["building_usd_per_mw"]
    years, kwh, load = v["building_life_years"], v["usd_per_kwh"], v["load_frac"]
    housing: Colocation | Building | None = None
    if params.housing == "colo" and it is not None and rent is not None:
        housing = Colocation(it, rent, params.colo_with_power)
    elif params.housing == "building" and it is not None and mw is not None and years is not None:
        housing = Building(it, mw, years)
    power = None
    if kwh is not None and load is not None:
        if params.power_basis == "utility" and v["utility_kw"] is not None:
            power = Power(kwh, 1.0, utility_kw=v["utility_kw"], load_frac=load)
        elif params.power_basis == "it" and it is not None and v["pue"] is not None:
            power = Power(kwh, v["pue"], it_kw=it, load_frac=load)
    return OwnInputs(
        Purchase(
            own.gpus, own.unit_gpus, price, v["network_frac"] or 0.0, v["network_usd_per_unit"] or 0.0,
            v["storage_usd"] or 0.0, v["install_usd"] or 0.0,
        ),
        Capital(wacc, life, v["residual_frac"] or 0.0),
        housing,
        power,
        Running(
            v["staff_per_1000_gpus"], v["usd_per_person"], v["support_frac"], v["spares_frac"],
            v["insurance_frac"], v["software_usd_per_gpu_year"],
        ),
    )  # fmt: skip


def draw_values(own: Owning, size: int = DRAWS) -> list[dict[str, float | None]]:
    """Joint draws of all settings that have a range, each on its own."""
    rng = np.random.default_rng(own.params.seed)
    base = own.values()
    drawn = {name: spread(rng, one, size) for name, one in sorted(own.ranged().items())}
    return [{**base, **{name: float(values[i]) for name, values in drawn.items()}} for i in range(size)]


def spread(rng: np.random.Generator, one: Setting, size: int) -> np.ndarray:
    """Draws of one setting: half of them evenly between low and value, half between value and high.

    The value is the median, and no draw leaves the range.
    """
    low, middle, high = number(one.low), number(one.value), number(one.high)
    below, where = rng.random(size) < 0.5, rng.random(size)
    return np.where(below, middle + (low - middle) * where, middle + (high - middle) * where)


def p10_p90(values: Iterable[float]) -> tuple[float, float]:
    """The ends between which eight of ten draws lie."""
    low, high = np.percentile(np.array(list(values)), [10, 90])
    return float(low), float(high)


def goodput(view: View, params: OwnParams) -> tuple[float | None, Assumption | None]:
    """The user's goodput, else that of the picked runs (useful / billed GPU-seconds); None when not known."""
    if params.goodput_frac is not None:
        told = Assumption("Goodput", params.goodput_frac, "fraction", "user", "your setting", "")
        return params.goodput_frac, told
    names = {**params.model_dump(include=set(CommonParams.model_fields))}
    runs = records(compute_spend(view, CommonParams(**names)).runs)
    useful, billed = (
        sum(number(r[name]) for r in runs if number(r["billed_gpu_s"]) > 0 and number(r["useful_gpu_s"]) >= 0)
        for name in ("useful_gpu_s", "billed_gpu_s")
    )
    if not (billed > 0 and useful > 0):
        return None, None
    frac = min(1.0, useful / billed)
    source = "picked runs: kept step seconds x GPUs / billed GPU-seconds"
    return frac, Assumption("Goodput", round(frac, 4), "fraction", "measured", source, "")


def made_up(view: View, params: OwnParams) -> list[Notice]:
    """The notice that picked runs are example data: demand and goodput come from them."""
    runs = records(spend_queries.runs(view, filters_of(params)))
    return synthetic_notice(row["run"] for row in runs if row["synthetic"])


def settings_table(own: Owning) -> pd.DataFrame:
    """Every setting with its badge and source."""
    names = ["name", "label", "value", "low", "high", "unit", "status", "source", "date", "note"]
    rows = [vars(one) for one in own.settings.values()]
    return table(rows, names, ["value", "low", "high"])


def compute(view: View, params: OwnParams) -> Result:
    """Cost of one owned GPU-hour; raises UserError on an unknown platform or mixed-up kW."""
    own = owning(view, params)
    if own.lacking:
        return _without(view, params, own)
    cost = own.cost()
    low, high = p10_p90(own.cost(v).total for v in draw_values(own))
    useful = _useful(view, params, cost)
    return result(
        "own_cost",
        view,
        params,
        _answer(own, cost, low, high),
        headline=[
            figure("own_usd_per_gpu_h", cost.total, low=low, high=high, interval="p10_p90", boundary="own"),
            useful[0],
            figure("own_capital", cost.capital, boundary="own"),
            figure("own_running", cost.running, boundary="own"),
        ],
        tables={
            "breakdown": breakdown(own, cost),
            "lives": lives(own),
            "published": published(view, own),
            "settings": settings_table(own),
        },
        assumptions=[*own.assumptions(), *useful[1]],
        notices=[*made_up(view, params), *notices(own, cost)],
    )


def _without(view: View, params: OwnParams, own: Owning) -> Result:
    missing = [figure(n, None, missing=own.lacking) for n in ("own_usd_per_gpu_h", "own_useful")]
    empty = {"breakdown": table([], list(BREAKDOWN), BREAKDOWN[2:5]), "lives": table([], list(LIVES_COLUMNS))}
    return result(
        "own_cost",
        view,
        params,
        own.lacking,
        headline=missing,
        tables={**empty, "published": published(view, own), "settings": settings_table(own)},
        assumptions=own.assumptions(),
        notices=[*made_up(view, params), Notice("input_missing", own.lacking, own.platform)],
    )


def _useful(view: View, params: OwnParams, cost: OwnCost) -> tuple[Figure, list[Assumption]]:
    share, told = goodput(view, params)
    used = params.utilisation_frac
    if used is None or share is None:
        lacks = "how much of the bought hours is allocated" if used is None else "a goodput"
        return figure("own_useful", None, missing=f"give {lacks}: nobody published one"), []
    value = useful_usd_per_gpu_h(cost.total, used, share)
    gave = Assumption("Allocated share of the bought hours", used, "fraction", "user", "your setting", "")
    return figure("own_useful", value, boundary="own"), [gave, *([told] if told else [])]


BREAKDOWN = ("part", "label", "usd_per_gpu_h", "usd_per_year", "share_frac", "given", "how")
LIVES_COLUMNS = ("life_years", "capital_usd_per_gpu_h", "usd_per_gpu_h", "chosen")


def left_out(own: Owning, cost: OwnCost) -> tuple[str, ...]:
    """Parts that nobody gave and nobody published: in no total."""
    values = own.values()
    once = [part for part in ("storage", "install") if values[f"{part}_usd"] is None]
    return (*once, *cost.missing)


def breakdown(own: Owning, cost: OwnCost) -> pd.DataFrame:
    """One row a part; parts that were not given have no dollars and are in no total."""
    hours = own.inputs().purchase.bought_gpus * HOURS_PER_YEAR
    rows: list[Row] = []
    out = left_out(own, cost)
    for part, value in cost.parts().items():
        usd = None if part in out else value
        label, how = PART_WORDS[part]
        if part == "network" and is_all_in(own.params, own.platform):
            how = "inside the purchase price, which is all in"
        rows.append(
            {
                "part": part,
                "label": label,
                "usd_per_gpu_h": usd,
                "usd_per_year": None if usd is None else usd * hours,
                "share_frac": None if usd is None else usd / cost.total if cost.total else 0.0,
                "given": usd is not None,
                "how": how,
            }
        )
    return table(rows, BREAKDOWN, BREAKDOWN[2:5])


def lives(own: Owning) -> pd.DataFrame:
    """The same purchase written off over other lives."""
    chosen = number(own.settings["life_years"].value)
    rows = []
    for years in sorted({*LIVES, chosen}):
        found = own_cost(with_life(own.inputs(), years))
        rows.append(
            {
                "life_years": years,
                "capital_usd_per_gpu_h": found.capital,
                "usd_per_gpu_h": found.total,
                "chosen": years == chosen,
            }
        )
    return table(rows, LIVES_COLUMNS, LIVES_COLUMNS[:3])


def published(view: View, own: Owning) -> pd.DataFrame:
    """Owning costs that others published for the same platform."""
    rows = [
        {"price_id": p.price_id, "who": p.provider, "usd_per_gpu_h": p.value, "as_of": p.as_of,
         "status": p.status, "source": p.source, "note": p.note}
        for p in view.catalogue.prices()
        if (p.platform_id, p.kind) == (own.platform, "own_tco")
    ]  # fmt: skip
    return table(
        rows, ["price_id", "who", "usd_per_gpu_h", "as_of", "status", "source", "note"], ["usd_per_gpu_h"]
    )


def notices(own: Owning, cost: OwnCost) -> list[Notice]:
    """What the figure leaves out, and what looks odd about it."""
    out = []
    left = [PART_WORDS[name][0].lower() for name in left_out(own, cost)]
    if left:
        words = f"Left out, because nobody published a number and none was given: {listing(left, 12)}."
        out.append(Notice("own_parts_missing", f"{words} The cost of owning is a lower bound.", "own"))
    if own.values()["load_frac"] == 1.0 and own.params.load_frac is None:
        words = "Power is priced at its rated value: give the mean load to lower it."
        out.append(Notice("load_upper_bound", words, "power"))
    housed = (cost.housing or 0.0) + (cost.power or 0.0)
    if cost.total > 0 and housed / cost.total > 0.2:
        words = (
            f"Housing and power make {percent(housed / cost.total)} of the cost of owning; published "
            "clusters stay below 20 % (SemiAnalysis, 2025-10-09). Check the colocation price (low trust)."
        )
        out.append(Notice("housing_share_high", words, "housing"))
    buy = own.inputs().purchase
    if own.params.gpus and buy.bought_gpus > own.gpus:
        words = (
            f"{own.gpus} GPUs are sold as {buy.units} whole {own.unit_word}s of {own.unit_gpus}: "
            f"{buy.bought_gpus} GPUs are paid for."
        )
        out.append(Notice("whole_units", words, own.platform))
    return out


def _answer(own: Owning, cost: OwnCost, low: float, high: float) -> str:
    buy = own.inputs().purchase
    word = own.unit_word if buy.units == 1 else f"{own.unit_word}s"
    least = "at least " if left_out(own, cost) else ""
    return (
        f"An owned GPU-hour of {own.name} costs {least}{money(cost.total)} ({money(low)} to {money(high)}, "
        f"p10-p90): {money(cost.capital)} capital over {digits3(number(own.settings['life_years'].value))} "
        f"years at {percent(number(own.settings['wacc_frac'].value))} a year and {money(cost.running)} "
        f"running; {buy.units} {word}, {money(buy.capex_usd)}"
        f"{', all in' if is_all_in(own.params, own.platform) else ''}. Life of 3 against 6 years: "
        f"{money(own_cost(with_life(own.inputs(), 3)).total)} against "
        f"{money(own_cost(with_life(own.inputs(), 6)).total)}."
    )


__all__ = ["OwnParams", "compute"]
