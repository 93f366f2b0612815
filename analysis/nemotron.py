"""A worked notebook: what a stage of Nemotron 3 Ultra bought by benchmark. Scores published, cost assumed."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.common import figure, result
from analysis.frames import table
from analysis.nemotron_cost import Bill, bill
from analysis.nemotron_params import GROUP, STAGES, NemotronParams, parse_tasks
from analysis.result import Assumption, Figure, Notice, Result
from analysis.words import digits3, listing, money
from data.errors import UserError
from data.stage_scores import StageScore, stage_scores
from data.view import View
from models.draws import money_draws
from models.gain_ratio import PerCost, error_cut, interval_draws, per_cost
from models.stats import Interval, gain_assuming_correlation, log_odds_gain, minimum_detectable_difference

TASKS = {
    "tau3-telecom": (114, "tasks of tau2 telecom; the report prints no number and version 3 may differ"),
    "livecodebench-v6": (454, "the window that one report gives; the report of the model names none"),
    "hle": (2158, "text-only subset of the benchmark; the report prints no number"),
}
"""Assumed numbers of tasks where neither the report nor the benchmark says one, and why."""
PER_10K = 100.0 * 10_000.0
DRAWS = 20_000
GAINS = [
    "benchmark_id", "benchmark", "before_score", "after_score", "gain", "low", "high", "n", "n_source", "mdd",
    "per_10k", "per_10k_low", "per_10k_high", "log_odds", "error_cut_frac", "verdict",
]  # fmt: skip
SCORES = ["stage", "stage_name", "benchmark_id", "benchmark", "score", "source", "note"]
WORDS = {1: "better", -1: "worse", 0: "cannot tell"}


def compute(view: View, params: NemotronParams) -> Result:
    """Tables: gains (a row a benchmark), scores (every stage), cost (its parts, each with its badge).

    Raises UserError for a group of scores without both stages, or a number of tasks for an unknown benchmark.
    """
    scores = stage_scores(params.group)
    pairs = _pairs(scores, params)
    typed = parse_tasks(params.tasks)
    unknown = sorted(set(typed) - {before.benchmark_id for before, _ in pairs})
    if unknown:
        known = ", ".join(before.benchmark_id for before, _ in pairs)
        raise UserError(
            f"{listing(unknown)} is no benchmark of this table", "parameter tasks", f"Use one of {known}."
        )
    paid = bill(view.catalogue, params)
    rows = [_gain(before, after, params, paid, typed) for before, after in pairs]
    return result(
        "nemotron", view, params, _answer(params, paid, rows),
        headline=_figures(params, paid, rows),
        tables={"gains": table(rows, GAINS, [*GAINS[2:8], *GAINS[9:15]]), "scores": _scores(scores),
                "cost": pd.DataFrame(paid.parts, columns=["part", "value", "unit", "status", "source"])},
        assumptions=[*paid.assumptions, *_assumptions(params, rows, scores)], notices=_notices(paid, rows),
    )  # fmt: skip


def _pairs(scores: Sequence[StageScore], params: NemotronParams) -> list[tuple[StageScore, StageScore]]:
    """Scores of both stages by benchmark: one table, one version, so that they may be subtracted."""
    by_stage: dict[str, dict[tuple[str, str], StageScore]] = {}
    for row in scores:
        by_stage.setdefault(row.stage, {})[row.benchmark_id, row.benchmark_version] = row
    before, after = by_stage.get(params.before, {}), by_stage.get(params.after, {})
    if not before or not after:
        lacking = params.after if before else params.before
        raise UserError(
            f"Table {params.group} prints no scores of {STAGES[lacking]}: scores of different tables are not "
            "compared", "parameter group", f"Use group {GROUP}, which holds every stage.",
        )  # fmt: skip
    return [(before[key], after[key]) for key in before if key in after]


def _tasks_of(row: StageScore, typed: Mapping[str, int]) -> tuple[int | None, str]:
    if row.benchmark_id in typed:
        return typed[row.benchmark_id], "typed"
    if row.n_tasks is not None:
        return row.n_tasks, "catalogue"
    found = TASKS.get(row.benchmark_id)
    return (found[0], "assumed") if found else (None, "")


def _gain(
    before: StageScore, after: StageScore, params: NemotronParams, paid: Bill, typed: Mapping[str, int]
) -> dict[str, Any]:
    n, source = _tasks_of(before, typed)
    out: dict[str, Any] = {
        "benchmark_id": before.benchmark_id, "benchmark": before.benchmark_name, "before_score": before.share,
        "after_score": after.share, "gain": 100 * (after.share - before.share), "n": n, "n_source": source,
        "log_odds": log_odds_gain(after.share, before.share),
        "error_cut_frac": error_cut(after.share, before.share), "verdict": "",
    }  # fmt: skip
    if n is None:
        return out
    found = gain_assuming_correlation(after.share, before.share, n, params.correlation)
    mdd = minimum_detectable_difference(before.share, n, params.correlation)
    sign = (found.low > 0) - (found.high < 0)
    out |= {"low": 100 * found.low, "high": 100 * found.high, "mdd": 100 * mdd, "verdict": WORDS[sign]}
    if paid.usd is not None:
        per = _per_10k(found, paid.usd, params)
        out |= {"per_10k": per.value, "per_10k_low": per.low, "per_10k_high": per.high}
    return out


def _per_10k(found: Interval, usd: float, params: NemotronParams) -> PerCost:
    """Points per $10,000 by joint draws of gain and price."""
    gains = interval_draws(found, DRAWS, params.seed)
    costs = money_draws(usd, usd / params.spread, usd * params.spread, DRAWS, params.seed + 1)
    return per_cost(found.value, gains, usd, costs, found.n).scaled(PER_10K)


def _scores(scores: Sequence[StageScore]) -> pd.DataFrame:
    rows = [
        (r.stage, STAGES.get(r.stage, r.stage), r.benchmark_id, r.benchmark_name, r.share, r.source, r.note)
        for r in scores
    ]
    return pd.DataFrame(rows, columns=SCORES)


def _figures(params: NemotronParams, paid: Bill, rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    spread = params.spread > 1 and paid.usd is not None
    head = figure(
        "assumed_stage_usd", paid.usd, low=(paid.usd or 0) / params.spread if spread else None,
        high=(paid.usd or 0) * params.spread if spread else None,
        interval="assumed range" if spread else "exact",
        boundary="compute", missing=paid.missing,
    )  # fmt: skip
    judged = [row for row in rows if row.get("per_10k") is not None]
    best = max(judged, key=lambda row: float(row["per_10k"]), default=None)
    open_ones = sorted((r for r in judged if r["verdict"] == "cannot tell"), key=lambda r: -r["n"])
    shown = ([best] if best else []) + open_ones[:1]
    return [head, *(_figure(row) for row in shown)]


def _figure(row: Mapping[str, Any]) -> Figure:
    tail = "" if row["verdict"] != "cannot tell" else ": not distinguishable from zero"
    return figure(
        "points_per_10k_usd", row["per_10k"], name=f"points_per_10k_usd_{row['benchmark_id']}",
        label=f"Points per $10k on {row['benchmark']}{tail}", low=row["per_10k_low"],
        high=row["per_10k_high"], interval="ci95", n=row["n"], boundary="compute",
    )  # fmt: skip


def _answer(params: NemotronParams, paid: Bill, rows: Sequence[Mapping[str, Any]]) -> str:
    stage = f"{STAGES[params.before]} to {STAGES[params.after]} of Nemotron 3 Ultra"
    counts = {word: [r["benchmark"] for r in rows if r["verdict"] == word] for word in WORDS.values()}
    open_ones = f"nothing distinguishable from zero on {listing(counts['cannot tell'], 5)}"
    if paid.usd is None:
        text = f"{stage}: better on {len(counts['better'])} of {len(rows)} benchmarks"
        return f"{text}; {open_ones}. What it cost is not known: {paid.missing}."
    cost = f"at an assumed {money(paid.usd)}"
    best = max((r for r in rows if r["verdict"] == "better"), key=lambda r: r["per_10k"], default=None)
    if best is None:
        return f"{stage}, {cost}: {open_ones}."
    ends = f"{digits3(best['per_10k_low'])} to {digits3(best['per_10k_high'])}"
    bought = (
        f"bought {digits3(best['per_10k'])} points per $10k on {best['benchmark']} (95 % interval {ends})"
    )
    return (
        f"{stage}, {cost}, {bought}, and {open_ones}."
        if counts["cannot tell"]
        else f"{stage}, {cost}, {bought}."
    )


def _assumptions(
    params: NemotronParams, rows: Sequence[Mapping[str, Any]], scores: Sequence[StageScore]
) -> list[Assumption]:
    first = scores[0]
    out = [
        Assumption("scores", f"table {params.group}", "", first.status, first.source, first.source_date),
        Assumption(
            "correlation of a task's two results", params.correlation, "", "assumed",
            "no task results are published; editable", "",
        ),
    ]  # fmt: skip
    for row in rows:
        if row["n_source"] in ("assumed", "typed"):
            why = TASKS[row["benchmark_id"]][1] if row["n_source"] == "assumed" else "typed"
            status = "assumed" if row["n_source"] == "assumed" else "user"
            out.append(Assumption(f"tasks of {row['benchmark']}", row["n"], "tasks", status, why, ""))
    return out


def _notices(paid: Bill, rows: Sequence[Mapping[str, Any]]) -> list[Notice]:
    out = [Notice(
        "assumed_cost",
        "The scores are published; the cost is not. Minutes a step, goodput and price are assumptions that "
        "you can change; teachers, SFT and evaluations are not in it.", "cost",
    )]  # fmt: skip
    if paid.note:
        out.append(Notice("other_estimate", paid.note, "cost"))
    none = [str(row["benchmark"]) for row in rows if row["n"] is None]
    if none:
        words = (
            f"How many tasks {listing(none, 6)} have is not published: no interval, until you type a number."
        )
        out.append(Notice("tasks_unknown", words, "gains"))
    return out


__all__ = ["NemotronParams", "compute"]
