"""What a comparison of two evaluations can tell: interval, log-odds and verdict, from tasks or totals."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from analysis.frames import Row
from analysis.result import Assumption, Notice
from models.clustered import METHODS, ClusteredGain, clustered_gain, clustered_log_odds
from models.gain_ratio import error_cut, interval_draws, log_odds_from_totals
from models.selection import BestOf, best_of
from models.stats import (
    Interval,
    gain_assuming_correlation,
    minimum_detectable_difference,
    newcombe,
)
from models.weighting import best_of_paired, best_of_totals

Floats = npt.NDArray[np.float64]
DRAWS = 10_000
FEW = 40
"""Clusters or independent tasks below which the page warns, with the coverage measured there."""
CAMPAIGNS = 2000
COVERAGE_FRAC = {"30 tasks": 0.960, "12 repositories of SWE-bench": 0.955}
"""Share of simulated campaigns whose 95 % interval of the gain held the truth, by the name of the world
(`python -m tests.validation.campaigns 2000`). docs/gains.md has all worlds; a full test measures them again.
"""
CANNOT_TELL = "cannot tell"
NOT_DISTINGUISHABLE = "not distinguishable from zero"
ON_TOTALS = "Newcombe on two totals"
FEW_TASKS = "few_tasks"


@dataclass(frozen=True)
class How:
    """`correlation`: assumed between a task's two results where only totals are known (None: Newcombe, as if
    independent). `estimand`: a mean over tasks or over clusters.
    """

    correlation: float | None = None
    estimand: Literal["tasks", "clusters"] = "tasks"
    seed: int = 0


@dataclass(frozen=True)
class Tasks:
    """Tasks that both sides have: passed before and after (means over repeats and seeds, (tasks,)), cluster
    labels (None: every task stands alone), how many tasks only one side has, and all candidates among which
    the one after was chosen, (candidates, tasks), None where it was not or not all have these tasks.
    """

    before: Floats
    after: Floats
    clusters: list[str] | None
    one_sided: int
    candidates: Floats | None = None


@dataclass(frozen=True)
class Judged:
    """Draws of the gain (fractions) and its log-odds (nats; None where there are none), and what to say."""

    draws: Floats
    odds: Floats | None
    notices: tuple[Notice, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


def from_tasks(row: Row, tasks: Tasks, how: How, chosen_from: int) -> Judged:
    """Fill `row` from task results; `chosen_from`: candidates among which the highest score was picked."""
    found = clustered_gain(
        tasks.after - tasks.before, tasks.clusters, estimand=how.estimand, seed=how.seed, draws=DRAWS
    )
    row |= _points(found.interval) | {"method": _method(tasks, found), "n": float(found.n_tasks)}
    row |= {"n_source": "file", "n_clusters": found.n_clusters if tasks.clusters else None}
    row |= {"estimand": found.estimand, "effective_clusters": found.effective_clusters}
    change = tasks.after - tasks.before
    row |= {"won": int((change > 0).sum()), "lost": int((change < 0).sum())}
    row["mdd"] = 100 * found.detectable()
    notices = [*_few(row, tasks, found), *_one_sided(row, tasks)]
    odds = clustered_log_odds(
        tasks.before, tasks.after, tasks.clusters, estimand=how.estimand, seed=how.seed, draws=DRAWS
    )
    draws, odds_draws = found.draws, _odds(row, odds.interval, odds.draws)
    if chosen_from > 1:
        corrected, inflation = _corrected(row, tasks, how, chosen_from, found)
        draws, odds_draws = _correct(row, corrected, inflation, how.seed), None
    _verdict(row)
    return Judged(draws, odds_draws, tuple(notices))


def _method(tasks: Tasks, found: ClusteredGain) -> str:
    what = "tasks paired by cluster" if tasks.clusters else "tasks paired"
    return f"{what}; {METHODS[found.method]}"


def _few(row: Row, tasks: Tasks, found: ClusteredGain) -> list[Notice]:
    if found.n_clusters >= FEW and found.effective_clusters >= FEW / 2:
        return []
    where = str(row["benchmark"])
    if tasks.clusters is None:
        words = (
            f"{row['benchmark']} has only {found.n_tasks} tasks on both sides, below {FEW}: one run carries "
            f"an error of several points. {_measured('30 tasks')}"
        )
        return [Notice(FEW_TASKS, words, where)]
    words = (
        f"{found.n_clusters} clusters of {row['benchmark']} weigh as {found.effective_clusters:.1f} equal "
        f"ones, below {FEW}: the interval is by {METHODS[found.method]}. "
        f"{_measured('12 repositories of SWE-bench')}"
    )
    return [Notice("few_clusters", words, where)]


def _measured(world: str) -> str:
    return (
        f"In {CAMPAIGNS:,} simulated campaigns ({world}) such an interval held the truth in "
        f"{100 * COVERAGE_FRAC[world]:.1f} %."
    )


def _one_sided(row: Row, tasks: Tasks) -> list[Notice]:
    if not tasks.one_sided:
        return []
    words = f"{tasks.one_sided} tasks of {row['benchmark']} were run on one side only and are left out."
    return [Notice("tasks_differ", words, str(row["run"]))]


def _corrected(
    row: Row, tasks: Tasks, how: How, chosen_from: int, found: ClusteredGain
) -> tuple[Interval, float]:
    """Gain of the best of many: by joint draws where all candidates have the tasks and the one picked leads
    on them too, else by the bound from its own tasks.
    """
    if tasks.candidates is not None:
        best: BestOf = best_of(
            tasks.before, tasks.candidates, tasks.clusters, estimand=how.estimand, seed=how.seed
        )
        corrected = best.corrected
        if np.array_equal(tasks.candidates[best.chosen], tasks.after):
            low = min(corrected.low, found.interval.low)
            high = max(corrected.high, found.interval.high)
            row["selection"] = "joint draws of all candidates"
            return Interval(corrected.value, low, high, corrected.n, corrected.confidence), best.inflation
    got, inflation = best_of_paired(
        tasks.after - tasks.before, tasks.clusters, chosen_from, estimand=how.estimand, seed=how.seed
    )
    row["selection"] = "bound from its own tasks"
    return Interval(got.value, min(got.low, found.interval.low), got.high, got.n), inflation


def from_totals(row: Row, before: Row, after: Row, how: How, chosen_from: int) -> Judged:
    """Fill `row` from two scores and their numbers of tasks."""
    new, old, n1, n0 = after["score"], before["score"], after["n"], before["n"]
    n, rho = int(min(n1, n0)), how.correlation
    edge = rho is not None and not (0 < new < 1 and 0 < old < 1)
    notices: list[Notice] = []
    assumptions: list[Assumption] = []
    if rho is None or edge:
        found = newcombe(new * n1, n1, old * n0, n0)
        row["method"] = ON_TOTALS
    else:
        found = gain_assuming_correlation(new, old, n, rho)
        row |= {"method": f"totals with an assumed correlation of {rho:g}", "correlation": rho}
        name = f"Correlation of a task's two results on {row['benchmark']} (only totals are known)"
        assumptions.append(Assumption(name, rho, "", "assumed", "given", ""))
    if edge:
        words = (
            f"{row['benchmark']}: at a score of 0 or 1 an assumed correlation gives no interval, so "
            "Newcombe's is shown."
        )
        notices.append(Notice("correlation_not_used", words, str(row["run"])))
    row |= _points(found) | {"n": float(n)}
    row["mdd"] = 100 * minimum_detectable_difference((old + new) / 2, n, 0.0 if edge else rho or 0.0)
    odds, odds_draws = log_odds_from_totals(new, old, n, 0.0 if edge else rho or 0.0, DRAWS, how.seed)
    drawn, odds_drawn = interval_draws(found, DRAWS, how.seed), _odds(row, odds, odds_draws)
    if chosen_from > 1:
        got, inflation = best_of_totals(new, old, n1, n0, chosen_from)
        row["selection"] = "bound from totals"
        corrected = Interval(got.value, min(got.low, found.low), max(got.high, found.high), got.n)
        drawn, odds_drawn = _correct(row, corrected, inflation, how.seed), None
    _verdict(row)
    return Judged(drawn, odds_drawn, tuple(notices), tuple(assumptions))


def _points(found: Interval) -> Row:
    return {"gain": 100 * found.value, "low": 100 * found.low, "high": 100 * found.high}


def _odds(row: Row, found: Interval, draws: Floats) -> Floats | None:
    """Fill in the log-odds gain and the errors cut; None where both scores are 0 or both are 1."""
    if row["before_score"] < 1:
        row["error_cut"] = error_cut(row["after_score"], row["before_score"])
    if np.isnan(found.value) or np.isnan(draws).any():
        return None
    row |= {"odds": found.value, "odds_low": found.low, "odds_high": found.high}
    return draws


def _correct(row: Row, corrected: Interval, inflation: float, seed: int) -> Floats:
    """Put the corrected gain in the place of the one as seen, which stays beside it; no log-odds are kept."""
    row |= {"seen_gain": row["gain"], "seen_low": row["low"], "seen_high": row["high"]}
    row |= _points(corrected) | {"inflation": 100 * inflation}
    row |= dict.fromkeys(("odds", "odds_low", "odds_high", "error_cut"))
    return interval_draws(corrected, DRAWS, seed)


def _verdict(row: Row) -> None:
    row["verdict"] = "better" if row["low"] > 0 else "worse" if row["high"] < 0 else CANNOT_TELL
    if row["verdict"] == CANNOT_TELL:
        row["reason"] = NOT_DISTINGUISHABLE
