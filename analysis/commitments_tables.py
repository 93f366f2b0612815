"""Tables of commitments: the mix, rival mixes, worlds and regret, worth of racks, what matters most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.commitments_worlds import (
    NEXT,
    CommitmentsParams,
    Stage,
    drawn_cases,
    worlds_of,
)
from analysis.frames import NAN, Row, table
from analysis.words import listing, percent, plural
from models.commitments import (
    OWN,
    RESERVED_1Y,
    RESERVED_3Y,
    Bill,
    Mix,
    Problem,
    UnservedError,
    World,
    bill,
    priced,
    worst_tenth,
)
from models.commitments_solve import best_mix, foresight, unit_values
from models.tenure import HOURS_PER_MONTH
from models.workload import Floats

DRAWS = 200
NOTHING = "nothing committed"
AROUND = 3
"""Units below and above the chosen ones in the curve of what a unit is worth."""


@dataclass(frozen=True)
class Choice:
    """A mix with its cost in every world; `problem` holds what may be chosen later."""

    mix: Mix
    problem: Problem
    bills: Mapping[str, Bill]

    def expected(self, worlds: Mapping[str, World]) -> float:
        """Probability-weighted cost, USD."""
        return sum(w.prob_frac * self.bills[name].total_usd for name, w in worlds.items() if w.prob_frac > 0)


def choice_of(problem: Problem, worlds: Mapping[str, World], mix: Mix) -> Choice:
    """What a mix costs in every world that it serves; UnservedError where it fails one that can come."""
    bills = {}
    for name, world in worlds.items():
        try:
            bills[name] = bill(problem, world, mix)
        except UnservedError:
            if world.prob_frac > 0:
                raise
    return Choice(mix, problem, bills)


def words_of(stage: Stage, mix: Mix) -> str:
    """A mix in words: '1 rack (72 GPUs), 16 GPUs reserved for 3 years'."""
    out = []
    if mix.own_units:
        word, gpus = stage.own.unit_word, mix.own_units * stage.own.unit_gpus
        out.append(f"{mix.own_units} owned {plural(word, mix.own_units)} ({gpus:,} GPUs)")
    for servers, term in ((mix.servers_3y, "3 years"), (mix.servers_1y, "1 year")):
        if servers:
            out.append(f"{servers * stage.node:,} GPUs reserved for {term}")
    return listing(out) if out else NOTHING


def gpus_of(stage: Stage, mix: Mix) -> int:
    """GPUs that are committed now."""
    return stage.own.unit_gpus * mix.own_units + stage.node * (mix.servers_3y + mix.servers_1y)


def label_of(params: CommitmentsParams, world: str) -> str:
    """A world in words."""
    demand = world.removesuffix(NEXT)
    words = {
        "plan": "Demand as planned",
        "down": f"Demand {percent(params.down_frac)} lower",
        "up": f"Demand {percent(params.up_frac)} higher",
    }[demand]
    return f"{words}, next generation in month {params.next_months}" if world.endswith(NEXT) else words


MIX = ("part", "label", "units", "gpus", "usd", "gpu_h_frac", "note")


def mix_rows(stage: Stage, worlds: Mapping[str, World], chosen: Choice) -> pd.DataFrame:
    """One row a part: units and GPUs decided today, expected dollars, and share of the demand on demand."""
    mix, node = chosen.mix, stage.node
    sums = {"own": 0.0, "reserved_3y": 0.0, "reserved_1y": 0.0, "on_demand": 0.0}
    short = demanded = 0.0
    for name, world in worlds.items():
        if world.prob_frac == 0:
            continue
        one, prob = chosen.bills[name], world.prob_frac
        for part, usd in zip(sums, (one.own_usd, one.reserved_3y_usd, one.reserved_1y_usd, one.burst_usd),
                             strict=True):  # fmt: skip
            sums[part] += prob * usd
        short += prob * sum(one.short_gpus) * HOURS_PER_MONTH
        demanded += prob * sum(world.outlook.gpu_h(m, world.factor) for m in range(len(one.short_gpus)))
    own = stage.own
    later = "first year; later years are decided when the world is known"
    rows: list[Row] = [
        _part("held", "Held already", NAN, stage.params.held_gpus, 0.0, "paid whatever is decided"),
        _part("own", "Own", mix.own_units, mix.own_units * own.unit_gpus, sums["own"], own.lacking),
        _part("reserved_3y", "3-year reservation", mix.servers_3y, mix.servers_3y * node,
              sums["reserved_3y"], _why(stage, RESERVED_3Y, worlds)),
        _part("reserved_1y", "1-year reservation", mix.servers_1y, mix.servers_1y * node,
              sums["reserved_1y"], _why(stage, RESERVED_1Y, worlds) or later),
        _part("on_demand", "On demand", NAN, NAN, sums["on_demand"], "what the rest does not hold"),
    ]  # fmt: skip
    rows[-1]["gpu_h_frac"] = min(1.0, round(short / demanded, 12)) if demanded > 0 else NAN
    return table(rows, MIX, MIX[2:6])


def _part(part: str, label: str, units: float, gpus: float, usd: float, note: str) -> Row:
    return {"part": part, "label": label, "units": units, "gpus": gpus, "usd": usd, "note": note}


def _why(stage: Stage, part: str, worlds: Mapping[str, World]) -> str:
    """Why a reservation is not on offer."""
    first = next(iter(worlds.values()))
    prices = {RESERVED_3Y: first.reserved_3y_usd, RESERVED_1Y: first.reserved_1y_usd}
    if prices[part] is not None:
        return ""
    setting = stage.setup.rates[part]
    if setting.value is None:
        return setting.note
    return "its term is longer than the horizon"


OPTIONS = (
    "option", "label", "own_units", "reserved_3y_gpus", "reserved_1y_gpus", "expected_usd", "p10_usd",
    "p90_usd", "worst_usd", "worst_tenth_usd", "regret_usd", "missing",
)  # fmt: skip
RIVALS: dict[str, tuple[str, tuple[str, ...]]] = {
    "on_demand": ("All on demand", ()),
    "reserved_1y": ("1-year reservations, rest on demand", (RESERVED_1Y,)),
    "reserved_3y": ("3-year reservations, rest on demand", (RESERVED_3Y,)),
    "own": ("Owned, rest on demand", (OWN,)),
}


def rivals_of(stage: Stage, worlds: Mapping[str, World], best: Choice) -> dict[str, Choice | str]:
    """The best mix, and the best with one part alone; a sentence where there is none."""
    out: dict[str, Choice | str] = {"best": best}
    for name, (_, parts) in RIVALS.items():
        problem = replace(best.problem, offered=parts)
        if parts and not problem.can(parts[0]):
            out[name] = stage.own.lacking if name == OWN else _why(stage, name, worlds)
            continue
        if not parts and next(iter(worlds.values())).burst_usd is None:
            out[name] = stage.setup.rates["on_demand"].note
            continue
        try:
            out[name] = choice_of(problem, worlds, best_mix(problem)[0])
        except UnservedError:
            out[name] = "on demand does not give enough for the peaks"
    out["peak_own"] = _peak(stage, worlds, best.problem)
    return out


def _peak(stage: Stage, worlds: Mapping[str, World], problem: Problem) -> Choice | str:
    """Owned units that hold the planned peak: what sizing by the peak costs."""
    if not problem.can(OWN):
        return stage.own.lacking
    peak = max(float(stage.outlook.gpus(m).max()) for m in range(stage.params.horizon_months))
    units = max(0, int(np.ceil((peak - problem.held) / problem.unit - 1e-9)))
    if problem.units_max is not None and units > problem.units_max:
        return "more racks than can be placed"
    try:
        return choice_of(replace(problem, offered=(OWN,)), worlds, Mix(own_units=units))
    except UnservedError:
        return "on demand does not give enough for the peaks"


@dataclass(frozen=True)
class Drawn:
    """World prices over draws: worlds of each draw, and the weight of every (draw, world)."""

    worlds: Sequence[Mapping[str, World]]

    def costs(self, choice: Choice) -> tuple[Floats, Floats]:
        """Cost of a choice in every draw and world that can come, with weights that add up to 1, (n,)."""
        usd, weights = [], []
        for draw in self.worlds:
            for name, world in draw.items():
                if world.prob_frac > 0:
                    told = choice.bills[name]
                    again = priced(choice.problem, world, choice.mix, told.servers_1y, told.short_gpus)
                    usd.append(again.total_usd)
                    weights.append(world.prob_frac / len(self.worlds))
        return np.array(usd), np.array(weights)


def drawn_of(stage: Stage) -> Drawn:
    """Worlds at joint draws of every input."""
    return Drawn([worlds_of(stage, case) for case in drawn_cases(stage, DRAWS)])


def ends(values: Floats, weights: Floats) -> tuple[float, float]:
    """Weighted p10 and p90."""
    low, high = np.quantile(values, [0.1, 0.9], weights=weights, method="inverted_cdf")
    return float(low), float(high)


def option_rows(
    stage: Stage,
    worlds: Mapping[str, World],
    rivals: Mapping[str, Choice | str],
    drawn: Drawn,
    best_in: Mapping[str, float],
) -> pd.DataFrame:
    """One row an option: expected, p10, p90, worst world, mean of the worst tenth, largest regret."""
    labels = {"best": "Cheapest mix", "peak_own": "Owned for the peak"}
    labels |= {name: label for name, (label, _) in RIVALS.items()}
    rows: list[Row] = []
    for name, label in labels.items():
        found = rivals[name]
        if isinstance(found, str):
            rows.append({"option": name, "label": label, "missing": found})
            continue
        costs, weights = drawn.costs(found)
        low, high = ends(costs, weights)
        possible = [w for w, world in worlds.items() if world.prob_frac > 0]
        rows.append(
            {
                "option": name, "label": label, "own_units": found.mix.own_units,
                "reserved_3y_gpus": found.mix.servers_3y * stage.node,
                "reserved_1y_gpus": found.mix.servers_1y * stage.node,
                "expected_usd": found.expected(worlds), "p10_usd": low, "p90_usd": high,
                "worst_usd": max(found.bills[w].total_usd for w in possible),
                "worst_tenth_usd": worst_tenth(costs.tolist(), weights.tolist()),
                "regret_usd": max(found.bills[w].total_usd - best_in[w] for w in possible), "missing": "",
            }
        )  # fmt: skip
    return table(rows, OPTIONS, OPTIONS[2:-1])


WORLDS = (
    "world", "label", "prob_frac", "cost_usd", "best_usd", "best_mix", "regret_usd", "regret_frac",
    "later_1y",
)  # fmt: skip


def world_rows(
    stage: Stage, worlds: Mapping[str, World], chosen: Choice, best_in: Mapping[str, tuple[Mix, float]]
) -> pd.DataFrame:
    """One row a world: what the chosen mix costs there, what the best one would have cost, the regret."""
    rows: list[Row] = []
    for name, world in worlds.items():
        if name not in chosen.bills or name not in best_in:
            rows.append({"world": name, "label": label_of(stage.params, name), "prob_frac": world.prob_frac})
            continue
        cost, (mix, least) = chosen.bills[name].total_usd, best_in[name]
        later = {y: n * stage.node for y, n in enumerate(chosen.bills[name].servers_1y, 1) if y > 1 and n}
        rows.append(
            {
                "world": name, "label": label_of(stage.params, name), "prob_frac": world.prob_frac,
                "cost_usd": cost, "best_usd": least, "best_mix": words_of(stage, mix),
                "regret_usd": cost - least, "regret_frac": (cost - least) / least if least > 0 else NAN,
                "later_1y": listing([f"{gpus:,} GPUs in year {y}" for y, gpus in later.items()], 9) or "none",
            }
        )  # fmt: skip
    return table(rows, WORLDS, ("prob_frac", "cost_usd", "best_usd", "regret_usd", "regret_frac"))


def known_best(problem: Problem, worlds: Mapping[str, World]) -> dict[str, tuple[Mix, float]]:
    """Best mix and cost for one who knows the world, by world; without those that nothing serves."""
    out = {}
    for name, world in worlds.items():
        try:
            out[name] = foresight(problem, world)
        except UnservedError:
            if world.prob_frac > 0:
                raise
    return out


RACKS = ("units", "expected_usd", "value_usd", "cost_usd", "chosen")


def rack_rows(problem: Problem, worlds: Mapping[str, World], chosen: Mix) -> pd.DataFrame:
    """One row a number of units about the chosen one: cost of all, worth of that unit, its own cost."""
    first = max(0, chosen.own_units - AROUND)
    rest = unit_values(problem, max(0, first - 1), chosen.own_units + AROUND)
    cost = NAN
    if all(w.own_usd is not None for w in worlds.values()):
        cost = sum(w.prob_frac * (w.own_usd or 0.0) for w in worlds.values())
    rows: list[Row] = [
        {
            "units": units, "expected_usd": usd + (units * cost if units else 0.0),
            "value_usd": rest[units - 1] - usd if np.isfinite(rest.get(units - 1, NAN)) else NAN,
            "cost_usd": cost, "chosen": units == chosen.own_units,
        }
        for units, usd in rest.items()
        if units >= first
    ]  # fmt: skip
    return table(rows, RACKS, RACKS[:4])
