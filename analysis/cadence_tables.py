"""Tables of a cadence: platforms, curve, twice the length, parts, failures, saves, sharers, campaigns."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.cadence_fleets import HOUR, OWN_NAME, Fleet, best_every, failing, job_rates
from analysis.cadence_params import CadenceParams
from analysis.cadence_plan import Plan, ends_of, with_longer
from analysis.cadence_source import Source
from analysis.cadence_steps import Scaling
from analysis.frames import NAN, Row, table
from analysis.projection_seen import joined, spread_row
from data.operations import operation
from data.shapes import machine_of
from models.failures import Saving, daly_s, goodput_frac, young_s

ENDS = ("", "_low", "_high")


def _with_ends(*names: str) -> list[str]:
    return [f"{name}{end}" for name in names for end in ENDS]


PLATFORM_NUMBERS = ["gpus", "spare_gpus", "fleet_gpus", "racks", "rack_gpus", "unit_gpus", "fastest_gpus"]
PLATFORM_NUMBERS += _with_ends("step_s", "cycle_h", "slack_h")
PLATFORM_NUMBERS += ["p_finish", "goodput_frac", "checkpoint_steps", "usd_per_gpu_h"]
PLATFORM_NUMBERS += _with_ends("usd_per_cycle", "usd_per_year", "kwh_per_cycle")
PLATFORMS = ["target", "platform", "kind", "meets", *PLATFORM_NUMBERS, "price_id", "missing", "synthetic"]
CURVE_NUMBERS = ["gpus", "fleet_gpus", "racks", "step_s", *_with_ends("cycle_h"), "p_finish"]
CURVE = ["target", "platform", *CURVE_NUMBERS, "chosen", "fastest", "answered"]
LENGTH_NUMBERS = ["times", "gpus", "racks", "cycle_h", "p_finish", "gpus_needed", "racks_needed"]
LENGTH = ["target", "platform", *LENGTH_NUMBERS]
PARTS = ["target", "platform", "part", "hours", "frac"]
FAILURES = ["regime", "gpus", "per_gpu_h", "job_mtti_h", "low_mtti_h", "high_mtti_h", "source"]
CHECKPOINT = ["checkpoint_steps", "interval_s", "goodput_frac", "chosen", "best", "young_s", "daly_s"]
PROGRAMMES = ["name", "priority", "gpus", "start_h", "finish_h", "by_h", "p_finish"]
CAMPAIGNS = ["campaign", "steps", "length_times", "tool_s", "evals", "step_s", "hours", "frac"]
SAVES = (1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 75, 100, 150, 200)


def platforms_table(source: Source, params: CadenceParams, plans: Sequence[Plan]) -> pd.DataFrame:
    """PLATFORMS, a row a target in the order asked."""
    rows = [_platform_row(source, params, one) for one in plans]
    return table(rows, PLATFORMS, PLATFORM_NUMBERS).astype({"meets": bool, "synthetic": bool})


def _platform_row(source: Source, params: CadenceParams, plan: Plan) -> Row:
    fleet, book = plan.fleet, source.asked.book
    machine = machine_of(book, plan.aim.engines)
    low, middle, high = plan.cycle_h
    row: Row = {"target": plan.aim.target, "platform": plan.aim.name(book), "meets": plan.meets}
    row |= {"kind": "own" if plan.whole.carrier.own else "projected", "synthetic": source.run.synthetic}
    row |= {"gpus": fleet.gpus, "fleet_gpus": fleet.fleet_gpus, "spare_gpus": fleet.spare_gpus}
    row |= {"racks": fleet.held.racks, "rack_gpus": machine.rack_gpus, "unit_gpus": plan.whole.carrier.unit}
    row |= {"fastest_gpus": plan.fastest or NAN, "p_finish": fleet.p_finish}
    row |= spread_row("step_s", fleet.step_s)
    row |= {"cycle_h": middle, "cycle_h_low": low, "cycle_h_high": high}
    until = params.deadline_h
    row |= {"slack_h": until - middle, "slack_h_low": until - high, "slack_h_high": until - low}
    row |= {"goodput_frac": fleet.goodput_frac, "checkpoint_steps": fleet.every_steps}
    for name in ("usd", "usd_year", "kwh"):
        spent = getattr(plan, name)
        column = {"usd": "usd_per_cycle", "usd_year": "usd_per_year", "kwh": "kwh_per_cycle"}[name]
        row |= {column: spent.value, f"{column}_low": spent.low, f"{column}_high": spent.high}
    row |= {"usd_per_gpu_h": plan.rent.usd, "price_id": plan.rent.price_id}
    return row | {"missing": joined(*fleet.missing, plan.rent.missing if plan.known else "")}


def curve_table(source: Source, plans: Sequence[Plan], focus: Plan) -> pd.DataFrame:
    """CURVE: every count of GPUs that was looked at, a platform after the other; unknown ones left out.

    `answered`: rows of the platform of which the answer speaks.
    """
    rows: list[Row] = []
    for plan in plans:
        counts = sorted({*plan.curve.counts(), plan.fleet.gpus})
        for gpus in counts:
            fleet = plan.fleet if gpus == plan.fleet.gpus else plan.curve.fleet(gpus)
            if math.isnan(fleet.p_finish):
                continue
            low, middle, high = ends_of(fleet)
            row: Row = {"target": plan.aim.target, "platform": plan.aim.name(source.asked.book)}
            row |= {"gpus": gpus, "fleet_gpus": fleet.fleet_gpus, "racks": fleet.held.racks}
            row |= {"step_s": float(np.median(fleet.step_s)), "cycle_h": middle}
            row |= {"cycle_h_low": low, "cycle_h_high": high, "p_finish": fleet.p_finish}
            row |= {"chosen": gpus == plan.fleet.gpus, "fastest": gpus == plan.fastest}
            row |= {"answered": plan is focus}
            rows.append(row)
    return table(rows, CURVE, CURVE_NUMBERS).astype({"chosen": bool, "fastest": bool, "answered": bool})


def length_table(
    source: Source, params: CadenceParams, plans: Sequence[Plan], scaling: Scaling
) -> pd.DataFrame:
    """LENGTH: today's and twice the response length on the chosen fleet, and the smallest that then does."""
    rows: list[Row] = []
    for plan in plans:
        for times in (1.0, 2.0):
            longer = with_longer(source, params, plan, scaling, times)
            fleet = plan.fleet if times == 1 else longer.fleet(plan.fleet.gpus)
            does = plan.fleet if times == 1 and plan.meets else longer.smallest(params.wanted)
            row: Row = {"target": plan.aim.target, "platform": plan.aim.name(source.asked.book)}
            row |= {"times": times, "gpus": fleet.gpus, "racks": fleet.held.racks}
            row |= {"cycle_h": ends_of(fleet)[1], "p_finish": fleet.p_finish}
            row |= {"gpus_needed": NAN if does is None else does.gpus}
            rows.append(row | {"racks_needed": NAN if does is None else does.held.racks})
    return table(rows, LENGTH, LENGTH_NUMBERS)


def parts_table(source: Source, plans: Sequence[Plan]) -> pd.DataFrame:
    """PARTS: mean hours of the chosen fleet's cycle by part, of the draws from p10 to p90 of the cycle."""
    rows: list[Row] = []
    for plan in plans:
        total = math.fsum(plan.fleet.parts_h.values())
        if not math.isfinite(total):
            continue
        head: Row = {"target": plan.aim.target, "platform": plan.aim.name(source.asked.book)}
        for part, hours in plan.fleet.parts_h.items():
            if hours > 0:
                rows.append(head | {"part": part, "hours": hours, "frac": hours / total})
    return table(rows, PARTS, ["hours", "frac"])


def failures_table(params: CadenceParams, fleet: Fleet) -> pd.DataFrame:
    """FAILURES: the rate in use on the focused fleet, then the two published regimes."""
    used, rates = failing(params, fleet.gpus), job_rates()
    source = "your setting" if params.failure_rate is not None else "by size, between the two published ones"
    rows = [_failure_row("in use", fleet.gpus, (used.low, used.usual, used.high), source)]
    small, large = operation("rsc_job_mttf_hours_1024"), operation("llama3_interruptions_per_gpu_hour")
    rows.append(_failure_row("small jobs", rates.small_gpus, rates.small_per_h, small.source))
    rows.append(_failure_row("huge jobs", rates.large_gpus, rates.large_per_h, large.source))
    return table(rows, FAILURES, FAILURES[1:-1])


def _failure_row(regime: str, gpus: float, per_h: tuple[float, float, float], source: str) -> Row:
    low, usual, high = per_h
    lives = [1 / rate if rate else math.inf for rate in (high, usual, low)]
    return {
        "regime": regime,
        "gpus": gpus,
        "per_gpu_h": usual / gpus,
        "job_mtti_h": lives[1],
        "low_mtti_h": lives[0],
        "high_mtti_h": lives[2],
        "source": source,
    }


def checkpoint_table(params: CadenceParams, plan: Plan) -> pd.DataFrame:
    """CHECKPOINT: goodput of one job by steps between saves; the chosen period and the best one are in it.

    `young_s`, `daly_s`: seconds of work between saves by both formulas, the same in each row.
    """
    if not plan.known:
        return table([], CHECKPOINT, CHECKPOINT[:3])
    step_s, mttf_s = step_and_life(params, plan)
    down_s = params.restart_min * 60
    best = best_every(step_s, params.checkpoint_s, down_s, mttf_s, params.steps)
    young, daly = ideal_saves_s(params, plan)
    rows = []
    for every in sorted({one for one in SAVES if one <= params.steps} | {best, plan.fleet.every_steps}):
        saving = Saving(float(every), params.checkpoint_s, down_s)
        share = float(goodput_frac(step_s, saving, mttf_s))
        row: Row = {"checkpoint_steps": every, "interval_s": every * step_s, "goodput_frac": share}
        row |= {"young_s": young, "daly_s": daly}
        rows.append(row | {"chosen": every == plan.fleet.every_steps, "best": every == best})
    numbers = [*CHECKPOINT[:3], *CHECKPOINT[5:]]
    return table(rows, CHECKPOINT, numbers).astype({"chosen": bool, "best": bool})


def step_and_life(params: CadenceParams, plan: Plan) -> tuple[float, float]:
    """Median seconds of a step and usual seconds to a failure on the chosen fleet."""
    rate = failing(params, plan.fleet.gpus).usual
    return float(np.median(plan.fleet.step_s)), HOUR / rate if rate else math.inf


def ideal_saves_s(params: CadenceParams, plan: Plan) -> tuple[float, float]:
    """Seconds of work between saves by Young and by Daly on the chosen fleet."""
    _, mttf_s = step_and_life(params, plan)
    if math.isinf(mttf_s):
        return math.inf, math.inf
    stall = params.checkpoint_s
    return float(young_s(stall, mttf_s)), float(daly_s(stall, mttf_s))


def programmes_table(params: CadenceParams, plan: Plan) -> pd.DataFrame:
    """PROGRAMMES: who starts and ends when on the chosen fleet; others should end within the period."""
    rows: list[Row] = []
    told: list[tuple[str, int, int, float]] = [
        (OWN_NAME, params.priority, plan.fleet.gpus, params.deadline_h),
        *((one.name, one.priority, one.gpus, params.period_h) for one in params.sharers()),
    ]
    for (name, priority, gpus, until), turn in zip(told, plan.fleet.turns, strict=True):
        start, finish = (float(np.median(v)) / HOUR for v in (turn.start_s, turn.finish_s))
        row: Row = {"name": name, "priority": priority, "gpus": gpus, "by_h": until}
        row |= {"start_h": start, "finish_h": finish}
        rows.append(row | {"p_finish": float((turn.finish_s <= until * HOUR).mean())})
    return table(rows, PROGRAMMES, PROGRAMMES[2:])


def campaigns_table(params: CadenceParams, plan: Plan) -> pd.DataFrame:
    """CAMPAIGNS: hours of steps by campaign on the chosen fleet (medians)."""
    rows: list[Row] = []
    hours: Mapping[str, float] = {
        spec.name: spec.steps * float(np.median(plan.fleet.steps[spec.name].step_s)) / HOUR
        for spec in params.specs()
    }
    total = math.fsum(hours.values())
    for spec in params.specs():
        row: Row = {"campaign": spec.name, "steps": spec.steps, "length_times": spec.length}
        row |= {"tool_s": spec.tool_s, "evals": spec.evals, "hours": hours[spec.name]}
        row |= {"step_s": hours[spec.name] * HOUR / spec.steps, "frac": hours[spec.name] / total}
        rows.append(row)
    return table(rows, CAMPAIGNS, CAMPAIGNS[1:])
