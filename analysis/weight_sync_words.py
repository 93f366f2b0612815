"""Sentences, figures and notices about a weight sync."""

import math

import pandas as pd

from analysis.common import figure
from analysis.frames import Row
from analysis.result import Figure, Notice
from analysis.weight_sync_inputs import GIGA, SyncInputs, WeightSyncParams
from analysis.weight_sync_model import Priced, priced, usd_per_h
from analysis.words import digits3, money, percent


def answer(inputs: SyncInputs, now: Priced, best: Row | None) -> str:
    """What a sync takes and costs, and what the fastest engine that fits would buy."""
    what = inputs.llm or "the model"
    text = (
        f"A weight sync of {what} keeps the pools {digits3(now.exposed_s)} s a step "
        f"({percent(now.share_frac)} of {digits3(now.step_s)} s)"
    )
    if not math.isnan(now.usd_per_day):
        text += f": {money(now.usd_per_step)} a step and {money(now.usd_per_day)} a day"
    if inputs.colocated:
        return text + ". One pool does both, so no engine between pools applies."
    if best is None:
        return text + ". No published engine would be faster at its rate a GPU."
    text += (
        f". At the rate a GPU of {best['method']} ({best['model']}) it would take "
        f"{digits3(best['sync_s'])} s and a step would be {digits3(best['step_speedup'])} times as fast"
    )
    if not math.isnan(best["saved_usd_per_day"]):
        text += f", {money(best['saved_usd_per_day'])} a day less for as many steps"
    return text + "."


def figures(
    params: WeightSyncParams, inputs: SyncInputs, values: dict[str, float], now: Priced,
    best: Row | None,
) -> list[Figure]:  # fmt: skip
    """Seconds, rate, dollars a step and a day, and what the fastest engine would buy."""
    one, boundary, no_price = inputs.settings["sync_s"], params.boundary, inputs.no_price
    low, high = one.low, one.high
    if not math.isnan(values["gb_per_s"]):
        low = high = None
    ends = (
        [priced(inputs, values, end) for end in (low, high)] if low is not None and high is not None else []
    )
    price = inputs.settings["usd_per_gpu_h"]
    wide = [1.0, 1.0]
    if price.value and price.low is not None and price.high is not None:
        wide = [price.low / price.value, price.high / price.value]
    dollars = [(end.usd_per_step * w, end.usd_per_day * w) for end, w in zip(ends, wide, strict=False)]
    step, day = (list(pair) for pair in zip(*dollars, strict=True)) if dollars else ([None] * 2, [None] * 2)
    rate = inputs.payload_bytes / now.sync_s / GIGA
    unknown = "the model of the run is not named: say which (llm)"
    none = "one pool does both" if inputs.colocated else "no published engine is faster here"
    least = f"no price: {no_price}" if no_price else none
    more: Row = best or {}
    return [
        figure("weight_sync_s", now.sync_s, low=low, high=high, interval="bounds"),
        figure("weight_sync_gb_s", rate, missing=unknown),
        figure("weight_sync_usd_per_step", now.usd_per_step, low=step[0], high=step[1], interval="bounds",
               boundary=boundary, missing=no_price),
        figure("weight_sync_usd_per_day", now.usd_per_day, low=day[0], high=day[1], interval="bounds",
               boundary=boundary, missing=no_price),
        figure("weight_sync_saved", more.get("saved_usd_per_day"), low=more.get("saved_usd_low"),
               high=more.get("saved_usd_high"), interval="bounds", boundary=boundary, missing=least),
        figure("weight_sync_speedup", more.get("step_speedup"), missing=none),
    ]  # fmt: skip


def notices(inputs: SyncInputs, values: dict[str, float], engines: pd.DataFrame, now: Priced) -> list[Notice]:
    """What was taken from elsewhere, and what cannot be."""
    out, run = [], inputs.run
    if inputs.no_price:
        out.append(Notice("price_missing", inputs.no_price, inputs.platform))
    if not inputs.timed and math.isnan(values["gb_per_s"]):
        words = (
            f"No sync was timed: the seconds are those of published engine {inputs.engine} at its rate an "
            "engine GPU. Published rates a GPU span a factor of 31; time your own."
        )
        out.append(Notice("not_timed", words))
    if inputs.colocated:
        words = (
            f"{run or 'The pool'} trains and rolls out on the same GPUs: its sync is a copy inside them, "
            "which published syncs between pools do not compare with."
        )
        out.append(Notice("one_pool", words, run))
    beyond = [str(row) for row in engines.loc[engines["beyond_link"].eq(True), "row_id"]]
    if beyond:
        words = (
            f"{', '.join(beyond)}: faster than the published links carry the copies between these pools, so "
            "not offered as an answer."
        )
        out.append(Notice("beyond_link", words, run))
    hourly = usd_per_h(inputs, values)
    if math.isnan(inputs.payload_bytes) and not math.isnan(hourly):
        out.append(
            Notice("model_unknown", "Without the model the rate in GB/s and other engines are unknown.", run)
        )
    if now.sync_s > now.step_s:
        out.append(Notice("sync_longer", "The sync takes longer than the step: check both timers.", run))
    return out
