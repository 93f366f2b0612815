"""One result a task as CSV, JSON lines or a JSON list, under any usual names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from data.eval_batch import EvalRows, as_number, as_text, owner_of
from data.parse.csvio import TEXT_LIMIT
from data.parse.table_items import Item, Items, names_of
from data.parse.task_rows import SURE_RESULTS, SURE_TASKS, TaskGroup, find_fields, folded, passed_of
from data.parse.values import parse_number
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.swe_bench import repository_of
from data.readers.template_rows import Row

_DATE = re.compile(r"[_.\-]?\d{4}-?\d\d-?\d\d(?:[T_]?[\d\-.:]{6,})?$")
_TRAINING = re.compile(r"^(?:_?step|global_step|loss|lr|learning_rate|timing_s.*|perf.*|response_length.*)$")
SANDBOX = frozenset(
    {"cold_start", "cold_start_s", "cold_start_ms", "cold_s", "queued_s", "queued_ms", "queue_s", "queue_ms",
     "sandbox", "sandbox_id"}
)  # fmt: skip
OTHERS = frozenset({"filtered_resps", "resps", "test_result"})
_EVALS = ("benchmark", "split", "harness", "effort", "benchmark_version", "model", "run")
_OWN_STEP = frozenset({"step", "global_step"})
"""Of a training log, and of results that name run and step of the checkpoint."""


class TaskResultsReader:
    """Results by task: the score is their mean, intervals come from the tasks."""

    format = "task_results"
    title = "results by task (CSV, JSON or JSON lines)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the names: a task, and whether it was solved; a training log has neither."""
        names = names_of(source)
        folded_names = {folded(name) for name in names}
        fields = find_fields(names, {})
        if "task" not in fields or "passed" not in fields:
            return Sniff(0.0, "no field for the task and its result")
        why = f"'{fields['task']}' names tasks and '{fields['passed']}' their results"
        sure = folded(fields["task"]) in SURE_TASKS and folded(fields["passed"]) in SURE_RESULTS
        mine = _OWN_STEP if sure and {"run", "step"} <= fields.keys() else frozenset[str]()
        training = sum(bool(_TRAINING.match(name)) for name in folded_names - mine)
        if "eval_id" in folded_names:
            return Sniff(0.2, f"{why}; the template eval_tasks fits better")
        if folded_names & SANDBOX:
            return Sniff(0.2, f"{why}, but the fields are those of sandbox calls")
        if folded_names & OTHERS:
            return Sniff(0.2, f"{why}, in the objects of a harness that is read by its own name")
        if training:
            return Sniff(0.15, f"{why}, but there are fields of a training log")
        return Sniff(0.85 if sure else 0.45, why)

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all results. `choices.columns` may name the fields (task, passed, repeat, cluster, model, …).

        Raises UnreadableFileError when no field names a task and its result, or no result is there.
        """
        del scratch
        rows, items = EvalRows(self.format, source, choices), Items(source)
        groups: dict[tuple[object, ...], TaskGroup] = {}
        fields: dict[str, str] = {}
        for line, text, value in items.read(progress):
            if not {"task", "passed"} <= fields.keys():
                fields = find_fields(list(value), choices.columns)
            take_result(rows, groups, fields, (line, text, value))
        rows.records, rows.set_aside = items.records, [*items.set_aside, *rows.set_aside]
        rows.facts |= items.facts
        rows.warnings += items.warnings
        rows.unmapped += items.unread
        for group in groups.values():
            model, run = as_text(group.key.pop("model")), as_text(group.key.pop("run"))
            step = as_number(group.key.pop("step"))
            own = replace(
                choices,
                run=choices.run or run,
                step=choices.step if choices.step is not None or step is None else int(step),
            )
            rows.add(owner_of(model, source, own), group.values(), group.tasks)
        _note_gaps(rows, list(groups.values()))
        target = {"model": "evals.checkpoint", "step": "evals.step"}
        for meaning, name in fields.items():
            table = "evals" if meaning in _EVALS else "eval_tasks"
            rows.mapped[name] = target.get(meaning) or f"{table}.{meaning}"
        batch = rows.finish()
        batch.names_runs = "run" in fields and not choices.run
        return batch


def take_result(
    rows: EvalRows, groups: dict[tuple[object, ...], TaskGroup], fields: Mapping[str, str], item: Item
) -> None:
    """File one record into its evaluation; a record without a task or a result is set aside."""
    line, text, value = item
    for name in value:
        if name not in fields.values() and name not in rows.unmapped:
            rows.unmapped.append(name)
    task = as_text(value.get(fields.get("task", "")))
    passed, reason = passed_of(value.get(fields.get("passed", "")))
    if task is None or passed is None:
        rows.set_aside.append(SetAside(line, reason if task else "no task is named", text[:TEXT_LIMIT]))
        return
    step, odd = _step(value, fields)
    if odd:
        rows.set_aside.append(SetAside(line, odd, text[:TEXT_LIMIT]))
        return
    key = _key(rows, fields, value) | {"step": step}
    group = groups.setdefault(tuple(key.values()), TaskGroup(key))
    row: Row = {"task": task, "passed": passed}
    row["cluster"] = as_text(value.get(fields.get("cluster", ""))) or repository_of(task)
    bad: list[SetAside] = []
    for name in ("tokens", "usd"):
        row[name] = _amount(value, fields.get(name, ""), line, bad)
    repeat = _number(value.get(fields.get("repeat", "")))
    if group.add(row, int(repeat) if repeat is not None and repeat >= 0 else None):
        rows.stored += 1
        rows.set_aside += bad
    else:
        rows.ignored["result of a repeat that was there before"] += 1


def _key(rows: EvalRows, fields: Mapping[str, str], value: Mapping[str, object]) -> Row:
    key: Row = {name: as_text(value.get(fields.get(name, ""))) for name in _EVALS}
    if key["benchmark"] is None:
        key["benchmark"] = rows.choices.benchmark
    if key["benchmark"] is None:
        stem = PurePath(rows.source.name).stem
        key["benchmark"] = _DATE.sub("", stem) or stem
        text = (
            f"No field names the benchmark: it is called {key['benchmark']} after the file. A file of "
            "another name is another benchmark, never compared with this one: name the benchmark of both "
            "under 'Read it differently'."
        )
        if text not in rows.warnings:
            rows.warnings.append(text)
    key["metric"] = folded(fields["passed"])
    return key


def _step(value: Mapping[str, object], fields: Mapping[str, str]) -> tuple[int | None, str]:
    """(step of the checkpoint, ""), None where the cell is empty, or (None, why it is none)."""
    cell = value.get(fields.get("step", ""))
    number = _number(cell)
    if number is None:
        return None, "" if as_text(cell) is None else "the step is not a number"
    if number < 0 or number != int(number):
        return None, "the step is not a whole number from 0 up"
    return int(number), ""


def _amount(value: Mapping[str, object], name: str, line: int, bad: list[SetAside]) -> float | None:
    """Tokens or dollars of one result; a cell that cannot be read joins `bad`."""
    number = as_number(value.get(name))
    text = as_text(value.get(name)) if number is None else None
    if text is not None:
        parsed = parse_number(text.removeprefix("$"))
        number, reason = parsed.number, parsed.reason
    else:
        reason = ""
    if number is not None and number < 0:
        number, text, reason = None, str(value.get(name)), "a negative amount"
    if reason:
        bad.append(SetAside(line, reason, str(text)[:TEXT_LIMIT], name))
    return number


def _note_gaps(rows: EvalRows, groups: Sequence[TaskGroup]) -> None:
    """Say that a sum of tokens or dollars leaves out the results that have none."""
    tasks = [task for group in groups for task in group.tasks]
    for name, words in (("tokens", "tokens"), ("usd", "dollars")):
        unknown = sum(task.get(name) is None for task in tasks)
        if 0 < unknown < len(tasks):
            rows.warnings.append(
                f"{unknown} of {len(tasks)} results have no {words}: "
                "the sum of an evaluation counts the others."
            )


def _number(value: object) -> float | None:
    number = as_number(value)
    return number if number is not None else parse_number(as_text(value)).number


READERS = (TaskResultsReader(),)
