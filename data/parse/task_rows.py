"""One result a task, under whatever names: which field is the task, which says whether it was solved."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from data.eval_batch import as_number, as_text
from data.readers.template_rows import Row

NAMES: dict[str, tuple[str, ...]] = {
    "task": (
        "task_id", "instance_id", "problem_id", "question_id", "doc_id", "example_id", "item_id", "unique_id",
        "task", "task_name", "problem", "question", "id", "index", "idx",
    ),
    "passed": (
        "passed", "resolved", "is_resolved", "correct", "is_correct", "success", "solved", "pass", "pass@1",
        "acc", "accuracy", "exact_match", "score", "reward", "grade", "result",
    ),
    "repeat": (
        "repeat", "trial", "trial_id", "sample", "sample_id", "sample_idx", "sample_index", "rollout",
        "rollout_id", "rollout_idx", "run_idx", "repetition", "attempt", "epoch",
    ),
    "cluster": ("cluster", "repo", "repository", "group", "group_id", "passage_id", "contest", "source"),
    "tokens": ("tokens", "total_tokens", "n_tokens", "num_tokens", "completion_tokens", "output_tokens"),
    "usd": ("usd", "cost_usd", "cost", "total_cost", "accumulated_cost", "instance_cost"),
    "model": ("checkpoint", "model", "model_name", "model_name_or_path", "model_id"),
    "benchmark": ("benchmark", "dataset", "dataset_name", "data_source", "benchmark_name", "eval_name"),
    "benchmark_version": ("benchmark_version", "version"),
    "split": ("split", "data_split", "subset"),
    "harness": ("harness", "agent", "agent_class", "scaffold"),
    "effort": ("effort", "reasoning_effort", "thinking_budget", "max_tokens"),
    "run": ("run", "run_name"),
    "step": ("step", "global_step", "checkpoint_step"),
}  # fmt: skip
"""Meaning -> names in files, folded; the first that a file has wins."""
SURE_TASKS = frozenset(NAMES["task"][:8]) | {"task"}
SURE_RESULTS = frozenset(NAMES["passed"][:12])
_YES = frozenset({"true", "yes", "pass", "passed", "resolved", "correct", "success", "solved", "ok"})
_NO = frozenset(
    {"false", "no", "fail", "failed", "unresolved", "incorrect", "wrong", "failure", "error", "timeout",
     "empty_patch"}
)  # fmt: skip


def folded(name: str) -> str:
    """`Task ID` -> `task_id`, `isCorrect` -> `is_correct`."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-]+", "_", snake).casefold()


def find_fields(names: Sequence[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Meaning -> the name in the file: what a person chose first, then the usual names in their order.

    Run and step say whose checkpoint it was only together: a lone `run` may number repeats, a lone `step` the
    steps of an agent.
    """
    found = {meaning: name for name in names if (meaning := chosen.get(name)) in NAMES}
    by_folded = {folded(name): name for name in reversed(names)}
    for meaning, usual in NAMES.items():
        if meaning in found:
            continue
        place = next((n for n in usual if n in by_folded and by_folded[n] not in found.values()), None)
        if place is not None:
            found[meaning] = by_folded[place]
    if "run" not in found or "step" not in found:
        for meaning in ("run", "step"):
            if chosen.get(found.get(meaning, "")) != meaning:
                found.pop(meaning, None)
    return found


def passed_of(value: object) -> tuple[float | None, str]:
    """(0..1, "") of a result, or (None, why it is none). A reward outside 0..1 is no share of a task."""
    if isinstance(value, bool):
        return float(value), ""
    number = as_number(value)
    if number is None:
        word = (as_text(value) or "").casefold()
        if word in _YES | _NO:
            return float(word in _YES), ""
        try:
            number = float(word)
        except ValueError:
            return None, "no result" if not word else "neither a number nor passed or failed"
    if number != number:
        return None, "no result"
    return (number, "") if 0 <= number <= 1 else (None, "a result outside 0..1")


@dataclass
class TaskGroup:
    """Results of one evaluation (model, benchmark, split, harness, effort), in file order."""

    key: Row
    tasks: list[Row] = field(default_factory=list)
    seen: dict[str, set[int]] = field(default_factory=dict)

    def add(self, task: Row, repeat: int | None) -> bool:
        """Take one result; a repeat that is not numbered gets the next number. False for one seen before."""
        known = self.seen.setdefault(str(task["task"]), set())
        number = len(known) if repeat is None else repeat
        if number in known:
            return False
        known.add(number)
        self.tasks.append({**task, "repeat": number})
        return True

    def values(self) -> Row:
        """Cells of `evals`: the score is the mean over tasks of the mean over their repeats."""
        results: dict[str, list[float]] = {}
        for row in self.tasks:
            results.setdefault(str(row["task"]), []).append(float(str(row["passed"])))
        means = [sum(v) / len(v) for v in results.values()]
        most = max(len(v) for v in results.values())
        out: Row = {**self.key, "score": sum(means) / len(means), "n_tasks": len(means)}
        out["k"] = most if most > 1 else None
        for name in ("tokens", "usd"):
            known = [value for row in self.tasks if isinstance(value := row.get(name), float)]
            if known:
                out[name] = sum(known)
        return out
