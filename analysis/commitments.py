"""Commitments: how much to own, reserve and rent on demand for a demand that is not certain."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.commitments_tables import (
    MIX,
    OPTIONS,
    RACKS,
    WORLDS,
    Choice,
    choice_of,
    drawn_of,
    ends,
    gpus_of,
    known_best,
    mix_rows,
    option_rows,
    rack_rows,
    rivals_of,
    world_rows,
)
from analysis.commitments_tornado import TORNADO, tornado_rows
from analysis.commitments_words import answer, assumptions, notices
from analysis.commitments_worlds import (
    CommitmentsParams,
    Stage,
    beliefs,
    case_of,
    months_from,
    outlook_of,
    problem_of,
    worlds_of,
)
from analysis.common import EMPTY, figure, result
from analysis.frames import Row, records, table
from analysis.madeup import data_end, examples_in
from analysis.own_cost import made_up, owning, settings_table
from analysis.plan import parse
from analysis.result import Figure, Notice, Result
from analysis.tenure import Wanted, demand_of
from analysis.tenure_cases import Setup, lease_settings, rate_settings
from data.queries.known import has_uploads
from data.view import View
from models.commitments import UnservedError, World, worst_tenth
from models.commitments_solve import best_mix, unit_dual_usd
from models.tenure import Demand

GIVE = (
    "Or say how many GPUs are needed (gpus) and for what share of the time (utilisation_frac), or plan "
    "campaigns (plan)."
)
REGRET = ("down", "plan_next", "down_next", "up")
DEMAND = ("from_frac", "time_frac", "gpus", "committed_gpus")
MONTHS = ("month", "gpu_h", "history_gpu_h", "plan_gpu_h")


@dataclass(frozen=True)
class Solved:
    """The cheapest mix and all that is computed from it."""

    worlds: Mapping[str, World]
    best: Choice
    tables: dict[str, pd.DataFrame]
    headline: list[Figure]


def compute(view: View, params: CommitmentsParams) -> Result:
    """The cheapest mix; raises UserError on an unknown platform, a bad plan line or odds above 1."""
    params.checked()
    wanted, stage = stage_of(view, params)
    lacking = _lacking(view, params, stage, wanted)
    if lacking:
        return _without(view, params, stage, wanted, lacking)
    worlds = worlds_of(stage, case_of(stage))
    try:
        found = _solve(stage, worlds)
    except UnservedError:
        words = (
            "No allowed mix serves the demand in every case: raise racks_max or burst_max_gpus, or give the "
            "price of a reservation."
        )
        return _without(view, params, stage, wanted, words)
    return result(
        "commitments", view, params, answer(stage, wanted, found.best, found.tables, found.headline),
        headline=found.headline, tables=found.tables | _given(stage, wanted),
        assumptions=assumptions(stage),
        notices=[*made_up(view, params), *wanted.notices, *notices(stage, wanted)],
    )  # fmt: skip


def stage_of(view: View, params: CommitmentsParams) -> tuple[Wanted, Stage]:
    """Demand as it was, and all that is fixed before prices; units are sized for the planned peak."""
    first = owning(view, params)
    wanted = demand_of(view, params, first)
    base = wanted.demand or Demand(((0.0, 1.0),))
    end = data_end(view, examples_in(view, params.runs))
    after = end.date() if end is not None else view.day
    months = months_from(after, params.horizon_months)
    outlook = outlook_of(base, params, months)
    peak = max(float(outlook.gpus(m).max()) for m in range(params.horizon_months))
    own = owning(view, params, max(1, int(-(-peak // 1))))
    book = view.catalogue
    setup = Setup(
        own, params, base, 1.0, rate_settings(book, params, own.platform),
        lease_settings(book, params),
    )  # fmt: skip
    node = book.fact(own.platform, "gpus_per_node")
    size = int(node.number) if node is not None and node.number else 1
    return wanted, Stage(params, own, setup, outlook, months, parse(params.plan), size)


def _lacking(view: View, params: CommitmentsParams, stage: Stage, wanted: Wanted) -> str:
    """What keeps the question from an answer, in words; '' when nothing does."""
    planned = any(stage.outlook.add)
    if wanted.demand is None and not planned:
        return f"{wanted.lacking} {GIVE}" if has_uploads(view) or params.gpus else f"{EMPTY} {GIVE}"
    if max(stage.outlook.gpu_h(m) for m in range(params.horizon_months)) <= 0:
        return f"The demand is 0 in every month. {GIVE}"
    if stage.own.lacking and all(one.value is None for one in stage.setup.rates.values()):
        return f"No rent of {stage.own.name} is known: give a quote. {stage.own.lacking}"
    return ""


def _solve(stage: Stage, worlds: Mapping[str, World]) -> Solved:
    problem = problem_of(stage, worlds)
    best = choice_of(problem, worlds, best_mix(problem)[0])
    rivals = rivals_of(stage, worlds, best)
    drawn, in_world = drawn_of(stage), known_best(problem, worlds)
    least = {name: usd for name, (_, usd) in in_world.items()}
    told = world_rows(stage, worlds, best, in_world)
    tables = {
        "mix": mix_rows(stage, worlds, best),
        "options": option_rows(stage, worlds, rivals, drawn, least),
        "worlds": told,
        "regret": _regret(told),
        "racks": rack_rows(problem, worlds, best.mix),
        "tornado": tornado_rows(stage),
        "demand": _duration(stage, gpus_of(stage, best.mix) + stage.params.held_gpus),
    }
    costs, weights = drawn.costs(best)
    figures = [
        _ranged("commitments_cost", best.expected(worlds), ends(costs, weights)),
        _saves(worlds, best, rivals["on_demand"], drawn.costs),
        figure("commitments_worst_tenth", worst_tenth(costs.tolist(), weights.tolist())),
        _base(stage, best, tables["tornado"]),
        *_rack_figures(stage, best, tables["racks"]),
        *_regret_figures(tables["regret"]),
        figure("perfect_information", sum(
            w.prob_frac * (best.bills[n].total_usd - least[n]) for n, w in worlds.items() if w.prob_frac > 0
        )),
    ]  # fmt: skip
    return Solved(worlds, best, tables, figures)


def _ranged(metric: str, value: float, span: tuple[float, float]) -> Figure:
    return figure(metric, value, low=span[0], high=span[1], interval="p10_p90")


def _saves(worlds: Mapping[str, World], best: Choice, rival: Choice | str, costs: object) -> Figure:
    """Against all on demand, draw by draw and world by world."""
    if isinstance(rival, str):
        return figure("commitments_saves", None, missing=rival or "on demand has no price")
    assert callable(costs)  # noqa: S101
    (mine, weights), (theirs, _) = costs(best), costs(rival)
    value = rival.expected(worlds) - best.expected(worlds)
    return _ranged("commitments_saves", value, ends(theirs - mine, weights))


def _base(stage: Stage, best: Choice, tornado: pd.DataFrame) -> Figure:
    value = float(gpus_of(stage, best.mix))
    sizes = [value, *tornado["base_at_low"].tolist(), *tornado["base_at_high"].tolist()]
    return figure("commitments_base", value, low=min(sizes), high=max(sizes), interval="bounds")


def _rack_figures(stage: Stage, best: Choice, racks: pd.DataFrame) -> list[Figure]:
    rows = {row["units"]: row for row in records(racks)}
    more = rows[best.mix.own_units + 1]
    word, next_one = stage.own.unit_word, best.mix.own_units + 1
    each = f"A first {word}" if next_one == 1 else f"{word.capitalize()} {next_one}"
    try:
        dual: float | None = unit_dual_usd(best.problem, best.mix.own_units)
    except UnservedError:
        dual = None
    return [
        figure("rack_value", more["value_usd"], label=f"{each} would save"),
        figure("rack_shadow", dual, label=f"Shadow price of a {word}, at {best.mix.own_units} owned"),
        figure("rack_cost", more["cost_usd"], label=f"A {word} costs", missing=stage.own.lacking),
    ]


def _regret(worlds: pd.DataFrame) -> pd.DataFrame:
    """The worlds one asks about first, in that order."""
    names = ["case", "label", "cost_usd", "best_usd", "regret_usd", "regret_frac", "best_mix"]
    rows = {row["world"]: row for row in records(worlds)}
    told = {"down": "down", "plan_next": "next", "down_next": "both", "up": "up"}
    return table([{**rows[w], "case": told[w]} for w in REGRET], names, names[2:6])


def _regret_figures(regret: pd.DataFrame) -> list[Figure]:
    out = []
    for row in records(regret):
        if row["case"] in ("down", "next"):
            name, label = f"commitments_regret:{row['case']}", f"Regret: {_lower(row['label'])}"
            out.append(
                figure(
                    "commitments_regret", row["regret_usd"], name=name, label=label,
                    missing="no allowed mix serves that case",
                )
            )  # fmt: skip
    return out


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _duration(stage: Stage, committed: int) -> pd.DataFrame:
    """First year as planned: for `time_frac` of the time at least `gpus` are needed."""
    levels = [
        (float(gpus), float(share) / 12)
        for m in range(12)
        for gpus, share in zip(stage.outlook.gpus(m), stage.outlook.shares, strict=True)
    ]
    sums: dict[float, float] = {}
    for gpus, share in levels:
        sums[gpus] = sums.get(gpus, 0.0) + share
    rows: list[Row] = []
    seen = 0.0
    for gpus in sorted(sums, reverse=True):
        row = {"from_frac": seen, "time_frac": min(1.0, seen + sums[gpus]), "gpus": gpus}
        rows.append({**row, "committed_gpus": committed})
        seen += sums[gpus]
    return table(rows, DEMAND, DEMAND)


def _given(stage: Stage, wanted: Wanted) -> dict[str, pd.DataFrame]:
    """What was put in: history by day, demand by month, every setting."""
    rows = [
        {
            "month": name, "gpu_h": stage.outlook.gpu_h(m), "plan_gpu_h": stage.outlook.add[m] * 730,
            "history_gpu_h": stage.outlook.gpu_h(m) - stage.outlook.add[m] * 730,
        }
        for m, name in enumerate(stage.months)
    ]  # fmt: skip
    more = [vars(one) for one in (*stage.setup.rates.values(), *beliefs(stage.params).values())]
    settings = settings_table(stage.own)
    return {
        "days": wanted.days,
        "months": table(rows, MONTHS, MONTHS[1:]),
        "settings": pd.concat(
            [settings, table(more, list(settings.columns), ["value", "low", "high"])], ignore_index=True
        ),
    }


def _without(view: View, params: CommitmentsParams, stage: Stage, wanted: Wanted, lacking: str) -> Result:
    """The refusal in words, beside the demand and the settings that are there."""
    names = (
        "commitments_cost", "commitments_saves", "commitments_worst_tenth", "commitments_base", "rack_value",
        "rack_shadow", "rack_cost", "perfect_information",
    )  # fmt: skip
    columns = {"mix": MIX, "options": OPTIONS, "worlds": WORLDS, "racks": RACKS, "tornado": TORNADO}
    empty = {name: table([], wanted_columns) for name, wanted_columns in columns.items()}
    empty |= {"regret": _regret_columns(), "demand": table([], DEMAND, DEMAND)}
    code = "empty_home" if lacking.startswith(EMPTY) else "input_missing"
    return result(
        "commitments", view, params, lacking,
        headline=[figure(name, None, missing=lacking) for name in names],
        tables={**empty, **_given(stage, wanted)},
        assumptions=assumptions(stage),
        notices=[*made_up(view, params), *wanted.notices, Notice(code, lacking, stage.own.platform)],
    )  # fmt: skip


def _regret_columns() -> pd.DataFrame:
    names = ["case", "label", "cost_usd", "best_usd", "regret_usd", "regret_frac", "best_mix"]
    return table([], names, names[2:6])


__all__ = ["CommitmentsParams", "compute", "stage_of"]
