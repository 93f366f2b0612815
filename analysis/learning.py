"""Score against what was spent: one line a run, resumes joined, an interval on every point."""

from typing import Any, ClassVar, Literal

import pandas as pd

from analysis.checks import checked
from analysis.common import figure, nothing, result
from analysis.evaluations import load_evaluations
from analysis.gaintable import GENERATION_COLUMNS, RUN_COLUMNS, gain_rows, generations_of
from analysis.headline import why_no_usd
from analysis.metered import METERED
from analysis.pairs import compare
from analysis.params import CommonParams
from analysis.points import POINTS, score_points
from analysis.result import Figure, Notice, Result
from analysis.spend import Spend, compute_spend, filters_of
from analysis.thin import thin
from analysis.words import count, listing, money, percent, price_words
from data.view import View

X_WORDS = {
    "usd": "dollars",
    "gpu_hours": "GPU-hours",
    "tokens": "generated tokens",
    "rollouts": "rollouts",
    "steps": "steps",
    "hours": "hours",
}
X_LABELS = {
    "usd": ("Cumulative dollars", "usd"),
    "gpu_hours": ("Cumulative GPU-hours", "gpu_h"),
    "tokens": ("Generated tokens", "tokens"),
    "rollouts": ("Rollouts", "rollouts"),
    "steps": ("Step", "steps"),
    "hours": ("Hours held", "h"),
}


class LearningParams(CommonParams):
    """`benchmark` '' picks the one most runs were evaluated on; `x` is the horizontal axis."""

    question: ClassVar[str] = "learning"
    benchmark: str = ""
    x: Literal["usd", "gpu_hours", "tokens", "rollouts", "steps", "hours"] = "usd"
    seed: int = 20260301


def compute(view: View, params: LearningParams) -> Result:
    """Tables: `points` (POINTS), `runs` (a row a run with gain and $ per point), `by_generation`."""
    spend = compute_spend(view, params)
    if spend.runs.empty:
        columns = {"points": POINTS, "runs": RUN_COLUMNS, "by_generation": GENERATION_COLUMNS}
        return nothing("learning", view, params, columns)
    evals = load_evaluations(view, filters_of(params))
    points, notices = score_points(view, params, spend, evals, params.benchmark)
    points["x"] = points[params.x]
    known = points["x"].notna()
    if params.x == "usd":
        points["x_low"], points["x_high"] = points["usd_low"], points["usd_high"]
    gains = compare(view, evals, "start", "last", params.benchmark, params.seed)
    runs = gain_rows(spend, gains, params.seed, view.catalogue)
    drawn = thin(points[known].reset_index(drop=True), "run", "score")
    tables = {"points": drawn, "runs": runs, "by_generation": generations_of(runs)}
    said = [*spend.notices, *checked(view, params)[1], *evals.notices, *notices]
    said += [*_left_out(points[~known], params, spend), *_chosen(drawn)]
    return result(
        "learning", view, params, _answer(params, spend, drawn, points),
        headline=_figures(params, drawn), tables=tables, assumptions=[*spend.assumptions, *evals.assumptions],
        notices=said, prices=spend.allocations,
    )  # fmt: skip


def _left_out(points: pd.DataFrame, params: LearningParams, spend: Spend) -> list[Notice]:
    out = []
    for run in points["run"].unique():
        mine = spend.runs[spend.runs["run"] == run]
        why = (
            why_no_usd(spend, mine)
            if params.x == "usd" and mine["usd"].isna().any()
            else "its steps are not loaded."
        )
        out.append(Notice("points_left_out", f"Scores of {run} cannot be placed: {why}", str(run)))
    return out


def _chosen(drawn: pd.DataFrame) -> list[Notice]:
    """The highest of several scores is above its truth, and its interval does not know that it was chosen."""
    trained = drawn[~drawn["is_start"]]
    if len(trained) < 2:
        return []
    best = _best(drawn)
    words = (
        f"The score quoted is the highest of {len(trained)} evaluations on {best['benchmark']}: choosing it "
        "inflates it, and its interval does not allow for that. Confirm it on a held-out benchmark."
    )
    return [Notice("best_of_many", words, str(best["run"]))]


def _figures(params: LearningParams, drawn: pd.DataFrame) -> list[Figure]:
    if drawn.empty:
        return []
    best = _best(drawn)
    fraction = best["kind"] == "fraction"
    label, unit = X_LABELS[params.x]
    return [
        figure(
            "score", best["score"], label=f"Best score on {best['benchmark']} ({best['run']})",
            unit="frac" if fraction else "score units", low=best["low"], high=best["high"],
            interval="ci95", n=int(best["n"]) if pd.notna(best["n"]) else None,
        ),
        figure("spent_by_then", best["x"], label=f"{label} spent for it", unit=unit, low=best["x_low"],
        high=best["x_high"], interval="quote_range" if params.x == "usd" else "exact",
        boundary=params.boundary),
    ]  # fmt: skip


def _answer(params: LearningParams, spend: Spend, drawn: pd.DataFrame, points: pd.DataFrame) -> str:
    if points.empty:
        what = f"evaluation of {params.benchmark}" if params.benchmark else "evaluation"
        return f"No {what} is loaded: upload scores with the evals template to see what the money bought."
    if drawn.empty:
        why = (
            why_no_usd(spend, spend.runs) if params.x == "usd" else "The steps of these runs are not loaded."
        )
        return f"No score can be placed on this axis. {why}"
    best = _best(drawn)
    score, span = f"{best['score']:.3g}", ""
    if best["kind"] == "fraction":
        score = percent(best["score"])
        if pd.notna(best["low"]):
            span = f" (95 % interval {percent(best['low'])} to {percent(best['high'])})"
    spent, basis = f"{count(best['x'])} {X_WORDS[params.x]}", ""
    if params.x == "usd":
        bases = set(spend.runs.loc[spend.runs["run"] == best["run"], "basis"])
        paid = price_words(params.price, params.boundary, bases == {METERED})
        spent, basis = money(best["x"]), f" {paid}"
    clocks = dict(zip(spend.runs["run"], spend.runs["clock"].fillna(False), strict=True))
    if params.x in ("usd", "gpu_hours", "hours") and not clocks[best["run"]] and best["x"] > 0:
        spent = f"at least {spent}"
    others = [str(r) for r in drawn["run"].unique() if r != best["run"]]
    tail = f"; {listing(others)} {'is' if len(others) == 1 else 'are'} drawn beside it" if others else ""
    return f"{best['run']} reached {score}{span} on {best['benchmark']} for {spent}{basis}{tail}."


def _best(drawn: pd.DataFrame) -> dict[str, Any]:
    order = drawn.sort_values(["score", "x"], ascending=[False, True], kind="stable")
    return {str(k): v for k, v in order.iloc[0].items()}
