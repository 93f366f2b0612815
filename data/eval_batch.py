"""Results of evaluation harnesses -> tables `evals` and `eval_tasks`, and whose checkpoint they measured."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.readers.base import Batch, Choices, SetAside, Source
from data.readers.template_rows import Row
from data.readers.template_tables import frame_of

LARGEST_JSON = 512 << 20
_STEP = re.compile(
    r"(?:(?<![a-z])(?:global_?step|step|checkpoint|ckpt|iter(?:ation)?)s?[_\-=]?|@)(\d{1,12})(?![\d.]*\d)",
    re.IGNORECASE,
)
_ID_PARTS = (
    "checkpoint", "benchmark", "benchmark_version", "split", "harness", "effort", "metric", "k", "seed", "at",
)  # fmt: skip


@dataclass(frozen=True)
class Owner:
    """The checkpoint that was evaluated; `run` and `step` only where both are known."""

    checkpoint: str
    run: str | None = None
    step: int | None = None

    def row(self) -> Row:
        """Its cells of table `evals`."""
        attempt = 1 if self.run is not None else None
        return {"checkpoint": self.checkpoint, "run": self.run, "attempt": attempt, "step": self.step}


def owner_of(model: str | None, source: Source, choices: Choices) -> Owner:
    """Whose scores these are. Harnesses name a model or a path, hardly ever a run and a step.

    A run that the person chose, and a step from the person, the path or the file name: the checkpoint
    `<run>@<step>`. A path such as `ckpts/my-run/global_step_120/actor` is called `my-run@120`, which is that
    checkpoint once the run is known. Anything else is a checkpoint of its own, called after the model.
    """
    stem = PurePath(source.name).stem
    step = choices.step if choices.step is not None else _step_in(model or "")
    step = step if step is not None else _step_in(stem)
    if choices.run and step is not None:
        return Owner(f"{choices.run}@{step}", choices.run, step)
    return Owner(_model_name(model) if model else stem)


def _step_in(text: str) -> int | None:
    found = _STEP.findall(text)
    return int(found[-1]) if found else None


def _model_name(model: str) -> str:
    """A hub name as it is; of a path its last folders, with the run before the step where it has one."""
    parts = [part for part in re.split(r"[/\\]", model.strip()) if part not in ("", ".", "..")]
    for i in range(len(parts) - 1, 0, -1):
        match = _STEP.fullmatch(parts[i])
        if match:
            above = [part for part in parts[:i] if part.casefold() not in ("checkpoints", "ckpts", "ckpt")]
            return f"{above[-1]}@{int(match[1])}" if above else parts[i]
    return "/".join(parts[-2:]) or model


@dataclass
class EvalRows:
    """Collects evaluations and their tasks; `finish` makes the batch."""

    format: str
    source: Source
    choices: Choices
    records: int = 0
    stored: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    set_aside: list[SetAside] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unmapped: list[str] = field(default_factory=list)
    mapped: dict[str, str] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)
    _evals: dict[str, Row] = field(default_factory=dict)
    _tasks: list[Row] = field(default_factory=list)

    def add(self, owner: Owner, values: Row, tasks: Sequence[Row] = (), tag: str | None = None) -> str:
        """Take one evaluation (columns of `evals`) with its tasks; returns its identifier.

        Version, split, harness, effort, metric and k are part of the identifier: evaluations that differ in
        one of them stay apart. `tag` tells repetitions of one evaluation apart.
        """
        row: Row = {"score_kind": "fraction", **owner.row(), **values}
        parts = [str(row[name]) for name in _ID_PARTS if row.get(name) is not None]
        eval_id = ":".join([*parts, tag] if tag else parts)
        row["eval_id"] = eval_id
        if eval_id in self._evals and self._evals[eval_id].get("score") != row.get("score"):
            self.warnings.append(f"{eval_id} stands in the file twice; the last one was kept.")
        self._evals[eval_id] = row
        self._tasks += [{"eval_id": eval_id, **task} for task in tasks]
        return eval_id

    def finish(self) -> Batch:
        """The reconciled batch; raises UnreadableFileError when no score was found."""
        if not self._evals:
            reason = f" ({self.set_aside[0].reason})" if self.set_aside else ""
            raise UnreadableFileError(
                f"No score was found{reason}",
                self.source.name,
                "Check that the evaluation finished, or fill in the template ipd_evals_csv.",
            )
        batch = Batch(self.format, records=self.records, stored=self.stored, ignored=self.ignored)
        batch.set_aside, batch.warnings = self.set_aside, self.warnings
        batch.unmapped, batch.mapped = self.unmapped, self.mapped
        batch.tables["evals"] = frame_of("evals", list(self._evals.values()))
        if self._tasks:
            batch.tables["eval_tasks"] = frame_of("eval_tasks", self._tasks)
        batch.facts = source_facts(self.source) | {"format": self.format, "records": self.records}
        batch.facts |= self.facts | _scores(list(self._evals.values()))
        self._ask_for_run(batch)
        batch.reconcile()
        return batch

    def _ask_for_run(self, batch: Batch) -> None:
        free = sorted({str(row["checkpoint"]) for row in self._evals.values() if row.get("run") is None})
        if not free:
            return
        named = ", ".join(free[:3]) + (f" and {len(free) - 3} more" if len(free) > 3 else "")
        if self.choices.run:
            text = (
                f"The step of {self.choices.run} that was evaluated is not known: give it as the step, under "
                "'Read it differently'."
            )
        else:
            text = (
                "To count it for a run, give run and step, under 'Read it differently' or in columns of "
                "these names, or name it as what the run started from."
            )
        batch.warnings.append(f"The scores were filed under the checkpoint {named}. {text}")


def _scores(rows: Sequence[Row]) -> dict[str, object]:
    """`eval_score[benchmark]`, with the metric where a benchmark has several."""
    several = Counter(str(row["benchmark"]) for row in rows)
    found: dict[str, object] = {}
    for row in rows:
        name = str(row["benchmark"])
        found.setdefault(f"eval_score[{name}]", row["score"])
        if several[name] > 1:
            found[f"eval_score[{name}|{row.get('metric')}]"] = row["score"]
    runs = {str(row["run"]) for row in rows if row.get("run") is not None}
    if runs:
        found["runs"], found["run_names"] = len(runs), ";".join(sorted(runs))
    return found


def read_json(source: Source) -> object:
    """The one JSON value of a file; raises UnreadableFileError naming the line where it breaks."""
    if source.path.stat().st_size > LARGEST_JSON:
        raise UnreadableFileError(
            "The JSON file is larger than 512 MB", source.name, "Export it as JSON lines, one object a task."
        )
    try:
        return json.loads(source.path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise UnreadableFileError(
            "The JSON breaks off or is damaged",
            f"{source.name}, line {line}",
            "Copy it again from the machine that wrote it.",
        ) from error


def as_number(value: object) -> float | None:
    """A finite number, or None; booleans are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def as_text(value: object) -> str | None:
    """A text that says something, or None; numbers become their text."""
    if value is None or isinstance(value, bool | Mapping | list):
        return None
    return str(value).strip() or None


def deep(value: object, *path: str) -> object:
    """The value under a path of keys, None where it ends early."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
