"""Gains: which two evaluations of a run may be compared, and what the comparison can tell."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.evaluations import KEY, SMALL_N, Evaluations, key_difference, key_text
from analysis.frames import Row, known, table, text
from analysis.result import Notice
from data.queries import gain as queries
from data.view import View
from models.stats import Interval, minimum_detectable_difference, newcombe, paired_bootstrap, z_value

Floats = npt.NDArray[np.float64]
DRAWS = 4000
POWER_80 = 0.60  # two-sided level whose normal quantile is that of 80 % power
CANNOT_TELL = "cannot tell"
NOT_DISTINGUISHABLE = "not distinguishable from zero"
COLUMNS = [
    "run", "benchmark_id", "benchmark", "key", "before", "before_step", "before_score", "before_label",
    "after",
    "after_step", "after_score", "unit", "gain", "low", "high", "mdd", "n", "n_source", "n_clusters",
    "method",
    "won", "lost", "verdict", "reason", "candidates", "metric", "k",
]  # fmt: skip
NUMBERS = ["before_step", "before_score", "after_step", "after_score", "gain", "low", "high", "mdd", "n"]
NUMBERS += ["n_clusters", "won", "lost", "candidates"]


@dataclass(frozen=True)
class Gains:
    """`table`: a row a run and key, columns COLUMNS, gain and its ends in points; refused rows have no gain
    and a reason. `draws`: (run, benchmark_id, key) -> draws of the gain in points.
    """

    table: pd.DataFrame
    draws: dict[tuple[str, str, str], Floats]
    notices: tuple[Notice, ...]


@dataclass(frozen=True)
class Pair:
    """Two evaluations of one run and key; `before` None needs a reason."""

    before: Row | None
    after: Row
    label: str
    candidates: int
    reason: str = ""


@dataclass(frozen=True)
class Tasks:
    """Tasks that both sides have: passed before and after (means over repeats and seeds), cluster labels
    (None:
    every task stands alone), and how many tasks only one side has.
    """

    before: Floats
    after: Floats
    clusters: list[str] | None
    one_sided: int


Passed = dict[str, tuple[str | None, float]]


def compare(view: View, evals: Evaluations, before: str, after: str, benchmark: str, seed: int) -> Gains:
    """Pair the evaluations of every run: `before` start or first_logged, `after` last or best.

    `benchmark` '' means all. Per task where both sides have task results, else from totals.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in evals.rows:
        if not benchmark or row["benchmark_id"] == benchmark:
            groups.setdefault((row["for_run"], *(row[name] for name in KEY)), []).append(row)
    chosen = [_choose(group, before, after) for _, group in sorted(groups.items())]
    pairs = [_with_reason(pair, evals.rows) for pair in chosen if pair is not None]
    by_eval = _tasks_of(view, pairs)
    out, draws, notices = [], {}, []
    for pair in pairs:
        row, drawn, said = _judge(pair, by_eval, seed)
        out.append(row)
        notices.extend(said)
        if drawn is not None:
            draws[(str(row["run"]), str(row["benchmark_id"]), str(row["key"]))] = drawn
    return Gains(table(out, COLUMNS, NUMBERS), draws, tuple(notices))


def _tasks_of(view: View, pairs: list[Pair]) -> dict[str, Passed]:
    ids: set[str] = set()
    for pair in pairs:
        if pair.before is not None:
            ids.update(pair.before["eval_ids"], pair.after["eval_ids"])
    out: dict[str, Passed] = {}
    if not ids:
        return out
    found = queries.tasks(view, sorted(ids))
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
    if before == "start":
        return Pair(starts[0] if starts else None, last, "start", len(trained))
    logged = min(group, key=lambda row: _by_step(row, -math.inf))
    same = logged["checkpoint"] == last["checkpoint"]
    return Pair(None if same else logged, last, "first logged", len(trained))


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
    return replace(pair, reason=f"refused: {key_difference(starts[0], pair.after)}")


def _judge(pair: Pair, by_eval: dict[str, Passed], seed: int) -> tuple[Row, Floats | None, list[Notice]]:
    row = _frame_row(pair)
    before, after = pair.before, pair.after
    if before is None:
        return row, None, []
    points = row["unit"] == "points"
    row["gain"] = (100.0 if points else 1.0) * (after["score"] - before["score"])
    tasks = _paired_tasks(before, after, by_eval)
    counted = known(before["n"]) and known(after["n"])
    if not points or (tasks is None and not counted):
        row["reason"] = "the number of tasks is not known" if points else "its score is no share of tasks"
        return row, None, []
    if tasks is not None:
        drawn, notices = _from_tasks(row, tasks, seed)
    else:
        drawn, notices = _from_totals(row, before, after, seed), []
    _verdict(row)
    if row["n"] < SMALL_N:
        words = (
            f"{row['benchmark']} has only {row['n']:.0f} tasks: one run carries an error of several points."
        )
        notices.append(Notice("small_n", words, str(row["benchmark"])))
    return row, drawn, notices


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


def _paired_tasks(before: Row, after: Row, by_eval: dict[str, Passed]) -> Tasks | None:
    left, right = (_one_side(side["eval_ids"], by_eval) for side in (before, after))
    both = sorted(left.keys() & right.keys())
    if len(both) < 2:
        return None
    # a task without a cluster stands alone
    labels = [right[t][0] or left[t][0] or f"task {t}" for t in both]
    named = any(right[t][0] or left[t][0] for t in both) and len(set(labels)) >= 2
    return Tasks(
        np.array([left[t][1] for t in both]),
        np.array([right[t][1] for t in both]),
        labels if named else None,
        len(left.keys() ^ right.keys()),
    )


def _one_side(eval_ids: list[str], by_eval: dict[str, Passed]) -> Passed:
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


def _from_tasks(row: Row, tasks: Tasks, seed: int) -> tuple[Floats, list[Notice]]:
    found = paired_bootstrap(tasks.before, tasks.after, seed=seed, clusters=tasks.clusters, draws=DRAWS)
    change = tasks.after - tasks.before
    method = "paired bootstrap by cluster" if tasks.clusters else "paired bootstrap by task"
    row |= _points(found.interval, method)
    row |= {"n": float(found.n_tasks), "n_source": "file", "n_clusters": found.n_clusters}
    row |= {"won": int((change > 0).sum()), "lost": int((change < 0).sum())}
    row["mdd"] = 100 * (z_value(0.95) + z_value(POWER_80)) * found.se
    notices = []
    if found.few_clusters:
        words = f"{found.n_clusters} clusters are few: the interval of {row['benchmark']} is too narrow."
        notices.append(Notice("few_clusters", words, str(row["run"])))
    if tasks.one_sided:
        words = f"{tasks.one_sided} tasks of {row['benchmark']} were run on one side only and are left out."
        notices.append(Notice("tasks_differ", words, str(row["run"])))
    return 100 * found.draws, notices


def _from_totals(row: Row, before: Row, after: Row, seed: int) -> Floats:
    found = newcombe(after["score"] * after["n"], after["n"], before["score"] * before["n"], before["n"])
    row |= _points(found, "Newcombe on two totals")
    n = int(min(before["n"], after["n"]))
    row["n"] = float(n)
    row["mdd"] = 100 * minimum_detectable_difference((before["score"] + after["score"]) / 2, n)
    normal = np.random.default_rng(seed).standard_normal(DRAWS)
    sides = np.where(normal < 0, found.value - found.low, found.high - found.value)
    return np.asarray(100 * (found.value + normal * sides / z_value(0.95)), dtype=np.float64)


def _points(interval: Interval, method: str) -> Row:
    return {
        "gain": 100 * interval.value,
        "low": 100 * interval.low,
        "high": 100 * interval.high,
        "method": method,
    }


def _verdict(row: Row) -> None:
    row["verdict"] = "better" if row["low"] > 0 else "worse" if row["high"] < 0 else CANNOT_TELL
    if row["verdict"] == CANNOT_TELL:
        row["reason"] = NOT_DISTINGUISHABLE
