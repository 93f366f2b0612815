"""Every number that a cadence was planned with: unit, range, badge, source, and the limits of its input."""

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.cadence_fleets import failing
from analysis.cadence_params import CadenceParams
from analysis.cadence_plan import Plan
from analysis.cadence_source import Source
from analysis.cadence_tornado import Lever, levers
from analysis.frames import NAN, Row, table
from analysis.planning import SETTINGS
from analysis.result import Assumption

YOURS, PLAIN = ("user", "your setting", ""), ("assumed", "the programme: yours to set", "")
PAIRS = ("derived", "published pairs of whole steps on more GPUs", "")
PROGRAMME = {
    "steps": ("Steps of a campaign", "steps"),
    "length_times": ("Length of responses against the source", "x"),
    "length_growth": ("Length at the end over the start", "x"),
    "rollouts_times": ("Rollouts a step against the source", "x"),
    "tool_s": ("Tool time on top of a step", "s"),
    "evals": ("Evaluations of a campaign", "evaluations"),
    "eval_min": ("An evaluation, in which the fleet waits", "min"),
    "period_h": ("Period", "h"),
    "deadline_h": ("Deadline after the start of the period", "h"),
    "wanted": ("Probability wanted", "fraction"),
    "repeat_frac": ("Spread of a step from cycle to cycle (p10 below p50)", "fraction"),
    "spare_frac": ("Spare over working GPUs", "fraction"),
    "domain_group": ("GPUs that must share one link domain (0: no group)", "GPUs"),
    "most_gpus": ("Fleets looked at, up to", "GPUs"),
}
STATED = {
    "step_s": ("Step as stated", "s"),
    "step_gpus": ("GPUs of that step", "GPUs"),
    "serial_frac": ("Share of a step that no GPU shortens", "fraction"),
}
SECOND = {"second_gpus": ("GPUs of the second measured size", "GPUs"), "second_step_s": ("Step there", "s")}
MODEL = {
    "step_gpus": ("GPUs of the modelled step", "GPUs"),
    "prompts": ("Prompts a step", "prompts"),
    "group": ("Rollouts a prompt", "rollouts"),
    "prompt_tokens": ("Prompt", "tokens"),
    "len_p50": ("Response, p50", "tokens"),
    "len_p95": ("Response, p95", "tokens"),
    "len_max": ("Response, longest", "tokens"),
    "passes": ("Log-prob passes", "passes"),
}
LOSSES = {
    "failure_rate": ("Failures", "1/GPU-hour"),
    "restart_min": ("From failure to work", "min"),
    "cold_start_min": ("First launch of a campaign", "min"),
    "warm_start_min": ("Each further launch", "min"),
    "walltime_h": ("Longest job of the scheduler", "h"),
    "queue_min": ("Queue of a launch", "min"),
    "checkpoint_steps": ("Steps between saves (0: the best)", "steps"),
    "checkpoint_s": ("Stall of a save", "s"),
    "repair_h": ("Until a failed node is back", "h"),
}
GOODPUT = {"goodput": ("Goodput as measured", "fraction")}
MAINTENANCE = {"maintenance_h": ("Planned maintenance a period", "h")}
ASSUMED = {
    "evals": "evaluations a campaign",
    "eval_min": "an evaluation, in which the fleet waits",
    "length_growth": "length at the end over the start",
    "repair_h": "hours until a failed node is back",
    "maintenance_h": "planned maintenance a period",
    "repeat_frac": "spread of a step from cycle to cycle (p10 below p50)",
    "restart_min": "from failure to work",
    "cold_start_min": "first launch of a campaign",
    "warm_start_min": "each further launch",
    "walltime_h": "longest job of the scheduler",
    "queue_min": "queue of a launch",
    "checkpoint_steps": "steps between saves",
    "checkpoint_s": "stall of a save",
    "spare_frac": "spare over working GPUs",
    "failure_rate": "life of a job of 1,024 GPUs",
}
"""Parameter -> the assumption that says where its default is from."""


def settings_rows(
    source: Source, params: CadenceParams, plan: Plan, told: Sequence[Assumption]
) -> pd.DataFrame:
    """One row a number that counts, columns SETTINGS; low and high are the ends of the tornado.

    `note` holds the limits of the input. A default that is no number (the smallest fleet, the rate by size)
    shows what it came to on the fleet of the answer.
    """
    held = {one.name: one for one in told}
    moved = {one.name: one for one in levers(params, plan)} if plan.known else {}
    rows = [_row(source, params, plan, name, words, held, moved) for name, words in _counting(params).items()]
    return table(rows, SETTINGS, ["value", "low", "high"])


def _counting(params: CadenceParams) -> dict[str, tuple[str, str]]:
    """Inputs that count for this source, with label and unit."""
    basis: dict[str, tuple[str, str]] = {"run": {}, "stated": STATED, "model": MODEL}[params.basis]
    second = SECOND if params.second_gpus else {}
    if second and params.serial_frac is None:
        basis = {name: words for name, words in basis.items() if name != "serial_frac"}
    losses = LOSSES if params.goodput is None else GOODPUT
    return {**PROGRAMME, **basis, **second, **losses, **MAINTENANCE}


def _row(
    source: Source,
    params: CadenceParams,
    plan: Plan,
    name: str,
    words: tuple[str, str],
    held: Mapping[str, Assumption],
    moved: Mapping[str, Lever],
) -> Row:
    label, unit = words
    yours = getattr(params, name) != CadenceParams.model_fields[name].default
    item = held.get(ASSUMED.get(name, ""))
    plain = PAIRS if name == "serial_frac" else PLAIN
    status, where, date = YOURS if yours else plain if item is None else (item.status, item.source, item.date)
    value, low, high = _value(source, params, plan, name)
    lever = moved.get(name)
    reach = None if lever is None else lever.reach or lever.ends
    if reach is not None and reach[0] <= value <= reach[1]:
        low, high = reach
    row: Row = {"name": name, "label": label, "unit": unit, "value": value, "low": low, "high": high}
    return row | {"status": status, "source": where, "date": date, "note": limits_of(name)}


def _value(source: Source, params: CadenceParams, plan: Plan, name: str) -> tuple[float, float, float]:
    """What counted, with its range where it has one of its own."""
    value = getattr(params, name)
    if name == "failure_rate":
        rate, gpus = failing(params, plan.fleet.gpus), plan.fleet.gpus
        return rate.usual / gpus, rate.low / gpus, rate.high / gpus
    if name == "serial_frac" and value is None:
        return source.published_fixed, NAN, NAN
    return (NAN if value is None else float(value)), NAN, NAN


def limits_of(name: str) -> str:
    """'may be 0.1 to 20': what can be typed, '' where there is no limit."""
    low = high = None
    for rule in CadenceParams.model_fields[name].metadata:
        low = next((getattr(rule, end) for end in ("ge", "gt") if hasattr(rule, end)), low)
        high = next((getattr(rule, end) for end in ("le", "lt") if hasattr(rule, end)), high)
    return "" if low is None or high is None else f"may be {low:,g} to {high:,g}"
