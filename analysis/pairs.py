"""Gains: which two evaluations of a run may be compared, and what the comparison can tell."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.evaluations import KEY, SMALL_N, Evaluations, key_difference, key_text
from analysis.frames import Row, known, table, text
from analysis.gainstats import (
    CANNOT_TELL,
    FEW_TASKS,
    NOT_DISTINGUISHABLE,
    How,
    Judged,
    Tasks,
    from_tasks,
    from_totals,
)
from analysis.result import Assumption, Notice
from data.queries import gain as queries
from data.view import View

Floats = npt.NDArray[np.float64]
REFUSED = "refused"
"""How the reason of a comparison of unlike evaluations begins."""
COLUMNS = [
    "run", "benchmark_id", "benchmark", "key", "before", "before_step", "before_score", "before_label",
    "after",
    "after_step", "after_score", "unit", "gain", "low", "high", "mdd", "n", "n_source", "n_clusters",
    "method",
    "won", "lost", "verdict", "reason", "candidates", "metric", "k", "estimand", "effective_clusters",
    "correlation", "odds", "odds_low", "odds_high", "error_cut", "seen_gain", "seen_low", "seen_high",
    "inflation", "selection",
]  # fmt: skip
NUMBERS = ["before_step", "before_score", "after_step", "after_score", "gain", "low", "high", "mdd", "n"]
NUMBERS += ["n_clusters", "won", "lost", "candidates", "effective_clusters", "correlation", "odds"]
NUMBERS += ["odds_low", "odds_high", "error_cut", "seen_gain", "seen_low", "seen_high", "inflation"]


@dataclass(frozen=True)
class Gains:
    """`table`: a row a run and key, columns COLUMNS, gain and its ends in points; refused rows have no gain
    and a reason. `draws`: (run, benchmark_id, key) -> draws of the gain in points, `odds` in nats. Those of
    two comparisons must not be paired with each other.
    """

    table: pd.DataFrame
    draws: dict[tuple[str, str, str], Floats]
    notices: tuple[Notice, ...]
    odds: dict[tuple[str, str, str], Floats] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()

    @property
    def refused(self) -> set[str]:
        """Runs with a comparison that is refused: their start was evaluated, only under another key."""
        reasons = self.table["reason"].fillna("").astype(str)
        return set(self.table.loc[reasons.str.startswith(REFUSED), "run"])


@dataclass(frozen=True)
class Pair:
    """Two evaluations of one run and key; `before` None needs a reason. `among`: all trained checkpoints of
    which `after` has the highest score, () where it was not picked by its score.
    """

    before: Row | None
    after: Row
    label: str
    candidates: int
    reason: str = ""
    among: tuple[Row, ...] = ()


Passed = dict[str, tuple[str | None, float]]


def compare(
    view: View, evals: Evaluations, before: str, after: str, benchmark: str, seed: int,
    correlation: float | None = None, estimand: Literal["tasks", "clusters"] = "tasks",
) -> Gains:  # fmt: skip
    """Pair the evaluations of every run: `before` start or first_logged, `after` last or best.

    `benchmark` '' means all. Per task where both sides have task results, else from totals; `correlation` and
    `estimand` as in `How`.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in evals.rows:
        if not benchmark or row["benchmark_id"] == benchmark:
            groups.setdefault((row["for_run"], *(row[name] for name in KEY)), []).append(row)
    chosen = [_choose(group, before, after) for _, group in sorted(groups.items())]
    pairs = [_with_reason(pair, evals.rows) for pair in chosen if pair is not None]
    by_eval = _tasks_of(view, pairs)
    out, notices, judged = [], [], {}
    for pair in pairs:
        row, found, said = _judge(pair, by_eval, How(correlation, estimand, seed))
        out.append(row)
        notices.extend(said)
        if found is not None:
            judged[(str(row["run"]), str(row["benchmark_id"]), str(row["key"]))] = found
    return Gains(
        table(out, COLUMNS, NUMBERS),
        {key: 100 * found.draws for key, found in judged.items()},
        tuple(notices),
        {key: found.odds for key, found in judged.items() if found.odds is not None},
        tuple(a for found in judged.values() for a in found.assumptions),
    )


def _tasks_of(view: View, pairs: list[Pair]) -> dict[str, Passed]:
    ids: set[str] = set()
    for pair in pairs:
        if pair.before is not None:
            for row in (pair.before, pair.after, *pair.among):
                ids.update(row["eval_ids"])
    return tasks_of(view, ids)


def tasks_of(view: View, eval_ids: Iterable[str]) -> dict[str, Passed]:
    """Task results by evaluation: task -> (cluster, share passed)."""
    out: dict[str, Passed] = {}
    ids = sorted(set(eval_ids))
    if not ids:
        return out
    found = queries.tasks(view, ids)
    columns = [found[name].tolist() for name in ("eval_id", "task", "cluster", "passed")]
    for eval_id, task, cluster, passed in zip(*columns, strict=True):
        out.setdefault(eval_id, {})[task] = (text(cluster), passed)
    return out


def _by_step(row: Row, missing: float) -> tuple[float, float]:
    step, attempt = (row[name] if known(row[name]) else missing for name in ("step", "attempt"))
    return step, attempt


def _choose(group: list[Row], before: str, after: str) -> Pair | None:
    """Pick the two evaluations of one run and key."""
    trained = [row for row in group if not row["is_start"] and row["on_lineage"]]
    if not trained:
        return None
    trained.sort(key=lambda row: _by_step(row, math.inf))
    last = trained[-1] if after == "last" else max(trained, key=lambda row: float(row["score"]))
    starts = sorted((row for row in group if row["is_start"]), key=lambda row: _by_step(row, math.inf))
    among = tuple(trained) if after == "best" and len(trained) > 1 else ()
    if before == "start":
        return Pair(starts[0] if starts else None, last, "start", len(trained), among=among)
    logged = min(group, key=lambda row: _by_step(row, -math.inf))
    same = logged["checkpoint"] == last["checkpoint"]
    among = tuple(row for row in among if row is not logged)
    return Pair(None if same else logged, last, "first logged", len(trained), among=among)


def _with_reason(pair: Pair, rows: tuple[Row, ...]) -> Pair:
    """Give a pair without a baseline its reason: another key exists, or nothing does."""
    if pair.before is not None:
        return pair
    if pair.label != "start":
        return replace(pair, reason="only one checkpoint was evaluated")
    same = ("for_run", "benchmark_id")
    starts = [row for row in rows if row["is_start"] and all(row[n] == pair.after[n] for n in same)]
    if not starts:
        return replace(pair, reason="no evaluation of the checkpoint the money started from")
    return replace(pair, reason=f"{REFUSED}: {key_difference(starts[0], pair.after)}")


def _judge(pair: Pair, by_eval: dict[str, Passed], how: How) -> tuple[Row, Judged | None, list[Notice]]:
    row = _frame_row(pair)
    before, after = pair.before, pair.after
    if before is None:
        return row, None, []
    points = row["unit"] == "points"
    row["gain"] = (100.0 if points else 1.0) * (after["score"] - before["score"])
    tasks = _paired_tasks(before, after, pair.among, by_eval)
    counted = known(before["n"]) and known(after["n"])
    if not points or (tasks is None and not counted):
        row["reason"] = "the number of tasks is not known" if points else "its score is no share of tasks"
        return row, None, []
    if tasks is not None:
        found = from_tasks(row, tasks, how, len(pair.among))
    else:
        found = from_totals(row, before, after, how, len(pair.among))
    notices = list(found.notices)
    if row["n"] < SMALL_N and not any(notice.code == FEW_TASKS for notice in notices):
        words = (
            f"{row['benchmark']} has only {row['n']:.0f} tasks: one run carries an error of several points."
        )
        notices.append(Notice("small_n", words, str(row["benchmark"])))
    return row, found, notices


def _frame_row(pair: Pair) -> Row:
    before, after = pair.before, pair.after
    row: Row = dict.fromkeys(COLUMNS)
    row |= {name: after[name] for name in ("benchmark_id", "benchmark", "metric", "k")}
    row |= {"run": after["for_run"], "key": key_text(after), "after": after["checkpoint"]}
    row |= {"after_step": after["step"], "after_score": after["score"], "before_label": pair.label}
    row |= {"unit": "points" if after["kind"] == "fraction" else "score units", "reason": pair.reason}
    row |= {
        "verdict": CANNOT_TELL,
        "candidates": pair.candidates,
        "n": after["n"],
        "n_source": after["n_source"],
    }
    if before is not None:
        row |= {
            "before": before["checkpoint"],
            "before_step": before["step"],
            "before_score": before["score"],
        }
    return row


def _paired_tasks(
    before: Row, after: Row, among: tuple[Row, ...], by_eval: dict[str, Passed]
) -> Tasks | None:
    left, right = (one_side(side["eval_ids"], by_eval) for side in (before, after))
    both = sorted(left.keys() & right.keys())
    if len(both) < 2:
        return None
    every = [one_side(row["eval_ids"], by_eval) for row in among]
    shared = bool(every) and all(side.keys() >= set(both) for side in every)
    return Tasks(
        np.array([left[t][1] for t in both]),
        np.array([right[t][1] for t in both]),
        cluster_labels(both, [right, left]),
        len(left.keys() ^ right.keys()),
        np.array([[side[t][1] for t in both] for side in every]) if shared else None,
    )


def cluster_labels(tasks: Sequence[str], sides: Sequence[Passed]) -> list[str] | None:
    """A label a task; None when fewer than two are named or no two tasks share one, which is no clustering. A
    task without a cluster stands alone.
    """
    named = [next((side[t][0] for side in sides if t in side and side[t][0]), None) for t in tasks]
    labels = [name or f"task {t}" for name, t in zip(named, tasks, strict=True)]
    return labels if any(named) and 2 <= len(set(labels)) < len(tasks) else None


def one_side(eval_ids: list[str], by_eval: dict[str, Passed]) -> Passed:
    """Tasks of one checkpoint; several seeds are averaged."""
    found = [by_eval[i] for i in eval_ids if i in by_eval]
    if len(found) <= 1:
        return found[0] if found else {}
    values: dict[str, list[tuple[str | None, float]]] = {}
    for side in found:
        for task, result in side.items():
            values.setdefault(task, []).append(result)
    return {
        task: (next((c for c, _ in results if c), None), math.fsum(p for _, p in results) / len(results))
        for task, results in values.items()
    }


__all__ = [
    "CANNOT_TELL", "COLUMNS", "NOT_DISTINGUISHABLE", "Floats", "Gains", "cluster_labels", "compare",
    "one_side", "tasks_of",
]  # fmt: skip
