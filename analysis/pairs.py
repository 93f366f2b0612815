"""Gains: which two evaluations of a run may be compared, and what the comparison can tell."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.evaluations import KEY, SMALL_N, Evaluations, key_difference, key_text
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

    before: pd.Series | None
    after: pd.Series
    label: str
    candidates: int
    reason: str = ""


def compare(view: View, evals: Evaluations, before: str, after: str, benchmark: str, seed: int) -> Gains:
    """Pair the evaluations of every run: `before` start or first_logged, `after` last or best.

    `benchmark` '' means all. Per task where both sides have task results, else from totals.
    """
    frame = evals.frame
    if benchmark:
        frame = frame[frame["benchmark_id"] == benchmark]
    chosen = [_choose(group, before, after) for _, group in frame.groupby(["for_run", *KEY], sort=True)]
    pairs = [_with_reason(pair, frame) for pair in chosen if pair is not None]
    by_eval = _tasks_of(view, pairs)
    out, draws, notices = [], {}, []
    for pair in pairs:
        row, drawn, said = _judge(pair, by_eval, seed)
        out.append(row)
        notices.extend(said)
        if drawn is not None:
            draws[(str(row["run"]), str(row["benchmark_id"]), str(row["key"]))] = drawn
    return Gains(pd.DataFrame(out, columns=COLUMNS), draws, tuple(notices))


def _tasks_of(view: View, pairs: list[Pair]) -> dict[str, pd.DataFrame]:
    ids: set[str] = set()
    for pair in pairs:
        if pair.before is not None:
            ids.update(pair.before["eval_ids"], pair.after["eval_ids"])
    table = queries.tasks(view, sorted(ids)) if ids else pd.DataFrame()
    return {str(k): v for k, v in table.groupby("eval_id")} if len(table) else {}


def _choose(group: pd.DataFrame, before: str, after: str) -> Pair | None:
    """Pick the two evaluations of one run and key."""
    trained = group[~group["is_start"] & group["on_lineage"]].sort_values(["step", "attempt"], kind="stable")
    if trained.empty:
        return None
    last = trained.iloc[-1] if after == "last" else trained.iloc[int(trained["score"].to_numpy().argmax())]
    starts = group[group["is_start"]].sort_values(["step", "attempt"], kind="stable", na_position="last")
    if before == "start":
        first = starts.iloc[0] if len(starts) else None
        return Pair(first, last, "start", len(trained))
    logged = group.sort_values(["step", "attempt"], kind="stable", na_position="first").iloc[0]
    same = logged["checkpoint"] == last["checkpoint"]
    return Pair(None if same else logged, last, "first logged", len(trained))


def _with_reason(pair: Pair, frame: pd.DataFrame) -> Pair:
    """Give a pair without a baseline its reason: another key exists, or nothing does."""
    if pair.before is not None:
        return pair
    if pair.label != "start":
        return replace(pair, reason="only one checkpoint was evaluated")
    same = (frame["for_run"] == pair.after["for_run"]) & (frame["benchmark_id"] == pair.after["benchmark_id"])
    starts = frame[same & frame["is_start"]]
    if starts.empty:
        return replace(pair, reason="no evaluation of the checkpoint the money started from")
    return replace(pair, reason=f"refused: {key_difference(starts.iloc[0], pair.after)}")


def _judge(
    pair: Pair, by_eval: dict[str, pd.DataFrame], seed: int
) -> tuple[dict[str, Any], Floats | None, list[Notice]]:
    row = _frame_row(pair)
    before, after = pair.before, pair.after
    if before is None:
        return row, None, []
    points = row["unit"] == "points"
    row["gain"] = (100.0 if points else 1.0) * (after["score"] - before["score"])
    tasks = _paired_tasks(before, after, by_eval)
    known = np.isfinite(min(before["n"], after["n"]))
    if not points or (tasks is None and not known):
        row["reason"] = "the number of tasks is not known" if points else "its score is no share of tasks"
        return row, None, []
    if tasks is not None:
        drawn, notices = _from_tasks(row, tasks, seed)
    else:
        drawn, notices = _from_totals(row, before, after, seed), []
    _verdict(row)
    if row["n"] < SMALL_N:
        text = (
            f"{row['benchmark']} has only {row['n']:.0f} tasks: one run carries an error of several points."
        )
        notices.append(Notice("small_n", text, str(row["run"])))
    return row, drawn, notices


def _frame_row(pair: Pair) -> dict[str, Any]:
    before, after = pair.before, pair.after
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
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
    before: pd.Series, after: pd.Series, by_eval: dict[str, pd.DataFrame]
) -> pd.DataFrame | None:
    """Tasks both sides have: cluster, passed_b, passed_a (means over repeats and seeds)."""
    sides = []
    for side in (before, after):
        found = [by_eval[i] for i in side["eval_ids"] if i in by_eval]
        if not found:
            return None
        joined = pd.concat(found)
        sides.append(
            joined.groupby("task", sort=True).agg(cluster=("cluster", "first"), passed=("passed", "mean"))
        )
    both = sides[0].merge(sides[1], left_index=True, right_index=True, suffixes=("_b", "_a"))
    both["all_tasks"] = max(len(sides[0]), len(sides[1]))
    return both if len(both) >= 2 else None


def _from_tasks(row: dict[str, Any], tasks: pd.DataFrame, seed: int) -> tuple[Floats, list[Notice]]:
    cluster = tasks["cluster_a"].where(tasks["cluster_a"].notna(), tasks["cluster_b"])
    # a task without a cluster stands alone
    labels = cluster.where(cluster.notna(), "task " + tasks.index.to_series().astype(str)).astype(str)
    grouped = cluster.notna().any() and labels.nunique() >= 2
    found = paired_bootstrap(
        tasks["passed_b"].to_numpy(dtype=float),
        tasks["passed_a"].to_numpy(dtype=float),
        seed=seed,
        clusters=labels.to_numpy(dtype=object).astype(str) if grouped else None,
        draws=DRAWS,
    )
    change = tasks["passed_a"] - tasks["passed_b"]
    row |= _points(found.interval, "paired bootstrap by cluster" if grouped else "paired bootstrap by task")
    row |= {"n": float(found.n_tasks), "n_source": "file", "n_clusters": found.n_clusters}
    row |= {"won": int((change > 0).sum()), "lost": int((change < 0).sum())}
    row["mdd"] = 100 * (z_value(0.95) + z_value(POWER_80)) * found.se
    notices = []
    if found.few_clusters:
        text = f"{found.n_clusters} clusters are few: the interval of {row['benchmark']} is too narrow."
        notices.append(Notice("few_clusters", text, str(row["run"])))
    missing = int(tasks["all_tasks"].iloc[0]) - len(tasks)
    if missing:
        text = f"{missing} tasks of {row['benchmark']} were run on one side only and are left out."
        notices.append(Notice("tasks_differ", text, str(row["run"])))
    return 100 * found.draws, notices


def _from_totals(row: dict[str, Any], before: pd.Series, after: pd.Series, seed: int) -> Floats:
    found = newcombe(after["score"] * after["n"], after["n"], before["score"] * before["n"], before["n"])
    row |= _points(found, "Newcombe on two totals")
    n = int(min(before["n"], after["n"]))
    row["n"] = float(n)
    row["mdd"] = 100 * minimum_detectable_difference((before["score"] + after["score"]) / 2, n)
    normal = np.random.default_rng(seed).standard_normal(DRAWS)
    sides = np.where(normal < 0, found.value - found.low, found.high - found.value)
    return np.asarray(100 * (found.value + normal * sides / z_value(0.95)), dtype=np.float64)


def _points(interval: Interval, method: str) -> dict[str, Any]:
    return {
        "gain": 100 * interval.value,
        "low": 100 * interval.low,
        "high": 100 * interval.high,
        "method": method,
    }


def _verdict(row: dict[str, Any]) -> None:
    row["verdict"] = "better" if row["low"] > 0 else "worse" if row["high"] < 0 else CANNOT_TELL
    if row["verdict"] == CANNOT_TELL:
        row["reason"] = NOT_DISTINGUISHABLE
