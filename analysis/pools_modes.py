"""One total of GPUs in three ways of working: its split, its step, its cost, and how old its batches are."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from analysis.planning import DRAWS, Floats, draw, p10_p90, values_of
from analysis.pools_inputs import PoolsInputs, PoolsParams
from data.errors import UserError
from models.cost import SECONDS_PER_HOUR
from models.pool_flow import Flow, PoolWork, Splits, Stages, bound_s, flow, noise, splits, stages
from models.shapes import at_least, num

Way = Literal["sync", "one_step_off", "async"]
WAYS: tuple[Way, ...] = ("sync", "one_step_off", "async")
WAY_WORDS = {"sync": "synchronous, one pool", "one_step_off": "one step off", "async": "asynchronous"}
STEPS, WARM = 400, 50
MOST_ROWS = 160


@dataclass(frozen=True)
class Found:
    """The best split of one way of working with the mean step of its flow, and the interval over draws."""

    way: Way
    lag: int
    rollout_gpus: float
    train_gpus: float
    judge_gpus: float
    flow: Flow
    step_s: float
    low_s: float | None
    high_s: float | None
    usd: float
    usd_low: float | None
    usd_high: float | None

    @property
    def age(self) -> float:
        """Mean age of a batch in updates when it is trained on."""
        return float(self.flow.age)


def lag_of(way: Way, max_staleness: int) -> int:
    """Updates that a batch may be old: 0, 1, or what is allowed (at least 1)."""
    return {"sync": 0, "one_step_off": 1, "async": max(1, max_staleness)}[way]


def work_of(values: Mapping[str, Any], way: Way, overlapped: bool) -> PoolWork:
    """GPU-seconds and seconds of a step, numbers or draws, in one way of working.

    `mode_factor` applies between what was measured and the other kind of mode; dropped rollouts are made
    again where batches may be old.
    """
    side_by_side = way != "sync"
    factor = num(values["mode_factor"])
    times = num(1.0) if side_by_side == overlapped else (factor if side_by_side else 1 / factor)
    work = num(values["rollout_gpu_s"]) - num(values["tail_s"]) * values["rollout_measured_gpus"]
    again = 1 / (1 - num(values["dropped_frac"])) if way == "async" and not overlapped else num(1.0)
    return PoolWork(
        engine_gpu_s=at_least(work, 0.0) * times * again,
        trainer_gpu_s=values["train_gpu_s"] * times,
        judge_gpu_s=values["judge_gpu_s"],
        tail_s=values["tail_s"],
        tools_s=values["tools_s"],
        judge_s=values["judge_s"],
        fixed_s=values["train_fixed_s"],
        stop_s=num(values["sync_s"]) + values["other_s"],
    )


@dataclass(frozen=True)
class Plan:
    """What splits are judged by: inputs, drawn inputs, factors by which batches differ."""

    inputs: PoolsInputs
    params: PoolsParams
    values: dict[str, float]
    drawn: dict[str, Any]
    made: Floats
    trained: Floats

    @property
    def total(self) -> int:
        """GPUs of all pools."""
        return int(self.values["gpus_total"])

    @property
    def units(self) -> tuple[int, int, int]:
        """GPUs by which rollouts, training and judge grow."""
        rollout, train, judge = (int(self.values[f"unit_{pool}"]) for pool in ("rollout", "train", "judge"))
        return rollout, train, judge


def plan_of(params: PoolsParams, inputs: PoolsInputs) -> Plan:
    """Inputs with their draws and one series of batches, the same for every split.

    Raises UserError for a tail that is as long as the phase it is part of.
    """
    values = values_of(inputs.settings)
    phase_s = values["rollout_gpu_s"] / values["rollout_measured_gpus"]
    if values["tail_s"] >= phase_s:
        raise UserError(
            f"A tail of {values['tail_s']:.4g} s leaves no work of a rollout phase of {phase_s:.4g} s",
            "parameters tail_s, rollout_gpu_s, rollout_measured_gpus", "Give a shorter tail.",
        )  # fmt: skip
    return Plan(
        inputs, params, values, draw(inputs.settings, DRAWS, params.seed),
        noise(STEPS, values["cv_rollout_frac"], params.seed),
        noise(STEPS, values["cv_train_frac"], params.seed + 1),
    )  # fmt: skip


def ways_split(plan: Plan, way: Way, values: Mapping[str, float] | None = None) -> Splits:
    """Every split of the total in one way of working. Raises UserError when no unit of each pool fits."""
    found = values or plan.values
    work = work_of(found, way, plan.inputs.overlapped)
    total, lag = plan.total, lag_of(way, plan.params.max_staleness)
    if way == "sync":
        return _colocated(work, total, plan.units[2])
    try:
        return splits(work, total, plan.units, lag, streaming=way == "async")
    except ValueError as error:
        raise UserError(
            f"{total} GPUs hold no unit of each pool ({plan.units[0]} and {plan.units[1]} GPUs)",
            "parameter gpus_total", "Give more GPUs, or smaller units.",
        ) from error  # fmt: skip


def _colocated(work: PoolWork, total: int, unit: int) -> Splits:
    """One pool that rolls out and trains, beside the judge that makes its step shortest."""
    judged = float(np.max(num(work.judge_gpu_s))) > 0
    judges = np.arange(unit, total, unit, dtype=np.float64) if judged else np.zeros(1)
    both = total - judges
    cycle = np.asarray(bound_s(stages(work, both, both, judges), 0, streaming=False))
    at = int(cycle.argmin())
    one = np.array([both[at]])
    return Splits(one, one, np.array([judges[at]]), cycle[at : at + 1])


def thinned(found: Splits) -> Splits:
    """At most MOST_ROWS splits: those around the shortest step, and some over the whole range."""
    count = len(found.bound_s)
    if count <= MOST_ROWS:
        return found
    best, half = int(found.bound_s.argmin()), MOST_ROWS // 4
    near = np.arange(max(0, best - half), min(count, best + half + 1))
    rows = np.union1d(near, np.linspace(0, count - 1, MOST_ROWS // 2).astype(int))
    columns = (found.engine_gpus, found.trainer_gpus, found.judge_gpus, found.bound_s)
    return Splits(*(column[rows] for column in columns))


def stages_of(plan: Plan, way: Way, split: Splits, at: int | None = None) -> Stages:
    """Seconds of each pool: of every split, or of one of them."""
    work = work_of(plan.values, way, plan.inputs.overlapped)
    pick: Any = slice(None) if at is None else at
    return stages(work, split.engine_gpus[pick], split.trainer_gpus[pick], split.judge_gpus[pick])


def flow_of(plan: Plan, way: Way, one: Stages) -> Flow:
    """Its batches one after another, with the variation of the run."""
    lag = lag_of(way, plan.params.max_staleness)
    return flow(one, lag, way == "async", plan.made, plan.trained, WARM)


def usd_per_step(plan: Plan, step_s: Any, usd_per_gpu_h: Any) -> Any:
    """Dollars of all GPUs over a step."""
    return plan.total * num(usd_per_gpu_h) * step_s / SECONDS_PER_HOUR


def best_of(plan: Plan, way: Way, split: Splits) -> int:
    """Row with the shortest mean step; of equal ones the fewest rollout GPUs."""
    return int(np.argmin(np.atleast_1d(np.asarray(flow_of(plan, way, stages_of(plan, way, split)).step_s))))


def found_way(plan: Plan, way: Way) -> Found:
    """The best split of a way of working, its flow, and p10 to p90 of step and dollars over the draws.

    Draws keep the split and the ratio of the mean step to its bound.
    """
    split = thinned(ways_split(plan, way))
    at = best_of(plan, way, split)
    lag, streaming = lag_of(way, plan.params.max_staleness), way == "async"
    one = stages_of(plan, way, split, at)
    flown = flow_of(plan, way, one)
    step_s = float(flown.step_s)
    slower = step_s / float(bound_s(one, lag, streaming))
    work = work_of(plan.drawn, way, plan.inputs.overlapped)
    gpus = (split.engine_gpus[at], split.trainer_gpus[at], split.judge_gpus[at])
    steps = np.broadcast_to(slower * num(bound_s(stages(work, *gpus), lag, streaming)), (DRAWS,))
    low, high = p10_p90(steps)
    usd = np.broadcast_to(usd_per_step(plan, steps, plan.drawn["usd_per_gpu_h"]), (DRAWS,))
    usd_low, usd_high = p10_p90(usd)
    middle = float(usd_per_step(plan, step_s, plan.values["usd_per_gpu_h"]))
    rollout, train, judge = (float(value) for value in gpus)
    return Found(
        way, lag, rollout, train, judge, flown, step_s, low, high, middle, usd_low, usd_high
    )  # fmt: skip


def step_at(plan: Plan, way: Way, values: dict[str, float]) -> float:
    """Mean seconds of a step at the best split for other inputs, with the variation of the run."""
    changed = replace(plan, values=values)
    split = thinned(ways_split(changed, way))
    return float(np.min(flow_of(changed, way, stages_of(changed, way, split)).step_s))


def same_score_ratio(one: Found, sync: Found, extra_steps_frac: float) -> float:
    """Dollars for the score that synchronous steps buy for one: step ratio x more steps by age.

    The same GPUs are held in every mode, so the price drops out.
    """
    return one.step_s / sync.step_s * (1 + extra_steps_frac * one.age)


def breakeven_extra(one: Found, sync: Found) -> float:
    """More steps an update of age may cost before this way is dearer than synchronous; NaN at age 0."""
    return (sync.step_s / one.step_s - 1) / one.age if one.age > 0 else math.nan


@dataclass(frozen=True)
class Verdict:
    """The cheapest allowed way for the same score; `sure` when the whole range of `mode_factor` says so.

    `span`: lowest and highest step of it over a synchronous one, with the steps that age costs.
    """

    way: Way
    sure: bool
    span: tuple[float, float]


def verdict(plan: Plan, found: Mapping[Way, Found]) -> Verdict:
    """Which allowed way is cheapest, at the value and at both ends of what nobody measured: `mode_factor`."""
    extra, sync = plan.values["extra_steps_frac"], found["sync"]
    allowed = [way for way in WAYS if found[way].lag <= plan.params.max_staleness]
    best: Way = min(allowed, key=lambda way: same_score_ratio(found[way], sync, extra))
    overlapped = [way for way in allowed if way != "sync"]
    other: Way = min(overlapped, key=lambda way: found[way].step_s) if overlapped else "sync"
    factor = plan.inputs.settings["mode_factor"]
    ratios = [same_score_ratio(found[other], sync, extra)]
    for end in (factor.low, factor.high):
        if end is not None and other != "sync":
            values = {**plan.values, "mode_factor": end}
            slower = 1 + extra * found[other].age
            ratios.append(step_at(plan, other, values) / step_at(plan, "sync", values) * slower)
    span = (min(ratios), max(ratios))
    return Verdict(best, not span[0] < 1 < span[1], span)
