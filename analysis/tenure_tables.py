"""Tables of rent, reserve or own: options, break-even, use, price paths, what matters most."""

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.frames import NAN, Row, number, table
from analysis.own_cost import p10_p90
from analysis.own_inputs import Setting
from analysis.tenure_cases import OPTIONS, RATES, Case, Fleets, Setup, costs_of, flat_case
from models.own_cost import own_cost
from models.tenure import Cost, Demand, break_even_months

OPTION_COLUMNS = (
    "option", "label", "usd_per_useful_gpu_h", "low_usd", "high_usd", "cheapest_frac", "total_usd",
    "fleet_gpus", "busy_frac", "burst_usd", "saves_usd", "saves_low_usd",
    "saves_high_usd", "missing",
)  # fmt: skip
PATHS = ("low", "mid", "high")
_NUMBERS = tuple(c for c in OPTION_COLUMNS if c not in ("option", "label", "missing"))


def option_rows(
    costs: Mapping[str, Cost], drawn: Sequence[Mapping[str, Cost]], why: Mapping[str, str]
) -> pd.DataFrame:
    """One row an option: cost of a useful GPU-hour and what it saves against on demand, both with p10-p90
    over the same draws; share of draws in which it is cheapest.
    """
    winners = [min(one, key=lambda name: one[name].usd_per_useful_gpu_h) for one in drawn if one]
    rows: list[Row] = []
    for option, label in OPTIONS.items():
        cost = costs.get(option)
        if cost is None:
            rows.append({"option": option, "label": label, "missing": why.get(option, "")})
            continue
        low, high = p10_p90(one[option].usd_per_useful_gpu_h for one in drawn)
        rent = costs.get("on_demand")
        saved = [one["on_demand"].total_usd - one[option].total_usd for one in drawn if "on_demand" in one]
        least, most = p10_p90(saved) if saved else (NAN, NAN)
        rows.append(
            {
                "option": option,
                "label": label,
                "usd_per_useful_gpu_h": cost.usd_per_useful_gpu_h,
                "low_usd": low,
                "high_usd": high,
                "cheapest_frac": winners.count(option) / len(winners),
                "total_usd": cost.total_usd,
                "fleet_gpus": cost.fleet_gpus,
                "busy_frac": cost.utilisation_frac if cost.fleet_gpus else NAN,
                "burst_usd": cost.burst_usd,
                "saves_usd": NAN if rent is None else rent.total_usd - cost.total_usd,
                "saves_low_usd": least,
                "saves_high_usd": most,
                "missing": "",
            }
        )
    return table(rows, OPTION_COLUMNS, _NUMBERS)


BREAK_EVEN = (
    "against", "label", "own_usd_per_gpu_h", "rent_usd_per_gpu_h", "break_even_path_frac", "low", "high",
    "break_even_frac", "expected_frac", "months", "verdict",
)  # fmt: skip


def break_even_rows(
    setup: Setup, case: Case, drawn: Sequence[Case], costs: Mapping[str, Cost]
) -> pd.DataFrame:
    """One row a rent: u* over the price path with p10-p90, u* at today's prices, and the months in which the
    purchase is paid back by the rent on the option's own path.

    A reservation is paid all the time, as owning is: there the ratio says which is cheaper at any use.
    """
    buy = setup.own.inputs().purchase
    used = costs["own"].utilisation_frac if "own" in costs else NAN
    rows = []
    for name, (label, _, _) in RATES.items():
        rent = case.rates.get(name)
        if rent is None:
            continue
        own = case.own_capital + case.own_running
        ends = p10_p90(_over_path(one, name) for one in drawn if one.rates[name])
        path = _over_path(case, name)
        share = used if name == "on_demand" else 1.0
        months = _paid_back(buy.capex_usd / buy.bought_gpus, case, name, share)
        rows.append(
            {
                "against": name, "label": label, "own_usd_per_gpu_h": own, "rent_usd_per_gpu_h": rent,
                "break_even_path_frac": path, "low": ends[0], "high": ends[1], "break_even_frac": own / rent,
                "expected_frac": share, "months": months, "verdict": _verdict(path, share),
            }
        )  # fmt: skip
    return table(rows, BREAK_EVEN, [c for c in BREAK_EVEN if c not in ("against", "label", "verdict")])


def _paid_back(capex_usd_per_gpu: float, case: Case, rent: str, used_frac: float) -> float | None:
    """Months, within the life, in which what that rent would have cost has paid the purchase."""

    def usd(month: int) -> float:
        return number(case.rent_at(rent, month))

    return break_even_months(capex_usd_per_gpu, usd, case.own_running, used_frac, case.life_months)


def _over_path(case: Case, rent: str) -> float:
    """Owned / rented GPU-hour, each at its present value over the horizon."""
    return (case.pv_per_gpu_h("own") or NAN) / (case.pv_per_gpu_h(rent) or NAN)


def _verdict(needed: float, used: float) -> str:
    if needed > 1:
        return "rent at any use"
    return "own" if used > needed else "rent"


USE = ("option", "label", "utilisation_frac", "usd_per_useful_gpu_h")


def by_use(case: Case, fleet: int) -> pd.DataFrame:
    """Cost of a useful GPU-hour by the share of the fleet's hours that is used: where the lines cross."""
    sizes = {
        name: 0 if name == "on_demand" else fleet for name in ("on_demand", "reserved_1y", "reserved_3y")
    }
    sizes |= {"own": fleet, "lease": fleet}
    rows = []
    for percent in range(10, 101, 2):
        used = flat_case(case, fleet, percent / 100)
        for option, cost in costs_of(used, Fleets(sizes, "")).items():
            rows.append(
                {
                    "option": option,
                    "label": OPTIONS[option],
                    "utilisation_frac": percent / 100,
                    "usd_per_useful_gpu_h": cost.usd_per_useful_gpu_h,
                }
            )
    return table(rows, USE, USE[2:])


def npv_rows(setup: Setup, fleets: Fleets) -> pd.DataFrame:
    """Present value of every option over the horizon under each given price path, and owning's advantage."""
    rows = []
    for path in PATHS:
        decline = getattr(setup.params, f"decline_{path}")
        if decline is None and path != "mid":
            continue
        costs = costs_of(setup.case(decline=decline or 0.0), fleets)
        rent = costs.get("on_demand")
        for option, cost in costs.items():
            rows.append(
                {
                    "path": path,
                    "decline_frac": decline or 0.0,
                    "option": option,
                    "label": OPTIONS[option],
                    "total_usd": cost.total_usd,
                    "saves_usd": NAN if rent is None else rent.total_usd - cost.total_usd,
                }
            )
    columns = ("path", "decline_frac", "option", "label", "total_usd", "saves_usd")
    return table(rows, columns, ("decline_frac", "total_usd", "saves_usd"))


TORNADO = (
    "input",
    "label",
    "unit",
    "value",
    "low",
    "high",
    "at_low_usd",
    "at_high_usd",
    "swing_usd",
    "basis",
)


def tornado_rows(setup: Setup, fleets: Fleets, rival: str) -> pd.DataFrame:
    """What owning saves against `rival` on a useful GPU-hour, each input alone at its low and its high."""

    def saved(case: Case) -> float:
        costs = costs_of(case, fleets)
        return costs[rival].usd_per_useful_gpu_h - costs["own"].usd_per_useful_gpu_h

    middle = {name: one.value for name, one in setup.rates.items()}
    rows: list[Row] = []

    def add(one: Setting, at: Sequence[Case]) -> None:
        ends = [saved(case) for case in at]
        rows.append(
            {
                "input": one.name, "label": one.label, "unit": one.unit, "value": one.value, "low": one.low,
                "high": one.high, "at_low_usd": ends[0], "at_high_usd": ends[1],
                "swing_usd": abs(ends[1] - ends[0]),
                "basis": "published range" if one.published_range else "your range",
            }
        )  # fmt: skip

    for name, one in setup.own.ranged().items():
        add(one, [setup.case(values={name: end}) for end in (one.low, one.high)])
    for name, one in setup.rates.items():
        if one.value is not None and one.low != one.high and rival in (name, "on_demand", "mixed_reserved"):
            add(one, [setup.case(rates={**middle, name: end}) for end in (one.low, one.high)])
    for more, one in _others(setup).items():
        add(one, [setup.case(None, None, **{more: end}) for end in (one.low, one.high)])
    rows = [row for row in rows if row["swing_usd"] > 1e-9]
    rows.sort(key=lambda row: (-row["swing_usd"], row["input"]))
    return table(rows, TORNADO, TORNADO[3:9])


def _others(setup: Setup) -> dict[str, Setting]:
    """Use and price path, where the user gave them."""
    out, params = {}, setup.params
    used = params.utilisation_frac
    if used is not None and params.range_frac > 0:
        ends = used * (1 - params.range_frac), min(1.0, used * (1 + params.range_frac))
        out["utilisation"] = Setting(
            "utilisation_frac", "Busy share of the fleet", used, *ends, "fraction", "user", "your setting", ""
        )
    low, middle, high = params.decline_low, params.decline_mid, params.decline_high
    if low is not None and high is not None and low != high:
        words = "Yearly fall of prices"
        out["decline"] = Setting(
            "decline", words, middle, low, high, "fraction per year", "user", "your setting", ""
        )
    return out


def life_rows(setup: Setup, fleets: Fleets, years: Sequence[float]) -> pd.DataFrame:
    """Owned GPU-hour and cost of a useful one by depreciation life: the input that moves the answer most."""
    rows = []
    for life in years:
        case = setup.case(values={"life_years": life})
        cost = costs_of(case, fleets).get("own")
        owned = own_cost(setup.own.inputs({**setup.own.values(), "life_years": life}))
        rows.append(
            {
                "life_years": life,
                "usd_per_gpu_h": owned.total,
                "usd_per_useful_gpu_h": None if cost is None else cost.usd_per_useful_gpu_h,
                "chosen": life == setup.own.values()["life_years"],
            }
        )
    names = ("life_years", "usd_per_gpu_h", "usd_per_useful_gpu_h", "chosen")
    return table(rows, names, names[:3])


def duration(demand: Demand | None, fleets: Fleets | None) -> pd.DataFrame:
    """Demand as a duration curve: for `time_frac` of the time at least `gpus` are needed; with the fleets."""
    rows: list[Row] = []
    seen = 0.0
    for gpus, share in sorted(demand.levels, reverse=True) if demand is not None else ():
        if share <= 0:
            continue
        seen += share
        rows.append({"time_frac": min(1.0, seen), "from_frac": seen - share, "gpus": gpus})
    for row in rows:
        for name in ("own", "mixed_reserved", "mixed_own"):
            row[name] = fleets.sizes.get(name) if fleets is not None else None
    names = ["from_frac", "time_frac", "gpus", "own", "mixed_reserved", "mixed_own"]
    return table(rows, names, names)
