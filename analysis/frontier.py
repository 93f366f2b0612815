"""Which checkpoints are on the front of cost and score, how surely, and which is best."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from analysis.common import figure, nothing, result
from analysis.evaluations import KEY, Evaluations, key_difference, load_evaluations
from analysis.frames import NAN, Row, known, number, records, table
from analysis.gaintable import platforms_of
from analysis.headline import why_no_usd
from analysis.pairs import Passed, tasks_of
from analysis.params import CommonParams
from analysis.points import score_points
from analysis.result import Figure, Notice, Result
from analysis.scoredraws import ScoreDraws, cost_draws, price_seeds, score_draws
from analysis.spend import Spend, compute_spend, filters_of
from analysis.versus import VERSUS, compare_runs, rising, sides
from analysis.words import listing, money, percent, price_words
from data.errors import UserError
from data.view import View
from models.frontier import pareto, standing

SURE = 0.95
CANDIDATES = [
    "run", "checkpoint", "step", "benchmark", "key", "llm", "platforms", "generation", "mode", "group", "usd",
    "usd_low", "usd_high", "score", "low", "high", "n", "on_front", "front_frac", "best_frac", "within_frac",
    "beaten_by", "beaten_frac", "synthetic",
]  # fmt: skip
NUMBERS = ["step", "usd", "usd_low", "usd_high", "score", "low", "high", "n", "front_frac", "best_frac"]
NUMBERS += ["within_frac", "beaten_frac"]
GROUPS = ["group", "runs", "best_frac"]
EMPTY = {"candidates": CANDIDATES, "groups": GROUPS, "versus": VERSUS}
NAMES = {"run": "run", "llm": "model", "generation": "platform generation", "mode": "mode"}


class FrontierParams(CommonParams):
    """`benchmark` '' picks the one most runs were evaluated on. `after`: a run's last checkpoint, its best,
    or all. `by`: what candidates are grouped and coloured by. `budget_usd`: best within it. `a`, `b`: the
    runs to compare at `at_usd` dollars and at score `at_score` (0..1); empty: found from the data.
    """

    question: ClassVar[str] = "frontier"
    benchmark: str = ""
    after: Literal["last", "best", "all"] = "last"
    by: Literal["run", "llm", "generation", "mode"] = "run"
    budget_usd: float | None = Field(default=None, gt=0)
    a: str = ""
    b: str = ""
    at_usd: float | None = Field(default=None, gt=0)
    at_score: float | None = Field(default=None, gt=0, lt=1)
    seed: int = 20260301


def compute(view: View, params: FrontierParams) -> Result:
    """Tables: `candidates` (CANDIDATES), `groups` (probability that the best is one of the group), `versus`
    (VERSUS, empty where no two runs are to be compared).
    """
    spend = compute_spend(view, params)
    if spend.runs.empty:
        return nothing("frontier", view, params, EMPTY)
    evals, notices = _one_key(load_evaluations(view, filters_of(params)), params.benchmark)
    points, said = score_points(view, params, spend, evals, params.benchmark)
    rows, left_out = _usable(records(points), evals, spend)
    chosen = _chosen([row for row in rows if not row["is_start"]], params.after)
    by_eval = tasks_of(view, [one for row in rows for one in row["eval_ids"]])
    candidates = _candidates(view, params, spend, chosen, score_draws(chosen, by_eval, params.seed))
    versus = _versus(params, spend, rows, by_eval)
    frame = table(candidates, CANDIDATES, NUMBERS)
    notices += [*said, *left_out, *_choice(params, rows, chosen), *_few(candidates)]
    return result(
        "frontier", view, params, _answer(params, frame),
        headline=_figures(params, frame),
        tables={"candidates": frame, "groups": _groups(frame), "versus": versus},
        assumptions=[*spend.assumptions, *evals.assumptions],
        notices=[*spend.notices, *evals.notices, *notices], prices=spend.allocations,
    )  # fmt: skip


def _one_key(evals: Evaluations, benchmark: str) -> tuple[Evaluations, list[Notice]]:
    """Evaluations of one benchmark under the key that most runs share; the runs that lack it are named."""
    chosen = benchmark or next(iter(evals.benchmarks()), "")
    mine = [row for row in evals.rows if row["on_lineage"] and row["benchmark_id"] == chosen]
    runs: dict[tuple[str, ...], set[str]] = {}
    for row in mine:
        if not row["is_start"]:
            runs.setdefault(tuple(row[name] for name in KEY), set()).add(row["for_run"])
    if not runs:
        return replace(evals, rows=()), []
    best = min(runs, key=lambda key: (-len(runs[key]), key))
    kept = tuple(row for row in mine if tuple(row[name] for name in KEY) == best)
    notices = []
    for run in sorted(set().union(*runs.values()) - runs[best]):
        other = next(row for row in mine if row["for_run"] == run and not row["is_start"])
        words = f"{run} is refused here: {key_difference(kept[0], other)}; such scores do not compare."
        notices.append(Notice("keys_refused", words, run))
    return replace(evals, rows=kept), notices


def _usable(points: list[Row], evals: Evaluations, spend: Spend) -> tuple[list[Row], list[Notice]]:
    """Points with dollars and a share of a known number of tasks, with the evaluations behind them."""
    ids = {(row["for_run"], row["checkpoint"]): row["eval_ids"] for row in evals.rows}
    out, notices = [], []
    for row in points:
        row["eval_ids"] = ids.get((row["run"], row["checkpoint"]), [])
        why = ""
        if row["kind"] != "fraction" or not row["n"] > 0:
            why = "its score is no share of a known number of tasks"
        elif not known(row["usd"]) or (row["usd"] <= 0 and not row["is_start"]):
            why = why_no_usd(spend, spend.runs[spend.runs["run"] == row["run"]])
        if why:
            notices.append(Notice("points_left_out", f"{row['run']} has no place here: {why}", row["run"]))
        else:
            out.append(row)
    return out, notices


def _chosen(rows: list[Row], after: str) -> list[Row]:
    if after == "all":
        return rows
    found: dict[str, Row] = {}
    for row in rows:
        held = found.get(row["run"])
        if held is None or after == "last" or row["score"] > held["score"]:
            found[row["run"]] = row
    return list(found.values())


def _candidates(
    view: View, params: FrontierParams, spend: Spend, chosen: list[Row], scores: ScoreDraws
) -> list[Row]:
    if not chosen:
        return []
    seeds = price_seeds(spend, params.seed)
    cost = np.array([cost_draws(row, seeds.get(row["run"], params.seed)) for row in chosen])
    found = standing(cost, scores.draws, params.budget_usd or math.inf)
    front = pareto([row["usd"] for row in chosen], scores.values)
    ends = np.quantile(scores.draws, [0.025, 0.975], axis=1)
    heads, places = {row["run"]: row for row in records(spend.runs)}, platforms_of(spend, view.catalogue)
    out = []
    for i, row in enumerate(chosen):
        run = heads[row["run"]]
        place = places.get(row["run"], {"platforms": [], "generation": ""})
        line = {**{name: row.get(name) for name in CANDIDATES}, **place, "synthetic": run["synthetic"]}
        line |= {"llm": run["llm"] or "", "mode": run["mode"] or ""}
        line["group"] = line[params.by] or f"{NAMES[params.by]} not named"
        line |= {"score": float(scores.values[i]), "low": float(ends[0, i]), "high": float(ends[1, i])}
        line |= {"on_front": bool(front[i]), "front_frac": float(found.front[i])}
        line |= {"best_frac": float(found.best[i])}
        line["within_frac"] = float(found.best_within[i]) if params.budget_usd else NAN
        worst = int(found.dominated_by[i].argmax())
        beaten = float(found.dominated_by[i, worst])
        name = chosen[worst]["run"] if params.after != "all" else chosen[worst]["checkpoint"]
        out.append(line | {"beaten_by": name if beaten > 0 else "", "beaten_frac": beaten})
    return out


def _groups(frame: pd.DataFrame) -> pd.DataFrame:
    """Probability that the highest score is one of the group: shares of draws add up, ties are shared."""
    if frame.empty:
        return table([], GROUPS, GROUPS[1:])
    found = frame.groupby("group", sort=True).agg(runs=("run", "nunique"), best_frac=("best_frac", "sum"))
    return found.reset_index()[GROUPS].astype({"runs": "float64"})


def _versus(
    params: FrontierParams, spend: Spend, rows: list[Row], by_eval: dict[str, Passed]
) -> pd.DataFrame:
    points: dict[str, list[Row]] = {}
    for row in rows:
        points.setdefault(row["run"], []).append(row)
    curves = {run: rising(mine) for run, mine in points.items()}
    modes = {row["run"]: row["mode"] or "" for row in records(spend.runs[["run", "mode"]])}
    for name in (params.a, params.b):
        if name and len(curves.get(name, [])) < 2:
            able = listing(sorted(run for run, mine in curves.items() if len(mine) > 1)) or "none"
            raise UserError(
                f"'{name}' has no curve to compare: fewer than two evaluations with dollars", "a or b",
                f"Use runs with two or more: {able}.",
            )  # fmt: skip
    a, b = sides(curves, modes, params.a, params.b)
    if not a or not b or a == b:
        return table([], VERSUS)
    return compare_runs(
        (a, b), curves, modes, by_eval, price_seeds(spend, params.seed), params.seed, params.at_usd,
        params.at_score,
    )  # fmt: skip


def _choice(params: FrontierParams, rows: list[Row], chosen: list[Row]) -> list[Notice]:
    if params.after == "last":
        return []
    many = len([row for row in rows if not row["is_start"]])
    runs = len({row["run"] for row in chosen})
    if many <= runs:
        return []
    words = (
        f"{many} checkpoints of {runs} runs were evaluated: the highest score among many is inflated, and a "
        "checkpoint chosen by it should be confirmed on a held-out benchmark."
    )
    return [Notice("best_of_many", words)]


def _few(candidates: Sequence[Row]) -> list[Notice]:
    return (
        [Notice("one_candidate", "A front of one run says nothing: load another.")]
        if len(candidates) == 1
        else []
    )


def _answer(params: FrontierParams, frame: pd.DataFrame) -> str:
    if frame.empty:
        return (
            "No run has both a score and dollars: upload evaluations and fill in the pools of a run to see "
            "which of them is on the front."
        )
    paid = price_words(params.price, params.boundary)
    if len(frame) == 1:
        only = frame.iloc[0]
        return (
            f"{only['run']} reached {percent(only['score'])} on {only['benchmark']} for {money(only['usd'])} "
            f"{paid}; one candidate makes no front, so load another run with the same kind of score."
        )
    best = frame.sort_values(["best_frac", "run"], ascending=[False, True], kind="stable").iloc[0]
    names = [str(r) for r in frame.loc[frame["front_frac"] >= SURE, "run"].unique()]
    where = f"on {best['benchmark']}"
    head = (
        f"{best['run']} is best {where} with probability {percent(best['best_frac'])}: "
        f"{percent(best['score'])} for {money(best['usd'])} {paid}"
    )
    if best["best_frac"] < SURE:
        head = (
            f"Which run is best {where} cannot be told: {best['run']} has the highest probability, "
            f"{percent(best['best_frac'])}, with {percent(best['score'])} for {money(best['usd'])} {paid}"
        )
    if names:
        head += f"; surely on the front of cost and score: {listing(names)}"
    return head + "."


def _figures(params: FrontierParams, frame: pd.DataFrame) -> list[Figure]:
    if len(frame) < 2:
        return []
    best = frame.sort_values(["best_frac", "run"], ascending=[False, True], kind="stable").iloc[0]
    on = frame["front_frac"]
    return [
        figure("best_frac", best["best_frac"], label=f"Probability that {best['run']} is best",
               n=int(number(best["n"]))),
        figure("front_frac", float(on.sum()), label="Expected number on the front", unit="count",
               boundary=params.boundary),
    ]  # fmt: skip
