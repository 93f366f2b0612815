"""The part of runs that lies in a span of time: hours and rent of their allocations by the clock."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeVar

from analysis.bill import span_of
from analysis.frames import NAN, Row, number, ratio, records, table
from analysis.madeup import EVERYBODY, LEFT_OUT, OWN, scope_of
from analysis.moneyparams import MoneyParams
from analysis.params import CommonParams
from analysis.result import Notice
from analysis.spend import RUN_NUMBERS, RUNS, Spend, filters_of
from analysis.words import listing, plural
from data.queries import bills as queries
from data.queries import spend as spends
from data.queries.energy import Span
from data.view import View
from models.accrual import overlap_s

NO_COUNTS = (
    "Rollouts and steps are counted over whole runs, so a month has no energy a rollout or a step; dollars "
    "of runs are the rent of its GPU-hours and sandboxes alone."
)
Key = tuple[object, ...]
P = TypeVar("P", bound=CommonParams)


def of_scope(view: View, params: P, period: str, example: Literal["auto", "with"]) -> tuple[P, list[Notice]]:
    """The parameters narrowed to runs of one's own, or to the example's, as `madeup.Scope` rules for the
    period, and what that leaves out: nothing without a period, or where all picked are of the other side.
    """
    scope = scope_of(view, MoneyParams(example=example)) if period else EVERYBODY
    chosen = list(params.runs) or [row["run"] for row in records(spends.runs(view, filters_of(params)))]
    mine = [run for run in chosen if scope.has_run(run)]
    if len(mine) == len(chosen) or not mine:
        return params, []
    gone = len(chosen) - len(mine)
    what = "made-up" if scope.whose == OWN else "real"
    words = (
        f"{gone} {what} {plural('run', gone)} {'is' if gone == 1 else 'are'} left out, as on the whole page."
    )
    return params.model_copy(update={"runs": tuple(mine)}), [Notice(LEFT_OUT, words, "runs")]


def spend_within(view: View, spend: Spend, span: Span, boundary: str) -> Spend:
    """Spend with GPU-hours and rent of allocations inside [start, end) alone, and the runs that have any.

    `runs`: `gpu_hours` and `usd` are those of the span, everything else that is counted is missing. An
    allocation without a clock belongs to no month, which a notice says.
    """
    inside = _inside(view, span)
    rows = tuple(
        {**row, **{name: row[name] * inside.get(_key(row), 0.0) for name in ("gpu_hours", "usd")}}
        for row in spend.rows
    )
    runs = []
    for run in records(spend.runs):
        mine = [row for row in rows if row["run"] == run["run"] and row["gpu_hours"] != 0]
        if mine:
            sums = _sums((row for row in rows if row["run"] == run["run"]), boundary == "compute")
            keep = {"lineage_frac": run["lineage_frac"]}
            runs.append({**run, **dict.fromkeys(RUN_NUMBERS, NAN), **keep, **sums})
    loose = {row["run"] for row in spend.rows if _key(row) not in inside and number(row["gpus"]) > 0}
    told = [Notice("month_of_runs", NO_COUNTS)]
    if loose:
        words = f"{listing(sorted(loose))}: no start and end is known, so no month holds the energy."
        told.append(Notice("no_clock", words))
    frame = table(runs, RUNS, RUN_NUMBERS).astype({"synthetic": bool, "clock": "boolean"})
    return replace(spend, rows=rows, runs=frame, notices=(*spend.notices, *told))


def _key(row: Row) -> Key:
    return row["run"], row["attempt"], row["pool"], row["role"]


def _inside(view: View, span: Span) -> dict[Key, float]:
    """Share of the GPU time of each pool of an attempt that lies in the span; pools with a clock alone."""
    whole: dict[Key, float] = {}
    part: dict[Key, float] = {}
    for row in records(queries.held(view)):
        clock, size = span_of(row), number(row["cores"] if row["role"] == "sandbox" else row["gpus"])
        if clock is not None and size > 0:
            key = _key(row)
            whole[key] = whole.get(key, 0.0) + size * overlap_s(*clock, *clock)
            part[key] = part.get(key, 0.0) + size * overlap_s(*clock, *span)
    return {key: ratio(part[key], seconds) for key, seconds in whole.items() if seconds > 0}


def _sums(rows: Iterable[Row], lineage: bool) -> Row:
    """GPU-hours and rent; `lineage`: of what survived."""
    kept = [(row, row["kept_frac"] if lineage else 1.0) for row in rows]
    return {name: math.fsum(row[name] * frac for row, frac in kept) for name in ("gpu_hours", "usd")}
