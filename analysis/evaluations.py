"""Evaluations on one scale: names resolved, scores as fractions, repeats of a checkpoint averaged."""

from dataclasses import dataclass

import pandas as pd

from analysis.result import Assumption, Notice
from data.catalogue import Catalogue
from data.queries import gain as queries
from data.queries.filters import Filters
from data.view import View

KEY = ["benchmark_id", "benchmark_version", "split", "harness", "effort", "metric", "k"]
KEY_WORDS = {"benchmark_version": "version", "k": "k"}
SMALL_N = 100


@dataclass(frozen=True)
class Evaluations:
    """`frame`: a row a run, checkpoint and key: for_run, checkpoint, attempt, step, KEY columns ('' for not
    stated), benchmark (display name), score, kind (fraction or points), n, n_source (file, catalogue or ''),
    eval_ids (list), is_start, on_lineage, at.
    """

    frame: pd.DataFrame
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]

    def benchmarks(self) -> list[str]:
        """Ids of the benchmarks that were evaluated, most runs first, among equals most tasks."""
        if self.frame.empty:
            return []
        by = self.frame.groupby("benchmark_id").agg(runs=("for_run", "nunique"), n=("n", "max"))
        ordered = by.sort_index().sort_values(["runs", "n"], ascending=False, kind="stable")
        return [str(b) for b in ordered.index]


def load_evaluations(view: View, filters: Filters) -> Evaluations:
    """Read and normalise the evaluations of the picked runs."""
    raw = queries.evaluations(view, filters)
    if raw.empty:
        return Evaluations(_grouped(raw.assign(benchmark_id="", kind="", n=0.0, n_source="")), (), ())
    frame = _named(raw, view.catalogue)
    frame, notices = _scaled(frame)
    frame, assumptions = _counted(frame, view.catalogue)
    return Evaluations(_grouped(frame), tuple(assumptions), tuple(notices))


def _named(frame: pd.DataFrame, catalogue: Catalogue) -> pd.DataFrame:
    known = {name: catalogue.benchmark(name) for name in frame["benchmark"].unique()}
    ids = {name: b.benchmark_id if b else name for name, b in known.items()}
    labels = {name: b.name if b else name for name, b in known.items()}
    out = frame.assign(benchmark_id=frame["benchmark"].map(ids), benchmark=frame["benchmark"].map(labels))
    for column in KEY[1:-1]:
        out[column] = out[column].astype(object).where(out[column].notna(), "")
    out["k"] = [str(int(v)) if pd.notna(v) else "" for v in out["k"]]
    return out


def _scaled(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[Notice]]:
    """Percent to fraction; a fraction outside 0..1 is refused, not clipped."""
    percent = frame["score_kind"] == "percent"
    frame["score"] = frame["score"].where(~percent, frame["score"] / 100)
    frame["kind"] = frame["score_kind"].where(~percent, "fraction")
    bad = frame["kind"].eq("fraction") & ~frame["score"].between(0, 1)
    notices = [
        Notice(
            "score_refused",
            f"{row.benchmark} of {row.checkpoint}: {row.score:g} is no fraction of tasks; say that it is "
            "percent or points.",
            str(row.eval_id),
        )
        for row in frame[bad].head(5).itertuples()
    ]
    return frame[~bad], notices


def _counted(frame: pd.DataFrame, catalogue: Catalogue) -> tuple[pd.DataFrame, list[Assumption]]:
    """Number of tasks from the file, else from the catalogue, as an assumption."""
    filed = frame["n_tasks"].astype("float64")
    filed = filed.where(filed > 0)
    assumptions, known = [], {}
    for name in sorted(frame.loc[filed.isna() & frame["kind"].eq("fraction"), "benchmark_id"].unique()):
        row = catalogue.benchmark(name)
        if row is not None:
            known[name] = float(row.n_tasks)
            label = f"tasks in {row.name} (the file does not say)"
            assumptions.append(Assumption(label, row.n_tasks, "tasks", row.status, row.source, ""))
    frame["n"] = filed.fillna(frame["benchmark_id"].map(known).astype("float64"))
    frame["n_source"] = "file"
    frame["n_source"] = frame["n_source"].where(filed.notna(), "catalogue").where(frame["n"].notna(), "")
    return frame, assumptions


def _grouped(frame: pd.DataFrame) -> pd.DataFrame:
    by = ["for_run", "checkpoint", *KEY, "kind"]
    grouped = frame.groupby(by, sort=True, dropna=False)
    out = grouped.agg(
        attempt=("attempt", "max"),
        step=("step", "max"),
        benchmark=("benchmark", "first"),
        score=("score", "mean"),
        n=("n", "max"),
        n_source=("n_source", "first"),
        eval_ids=("eval_id", list),
        is_start=("is_start", "max"),
        on_lineage=("on_lineage", "max"),
        start_checkpoint=("start_checkpoint", "first"),
        at=("at", "max"),
    ).reset_index()
    for column in ("step", "attempt", "score", "n"):
        out[column] = out[column].astype("float64")
    for column in ("is_start", "on_lineage"):
        out[column] = out[column].astype(bool)
    return out


def key_text(row: pd.Series) -> str:
    """The key of an evaluation in words, without the benchmark: 'split test, harness x, accuracy, k 8'."""
    parts = [f"{KEY_WORDS.get(c, c)} {row[c]}" for c in KEY[1:] if row[c]]
    return ", ".join(parts)


def key_difference(before: pd.Series, after: pd.Series) -> str:
    """Why two evaluations cannot be compared: each differing part of the key."""
    parts = []
    for column in KEY[1:]:
        if before[column] != after[column]:
            left, right = before[column] or "not stated", after[column] or "not stated"
            parts.append(f"{KEY_WORDS.get(column, column)} {left} against {right}")
    return "; ".join(parts)
