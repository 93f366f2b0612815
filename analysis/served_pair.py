"""Two checkpoints of one run in service: scores on the same tasks, and what an attempt of each takes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from analysis.evaluations import Evaluations, key_text, load_evaluations
from analysis.frames import NAN, Row, known, number, records
from analysis.headline import most_shared
from analysis.pairs import Gains, Passed, compare, tasks_of
from analysis.params import CommonParams
from analysis.spend import Spend, compute_spend, filters_of
from analysis.words import listing
from data.errors import UserError
from data.queries import serving as queries
from data.queries.known import known_runs
from data.view import View


class PairParams(CommonParams):
    """`run` '' picks the run with the highest score, `benchmark` '' the one most runs share.

    `before`, `after` as in the question of gains.
    """

    run: str = ""
    benchmark: str = ""
    before: Literal["start", "first_logged"] = "start"
    after: Literal["last", "best"] = "last"
    campaign_usd: float | None = Field(default=None, gt=0, le=1e12)
    seed: int = 20260301


@dataclass(frozen=True)
class Taken:
    """Tokens and USD of one attempt as its evaluation measured them; NaN where nobody counted."""

    tokens: float = NAN
    usd: float = NAN


@dataclass(frozen=True)
class Pair:
    """The comparison of one run: `row` of its gain, what an attempt took before and after, and its spend.

    `row` None: `missing` says why, and what to do.
    """

    run: str
    spend: Spend
    evals: Evaluations
    gains: Gains
    row: Row | None
    before: Taken
    after: Taken
    usd: tuple[float, float, float] = (NAN, NAN, NAN)
    missing: str = ""
    correlation: float = NAN
    """Of both results of a task, where both evaluations list their tasks."""

    @property
    def at_least(self) -> bool:
        """True when the spend is known."""
        return known(self.usd[0])


FEWEST = 3
NO_GAIN = "no run has scores before and after on one benchmark: upload both (evals template)"


def load_pair(view: View, params: PairParams) -> Pair:
    """The comparison asked for. Raises UserError for a run that does not exist."""
    if params.run and params.run not in known_runs(view):
        shown = listing(known_runs(view), 12) or "none yet; import data first"
        raise UserError(f"There is no run '{params.run}'", "parameter run", f"Use one of {shown}.")
    spend = compute_spend(view, params)
    evals = load_evaluations(view, filters_of(params))
    gains = compare(view, evals, params.before, params.after, params.benchmark, params.seed)
    usable = gains.table[gains.table["gain"].notna() & gains.table["n"].gt(0)]
    if params.run:
        usable = usable[usable["run"] == params.run]
    nobody = Taken()
    if usable.empty:
        why = f"{params.run} has no comparison: {NO_GAIN}" if params.run else NO_GAIN
        return Pair(params.run, spend, evals, gains, None, nobody, nobody, missing=why)
    shared = most_shared(usable)[0]
    mine = usable[usable["benchmark_id"] == shared]
    mine = mine.sort_values(["after_score", "run"], ascending=[False, True], kind="stable")
    row = records(mine)[0]
    ids = [_evals_of(evals, row, row[side]) for side in ("before", "after")]
    ends = [_taken(view, one) for one in ids]
    usd = _usd(spend, row["run"], params)
    tied = _correlation(view, ids[0], ids[1])
    return Pair(row["run"], spend, evals, gains, row, ends[0], ends[1], usd, correlation=tied)


def _correlation(view: View, before: list[str], after: list[str]) -> float:
    """Pearson correlation over tasks that both list, repeats averaged; NaN below three or without spread."""
    by_eval = tasks_of(view, [*before, *after])
    sides = [_by_task(by_eval, ids) for ids in (before, after)]
    shared = sorted(set(sides[0]) & set(sides[1]))
    x, y = (np.array([side[task] for task in shared]) for side in sides)
    if len(shared) < FEWEST or x.std() == 0 or y.std() == 0:
        return NAN
    return float(np.corrcoef(x, y)[0, 1])


def _by_task(by_eval: Mapping[str, Passed], ids: list[str]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for name in ids:
        for task, (_, passed) in by_eval.get(name, {}).items():
            found.setdefault(task, []).append(passed)
    return {task: math.fsum(values) / len(values) for task, values in found.items()}


def _usd(spend: Spend, run: str, params: PairParams) -> tuple[float, float, float]:
    """Spend of the run with its quotes, or the dollars that were typed."""
    if params.campaign_usd is not None:
        return params.campaign_usd, params.campaign_usd, params.campaign_usd
    found = records(spend.runs[spend.runs["run"] == run])
    if not found:
        return NAN, NAN, NAN
    return number(found[0]["usd"]), number(found[0]["usd_low"]), number(found[0]["usd_high"])


def _evals_of(evals: Evaluations, row: Row, checkpoint: object) -> list[str]:
    """Evaluations of one checkpoint under the key of a comparison: another effort takes other tokens."""
    wanted = [
        one for one in evals.rows
        if one["for_run"] == row["run"] and one["checkpoint"] == checkpoint
        and one["benchmark_id"] == row["benchmark_id"] and key_text(one) == row["key"]
    ]  # fmt: skip
    return sorted({name for one in wanted for name in one["eval_ids"]})


def _taken(view: View, ids: list[str]) -> Taken:
    """Means over all attempts of the evaluations: of tasks where they say it, else of whole evaluations."""
    rows = records(queries.attempts(view, ids)) if ids else []
    return Taken(_mean(rows, "tokens", "task_attempts"), _mean(rows, "usd", "task_paid_attempts"))


def _mean(rows: list[Row], what: str, counted: str) -> float:
    for total, attempts in ((f"task_{what}", counted), (f"eval_{what}", "eval_attempts")):
        said = [(number(r[total]), number(r[attempts])) for r in rows]
        said = [(t, n) for t, n in said if known(t) and n > 0]
        if said:
            return math.fsum(t for t, _ in said) / math.fsum(n for _, n in said)
    return NAN


__all__ = ["Pair", "PairParams", "Taken", "load_pair"]
