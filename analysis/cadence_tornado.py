"""Which inputs of a cadence matter: each moved between two values, everything else held.

One rule: what is drawn moves from the p10 to the p90 of its draws; a setting over the range that is
published for it, or over one that says that it is the reader's to set.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from analysis.cadence_fleets import failing
from analysis.cadence_params import CadenceParams
from analysis.cadence_plan import Plan, ends_of, planner
from analysis.cadence_source import Source
from analysis.cadence_steps import Scaling
from analysis.frames import Row, table
from analysis.projection_seen import spread
from data.operations import operation
from models.draws import money_ends

NUMBERS = ["low_value", "high_value", "cycle_h", "cycle_h_low", "cycle_h_high", "p_low", "p_high", "swing_h"]
TORNADO = ["input", "label", "unit", *NUMBERS, "source"]
LEAST_SWING_H = 0.005


@dataclass(frozen=True)
class Lever:
    """An input with the two values it is moved to; `times`: factors on every step instead of a parameter.

    `reach`: the whole published range, where `ends` are p10 and p90 of draws from it.
    """

    name: str
    label: str
    unit: str
    ends: tuple[float, float]
    source: str
    updates: tuple[Mapping[str, Any], Mapping[str, Any]] = field(default=({}, {}))
    times: tuple[float, float] = (1.0, 1.0)
    reach: tuple[float, float] | None = None


def tornado_table(source: Source, params: CadenceParams, plan: Plan, scaling: Scaling) -> pd.DataFrame:
    """TORNADO of the focused platform at its chosen fleet, the widest swing of the median cycle first.

    `cycle_h`: the median of the answer, with nothing moved. What a move changes is told from fewer draws,
    the same ones with and without it, and added to the answer.
    """
    if not plan.known:
        return table([], TORNADO, NUMBERS)
    few = plan.curve.params.model_copy(update={"gpus": plan.fleet.gpus})
    still = ends_of(planner(source, few, plan.aim, scaling, plan.curve).fleet(plan.fleet.gpus))[1]
    told = plan.cycle_h[1]
    rows: list[Row] = []
    for lever in levers(params, plan):
        row: Row = {"input": lever.name, "label": lever.label, "unit": lever.unit, "source": lever.source}
        row |= {"low_value": lever.ends[0], "high_value": lever.ends[1], "cycle_h": told}
        hours = []
        for end, update, times in zip(("low", "high"), lever.updates, lever.times, strict=True):
            moved = planner(source, few.model_copy(update=dict(update)), plan.aim, scaling, plan.curve)
            moved.times = times
            fleet = moved.fleet(plan.fleet.gpus)
            found = ends_of(fleet)[1]
            hours.append(told + found - still if math.isfinite(told + still) else found)
            row |= {f"cycle_h_{end}": hours[-1], f"p_{end}": fleet.p_finish}
        row |= {"swing_h": abs(hours[1] - hours[0])}
        if not row["swing_h"] < LEAST_SWING_H:
            rows.append(row)
    rows.sort(key=lambda row: -row["swing_h"] if math.isfinite(row["swing_h"]) else -math.inf)
    return table(rows, TORNADO, NUMBERS)


def levers(params: CadenceParams, plan: Plan) -> list[Lever]:
    """Inputs with published ranges where there are any, else a quarter or a half to either side."""
    low, middle, high = spread(plan.fleet.step_s)
    return [
        Lever(
            "step_s", "seconds of a step", "s", (low, high), "p10 and p90 of its draws",
            times=(low / middle, high / middle),
        ),
        *_programme(params),
        *_failures(params, plan),
        *_start_up(params),
    ]  # fmt: skip


def _plain(name: str, label: str, unit: str, ends: tuple[float, float], source: str) -> Lever:
    return Lever(name, label, unit, ends, source, ({name: ends[0]}, {name: ends[1]}))


def _programme(params: CadenceParams) -> list[Lever]:
    half, quarter = "half to either side: yours to set", "a quarter to either side: yours to set"
    steps, length = params.steps, params.length_times
    out = [
        _plain("length_times", "response length", "x", (0.5 * length, 1.5 * length), half),
        _plain("length_growth", "growth of lengths", "x", (1.0, 2.0), "none to doubled: yours to set"),
        _plain("eval_min", "an evaluation", "min", (0.5 * params.eval_min, 1.5 * params.eval_min), half),
        _plain("maintenance_h", "planned maintenance", "h", (0.0, 8.0), "none to a shift: yours to set"),
    ]
    if not params.campaigns:
        ends = (max(1, round(0.75 * steps)), round(1.25 * steps))
        out.append(_plain("steps", "steps", "steps", ends, quarter))
    return out


def _failures(params: CadenceParams, plan: Plan) -> list[Lever]:
    if params.goodput is not None:
        ends = (max(0.05, params.goodput - 0.1), min(1.0, params.goodput + 0.1))
        return [_plain("goodput", "goodput", "fraction", ends, "a tenth to either side: yours to set")]
    gpus = plan.fleet.gpus
    published = failing(params.model_copy(update={"failure_rate": None}), gpus)
    low, high = money_ends(published.usual, published.low, published.high)
    rates = (low / gpus, high / gpus)
    words = "p10 and p90 of its draws, from hardware alone to a job of 1,024 GPUs whatever the size"
    slow, fast = (
        operation("checkpoint_stall_synchronous"),
        operation("checkpoint_stall_async_sharded_optimizer"),
    )
    return [
        replace(
            _plain("failure_rate", "failures", "1/GPU-hour", rates, words),
            reach=(published.low / gpus, published.high / gpus),
        ),
        _plain("restart_min", "restart", "min", (10.0, 49.0), operation("cold_start_total").source),
        _plain("checkpoint_s", "a save", "s", (fast.value, slow.value), slow.source),
        _plain("checkpoint_steps", "steps between saves", "steps", (2, 50), "published recipes: 2 to 10"),
        _plain("repair_h", "repair of a node", "h", (4.0, 72.0), "nobody published one: yours to set"),
    ]


def _start_up(params: CadenceParams) -> list[Lever]:
    if params.goodput is not None:
        return []
    cold, wall = operation("cold_start_total"), operation("slurm_walltime_default")
    queue = operation("queue_mean_philly")
    return [
        _plain("cold_start_min", "cold start", "min", (10.0, cold.value), cold.source),
        _plain("walltime_h", "longest job", "h", (wall.value, 48.0), wall.source),
        _plain("queue_min", "queue of a launch", "min", (0.0, round(queue.value / 60, 1)), queue.source),
    ]
