"""Where a step's time and money go, and what it would take if one phase were free."""

from typing import Any, ClassVar

import pandas as pd

from analysis.checks import COLUMNS, checked
from analysis.common import figure, nothing, result
from analysis.frames import lookup, whole
from analysis.freephase import with_free
from analysis.params import CommonParams
from analysis.phases import ENDS, ON_CLOCK, OUTSIDE, UNATTRIBUTED, phase_costs
from analysis.result import Figure, Notice, Result
from analysis.spend import compute_spend, filters_of
from analysis.words import digits3, percent
from data.queries import bottleneck as queries
from data.queries import spend as spend_queries
from data.view import View

DOLLARS = ("usd", *ENDS)
MOST_POINTS = 4000
MOST_FLAGS = 1000
PHASES = [
    "run", "mode", "pool", "phase", "kind", "total_s", "mean_s", "median_s", "max_s", "share_of_step_frac",
    "usd", "usd_low", "usd_high",
    "share_of_usd_frac", "step_mean_s", "step_median_s", "step_if_free_s", "speedup_if_free", "free_note",
]  # fmt: skip
STEPS = [
    "run", "bin", "attempt", "step_first", "step_last", "steps", "kept", "step_s", "step_s_min",
    "step_s_max", "pool",
    "phase", "kind", "seconds", "seconds_min", "seconds_max",
]  # fmt: skip
PHASE_WORDS = {
    "rollout": "Generation", "env": "Environment time", "reward": "Reward", "logprob": "Log-probabilities",
    "ref": "The reference model", "value": "The critic", "advantage": "Advantage", "train": "Training",
    "weight_sync": "Weight sync", "checkpoint": "Checkpointing", "eval": "Evaluation", "data": "Data loading",
    "other": "Other work",
}  # fmt: skip


class BottleneckParams(CommonParams):
    """Shared parameters only."""

    question: ClassVar[str] = "bottleneck"


def compute(view: View, params: BottleneckParams) -> Result:
    """Tables: `phases` (PHASES), `steps` (STEPS, at most MOST_POINTS rows), `flags` (checks by step)."""
    spend = compute_spend(view, params)
    if spend.runs.empty:
        return nothing("bottleneck", view, params, _EMPTY)
    filters = filters_of(params)
    times = queries.step_times(view, filters)
    raw = queries.phase_times(view, filters)
    seconds, inside = spend_queries.phase_seconds(view, filters), spend_queries.step_seconds(view, filters)
    costs = phase_costs(spend, seconds, inside, params.boundary)
    phases = with_free(_phases(spend.runs, times, raw, costs))
    stack = _stack(view, params, raw, len(times))
    flags, doubts = checked(view, params)
    notices = [*spend.notices, *doubts, *_notices(spend.runs, times, raw)]
    return result(
        "bottleneck", view, params, _answer(phases, times), headline=_figures(params, phases, times),
        tables={"phases": phases[PHASES], "steps": stack, "flags": flags.head(MOST_FLAGS)},
        assumptions=spend.assumptions,
        notices=notices, prices=spend.allocations,
    )  # fmt: skip


_EMPTY = {
    "phases": PHASES,
    "steps": STEPS,
    "flags": COLUMNS,
}


def _stack(view: View, params: BottleneckParams, raw: pd.DataFrame, runs: int) -> pd.DataFrame:
    """The stack by step with as many bins a run as the limit of points allows."""
    layers = len(raw[raw["kind"].isin(ON_CLOCK)]) + max(runs, 1) * 2
    bins = max(10, MOST_POINTS // layers)
    return queries.stack(view, filters_of(params), bins)[STEPS]


def _phases(runs: pd.DataFrame, times: pd.DataFrame, raw: pd.DataFrame, costs: pd.DataFrame) -> pd.DataFrame:
    """Clock seconds with the dollars of the pools that they occupy, and the remainders."""
    keys = ["run", "named", "phase", "kind"]
    spent = costs.groupby(keys, sort=True)[list(DOLLARS)].agg(whole).reset_index()
    rows = raw.rename(columns={"pool": "named"}).merge(spent, on=keys, how="left")
    rest = costs[costs["kind"] == "rest"].groupby(keys, sort=True)
    remainder = rest.agg(total_s=("seconds", "sum"), **{m: (m, whole) for m in DOLLARS}).reset_index()
    out = pd.concat([rows, remainder, _unpriced_rest(times, raw, costs)], ignore_index=True)
    out = out.merge(times, on="run", how="left")
    out = out.merge(
        runs[["run", "mode", "usd", "clock"]].rename(columns={"usd": "run_usd"}), on="run", how="left"
    )
    inside = out["phase"].ne(OUTSIDE) & out["steps"].gt(0)
    out["mean_s"] = out["mean_s"].astype("float64").fillna((out["total_s"] / out["steps"]).where(inside))
    counted = out["kind"].isin([*ON_CLOCK, "wait"]) | out["phase"].eq(UNATTRIBUTED)
    share = (out["mean_s"] / out["step_mean_s"]).where(counted & (out["step_mean_s"] > 0))
    out["share_of_step_frac"] = share
    out["share_of_usd_frac"] = (out["usd"] / out["run_usd"]).where(out["run_usd"] > 0)
    out = out.rename(columns={"named": "pool"})
    return out.sort_values(["run", "pool", "phase", "kind"], kind="stable").reset_index(drop=True)


def _unpriced_rest(times: pd.DataFrame, raw: pd.DataFrame, costs: pd.DataFrame) -> pd.DataFrame:
    """The unattributed seconds of runs whose pools nobody has named yet."""
    clock = raw[raw["kind"].isin(ON_CLOCK)].groupby(["run", "pool"])["total_s"].sum().groupby("run").max()
    bare = times[~times["run"].isin(costs.loc[costs["kind"] == "rest", "run"])]
    seconds = bare["step_total_s"] - lookup(bare["run"], clock).fillna(0.0)
    out = pd.DataFrame(
        {"run": bare["run"], "named": "", "phase": UNATTRIBUTED, "kind": "rest", "total_s": seconds}
    )
    return out.assign(**dict.fromkeys(DOLLARS, float("nan")))


def _notices(runs: pd.DataFrame, times: pd.DataFrame, raw: pd.DataFrame) -> list[Notice]:
    out = []
    timed, phased = set(times["run"]), set(raw["run"])
    for run in runs["run"]:
        if run not in timed:
            text = f"{run} has no step times: nothing says where its time and its money went."
            out.append(Notice("no_step_times", text, run))
        elif run not in phased:
            text = f"{run} logs no phases, so its steps are unattributed: log timers such as timing_s/gen."
            out.append(Notice("no_phases", text, run))
    return out


def _top(phases: pd.DataFrame) -> dict[str, Any] | None:
    """The longest phase of the run with the greatest spend (else the most step seconds)."""
    worked = phases[phases["kind"].isin([*ON_CLOCK, "wait"]) & phases["mean_s"].gt(0)]
    if worked.empty:
        return None
    order = worked.sort_values(
        ["run_usd", "step_total_s", "run", "mean_s", "phase"], ascending=[False, False, True, False, True],
        kind="stable"
    )  # fmt: skip
    return {str(k): v for k, v in order.iloc[0].items()}


def _figures(params: BottleneckParams, phases: pd.DataFrame, times: pd.DataFrame) -> list[Figure]:
    top = _top(phases)
    if top is None:
        return []
    name = PHASE_WORDS.get(top["phase"], top["phase"])
    rest = phases[(phases["run"] == top["run"]) & (phases["phase"] == UNATTRIBUTED)]
    has_clock = pd.notna(top["clock"]) and bool(top["clock"])
    quotes = "quote_range" if has_clock else "quote_range_least"
    worst = rest["share_of_step_frac"].max() if len(rest) else None
    steps = int(times.loc[times["run"] == top["run"], "steps"].iloc[0])
    return [
        figure("step_mean_s", top["step_mean_s"], label=f"Mean step of {top['run']}", n=steps),
        figure("phase_share", top["share_of_step_frac"], label=f"{name}: share of the step", n=steps),
        figure(
            "usd_by_phase", top["usd"], label=f"{name}: dollars", boundary=params.boundary,
            low=top["usd_low"], high=top["usd_high"], interval=quotes,
            missing="pools or prices are missing, or the phase overlaps others",
        ),
        figure("if_free", top["step_if_free_s"], label=f"Step if {name.lower()} were free",
        missing=top["free_note"]),
        figure("unattributed", worst, label="Unattributed share of the step"),
    ]  # fmt: skip


def _answer(phases: pd.DataFrame, times: pd.DataFrame) -> str:
    top = _top(phases)
    if top is None:
        if times.empty:
            return (
                "No step times are loaded, so nothing says where the time went: upload a training log "
                "with timers."
            )
        return (
            "The steps are timed but no phase is: log timers such as timing_s/gen to see what holds a "
            "step up."
        )
    waits = top["kind"] == "wait"
    name = (
        "Waiting for generation"
        if waits and top["phase"] == "rollout"
        else PHASE_WORDS.get(top["phase"], top["phase"])
    )
    text = f"{name} takes {percent(top['share_of_step_frac'])} of the step"
    if pd.notna(top["share_of_usd_frac"]) and not waits:
        text += f" and {percent(top['share_of_usd_frac'])} of the money"
    text += f" of {top['run']}"
    if pd.notna(top["step_if_free_s"]):
        text += f"; if it were free a step would take {digits3(top['step_if_free_s'])} s instead of "
        text += f"{digits3(top['step_mean_s'])} s"
    return text + "."
