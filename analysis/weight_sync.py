"""What a weight sync costs a step and a day at its measured rate, and what faster engines would buy."""

import math

import numpy as np
import pandas as pd

from analysis.common import nothing, result
from analysis.frames import Row, table
from analysis.planning import SETTINGS, TORNADO, assumed, choose, settings_table, tornado, values_of
from analysis.result import Notice, Result
from analysis.weight_sync_inputs import (
    GIGA,
    SyncInputs,
    WeightSyncParams,
    engine_s,
    from_run,
    from_scratch,
    lacking,
    published,
    row_of,
)
from analysis.weight_sync_model import Priced, best_of, day_usd, now_s, priced, saved_usd
from analysis.weight_sync_words import answer, figures, notices
from data.catalogue import Catalogue
from data.view import View
from models.weight_sync import SyncLoad, wire_bound

__all__ = ["WeightSyncParams", "compute"]

ENGINES = [
    "method", "model", "platform", "measured_s", "gb_per_s", "gb_per_s_per_gpu", "sync_s",
    "sync_s_low", "sync_s_high", "exposed_s", "share_frac", "usd_per_step", "usd_per_day",
    "saved_usd_per_day", "saved_usd_low", "saved_usd_high", "step_speedup", "beyond_link", "row_id", "source",
]  # fmt: skip
WORDS = {"row_id", "method", "model", "platform", "beyond_link", "source"}
SPEEDS = ["gb_per_s", "sync_s", "exposed_s", "usd_per_step", "usd_per_day", "step_speedup"]
EMPTY = {"engines": ENGINES, "speeds": SPEEDS, "settings": SETTINGS, "tornado": TORNADO}
POINTS = 40


def compute(view: View, params: WeightSyncParams) -> Result:
    """Tables as EMPTY names them. A run without a timer of its sync is an answer with the reason.

    Raises UserError for a run, model, platform or published engine that does not exist.
    """
    row_of(view.catalogue, params.engine or "W0006")
    if params.basis == "scratch":
        return _answered(view, params, from_scratch(view, params))
    chosen = choose(view, params, lacking)
    if chosen.source is None:
        if not chosen.blocked:
            return nothing("weight_sync", view, params, EMPTY)
        bare = {name: pd.DataFrame(columns=columns) for name, columns in EMPTY.items()}
        told = [Notice("cannot_plan", chosen.blocked, chosen.tried), *chosen.notices]
        return result("weight_sync", view, params, chosen.blocked, tables=bare, notices=told)
    return _answered(view, params, from_run(view, params, chosen.source), chosen.notices)


def _answered(
    view: View, params: WeightSyncParams, inputs: SyncInputs, told: tuple[Notice, ...] = ()
) -> Result:
    book, values = view.catalogue, values_of(inputs.settings)
    values["sync_s"] = now_s(inputs, values)
    now = priced(inputs, values, values["sync_s"])
    engines = _engines(book, inputs, values, now)
    best = best_of(engines)
    return result(
        "weight_sync", view, params, answer(inputs, now, best),
        headline=figures(params, inputs, values, now, best),
        tables={
            "engines": engines,
            "speeds": _speeds(inputs, values, now),
            "settings": settings_table(inputs.settings),
            "tornado": tornado(
                inputs.settings, lambda given: day_usd(inputs, given), "$ a day", "usd",
                leave=("gb_per_s",),
            ),
        },
        assumptions=assumed(inputs.settings),
        notices=[*told, *notices(inputs, values, engines, now)],
        prices=pd.DataFrame({"price_id": [inputs.price_id] if inputs.price_id else []}),
    )  # fmt: skip


def _engines(book: Catalogue, inputs: SyncInputs, values: dict[str, float], now: Priced) -> pd.DataFrame:
    """The sync in use first, then published engines by their seconds here; none where one pool does both."""
    rate = inputs.payload_bytes / now.sync_s / GIGA
    first = _row("now", inputs, values, now, (now.sync_s,) * 3, rate / values["engine_gpus"])
    first |= {"method": "in use", "model": inputs.llm, "platform": inputs.platform, "measured_s": now.sync_s,
              "gb_per_s": rate, "source": inputs.run or inputs.engine}  # fmt: skip
    rows = [] if inputs.colocated else list(published(book).values())
    found = []
    for row in rows:
        spread = engine_s(row, inputs.payload_bytes, values["engine_gpus"])
        if any(math.isnan(end) for end in spread):
            continue
        each = float(row.payload_gb or 0) / float(row.sync_s or 1) / float(row.n_infer_gpus or 1)
        told = _row(row.row_id, inputs, values, now, spread, each)
        told |= {"method": row.method, "model": row.model, "platform": row.platform_id,
                 "measured_s": row.sync_s, "gb_per_s": each * values["engine_gpus"],
                 "source": row.source}  # fmt: skip
        found.append({**told, "beyond_link": _beyond(book, inputs, values, spread[1])})
    found.sort(key=lambda row: (row["sync_s"], row["row_id"]))
    return table([first, *found], ENGINES, [name for name in ENGINES if name not in WORDS])


def _row(
    name: str, inputs: SyncInputs, values: dict[str, float], now: Priced,
    spread: tuple[float, float, float], each: float,
) -> Row:  # fmt: skip
    least, middle, most = (priced(inputs, values, seconds) for seconds in spread)
    return {
        "row_id": name, "gb_per_s_per_gpu": each, "sync_s": middle.sync_s, "sync_s_low": least.sync_s,
        "sync_s_high": most.sync_s, "exposed_s": middle.exposed_s, "share_frac": middle.share_frac,
        "usd_per_step": middle.usd_per_step, "usd_per_day": middle.usd_per_day,
        "saved_usd_per_day": saved_usd(inputs, values, now, middle),
        "saved_usd_low": saved_usd(inputs, values, now, most),
        "saved_usd_high": saved_usd(inputs, values, now, least),
        "step_speedup": now.step_s / middle.step_s, "beyond_link": False,
    }  # fmt: skip


def _beyond(book: Catalogue, inputs: SyncInputs, values: dict[str, float], sync_s: float) -> bool | None:
    """True when the network cannot carry the copies in that time; None where no link is published.

    A copy crosses it once for every link domain of engines, which hand it on inside.
    """
    link = book.fact(inputs.platform, "scaleout_gb_s_one_way")
    domain = book.fact(inputs.platform, "scaleup_domain_gpus")
    if link is None or link.number is None:
        return None
    size = domain.number if domain is not None and domain.number else 1.0
    copies = min(values["copies"], math.ceil(values["engine_gpus"] / size))
    load = SyncLoad(inputs.payload_bytes, 1.0, copies)
    bound = wire_bound(load, values["trainer_gpus"], values["engine_gpus"], link.number * GIGA)
    return bool(sync_s < float(bound.total_s))


def _speeds(inputs: SyncInputs, values: dict[str, float], now: Priced) -> pd.DataFrame:
    """Seconds and dollars over the rate of one copy, from a fifth of the rate in use to fifty times it."""
    rate = inputs.payload_bytes / now.sync_s / GIGA
    rows = []
    for times in np.geomspace(0.2, 50, POINTS):
        at = priced(inputs, values, now.sync_s / float(times))
        rows.append(
            {"gb_per_s": rate * times, "sync_s": at.sync_s, "exposed_s": at.exposed_s,
             "usd_per_step": at.usd_per_step, "usd_per_day": at.usd_per_day,
             "step_speedup": now.step_s / at.step_s}
        )  # fmt: skip
    return table(rows, SPEEDS, SPEEDS)
