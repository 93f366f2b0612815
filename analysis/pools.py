"""How many GPUs roll out, train and judge: the split with the shortest step, and which mode is cheapest."""

import numpy as np
import pandas as pd

from analysis.common import nothing, result
from analysis.frames import Row, table
from analysis.planning import SETTINGS, TORNADO, assumed, choose, settings_table, tornado
from analysis.pools_inputs import PoolsInputs, PoolsParams, from_run, from_scratch, lacking
from analysis.pools_modes import (
    WAYS,
    Found,
    Plan,
    Way,
    breakeven_extra,
    flow_of,
    found_way,
    plan_of,
    same_score_ratio,
    stages_of,
    step_at,
    thinned,
    usd_per_step,
    verdict,
    ways_split,
)
from analysis.pools_words import answer, figures, notices, unusual
from analysis.result import Notice, Result
from data.recipes import recipes
from data.view import View
from models.pool_flow import Splits

__all__ = ["PoolsParams", "compute"]

SPLITS = [
    "rollout_gpus", "train_gpus", "judge_gpus", "rollout_s", "train_s", "judge_s", "bound_s", "step_s",
    "starved_frac", "blocked_frac", "usd_per_step", "buffer_rollouts", "age_updates", "chosen", "current",
]  # fmt: skip
BUFFER = ["step", "t_s", "rollouts", "starved_s", "blocked_s"]
MODES = [
    "mode", "step_s", "usd_per_step", "step_s_low", "step_s_high", "usd_per_step_low", "usd_per_step_high",
    "steps_for_budget", "age_updates", "allowed", "rollout_gpus", "train_gpus", "judge_gpus",
    "steps_needed_ratio", "usd_for_same_score_ratio", "breakeven_extra_steps_frac",
]  # fmt: skip
PUBLISHED = [
    "recipe_id", "stage", "platform", "train_frac", "rollout_frac", "side_frac", "ratio_rollout_train",
    "inside",
]  # fmt: skip
NEARBY = ["delta_gpus", "step_s", "usd_per_step", "rollout_gpus", "train_gpus", "judge_gpus"]
EMPTY = {
    "splits": SPLITS, "buffer": BUFFER, "modes": MODES, "published": PUBLISHED, "nearby": NEARBY,
    "settings": SETTINGS, "tornado": TORNADO,
}  # fmt: skip
BUFFER_STEPS = 120


def compute(view: View, params: PoolsParams) -> Result:
    """Tables as EMPTY names them. A run that cannot be split is an answer with the reason and no rows.

    Raises UserError for a run or platform that does not exist, or fewer GPUs than a unit of each pool.
    """
    if params.basis == "scratch":
        return _answered(view, params, from_scratch(view, params))
    chosen = choose(view, params, lacking)
    if chosen.source is None:
        if not chosen.blocked:
            return nothing("pools", view, params, EMPTY)
        bare = {name: pd.DataFrame(columns=columns) for name, columns in EMPTY.items()}
        told = [Notice("cannot_plan", chosen.blocked, chosen.tried), *chosen.notices]
        return result("pools", view, params, chosen.blocked, tables=bare, notices=told)
    return _answered(view, params, from_run(view, params, chosen.source), chosen.notices)


def _answered(view: View, params: PoolsParams, inputs: PoolsInputs, told: tuple[Notice, ...] = ()) -> Result:
    plan = plan_of(params, inputs)
    way: Way = "one_step_off" if params.max_staleness == 0 else params.mode
    found = {one: found_way(plan, one) for one in WAYS}
    split = thinned(ways_split(plan, way))
    rows, band = _splits(plan, way, split), _published(view, found[way])
    return result(
        "pools", view, params, answer(plan, found, way, verdict(plan, found)),
        headline=figures(plan, found, way, rows),
        tables={
            "splits": rows,
            "buffer": _buffer(plan, found[way]),
            "modes": _modes(plan, found),
            "published": band,
            "nearby": _nearby(plan, way, split, found[way]),
            "settings": settings_table(inputs.settings),
            "tornado": tornado(
                inputs.settings, lambda values: step_at(plan, way, values), "seconds a step", "s",
                leave=("usd_per_gpu_h", "cv_rollout_frac", "cv_train_frac"),
            ),
        },
        assumptions=assumed(inputs.settings),
        notices=[*told, *inputs.notices, *notices(plan, found), *unusual(found[way], band)],
        prices=pd.DataFrame({"price_id": [inputs.price_id] if inputs.price_id else []}),
    )  # fmt: skip


def _splits(plan: Plan, way: Way, split: Splits) -> pd.DataFrame:
    one = stages_of(plan, way, split)
    flown = flow_of(plan, way, one)
    shape = split.engine_gpus.shape
    best = int(np.argmin(np.broadcast_to(flown.step_s, shape)))
    rollouts = plan.values["rollouts_per_step"]
    engine_s = np.broadcast_to(one.engine_s, shape)
    columns = {
        "rollout_gpus": split.engine_gpus,
        "train_gpus": split.trainer_gpus,
        "judge_gpus": split.judge_gpus,
        "rollout_s": engine_s if way == "async" else engine_s + one.late_s,
        "train_s": one.trainer_s,
        "judge_s": one.judge_s,
        "bound_s": split.bound_s,
        "step_s": flown.step_s,
        "starved_frac": flown.starved_frac,
        "blocked_frac": flown.blocked_frac,
        "usd_per_step": usd_per_step(plan, flown.step_s, plan.values["usd_per_gpu_h"]),
        "buffer_rollouts": flown.ready * rollouts,
        "age_updates": flown.age,
        "chosen": np.arange(shape[0]) == best,
        "current": split.engine_gpus == plan.inputs.engine_gpus,
    }
    return pd.DataFrame({name: np.broadcast_to(np.asarray(v), shape) for name, v in columns.items()})


def _buffer(plan: Plan, one: Found) -> pd.DataFrame:
    path = one.flow.path[:BUFFER_STEPS]
    rollouts = plan.values["rollouts_per_step"]
    rows = [
        {"step": n + 1, "t_s": end - path[0, 0], "rollouts": ready * rollouts, "starved_s": starved,
         "blocked_s": blocked}
        for n, (end, starved, blocked, ready) in enumerate(path.tolist())
    ]  # fmt: skip
    return table(rows, BUFFER, BUFFER)


def _modes(plan: Plan, found: dict[Way, Found]) -> pd.DataFrame:
    sync, extra = found["sync"], plan.values["extra_steps_frac"]
    rows: list[Row] = []
    for way, one in found.items():
        rows.append(
            {"mode": way, "rollout_gpus": one.rollout_gpus, "train_gpus": one.train_gpus,
             "judge_gpus": one.judge_gpus, "step_s": one.step_s, "step_s_low": one.low_s,
             "step_s_high": one.high_s, "usd_per_step": one.usd, "usd_per_step_low": one.usd_low,
             "usd_per_step_high": one.usd_high,
             "steps_for_budget": plan.params.steps * sync.step_s / one.step_s, "age_updates": one.age,
             "allowed": one.lag <= plan.params.max_staleness, "steps_needed_ratio": 1 + extra * one.age,
             "usd_for_same_score_ratio": same_score_ratio(one, sync, extra),
             "breakeven_extra_steps_frac": breakeven_extra(one, sync)}
        )  # fmt: skip
    return table(rows, MODES, [name for name in MODES if name not in ("mode", "allowed")])


def _published(view: View, one: Found) -> pd.DataFrame:
    """Disaggregated recipes: shares of nodes, and whether ours lies within their span."""
    rows: list[Row] = []
    for recipe in recipes(view.catalogue):
        train, rollout, nodes = recipe.nodes_train, recipe.nodes_generation, recipe.nodes_total
        if recipe.placement != "disaggregated" or not train or not rollout or not nodes:
            continue
        rows.append(
            {"recipe_id": recipe.recipe_id, "stage": recipe.stage, "platform": recipe.platform_id,
             "train_frac": train / nodes, "rollout_frac": rollout / nodes,
             "side_frac": 1 - (train + rollout) / nodes, "ratio_rollout_train": rollout / train}
        )  # fmt: skip
    span = [row["ratio_rollout_train"] for row in rows]
    inside = min(span) <= one.rollout_gpus / one.train_gpus <= max(span)
    return table([{**row, "inside": inside} for row in rows], PUBLISHED, PUBLISHED[3:7])


def _nearby(plan: Plan, way: Way, split: Splits, one: Found) -> pd.DataFrame:
    """The split with up to four units more or fewer for rollouts."""
    at = int(np.argmin(np.abs(split.engine_gpus - one.rollout_gpus)))
    near = slice(max(0, at - 4), at + 5)
    columns = (split.engine_gpus, split.trainer_gpus, split.judge_gpus, split.bound_s)
    some = Splits(*(column[near] for column in columns))
    steps = np.broadcast_to(flow_of(plan, way, stages_of(plan, way, some)).step_s, some.bound_s.shape)
    usd = usd_per_step(plan, steps, plan.values["usd_per_gpu_h"])
    rows: list[Row] = [
        {"delta_gpus": some.engine_gpus[n] - one.rollout_gpus, "rollout_gpus": some.engine_gpus[n],
         "train_gpus": some.trainer_gpus[n], "judge_gpus": some.judge_gpus[n], "step_s": steps[n],
         "usd_per_step": usd[n]}
        for n in range(len(steps))
    ]  # fmt: skip
    return table(rows, NEARBY, NEARBY)
