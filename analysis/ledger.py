"""The ledger: a row a run with what it cost, where the dollars went and what it gained; the answer line."""

from typing import ClassVar

import pandas as pd

from analysis.checks import checked
from analysis.common import nothing, result
from analysis.evaluations import Evaluations, key_text, load_evaluations
from analysis.frames import NAN, Row, known, number, ratio, records, table
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
from analysis.pairs import compare
from analysis.params import CommonParams
from analysis.phases import by_run_and_phase, phase_costs, waiting_usd
from analysis.points import POINTS, score_points
from analysis.result import Notice, Result
from analysis.spend import LINEAGE_UNKNOWN, Spend, compute_spend, filters_of
from analysis.spend import LOST as LOST_WORK
from analysis.spendlines import SPEND_LINES
from data.queries import spend as queries
from data.view import View

LEDGER = [
    "run", "campaign", "platforms", "generation", "status", "attempts", "steps", "gpu_hours", "usd",
    "usd_low",
    "usd_high", "usd_by_phase", "rollouts", "usd_per_rollout", "last_benchmark", "last_score",
    "last_kind", "last_score_n", "gain",
    "gain_low", "gain_high", "gain_benchmark", "verdict", "usd_per_point", "usd_per_point_low",
    "usd_per_point_high",
    "goodput_frac", "lost_usd", "lineage_frac", "scores", "warnings", "synthetic", "algorithm", "mode", "llm",
    "basis",
]  # fmt: skip


EXTRA = ("goodput_frac", "lost_usd", "lineage_frac", "algorithm", "mode", "llm", "basis")
NUMBERS = ["steps", "gpu_hours", "usd", "usd_low", "usd_high", "rollouts", "usd_per_rollout", "last_score"]
NUMBERS += ["last_score_n", "gain", "gain_low", "gain_high", "usd_per_point", "usd_per_point_low"]
NUMBERS += ["usd_per_point_high", "goodput_frac", "lost_usd", "lineage_frac"]
EMPTY = {
    "ledger": LEDGER,
    "phases": ["run", "phase", "usd", "seconds"],
    "scores": POINTS,
    "campaigns": ["campaign", "usd"],
    "lost": LOST_WORK,
    "lines": SPEND_LINES,
}


class LedgerParams(CommonParams):
    """`benchmark` '' picks the one most runs were compared on."""

    question: ClassVar[str] = "ledger"
    benchmark: str = ""
    seed: int = 20260301


def compute(view: View, params: LedgerParams) -> Result:
    """Tables: `ledger` (LEDGER), `phases` (run, phase, usd, seconds), `scores` (points of score against
    spend), `campaigns`, `lost` (run, attempt, cause, gpu_hours, usd,
    usd_most, resumption), `lines` (SPEND_LINES).
    """
    spend = compute_spend(view, params)
    if spend.runs.empty:
        return nothing("ledger", view, params, EMPTY)
    filters = filters_of(params)
    seconds, inside = queries.phase_seconds(view, filters), queries.step_seconds(view, filters)
    costs = phase_costs(spend, seconds, inside, params.boundary)
    phases = by_run_and_phase(costs)
    evals = load_evaluations(view, filters)
    gains = compare(view, evals, "start", "last", params.benchmark, params.seed)
    points, said = score_points(view, params, spend, evals, params.benchmark)
    points["x"] = points["usd"]
    subject = choose_subject(spend, params.boundary)
    row, note = choose_gain(gains, evals, subject, shipped_of(spend, subject.campaign))
    draws = gains.draws.get((row["run"], row["benchmark_id"], row["key"])) if row else None
    point = usd_per_point(row, draws, subject.usd, subject.low, subject.high, params.seed)
    usable = set(gains.table.loc[gains.table["gain"].notna(), "run"])
    bare = sorted({row["for_run"] for row in evals.rows} - usable - gains.refused)
    notices = [*spend.notices, *checked(view, params)[1], *evals.notices, *gains.notices, *said]
    notices += gain_notices(row, note, bare)
    rows = gain_rows(spend, gains, params.seed, view.catalogue)
    ledger = _ledger(spend, rows, phases, evals, points, notices)
    waste = _waste_frac(spend, costs, subject, params.boundary)
    return result(
        "ledger", view, params, 
        sentence(params, subject, row, point[0], waste, bool(note), _unsure(spend, subject, params.boundary)),
        headline=figures(params, subject, row, point),
        tables={
            "ledger": ledger, "phases": phases, "scores": points[points["x"].notna()].reset_index(drop=True),
            "campaigns": spend.campaigns, "lost": spend.lost, "lines": spend.lines,
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
    status = _last_status(spend.attempts)
    runs = {row["run"]: row for row in records(spend.runs)}
    sums = lineage_sums(spend)
    gained = rows[rows["gain"].notna()]
    about = dict(zip(gained["run"], zip(gained["benchmark"], gained["key"], strict=True), strict=True))
    seen = _last_scores(evals, about)
    parts: dict[str, list[Row]] = {}
    for phase in records(phases):
        parts.setdefault(phase["run"], []).append({name: phase[name] for name in ("phase", "usd", "seconds")})
    scores: dict[str, list[float]] = {}
    for run, score in zip(points["run"].tolist(), points["score"].tolist(), strict=True):
        scores.setdefault(run, []).append(score)
    out = []
    for row in records(rows):
        run = row["run"]
        mine, counts = runs[run], sums.get(run, {})
        row |= {name: mine[name] for name in EXTRA}
        row |= {"gain_benchmark": row["benchmark"], "status": status.get(run, "unknown")}
        row |= {"attempts": int(counts.get("attempts", 0)), "usd_by_phase": parts.get(run, [])}
        row["usd_per_rollout"] = ratio(row["usd"] * counts.get("rollouts_frac", NAN), number(row["rollouts"]))
        row |= {"scores": scores.get(run, []), **seen.get(run, {})}
        row["warnings"] = sum(1 for n in notices if n.where == run)
        out.append(row)
    out.sort(key=lambda r: (r["campaign"], r["run"]))
    return table(out, LEDGER, NUMBERS)


def _last_status(attempts: pd.DataFrame) -> dict[str, str]:
    """Status by run of the attempt that started last, by number where one has no start."""
    clocked = attempts.groupby("run")["started_at"].transform(lambda starts: starts.notna().all())
    ordered = attempts.assign(at=attempts["started_at"].where(clocked)).sort_values(
        ["run", "at", "attempt"], kind="stable"
    )
    return dict(zip(ordered["run"].tolist(), ordered["status"].tolist(), strict=True))


def _last_scores(evals: Evaluations, about: dict[str, tuple[str, str]]) -> dict[str, Row]:
    """By run: the latest score on what its gain is `about` (benchmark, key), else on the benchmark that most
    runs share.
    """
    order = {name: place for place, name in enumerate(evals.benchmarks())}
    latest: dict[str, tuple[tuple[float, ...], Row]] = {}
    for row in evals.rows:
        if not row["is_start"]:
            run = row["for_run"]
            same = about.get(run) == (row["benchmark"], key_text(row))
            rank = (same, -order[row["benchmark_id"]], _or_first(row["attempt"]), _or_first(row["step"]))
            if run not in latest or rank > latest[run][0]:
                latest[run] = (rank, row)
    names = {"last_benchmark": "benchmark", "last_score": "score", "last_kind": "kind", "last_score_n": "n"}
    return {run: {to: row[name] for to, name in names.items()} for run, (_, row) in latest.items()}


def _or_first(value: float) -> float:
    return value if known(value) else -1.0


def _waste_frac(spend: Spend, costs: pd.DataFrame, subject: Money, boundary: str) -> float | None:
    """(waiting on the surviving lineage + lost work) / spend of the subject; None without dollars."""
    if subject.usd is None or subject.usd <= 0:
        return None
    mine = spend.runs[spend.runs["run"].isin(subject.runs)]
    waits = waiting_usd(costs)
    lost = 0.0 if boundary == "compute" else float(mine["lost_usd"].sum())
    return (sum(waits.get(run, 0.0) for run in subject.runs) + lost) / subject.usd


def _unsure(spend: Spend, subject: Money, boundary: str) -> bool:
    """Whether the lost work holds attempts of which a part may have survived: then it is an upper bound."""
    return boundary != "compute" and any(
        notice.code == LINEAGE_UNKNOWN and notice.where in subject.runs for notice in spend.notices
    )
