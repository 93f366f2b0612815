"""Rent, reserve or own: the same demand served in every way, at a price a useful GPU-hour."""

from dataclasses import dataclass
from datetime import date, timedelta

import pandas as pd

from analysis.common import figure, result
from analysis.frames import Row, number, records, table
from analysis.own_cost import (
    LIVES,
    Owning,
    breakdown,
    goodput,
    left_out,
    made_up,
    notices,
    owning,
    published,
    settings_table,
)
from analysis.result import Assumption, Figure, Notice, Result
from analysis.spend import filters_of
from analysis.tenure_cases import (
    OPTIONS,
    OWNED,
    RATES,
    SPOKEN,
    Fleets,
    Setup,
    TenureParams,
    costs_of,
    fleets_of,
    lease_settings,
    rate_settings,
    whole_gpus,
)
from analysis.tenure_tables import (
    BREAK_EVEN,
    OPTION_COLUMNS,
    TORNADO,
    USE,
    break_even_rows,
    by_use,
    duration,
    life_rows,
    npv_rows,
    option_rows,
    tornado_rows,
)
from analysis.words import digits3, listing, money, percent, plural
from data.errors import UserError
from data.queries import tenure as queries
from data.view import View
from models.tenure import Cost, Demand, unpaid_usd

DRAWS = 200
SHORT_DAYS = 28
MARKET = ("h100-sxm-contract-1y-semianalysis-h100-1y-index-2025-10", "h100-sxm-contract-1y-neocloud-2026-03")
"""Two quotes of one index that show that rents do not only fall."""


@dataclass(frozen=True)
class Wanted:
    """The demand: None with a sentence that says what is lacking; `days` are the measured ones."""

    demand: Demand | None
    days: pd.DataFrame
    lacking: str
    notices: tuple[Notice, ...]


def compute(view: View, params: TenureParams) -> Result:
    """Compare the options; raises UserError on an unknown platform, a rent of 0 or mixed-up kW."""
    _check_path(params)
    first = owning(view, params)
    wanted = demand_of(view, params, first)
    own = owning(view, params, whole_gpus(wanted.demand) if wanted.demand is not None else 0)
    book = view.catalogue
    share, told = goodput(view, params)
    rates, lease = rate_settings(book, params, own.platform), lease_settings(book, params)
    setup = Setup(own, params, wanted.demand or Demand.flat(1, 1), share or 1.0, rates, lease)
    lacking = wanted.lacking or own.lacking
    if lacking:
        return _without(view, params, setup, wanted, lacking)
    node = book.fact(own.platform, "gpus_per_node")
    size = int(node.number) if node is not None and node.number else 1
    fleets = fleets_of(setup.case(), own.gpus, size, own.unit_gpus)
    costs = costs_of(setup.case(), fleets)
    rivals = [name for name in costs if name not in OWNED]
    rival = min(rivals, key=lambda name: costs[name].usd_per_useful_gpu_h) if rivals else ""
    tables = _compared(setup, fleets, costs, rival) | _always(view, setup, wanted, fleets)
    return result(
        "tenure",
        view,
        params,
        _answer(setup, costs, tables, rival, share),
        headline=_figures(tables, tables["break_even"], tables["npv"]),
        tables=tables,
        assumptions=_assumptions(setup, told),
        notices=[*made_up(view, params), *wanted.notices, *_notices(view, setup, share)],
    )


def _compared(setup: Setup, fleets: Fleets, costs: dict[str, Cost], rival: str) -> dict[str, pd.DataFrame]:
    case, drawn = setup.case(), setup.draws(DRAWS)
    lives = sorted({*LIVES, number(setup.own.values()["life_years"])})
    nothing = table([], TORNADO, TORNADO[3:9])
    return {
        "options": option_rows(costs, [costs_of(one, fleets) for one in drawn], _why(setup)),
        "break_even": break_even_rows(setup, case, drawn, costs),
        "by_use": by_use(case, fleets.sizes["own"]),
        "npv": npv_rows(setup, fleets),
        "tornado": tornado_rows(setup, fleets, rival) if rival and "own" in costs else nothing,
        "lives": life_rows(setup, fleets, lives),
        "breakdown": breakdown(setup.own, setup.own.cost()),
    }


def _always(view: View, setup: Setup, wanted: Wanted, fleets: Fleets | None) -> dict[str, pd.DataFrame]:
    rents = [vars(one) for one in (*setup.rates.values(), *setup.lease.values())]
    more = table(rents, list(settings_table(setup.own).columns), ["value", "low", "high"])
    return {
        "bought": bought(setup.own),
        "demand": duration(wanted.demand, fleets),
        "days": wanted.days,
        "published": published(view, setup.own),
        "settings": pd.concat([settings_table(setup.own), more], ignore_index=True),
    }


def bought(own: Owning) -> pd.DataFrame:
    """What is bought, in whole units, a row; `capex_usd` is missing without a price or a cost of capital."""
    buy = None if own.lacking else own.inputs().purchase
    row = {
        "platform": own.platform,
        "name": own.name,
        "unit": own.unit_word,
        "unit_gpus": own.unit_gpus,
        "units": buy.units if buy else None,
        "gpus": buy.bought_gpus if buy else None,
        "capex_usd": buy.capex_usd if buy else None,
    }
    return table([row], list(row), list(row)[3:])


def _without(view: View, params: TenureParams, setup: Setup, wanted: Wanted, lacking: str) -> Result:
    """The refusal in words: what is lacking, beside the demand and the settings that are there."""
    empty = {
        "options": table([], OPTION_COLUMNS, OPTION_COLUMNS[2:-1]),
        "break_even": table([], BREAK_EVEN, BREAK_EVEN[2:-1]),
        "by_use": table([], USE, USE[2:]),
        "tornado": table([], TORNADO, TORNADO[3:9]),
    }
    names = ("tenure_cost", "break_even_utilisation", "own_npv")
    return result(
        "tenure",
        view,
        params,
        lacking,
        headline=[figure(name, None, missing=lacking) for name in names],
        tables={**empty, **_always(view, setup, wanted, None)},
        assumptions=_assumptions(setup, None),
        notices=[
            *made_up(view, params),
            *wanted.notices,
            Notice("input_missing", lacking, setup.own.platform),
        ],
    )


def _check_path(params: TenureParams) -> None:
    low, middle, high = params.decline_low, params.decline_mid, params.decline_high
    known = [one for one in (low, middle, high) if one is not None]
    if known != sorted(known) or (middle is None and known):
        words = "The price path needs a middle, with low <= middle <= high"
        raise UserError(words, "decline_low, decline_mid, decline_high", "Change one of them.")


def demand_of(view: View, params: TenureParams, own: Owning) -> Wanted:
    """Flat where the user gave a utilisation, else GPU-hours by UTC day on the platform in question."""
    days = _days(view, params, own.platform)
    told: list[Notice] = []
    if params.utilisation_frac is not None:
        if not params.gpus:
            return Wanted(None, days, "A share of hours needs a fleet: say how many GPUs.", ())
        return Wanted(Demand.flat(params.gpus, params.utilisation_frac), days, "", ())
    if days.empty:
        words = (
            f"No run with a clock held {own.name}, so its demand is not known: say how many GPUs you need "
            "and for what share of the time."
        )
        return Wanted(None, days, words, ())
    totals = {r["platform"]: r for r in records(queries.gpu_hours(view, filters_of(params)))}
    lost = number(totals[own.platform]["undated_gpu_h"])
    if lost > 0:
        words = f"{digits3(lost)} GPU-hours on {own.name} have no clock and are not in the demand."
        told.append(Notice("demand_undated", words, own.platform))
    told.append(Notice("demand_window", _window_words(len(days)), own.platform))
    words = "Demand is counted by UTC day: inside a day work is taken to wait for free GPUs."
    told.append(Notice("demand_by_day", words, own.platform))
    return Wanted(Demand.of_days(days["gpu_h"].tolist()), days, "", tuple(told))


def _window_words(days: int) -> str:
    words = (
        f"The demand rests on {days} {plural('day', days)}, first to last day of work of the picked runs on "
        "any platform"
    )
    if days < SHORT_DAYS:
        words += (
            ": too short to know a month's rhythm, so take the answer for what it would be if they repeat"
        )
    return f"{words}."


def _days(view: View, params: TenureParams, platform: str) -> pd.DataFrame:
    """Every UTC day from the first to the last one with work of the picked runs: day, gpu_h, gpus.

    A day on which only other platforms worked is a day without demand for this one: a platform that was held
    on one day of thirty is not needed all the time.
    """
    rows = records(queries.gpu_hours_by_day(view, filters_of(params)))
    found = {pd.Timestamp(r["day"]).date(): number(r["gpu_h"]) for r in rows if r["platform"] == platform}
    worked = [pd.Timestamp(r["day"]).date() for r in rows]
    columns = ["day", "gpu_h", "gpus"]
    if not found:
        return table([], columns, columns[1:])
    start, end = min(worked), max(worked)
    out: list[Row] = []
    for n in range((end - start).days + 1):
        day: date = start + timedelta(days=n)
        used = found.get(day, 0.0)
        out.append({"day": day.isoformat(), "gpu_h": used, "gpus": used / 24})
    return table(out, columns, columns[1:])


def _why(setup: Setup) -> dict[str, str]:
    """Why an option has no cost."""
    out = {name: one.note for name, one in setup.rates.items() if one.value is None}
    rent = out.get("on_demand", "")
    for name in ("mixed_reserved", "mixed_own"):
        out[name] = rent
    if not rent and all(setup.rates[name].value is None for name in ("reserved_1y", "reserved_3y")):
        out["mixed_reserved"] = "no reservation has a price"
    for name in ("reserved_1y", "reserved_3y", "own"):
        out.setdefault(
            name, f"its fleet does not hold the peak and there is no rent for the rest. {rent}".strip()
        )
    out["lease"] = "give the rate of the lessor: nobody published one"
    return out


def _figures(tables: dict[str, pd.DataFrame], even: pd.DataFrame, npv: pd.DataFrame) -> list[Figure]:
    rows = {row["option"]: row for row in records(tables["options"])}
    out = []
    for option in ("own", "on_demand", "reserved_3y"):
        row, label = rows[option], f"{OPTIONS[option]}: a useful GPU-hour"
        missing = row["missing"] or "the inputs on hand do not say"
        value = row["usd_per_useful_gpu_h"]
        out.append(
            figure(
                "tenure_cost", value, name=f"tenure_cost:{option}", label=label, low=row["low_usd"],
                high=row["high_usd"], interval="p10_p90", boundary="own" if option == "own" else "rent",
                missing=missing,
            )
        )  # fmt: skip
    rent = next((r for r in records(even) if r["against"] == "on_demand"), None)
    lacks = rows["on_demand"]["missing"] or "no on-demand rent is known"
    out.append(
        figure(
            "break_even_utilisation", rent["break_even_path_frac"] if rent else None,
            low=rent and rent["low"],
            high=rent and rent["high"], interval="p10_p90", missing=lacks,
        )
    )  # fmt: skip
    months = rent["months"] if rent else None
    never = "not paid back within the life of the hardware" if rent else lacks
    out.append(figure("break_even_months", months, missing=never))
    out.append(_saved(rows["own"], npv, lacks))
    return out


def _saved(own: Row, npv: pd.DataFrame, missing: str) -> Figure:
    """What owning saves: over the price paths where they differ, else over the draws of the inputs."""
    paths = npv[npv["option"] == "own"]["saves_usd"].dropna()
    moving = paths.nunique() > 1
    low, high = (paths.min(), paths.max()) if moving else (own["saves_low_usd"], own["saves_high_usd"])
    interval = "price_paths" if moving else "p10_p90"
    return figure("own_npv", own["saves_usd"], low=low, high=high, interval=interval, missing=missing)


def _answer(
    setup: Setup, costs: dict[str, Cost], tables: dict[str, pd.DataFrame], rival: str, share: float | None
) -> str:
    own, params = setup.own, setup.params
    cost = costs.get("own")
    useful = "useful" if share is not None else "allocated"
    if cost is None or not rival:
        known = [f"{SPOKEN[n]} {money(c.usd_per_useful_gpu_h)}" for n, c in costs.items()]
        rest = f" A {useful} GPU-hour: {listing(known, 8)}." if known else ""
        return f"No rent of {own.name} is known to compare owning with: give a quote.{rest}"
    buy = own.inputs().purchase
    units = f"{buy.units} {own.unit_word}{'s' if buy.units > 1 else ''}"
    best = min(costs, key=lambda name: costs[name].usd_per_useful_gpu_h)
    least = "at least " if left_out(own, own.cost()) else ""
    won = next(r["cheapest_frac"] for r in records(tables["options"]) if r["option"] == best)
    gap = cost.total_usd - costs[rival].total_usd
    text = (
        f"Cheapest for {own.gpus} {own.name} over {params.horizon_months} months: {SPOKEN[best]}, "
        f"{money(costs[best].usd_per_useful_gpu_h)} a {useful} GPU-hour (in {percent(won)} of the draws). "
    )
    if best != "own":
        text += f"Owning costs {least}{money(cost.usd_per_useful_gpu_h)}"
    else:
        text += f"The best rent, {SPOKEN[rival]}, costs {money(costs[rival].usd_per_useful_gpu_h)}"
    text += (
        f"; all owned ({units}, {buy.bought_gpus} GPUs, {percent(cost.utilisation_frac)} busy) is "
        f"{money(abs(gap))} {'dearer' if gap > 0 else 'cheaper'} in present value than {SPOKEN[rival]}"
    )
    rent = next((r for r in records(tables["break_even"]) if r["against"] == "on_demand"), None)
    if rent is not None:
        flip = rent["break_even_path_frac"]
        at = f"at {percent(flip)} of the bought hours" if flip <= 1 else "at no use at all"
        text += f". Against on demand it flips {at}"
    return f"{text}."


def _assumptions(setup: Setup, told: Assumption | None) -> list[Assumption]:
    found = [one.assumption() for one in (*setup.rates.values(), *setup.lease.values())]
    out = [*setup.own.assumptions(), *(one for one in found if one is not None)]
    params = setup.params
    if params.utilisation_frac is not None:
        words = "Busy share of the fleet"
        out.append(Assumption(words, params.utilisation_frac, "fraction", "user", "your setting", ""))
    decline = params.decline_mid
    source = "your setting" if decline is not None else "none published: prices stay as they are today"
    status = "user" if decline is not None else "derived"
    out.append(Assumption("Yearly fall of prices", decline or 0.0, "fraction per year", status, source, ""))
    return [*out, *([told] if told else [])]


def _notices(view: View, setup: Setup, share: float | None) -> list[Notice]:
    own, params = setup.own, setup.params
    out = [*notices(own, own.cost())]
    for name, one in setup.rates.items():
        if one.value is None:
            out.append(Notice("rent_missing", f"{RATES[name][0]}: {one.note}", own.platform))
    if share is None:
        words = "No goodput is known: costs are a GPU-hour that was allocated, not one that was useful."
        out.append(Notice("goodput_unknown", words, "goodput"))
    if params.decline_mid is None:
        words = "No price path is given: rents stay as they are. Give a yearly fall, low, middle and high."
        out.append(Notice("no_price_path", words + _market(view), "prices"))
    out += _end_value(setup)
    if own.values()["life_years"] and params.horizon_months > 12 * number(own.values()["life_years"]):
        words = (
            "The horizon is longer than the life: the hardware is bought again at the price of that month."
        )
        out.append(Notice("bought_again", words, "life"))
    return out


def _end_value(setup: Setup) -> list[Notice]:
    """The horizon ends inside a life: what the hardware is then taken to be worth."""
    own, months = setup.own, setup.params.horizon_months
    buy, terms = own.inputs().purchase, own.inputs().capital
    life = max(1, round(12 * terms.life_years))
    if not months % life:
        return []
    after = (months % life) / 12
    worth = unpaid_usd(buy.capex_usd, terms.wacc_frac, life / 12, terms.residual_frac, after)
    words = (
        f"The horizon ends {digits3(after)} years into a life of {digits3(life / 12)}: owning costs what "
        f"is said only if the hardware is then worth {money(worth)}, {percent(worth / buy.capex_usd)} of its "
        "price. If it is worth less, shorten the life or take the whole life as horizon."
    )
    return [Notice("value_at_horizon", words, own.platform)]


def _market(view: View) -> str:
    """Context from the price book: one index fell and rose again."""
    found = {p.price_id: p for p in view.catalogue.prices()}
    rows = [found[name] for name in MARKET if name in found and found[name].value is not None]
    if len(rows) < len(MARKET):
        return ""
    told = [f"{money(number(p.value))} in {p.as_of}" for p in rows]
    return f" Rents do not only fall: one-year H100 contracts stood at {listing(told)} (market index)."


__all__ = ["TenureParams", "bought", "compute", "demand_of"]
