"""What a cadence answers in words: the sentence, its figures, its assumptions with sources, its notices."""

import math
from collections.abc import Sequence

import numpy as np

from analysis.cadence_fleets import HOUR
from analysis.cadence_money import HOURS_PER_YEAR, Spent
from analysis.cadence_params import CadenceParams
from analysis.cadence_plan import Plan
from analysis.cadence_source import SYNC_FACT, Source
from analysis.cadence_steps import DOMAIN_FACT, Scaling
from analysis.cadence_tables import ideal_saves_s
from analysis.chances import bound
from analysis.common import figure
from analysis.planning import chance_of_draws
from analysis.projection_money import rent_assumption
from analysis.result import Assumption, Figure, Notice
from analysis.spend import synthetic_notice
from analysis.words import count, digits3, listing, money, percent, plural, price_words
from data.operations import operation

WEEK_H, DAY_H = 168.0, 24.0
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LEAST_GROWTH = 0.05
CLEARLY = 1.01
"""Draws of two fleets differ by less than this by chance."""
ENDLESS = "failures come faster than work is saved"
WARM = ("ray_gcs_startup_after", "multi_node_vllm_startup_after")


def answer(source: Source, params: CadenceParams, plans: Sequence[Plan], focus: Plan) -> str:
    """The sentence a person could paste into a chat."""
    if not focus.known:
        return f"No fleet can be planned for {source.run.run}: {focus.fleet.missing[0]}."
    name = focus.aim.name(source.asked.book)
    head = f"{_period_words(params.period_h)}, by {deadline_words(params)}"
    chance = chance_words(focus.fleet.p_finish, params.draws)
    if not focus.meets:
        asked = "the fleet asked for" if params.gpus else f"no fleet of up to {count(params.most_gpus)} GPUs"
        made = "finishes with" if params.gpus else "reaches"
        what = chance if params.gpus else percent(params.wanted)
        tail = "" if params.gpus else f"; the likeliest is {_fleet_words(focus)} with {chance}"
        return f"{head}: {asked} on {name} {made} {what}{tail}. {_cycle_words(focus)}."
    verb = "finishes" if focus.fleet.held.racks == 1 else "finish"
    cost = "" if math.isnan(focus.usd.value) else f", {money(focus.usd.value)} a cycle {_price(params)}"
    rest = [f"{_fleet_words(one)} on {one.aim.name(source.asked.book)}" for one in plans if one is not focus]
    known = [words for words, one in zip(rest, _others(plans, focus), strict=True) if one.meets]
    also = f" The same with {percent(params.wanted)}: {listing(known, 8)}." if known else ""
    return (
        f"{head}: {_fleet_words(focus)} on {name} {verb} with {chance}, in {_hours_words(focus)}{cost}.{also}"
    )


def chance_words(p_finish: float, draws: int) -> str:
    """Percent; what hardly a draw missed is told as its bound, as on the card: 'more than 99.9 %'."""
    told = bound("cadence_p_finish", p_finish, draws)
    return f"more than {percent(told[1])}" if told and told[0] == ">" else percent(p_finish)


def _others(plans: Sequence[Plan], focus: Plan) -> list[Plan]:
    return [one for one in plans if one is not focus]


def _price(params: CadenceParams) -> str:
    paid = "the whole period is paid" if params.pay == "period" else "the cycle is paid"
    return f"{price_words(params.price, params.boundary)[:-1]}; {paid})"


def deadline_words(params: CadenceParams) -> str:
    """Weekday and time of a week that begins on Monday at 0:00, the hour of any other period."""
    minutes = min(round(60 * params.deadline_h), 7 * 24 * 60 - 1)
    if params.period_h != WEEK_H or params.deadline_h == WEEK_H:
        return f"hour {digits3(params.deadline_h)}"
    day, rest = divmod(minutes, 24 * 60)
    return f"{DAYS[day]} {rest // 60:02d}:{rest % 60:02d}"


def _period_words(hours: float) -> str:
    if hours == WEEK_H:
        return "Weekly"
    if hours == DAY_H:
        return "Daily"
    return f"Every {digits3(hours / DAY_H)} days" if hours > DAY_H else f"Every {digits3(hours)} h"


def _fleet_words(plan: Plan) -> str:
    """'1 rack (64 working GPUs of 72)', or GPUs where a platform is not built in racks."""
    fleet = plan.fleet
    racks = float(fleet.held.racks)
    held = f"{count(fleet.gpus)} working GPUs of {count(fleet.fleet_gpus)}"
    return held if math.isnan(racks) else f"{racks:.0f} {plural('rack', racks)} ({held})"


def _cycle_words(plan: Plan) -> str:
    if math.isinf(plan.cycle_h[1]):
        return f"A cycle has no end: {ENDLESS}"
    return f"A cycle takes {_hours_words(plan)}, {_serial_words(plan)}"


def _hours_words(plan: Plan) -> str:
    low, middle, high = plan.cycle_h
    until = "no end" if math.isinf(high) else f"{digits3(high)} h"
    return f"{digits3(middle)} h (p10 to p90 {digits3(low)}{' h' if math.isinf(high) else ''} to {until})"


def _serial_words(plan: Plan) -> str:
    parts = plan.fleet.parts_h
    return f"{digits3(parts['steps that none shorten'])} h of it in steps that no GPU shortens"


def figures(params: CadenceParams, focus: Plan, best_steps: int | None) -> list[Figure]:
    """Headline of the platform spoken of."""
    fleet, missing = focus.fleet, "; ".join(focus.fleet.missing) or None
    low, middle, high = (math.nan if math.isinf(hours) else hours for hours in focus.cycle_h)
    no_end = missing or (ENDLESS if focus.known and math.isnan(middle) else None)
    until, p10_p90 = params.deadline_h, {"interval": "p10_p90", "n": params.draws}
    racks, good = float(fleet.held.racks), fleet.goodput_ends
    no_price = missing or focus.rent.missing or no_end
    paid = {"interval": "quote_range" if params.pay == "period" else "bounds"}
    return [
        figure("cadence_gpus", fleet.gpus if focus.known else None, missing=missing),
        figure("cadence_racks", racks, missing="this platform is not built in racks: count its GPUs"),
        figure("cadence_cycle_h", middle, low=low, high=high, **p10_p90, missing=no_end),
        figure(
            "cadence_p_finish",
            fleet.p_finish,
            **chance_of_draws(fleet.p_finish, params.draws),
            missing=missing,
        ),
        figure(
            "cadence_slack_h", until - middle, low=until - high, high=until - low, **p10_p90, missing=no_end
        ),
        figure("cadence_goodput", fleet.goodput_frac, low=good[0], high=good[1], **p10_p90, missing=missing),
        figure(
            "cadence_checkpoint_steps",
            best_steps,
            missing=missing or "a measured goodput stands for saves and failures",
        ),
        _spent("cadence_usd_per_cycle", focus.usd, no_price, paid, params),
        _spent("cadence_usd_per_year", focus.usd_year, no_price, paid, params),
        figure(
            "cadence_kwh_per_cycle",
            focus.kwh.value,
            low=focus.kwh.low,
            high=focus.kwh.high,
            interval="bounds",
            missing=no_end or "nobody published what a GPU of this platform draws with its host",
        ),
    ]


def _spent(
    metric: str, spent: Spent, missing: str | None, paid: dict[str, str], params: CadenceParams
) -> Figure:
    if math.isnan(spent.low):
        paid = {}
    ends = {"low": spent.low, "high": spent.high} | paid
    return figure(metric, spent.value, **ends, boundary=params.boundary, missing=missing or "no price")


def assumptions(source: Source, params: CadenceParams, plans: Sequence[Plan]) -> list[Assumption]:
    """Every default with its source; what the user set is the user's."""
    out = _programme(params) + ([] if params.goodput is not None else _operations(params))
    if params.basis == "model":
        sync = operation(SYNC_FACT)
        out.append(_fact(SYNC_FACT, "weight update, in proportion to parameters", sync.value))
    if params.domain_group:
        out.append(_fact(DOMAIN_FACT, "steps of training with groups across link domains", None))
    if params.goodput is not None:
        out.append(Assumption("goodput", params.goodput, "fraction", "user", "your setting", ""))
    rents = [rent_assumption(source.asked.book, one.rent) for one in plans if not math.isnan(one.rent.usd)]
    pue = source.asked.book.tco_default("pue")
    if pue is not None and pue.value is not None:
        out.append(Assumption("PUE", pue.value, "ratio", pue.status, pue.source, pue.source_date))
    return [*out, *dict.fromkeys(rents), *source.run.pools.assumptions]


def _set(params: CadenceParams, name: str) -> bool:
    return bool(getattr(params, name) != type(params).model_fields[name].default)


def _programme(params: CadenceParams) -> list[Assumption]:
    told = (
        ("evals", "evaluations a campaign", "evaluations", "one at its end"),
        ("eval_min", "an evaluation, in which the fleet waits", "min", "nobody published one: set yours"),
        ("length_growth", "length at the end over the start", "ratio", "no growth: responses usually grow"),
        ("repair_h", "hours until a failed node is back", "h", "nobody published one: set yours"),
        ("maintenance_h", "planned maintenance a period", "h", "nobody published one: set yours"),
        ("repeat_frac", "spread of a step from cycle to cycle (p10 below p50)", "fraction",
         "published pairs of one recipe on the same GPUs in other containers: 1.08 times"),
    )  # fmt: skip
    out = []
    for name, label, unit, words in told:
        status = ("user", "your setting") if _set(params, name) else ("assumed", words)
        out.append(Assumption(label, getattr(params, name), unit, *status, ""))
    return out


def _operations(params: CadenceParams) -> list[Assumption]:
    told = (
        ("restart_min", "from failure to work", "min", WARM),
        ("cold_start_min", "first launch of a campaign", "min", ("cold_start_total",)),
        ("warm_start_min", "each further launch", "min", WARM),
        ("walltime_h", "longest job of the scheduler", "h", ("checkpoint_must_save_by_ultra_rlvr",)),
        ("queue_min", "queue of a launch", "min", ("queue_mean_seren",)),
        ("checkpoint_steps", "steps between saves", "steps", ("checkpoint_period_super_rlvr",)),
        ("checkpoint_s", "stall of a save", "s", ("checkpoint_stall_synchronous",)),
        ("spare_frac", "spare over working GPUs", "fraction", ("spare_capacity_for_gpu_failures",)),
    )  # fmt: skip
    out = []
    for name, label, unit, facts in told:
        value = getattr(params, name)
        if _set(params, name):
            out.append(Assumption(label, value, unit, "user", "your setting", ""))
            continue
        found = [operation(fact) for fact in facts]
        words = "; ".join(dict.fromkeys(f"{one.source} ({one.condition})" for one in found))
        out.append(Assumption(label, value, unit, found[0].status, words, found[0].source_date))
    if params.failure_rate is not None:
        rate = params.failure_rate
        return [*out, Assumption("failures", rate, "1/GPU-hour", "user", "your setting", "")]
    return [
        *out,
        _fact("rsc_job_mttf_hours_1024", "life of a job of 1,024 GPUs", None),
        _fact("llama3_interruptions_per_gpu_hour", "failures of jobs of 16,384 GPUs", None),
        _fact("b200_failures_per_gpu_hour", "failures that take a node out", None),
    ]


def _fact(fact: str, label: str, value: float | None) -> Assumption:
    found = operation(fact)
    words = f"{found.source} ({found.condition})"
    shown = found.value if value is None else value
    return Assumption(label, shown, found.unit, found.status, words, found.source_date)


def notices(
    source: Source, params: CadenceParams, plans: Sequence[Plan], focus: Plan, scaling: Scaling
) -> list[Notice]:
    """What a reader must know beside the numbers."""
    run = source.run.run
    out = [*synthetic_notice([run] if source.run.synthetic else []), *source.run.notices]
    out += _basis_notices(source, params)
    out.append(Notice("scaling", f"More GPUs: {scaling.words}.", run))
    if not math.isnan(scaling.efficiency_frac):
        words = f"From {source.run.gpus} to {params.second_gpus} GPUs {percent(scaling.efficiency_frac)}"
        out.append(Notice("efficiency", f"{words} of even scaling was measured.", "second_gpus"))
    for plan in plans:
        out += _plan_notices(source, params, plan)
    return (
        out + _failure_notices(params, focus) + _length_notice(source, params) + _money_notices(params, focus)
    )


def _basis_notices(source: Source, params: CadenceParams) -> list[Notice]:
    if params.basis == "model" and source.scratch is not None:
        words = (
            f"Nobody measured this step: {digits3(source.step_s)} s on {params.step_gpus} GPUs follow from "
            f"the models with usual efficiencies (training at {percent(source.scratch.mfu)} of the peak), "
            "and p10 to p90 reach from half to twice. Measure a few steps and plan from the run."
        )
        return [Notice("not_measured", words, params.llm)]
    if not source.phased:
        words = (
            "Phases of the step are not known, so a longer response makes all of it longer, which is the "
            "most it can do, and other platforms follow the rule for whole steps."
        )
        return [Notice("whole_step", words, source.run.run)]
    return []


def _plan_notices(source: Source, params: CadenceParams, plan: Plan) -> list[Notice]:
    name, fleet = plan.aim.name(source.asked.book), plan.fleet
    out = []
    if not plan.known:
        out.append(Notice("not_planned", f"{name}: {'; '.join(fleet.missing)}.", plan.aim.target))
        return out
    if slower_beyond(plan):
        words = f"{name}: the cycle is shortest on {count(plan.fastest)} GPUs; more are slower"
        out.append(Notice("slower_beyond", f"{words} (failures, start-ups, coordination).", plan.aim.target))
    late = [turn.name for turn in fleet.turns if not np.isfinite(turn.finish_s).any()]
    if late:
        words = (
            f"{name}: {listing(late)} never {'starts' if len(late) == 1 else 'start'}: the fleet is smaller"
        )
        out.append(Notice("never_starts", f"{words} than what they need at once.", plan.aim.target))
    if not plan.meets and not params.gpus:
        words = f"{name}: no fleet of up to {count(params.most_gpus)} GPUs reaches {percent(params.wanted)}"
        out.append(Notice("not_reached", f"{words}; the likeliest is shown.", plan.aim.target))
    if plan.cycle_h[1] > params.period_h:
        out.append(Notice("over_period", f"{name}: a cycle takes longer than its period.", plan.aim.target))
    out += [Notice("caution", f"{name}: {words}.", plan.aim.target) for words in fleet.cautions]
    return out


def slower_beyond(plan: Plan) -> bool:
    """True where the cycle on the largest fleet of the curve is clearly longer than the shortest one."""
    largest = max(plan.curve.counts())
    ends = [float(np.median(plan.curve.fleet(gpus).run_h)) for gpus in (largest, plan.fastest or largest)]
    return ends[0] > CLEARLY * ends[1]


def _failure_notices(params: CadenceParams, focus: Plan) -> list[Notice]:
    if not focus.known:
        return []
    if params.goodput is not None:
        return _goodput_notice(params)
    out = []
    if params.failure_rate is None:
        words = (
            "Failures of huge jobs are not scaled down: below 1,024 GPUs the rate of jobs of 1,024 is taken "
            "in proportion, with hardware alone as the low and the whole rate of such a job as the high end."
        )
        out.append(Notice("two_regimes", words, "failure_rate"))
    young, daly = ideal_saves_s(params, focus)
    step_s = float(np.median(focus.fleet.step_s))
    if math.isfinite(daly):
        words = f"Young: a save every {digits3(young / 60)} min, Daly: {digits3(daly / 60)} min"
        at = f"a step takes {digits3(step_s / 60)} min"
        out.append(
            Notice("checkpoint_period", f"{words}; {at}, and saves fall between steps.", "checkpoint_s")
        )
        if params.checkpoint_s * HOUR > 0 and daly < 2 * params.checkpoint_s:
            words = "A save takes as long as the work between two: the optimum is at the end of its formula."
            out.append(Notice("checkpoint_limit", words, "checkpoint_s"))
    return out


def _goodput_notice(params: CadenceParams) -> list[Notice]:
    """A goodput that was measured over whole attempts holds their evaluations: here they come on top."""
    if not params.evals or not params.eval_min:
        return []
    words = (
        "Evaluations come on top of the goodput that you gave. One measured over whole attempts, as Overview "
        "measures it, counts them as lost already: set the evaluations to 0 with it."
    )
    return [Notice("evals_on_top", words, "goodput")]


def _length_notice(source: Source, params: CadenceParams) -> list[Notice]:
    if params.length_growth != 1:
        return []
    if source.grown > 1 + LEAST_GROWTH:
        words = (
            f"Lengths are held at the run's mean, but in {source.run.run} they grew {digits3(source.grown)} "
            "times from its first to its last step: set the growth to plan with it."
        )
        return [Notice("length_grew", words, "length_growth")]
    words = "Lengths are held, but responses usually grow during RL: see the table for twice the length."
    return [Notice("length_held", words, "length_growth")]


def _money_notices(params: CadenceParams, focus: Plan) -> list[Notice]:
    if math.isnan(focus.usd.value):
        return []
    if params.share:
        words = "Dollars and energy are those of the whole fleet, which other programmes share."
        return [Notice("shared_fleet", words, "share")]
    used = float(np.median(focus.fleet.run_h)) / params.period_h
    if params.pay == "period" and used < 1:
        words = f"The fleet is paid all {digits3(params.period_h)} h and runs {percent(used)} of them"
        year = HOURS_PER_YEAR / params.period_h
        return [Notice("idle_fleet", f"{words}: {digits3(year)} cycles a year.", "pay")]
    return []
