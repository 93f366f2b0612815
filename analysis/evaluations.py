"""Evaluations on one scale: names resolved, scores as fractions, repeats of a checkpoint averaged."""

import math
from dataclasses import dataclass

from analysis.frames import Row, known, number, records, text
from analysis.result import Assumption, Notice
from data.catalogue import Catalogue
from data.queries import gain as queries
from data.queries.filters import Filters
from data.view import View

KEY = ["benchmark_id", "benchmark_version", "split", "harness", "effort", "metric", "k"]
KEY_WORDS = {"benchmark_version": "version", "k": "k"}
SMALL_N = 100
MOST_REFUSED = 5


@dataclass(frozen=True)
class Evaluations:
    """`rows`: one a run, checkpoint and key: for_run, checkpoint, attempt, step, the KEY columns ('' for not
    stated), benchmark (display name), score, kind (fraction or points), n, n_source (file, catalogue or ''),
    eval_ids (list), is_start, on_lineage. Missing numbers are NaN.
    """

    rows: tuple[Row, ...]
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]

    def benchmarks(self) -> list[str]:
        """Ids of the benchmarks that were evaluated, most runs first, among equals most tasks.

        A run counts by a checkpoint that it trained: the start that it shares with others is of none of them.
        """
        runs: dict[str, set[str]] = {}
        tasks: dict[str, float] = {}
        for row in self.rows:
            name = row["benchmark_id"]
            runs.setdefault(name, set()).update([] if row["is_start"] else [row["for_run"]])
            tasks[name] = max(tasks.get(name, 0.0), row["n"] if known(row["n"]) else 0.0)
        return sorted(runs, key=lambda name: (-len(runs[name]), -tasks[name], name))


def load_evaluations(view: View, filters: Filters) -> Evaluations:
    """Read and normalise the evaluations of the picked runs."""
    rows = [_named(row, view.catalogue) for row in records(queries.evaluations(view, filters))]
    refused = [row for row in rows if row["kind"] == "fraction" and not 0 <= row["score"] <= 1]
    notices = [
        Notice(
            "score_refused",
            f"{row['benchmark']} of {row['checkpoint']}: {row['score']:g} is no fraction of tasks; "
            "say that it is percent or points.",
            str(row["eval_id"]),
        )
        for row in refused[:MOST_REFUSED]
    ]
    kept = [row for row in rows if row["kind"] != "fraction" or 0 <= row["score"] <= 1]
    assumptions = _counted(kept, view.catalogue)
    return Evaluations(tuple(_grouped(kept)), tuple(assumptions), tuple(notices))


def _named(row: Row, catalogue: Catalogue) -> Row:
    """Resolve the benchmark, bring percent to a fraction, spell missing parts of the key as ''."""
    found = catalogue.benchmark(row["benchmark"])
    percent = row["score_kind"] == "percent"
    out = {**row, "benchmark_id": found.benchmark_id if found else row["benchmark"]}
    out["benchmark"] = found.name if found else row["benchmark"]
    out |= {name: text(row[name]) or "" for name in KEY[1:-1]}
    k = number(row["k"])
    out["k"] = str(int(k)) if known(k) else ""
    out["score"] = number(row["score"]) / (100 if percent else 1)
    out["kind"] = "fraction" if percent else row["score_kind"]
    return out


def _counted(rows: list[Row], catalogue: Catalogue) -> list[Assumption]:
    """Set the number of tasks: from the file, else from the catalogue, as an assumption."""
    assumptions: dict[str, Assumption] = {}
    for row in rows:
        filed = number(row["n_tasks"])
        row["n"], row["n_source"] = (filed, "file") if filed > 0 else (math.nan, "")
        found = catalogue.benchmark(row["benchmark_id"]) if row["kind"] == "fraction" else None
        if not filed > 0 and found is not None:
            row["n"], row["n_source"] = float(found.n_tasks), "catalogue"
            label = f"tasks in {found.name} (the file does not say)"
            assumptions[found.benchmark_id] = Assumption(
                label, found.n_tasks, "tasks", found.status, found.source, ""
            )
    return [assumptions[name] for name in sorted(assumptions)]


def _grouped(rows: list[Row]) -> list[Row]:
    """One row a run, checkpoint and key: seeds and repeated uploads averaged."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        key = (row["for_run"], row["checkpoint"], *(row[name] for name in KEY), row["kind"])
        groups.setdefault(key, []).append(row)
    out = []
    for _, group in sorted(groups.items()):
        first = {
            name: group[0][name] for name in ("for_run", "checkpoint", *KEY, "kind", "benchmark", "n_source")
        }
        first |= {name: _most([number(row[name]) for row in group]) for name in ("attempt", "step", "n")}
        first["score"] = math.fsum(row["score"] for row in group) / len(group)
        first["eval_ids"] = sorted(str(row["eval_id"]) for row in group)
        first |= {name: any(bool(row[name]) for row in group) for name in ("is_start", "on_lineage")}
        out.append(first)
    return out


def _most(values: list[float]) -> float:
    return max((v for v in values if known(v)), default=math.nan)


def key_text(row: Row) -> str:
    """The key of an evaluation in words, without the benchmark: 'split test, harness x, accuracy, k 8'."""
    return ", ".join(f"{KEY_WORDS.get(c, c)} {row[c]}" for c in KEY[1:] if row[c])


def key_difference(before: Row, after: Row) -> str:
    """Why two evaluations cannot be compared: each differing part of the key."""
    parts = []
    for column in KEY[1:]:
        if before[column] != after[column]:
            left, right = before[column] or "not stated", after[column] or "not stated"
            parts.append(f"{KEY_WORDS.get(column, column)} {left} against {right}")
    return "; ".join(parts)
