"""Sentences, figures and notices about a split of pools."""

import math

import pandas as pd

from analysis.common import figure
from analysis.pools_modes import WAY_WORDS, Found, Plan, Verdict, Way, breakeven_extra, flow_of, work_of
from analysis.result import Figure, Notice
from analysis.words import digits3, money, percent
from models.pool_flow import stages

A_STEP = {"sync": "a step", "one_step_off": "a step one step off", "async": "an asynchronous step"}


def current_step_s(plan: Plan, way: Way) -> float:
    """Modelled step of the run's own split, NaN where one pool does both or the total differs."""
    inputs = plan.inputs
    if not inputs.engine_gpus or inputs.engine_gpus >= plan.total:
        return math.nan
    work = work_of(plan.values, way, inputs.overlapped)
    own = stages(work, float(inputs.engine_gpus), float(plan.total - inputs.engine_gpus))
    return float(flow_of(plan, way, own).step_s) if plan.values["judge_gpu_s"] == 0 else math.nan


def figures(plan: Plan, found: dict[Way, Found], way: Way, rows: pd.DataFrame) -> list[Figure]:
    """Headline figures of the way that was asked for; `rows` are those of the table of splits."""
    one, no_price = found[way], plan.inputs.no_price
    row = rows[rows["chosen"]].iloc[0]
    now = current_step_s(plan, way)
    why = "the run has one pool that does both" if plan.inputs.run else "no split to compare with"
    extra = breakeven_extra(one, found["sync"])
    boundary = plan.params.boundary
    return [
        figure("pool_step", one.step_s, low=one.low_s, high=one.high_s, interval="p10_p90"),
        figure("pool_rollout_gpus", one.rollout_gpus),
        figure("pool_usd_per_step", one.usd, low=one.usd_low, high=one.usd_high, interval="p10_p90",
               boundary=boundary, missing=no_price),
        figure("pool_starved", row["starved_frac"]),
        figure("pool_blocked", row["blocked_frac"]),
        figure("pool_saved", None if math.isnan(now) else now - one.step_s, missing=why),
        figure("pool_age", one.age),
        figure("pool_breakeven_steps", None if math.isnan(extra) else extra,
               missing="batches of this mode are not old"),
    ]  # fmt: skip


def answer(plan: Plan, found: dict[Way, Found], way: Way, told: Verdict) -> str:
    """The split, its seconds and dollars a step, and how the ways to run it compare, as sentences."""
    one = found[way]
    judges = f", {one.judge_gpus:.0f} judge" if one.judge_gpus else ""
    head = f"{plan.inputs.run}: of" if plan.inputs.run else "Of"
    text = (
        f"{head} {plan.total:,} {plan.inputs.name} let {one.rollout_gpus:.0f} roll out and "
        f"{one.train_gpus:.0f} train{judges}: {A_STEP[way]} takes {digits3(one.step_s)} s"
    )
    if one.low_s is not None and one.high_s is not None:
        text += f" (p10–p90 {digits3(one.low_s)} to {digits3(one.high_s)})"
    if not math.isnan(one.usd):
        text += f" and {money(one.usd)}"
    text += f"; the trainer waits {percent(float(one.flow.starved_frac))} of the time. "
    return text + _mode_words(plan, found, told)


def _mode_words(plan: Plan, found: dict[Way, Found], told: Verdict) -> str:
    best, sync = found[told.way], found["sync"]
    if plan.params.max_staleness == 0:
        return f"A staleness of 0 leaves synchronous steps alone, {digits3(sync.step_s)} s each."
    if not told.sure:
        return (
            "Whether it is cheaper than synchronous for the same score cannot be told: a step is "
            f"{digits3(told.span[0])} to {digits3(told.span[1])} times a synchronous one, by how much faster "
            "pools run side by side, which this run did not measure."
        )
    if told.way == "sync":
        return f"Cheaper for the same score: synchronous, {digits3(sync.step_s)} s a step."
    more, extra = plan.params.steps * sync.step_s / best.step_s, breakeven_extra(best, sync)
    return (
        f"For the dollars of {plan.params.steps:,} synchronous steps there are {more:,.0f} "
        f"{WAY_WORDS[told.way]}; they are cheaper for the same score unless an update of age costs more than "
        f"{percent(extra)} more steps."
    )


def notices(plan: Plan, found: dict[Way, Found]) -> list[Notice]:
    """What is not known or was assumed: price, staleness, factor between modes, and the measured run."""
    out = []
    inputs, params = plan.inputs, plan.params
    run = inputs.run
    if inputs.no_price:
        out.append(Notice("price_missing", inputs.no_price, inputs.platform))
    if params.max_staleness == 0:
        words = "A staleness of 0 allows synchronous steps alone; the split is shown for one step off."
        out.append(Notice("staleness", words))
    if inputs.settings["mode_factor"].status != "user":
        words = (
            "GPU-seconds are kept between modes. In four published pairs asynchronous pools ran 1.5 to 2.6 "
            "times faster than their synchronous phases said, so steps side by side are at most as shown."
        )
        if inputs.overlapped:
            words = words.replace("steps side by side are at most", "synchronous steps are at least")
        out.append(Notice("mode_factor", words, run))
    if inputs.settings["extra_steps_frac"].status != "user":
        words = (
            "What staleness costs in steps is not published as a rate that carries over; it is taken as 0. "
            "Compare the break-even with a pair of your own runs at equal dollars, not equal steps."
        )
        out.append(Notice("staleness_unknown", words))
    if run:
        same: Way = "async" if inputs.overlapped else "sync"
        told = current_step_s(plan, "async") if inputs.overlapped else found[same].step_s
        if not math.isnan(told) and params.gpus_total is None and abs(told / inputs.step_s - 1) > 0.1:
            words = (
                f"At its own split the model says {digits3(told)} s a step, {run} measured "
                f"{digits3(inputs.step_s)} s: trust differences between splits more than seconds."
            )
            out.append(Notice("model_off", words, run))
    words = "A split of another size changes parallelism and memory, which are not checked here."
    out.append(Notice("parallelism", words, run))
    return out


def unusual(one: Found, band: pd.DataFrame) -> list[Notice]:
    """A notice when the split lies outside all published ones."""
    if band["inside"].all():
        return []
    ratio, spans = one.rollout_gpus / one.train_gpus, band["ratio_rollout_train"]
    words = (
        f"{digits3(ratio)} rollout GPUs for one that trains lies outside the {len(band)} published splits "
        f"({digits3(spans.min())} to {digits3(spans.max())}): check the seconds of both pools."
    )
    return [Notice("unusual_split", words)]
