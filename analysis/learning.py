"""Score against what was spent: one line a run, resumes joined, an interval on every point."""

from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from analysis.common import figure, nothing, result
from analysis.evaluations import KEY, Evaluations, load_evaluations
from analysis.frames import whole
from analysis.gaintable import GENERATION_COLUMNS, RUN_COLUMNS, gain_rows, generations_of
from analysis.headline import why_no_usd
from analysis.pairs import compare
from analysis.params import CommonParams
from analysis.result import Figure, Notice, Result
from analysis.spend import Spend, compute_spend, filters_of
from analysis.thin import thin
from analysis.words import count, listing, money, percent, price_words
from data.queries import learning as queries
from data.view import View
from models.stats import wilson

X_WORDS = {
    "usd": "dollars",
    "gpu_hours": "GPU-hours",
    "tokens": "generated tokens",
    "steps": "steps",
    "hours": "hours",
}
X_LABELS = {
    "usd": ("Cumulative dollars", "usd"),
    "gpu_hours": ("Cumulative GPU-hours", "gpu_h"),
    "tokens": ("Generated tokens", "tokens"),
    "steps": ("Step", "steps"),
    "hours": ("Hours held", "h"),
}
POINTS = [
    "run", "benchmark_id", "benchmark", "key", "checkpoint", "attempt", "step", "x", "x_low", "x_high",
    "usd", "usd_low",
    "usd_high", "gpu_hours", "tokens", "steps", "hours", "score", "low", "high", "n", "n_source",
    "is_start", "kind",
]  # fmt: skip


class LearningParams(CommonParams):
    """`benchmark` '' picks the one most runs were evaluated on; `x` is the horizontal axis."""

    question: ClassVar[str] = "learning"
    benchmark: str = ""
    x: Literal["usd", "gpu_hours", "tokens", "steps", "hours"] = "usd"
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
    said = [*spend.notices, *evals.notices, *notices, *_left_out(points[~known], params, spend)]
    return result(
        "learning", view, params, _answer(params, spend, drawn, points),
        headline=_figures(params, drawn), tables=tables, assumptions=[*spend.assumptions, *evals.assumptions],
        notices=said, prices=spend.allocations,
    )  # fmt: skip


def score_points(
    view: View, params: CommonParams, spend: Spend, evals: Evaluations, benchmark: str
) -> tuple[pd.DataFrame, list[Notice]]:
    """Scores on the surviving lineage of one benchmark with everything that had been spent by then."""
    frame = evals.frame[evals.frame["on_lineage"]]
    chosen = benchmark or next(iter(evals.benchmarks()), "")
    frame, notices = _one_key(frame[frame["benchmark_id"] == chosen])
    frame = frame.rename(columns={"for_run": "run"})
    done = queries.progress(view, filters_of(params))
    frame = frame.merge(_cumulative(spend, done, params.boundary), on=["run", "attempt", "step"], how="left")
    spent = ["usd", "usd_low", "usd_high", "gpu_hours", "tokens", "hours"]
    frame[spent] = frame[spent].astype("float64").where(~frame["is_start"], 0.0)
    frame["steps"] = frame["step"].where(~frame["is_start"], 0.0)
    frame["key"] = [" · ".join(v for v in row if v) for row in frame[KEY[1:]].itertuples(index=False)]
    frame = _with_wilson(frame)
    frame[["x", "x_low", "x_high"]] = np.nan
    frame = frame.sort_values(
        ["run", "is_start", "steps", "attempt"], ascending=[True, False, True, True], kind="stable"
    )
    uneven = frame.loc[frame["even"].fillna(False).astype(bool), "run"].unique()
    text = "has no step times: its money is spread evenly over its steps."
    notices.extend(Notice("even_steps", f"{run} {text}", str(run)) for run in uneven)
    return frame[POINTS].reset_index(drop=True), notices


def _one_key(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[Notice]]:
    """Per run the key with most evaluations; say so when runs use different ones."""
    if frame.empty:
        return frame, []
    named = frame.assign(key_id=[" · ".join(row) for row in frame[KEY[1:]].itertuples(index=False)])
    counts = named.groupby(["for_run", "key_id"], sort=True).size().reset_index(name="rows")
    best = counts.sort_values(["for_run", "rows", "key_id"], ascending=[True, False, True], kind="stable")
    best = best.drop_duplicates("for_run")
    kept = named.merge(best[["for_run", "key_id"]], on=["for_run", "key_id"])
    notices = []
    if best["key_id"].nunique() > 1:
        text = (
            "Runs were evaluated with different versions, splits, harnesses, metrics or k: their lines "
            "do not compare."
        )
        notices.append(Notice("keys_differ", text, str(frame["benchmark"].iloc[0])))
    return kept.drop(columns="key_id"), notices


def _cumulative(spend: Spend, done: pd.DataFrame, boundary: str) -> pd.DataFrame:
    """What each run had spent at the end of an evaluated step: earlier attempts plus a share of this one.

    The share is that of step seconds. At the full boundary, booked costs are spread like the rest.
    """
    kept = "_kept" if boundary == "compute" else ""
    rows = spend.allocations.assign(hours=spend.allocations["seconds"] / 3600)
    money_columns = ["usd", "usd_low", "usd_high", "gpu_hours"]
    by = rows.groupby(["run", "attempt"], sort=True)
    own = by[money_columns].agg(whole).join(_hours_held(rows))
    counted = by[[f"{c}{kept}" for c in money_columns]].agg(whole)
    counted.columns = money_columns
    own["tokens"] = spend.attempts.set_index(["run", "attempt"])["tok_gen"].astype("float64")
    counted["hours"], counted["tokens"] = own["hours"], own["tokens"].fillna(0.0)
    before = counted.groupby(level="run").cumsum() - counted
    table = done.merge(own.add_suffix("_own"), left_on=["run", "attempt"], right_index=True, how="left")
    table = table.merge(
        before.add_suffix("_before"), left_on=["run", "attempt"], right_index=True, how="left"
    )
    total = table.groupby(["run", "attempt"])["steps"].transform("max")
    table["even"] = table["time_frac"].isna()
    all_steps = table[["run", "attempt"]].merge(
        spend.attempts[["run", "attempt", "steps"]].rename(columns={"steps": "all_steps"}), on=["run",
        "attempt"], how="left"
    )["all_steps"].set_axis(table.index).fillna(total)  # fmt: skip
    frac = table["time_frac"].fillna(table["steps"] / all_steps)
    for column in (*money_columns, "hours"):
        table[column] = table[f"{column}_before"] + frac * table[f"{column}_own"]
    table["tokens"] = table["tokens_before"].fillna(0.0) + table["tok_gen"]
    if boundary == "full":
        runs = spend.runs.set_index("run")
        factor = table["run"].map(runs["usd_full"] / runs["usd_campaign"].where(runs["usd_campaign"] > 0))
        for column in ("usd", "usd_low", "usd_high"):
            table[column] = table[column] * factor
    return table[["run", "attempt", "step", *money_columns, "hours", "tokens", "even"]].astype(
        {"attempt": float, "step": float}
    )


def _hours_held(rows: pd.DataFrame) -> pd.Series:
    """Hours of the pool that an attempt held longest."""
    return rows.groupby(["run", "attempt", "pool"])["hours"].sum().groupby(["run", "attempt"]).max()


def _with_wilson(frame: pd.DataFrame) -> pd.DataFrame:
    """Add low and high, the Wilson interval of a score that is a share of a known number of tasks."""
    counted = frame["kind"].eq("fraction") & frame["n"].gt(0)
    scores, sizes = frame["score"].to_numpy(dtype=float), frame["n"].to_numpy(dtype=float)
    found = [
        wilson(score * n, n) if use else None for score, n, use in zip(scores, sizes, counted, strict=True)
    ]
    frame["low"] = pd.Series([f.low if f else np.nan for f in found], index=frame.index, dtype="float64")
    frame["high"] = pd.Series([f.high if f else np.nan for f in found], index=frame.index, dtype="float64")
    return frame


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
        figure("spent_by_then", best["x"], label=f"{label} spent for it", unit=unit,
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
            span = f" (95 % {percent(best['low'])} to {percent(best['high'])})"
    spent, basis = f"{count(best['x'])} {X_WORDS[params.x]}", ""
    if params.x == "usd":
        spent, basis = money(best["x"]), f" {price_words(params.price, params.boundary)}"
    others = [str(r) for r in drawn["run"].unique() if r != best["run"]]
    tail = f"; {listing(others)} {'is' if len(others) == 1 else 'are'} drawn beside it" if others else ""
    return f"{best['run']} reached {score}{span} on {best['benchmark']} for {spent}{basis}{tail}."


def _best(drawn: pd.DataFrame) -> dict[str, Any]:
    order = drawn.sort_values(["score", "x"], ascending=[False, True], kind="stable")
    return {str(k): v for k, v in order.iloc[0].items()}
