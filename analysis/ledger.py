"""The ledger: a row a run with what it cost, where the dollars went and what it gained; the answer line."""

from typing import ClassVar

import pandas as pd

from analysis.common import nothing, result
from analysis.evaluations import Evaluations, load_evaluations
from analysis.frames import lookup, records
from analysis.gain import shipped_of
from analysis.gaintable import gain_rows, lineage_sums
from analysis.headline import (
    Money,
    choose_gain,
    choose_subject,
    figures,
    gain_notices,
    sentence,
    usd_per_point,
)
from analysis.learning import POINTS, score_points
from analysis.pairs import compare
from analysis.params import CommonParams
from analysis.phases import by_run_and_phase, phase_costs, waiting_usd
from analysis.result import Notice, Result
from analysis.spend import Spend, compute_spend, filters_of
from data.queries import spend as queries
from data.view import View

LEDGER = [
    "run", "campaign", "platforms", "generation", "status", "attempts", "steps", "gpu_hours", "usd",
    "usd_low",
    "usd_high", "usd_by_phase", "rollouts", "usd_per_rollout", "last_benchmark", "last_score",
    "last_score_n", "gain",
    "gain_low", "gain_high", "gain_benchmark", "verdict", "usd_per_point", "usd_per_point_low",
    "usd_per_point_high",
    "goodput_frac", "lost_usd", "lineage_frac", "scores", "warnings", "synthetic", "algorithm", "mode", "llm",
]  # fmt: skip


EMPTY = {
    "ledger": LEDGER,
    "phases": ["run", "phase", "usd", "seconds"],
    "scores": POINTS,
    "campaigns": ["campaign", "usd"],
    "lost": ["run", "attempt", "cause", "gpu_hours", "usd"],
}


class LedgerParams(CommonParams):
    """`benchmark` '' picks the one most runs were compared on."""

    question: ClassVar[str] = "ledger"
    benchmark: str = ""
    seed: int = 20260301


def compute(view: View, params: LedgerParams) -> Result:
    """Tables: `ledger` (LEDGER), `phases` (run, phase, usd, seconds), `scores` (points of score against
    spend), `campaigns`, `lost` (run, attempt, cause, gpu_hours, usd).
    """
    spend = compute_spend(view, params)
    if spend.runs.empty:
        return nothing("ledger", view, params, EMPTY)
    filters = filters_of(params)
    seconds, inside = queries.phase_seconds(view, filters), queries.step_seconds(view, filters)
    phases = by_run_and_phase(phase_costs(spend, seconds, inside, params.boundary))
    evals = load_evaluations(view, filters)
    gains = compare(view, evals, "start", "last", params.benchmark, params.seed)
    points, said = score_points(view, params, spend, evals, params.benchmark)
    points["x"] = points["usd"]
    subject = choose_subject(spend)
    row, note = choose_gain(gains, evals, subject, shipped_of(spend, subject.campaign))
    draws = gains.draws.get((row["run"], row["benchmark_id"], row["key"])) if row else None
    point = usd_per_point(row, draws, subject.usd, subject.low, subject.high, params.seed)
    bare = [
        r for r in evals.frame["for_run"].unique() if r not in set(gains.table.dropna(subset="gain")["run"])
    ]
    notices = [*spend.notices, *evals.notices, *gains.notices, *said, *gain_notices(row, note, bare)]
    rows = gain_rows(spend, gains, params.seed, view.catalogue)
    ledger = _ledger(spend, rows, phases, evals, points, notices)
    waste = _waste_frac(spend, phase_costs(spend, seconds, inside, "compute"), subject, params.boundary)
    return result(
        "ledger", view, params, sentence(params, subject, row, point[0], waste),
        headline=figures(params, subject, row, point),
        tables={
            "ledger": ledger, "phases": phases, "scores": points[points["x"].notna()].reset_index(drop=True),
            "campaigns": spend.campaigns, "lost": spend.lost,
        },
        assumptions=[*spend.assumptions, *evals.assumptions], notices=notices, prices=spend.allocations,
    )  # fmt: skip


def _ledger(
    spend: Spend,
    rows: pd.DataFrame,
    phases: pd.DataFrame,
    evals: Evaluations,
    points: pd.DataFrame,
    notices: list[Notice],
) -> pd.DataFrame:
    extra = spend.runs[["run", "goodput_frac", "lost_usd", "lineage_frac", "algorithm", "mode", "llm"]]
    out = rows.rename(columns={"benchmark": "gain_benchmark"}).merge(extra, on="run", how="left")
    last = spend.attempts.sort_values(["run", "attempt"]).drop_duplicates("run", keep="last").set_index("run")
    sums = lineage_sums(spend)
    status = last["status"].to_dict()
    out["status"] = [status.get(run, "unknown") for run in out["run"]]
    out["attempts"] = out["run"].map(sums["attempts"]).fillna(0).astype(int)
    covered = lookup(out["run"], sums["rollouts_frac"])
    out["usd_per_rollout"] = (out["usd"] * covered / out["rollouts"]).where(out["rollouts"] > 0)
    parts = {run: records(group[["phase", "usd", "seconds"]]) for run, group in phases.groupby("run")}
    out["usd_by_phase"] = pd.Series([parts.get(run, []) for run in out["run"]], index=out.index, dtype=object)
    scores = points[points["score"].notna()].groupby("run")["score"].agg(list)
    out["scores"] = [scores.get(run, []) for run in out["run"]]
    seen = _last_scores(evals)
    for name in ("last_benchmark", "last_score", "last_score_n"):
        out[name] = out["run"].map(seen[name])
    codes = pd.Series([n.where for n in notices if n.code != "synthetic"], dtype=object).value_counts()
    out["warnings"] = out["run"].map(codes).fillna(0).astype(int)
    return out[LEDGER].sort_values(["campaign", "run"], kind="stable").reset_index(drop=True)


def _last_scores(evals: Evaluations) -> pd.DataFrame:
    """Index run: the latest score on the benchmark that most runs share."""
    order = {name: place for place, name in enumerate(evals.benchmarks())}
    frame = evals.frame[~evals.frame["is_start"]].assign(rank=evals.frame["benchmark_id"].map(order))
    keys = ["for_run", "rank", "attempt", "step"]
    frame = frame.sort_values(keys, ascending=[True, True, False, False], kind="stable").drop_duplicates(
        "for_run"
    )
    named = {"benchmark": "last_benchmark", "score": "last_score", "n": "last_score_n"}
    return frame.rename(columns=named).set_index("for_run")[list(named.values())]


def _waste_frac(spend: Spend, kept_costs: pd.DataFrame, subject: Money, boundary: str) -> float | None:
    """(waiting on the surviving lineage + lost work) / spend of the subject; None without dollars."""
    if subject.usd is None or subject.usd <= 0:
        return None
    mine = spend.runs[spend.runs["run"].isin(subject.runs)]
    waits = waiting_usd(kept_costs)
    lost = 0.0 if boundary == "compute" else float(mine["lost_usd"].sum())
    return (float(waits[waits.index.isin(subject.runs)].sum()) + lost) / subject.usd
