"""One result a task as CSV, JSON lines or a JSON list, under any usual names."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from data.csvio import TEXT_LIMIT, CsvRows, no_rows, read_layout
from data.errors import UnreadableFileError
from data.eval_batch import EvalRows, as_number, as_text, owner_of, read_json
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.swe_bench import repository_of
from data.readers.template_rows import Row
from data.readers.verl_jsonl import JsonObjects
from data.task_rows import SURE_RESULTS, SURE_TASKS, TaskGroup, find_fields, folded, passed_of
from data.values import is_missing, parse_number

LISTS = ("results", "tasks", "instances", "samples", "data")
"""Keys of a JSON object that hold the list of results."""
_DATE = re.compile(r"[_.\-]?\d{4}-?\d\d-?\d\d(?:[T_]?[\d\-.:]{6,})?$")
_TRAINING = re.compile(r"^(?:_?step|global_step|loss|lr|learning_rate|timing_s.*|perf.*|response_length.*)$")
SANDBOX = frozenset(
    {"cold_start", "cold_start_s", "cold_start_ms", "cold_s", "queued_s", "queued_ms", "queue_s", "queue_ms",
     "sandbox", "sandbox_id"}
)  # fmt: skip
OTHERS = frozenset({"filtered_resps", "resps", "test_result"})
_EVALS = ("benchmark", "split", "harness", "effort", "benchmark_version", "model")

Item = tuple[int, str, Mapping[str, object]]
"""Line, text for the quarantine, fields of one result."""


class TaskResultsReader:
    """Results by task: the score is their mean, intervals come from the tasks."""

    format = "task_results"
    title = "results by task (CSV, JSON or JSON lines)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the names: a task, and whether it was solved; a training log has neither."""
        names = _names(source)
        folded_names = {folded(name) for name in names}
        fields = find_fields(names, {})
        if "task" not in fields or "passed" not in fields:
            return Sniff(0.0, "no field for the task and its result")
        why = f"'{fields['task']}' names tasks and '{fields['passed']}' their results"
        sure = folded(fields["task"]) in SURE_TASKS and folded(fields["passed"]) in SURE_RESULTS
        training = sum(bool(_TRAINING.match(name)) for name in folded_names)
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
        rows = EvalRows(self.format, source, choices)
        items = _csv_items(rows, progress) if _is_csv(source) else _json_items(rows, progress)
        groups: dict[tuple[object, ...], TaskGroup] = {}
        fields: dict[str, str] = {}
        for line, text, value in items:
            rows.records += 1
            if not {"task", "passed"} <= fields.keys():
                fields = find_fields(list(value), choices.columns)
            _take(rows, groups, fields, (line, text, value))
        for group in groups.values():
            model = as_text(group.key.pop("model"))
            rows.add(owner_of(model, source, choices), group.values(), group.tasks)
        target = {"model": "evals.checkpoint"}
        for meaning, name in fields.items():
            table = "evals" if meaning in _EVALS else "eval_tasks"
            rows.mapped[name] = target.get(meaning) or f"{table}.{meaning}"
        return rows.finish()


def _take(
    rows: EvalRows, groups: dict[tuple[object, ...], TaskGroup], fields: Mapping[str, str], item: Item
) -> None:
    line, text, value = item
    for name in value:
        if name not in fields.values() and name not in rows.unmapped:
            rows.unmapped.append(name)
    task = as_text(value.get(fields.get("task", "")))
    passed, reason = passed_of(value.get(fields.get("passed", "")))
    if task is None or passed is None:
        rows.set_aside.append(SetAside(line, reason if task else "no task is named", text[:TEXT_LIMIT]))
        return
    key = _key(rows, fields, value)
    group = groups.setdefault(tuple(key.values()), TaskGroup(key))
    row: Row = {"task": task, "passed": passed}
    row["cluster"] = as_text(value.get(fields.get("cluster", ""))) or repository_of(task)
    for name in ("tokens", "usd"):
        row[name] = _number(value.get(fields.get(name, "")))
    repeat = _number(value.get(fields.get("repeat", "")))
    if group.add(row, int(repeat) if repeat is not None and repeat >= 0 else None):
        rows.stored += 1
    else:
        rows.ignored["result of a repeat that was there before"] += 1


def _key(rows: EvalRows, fields: Mapping[str, str], value: Mapping[str, object]) -> Row:
    key: Row = {name: as_text(value.get(fields.get(name, ""))) for name in _EVALS}
    if key["benchmark"] is None:
        stem = PurePath(rows.source.name).stem
        key["benchmark"] = _DATE.sub("", stem) or stem
        text = f"No field names the benchmark: it is called {key['benchmark']} after the file."
        if text not in rows.warnings:
            rows.warnings.append(text)
    key["metric"] = folded(fields["passed"])
    return key


def _number(value: object) -> float | None:
    number = as_number(value)
    return number if number is not None else parse_number(as_text(value)).number


def _is_csv(source: Source) -> bool:
    return source.head.lstrip()[:1] not in ("{", "[")


def _names(source: Source) -> list[str]:
    """Names of the first record: the header of a CSV, or the keys of the first complete JSON object."""
    if _is_csv(source):
        try:
            layout = read_layout(source, unique=False)
        except UnreadableFileError:
            return []
        return [name for name in layout.header if name] if len(layout.header) > 1 else []
    head = source.head.lstrip()
    start = re.match(r"\[\s*|\{[^{}\[\]]*?\"(?:" + "|".join(LISTS) + r")\"\s*:\s*\[\s*", head)
    if start is None:
        return _first_keys(head)
    return _first_keys(head[start.end() :]) if head[start.end() :].startswith("{") else []


def _first_keys(text: str) -> list[str]:
    if not text.startswith("{"):
        return []
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return []
    return list(_flat(value)) if isinstance(value, dict) else []


def _flat(value: Mapping[str, object]) -> dict[str, object]:
    """Fields of an object; those of `metrics`, `result` and the like are lifted when their name is free."""
    out = dict(value)
    for name in ("result", "results", "metrics", "scores", "info", "metadata"):
        inner = value.get(name)
        if isinstance(inner, dict):
            out |= {key: item for key, item in inner.items() if key not in value}
            out.pop(name)
    return out


def _csv_items(rows: EvalRows, progress: Progress) -> Iterator[Item]:
    layout = read_layout(rows.source)
    lines = CsvRows(rows.source, layout, progress)
    missing = 0
    for line in lines:
        missing += sum(1 for cell in line.cells if is_missing(cell))
        named = zip(layout.header, line.cells, strict=False)
        yield line.line, layout.delimiter.join(line.cells), {n: c.strip() for n, c in named if n}
    counts = lines.counts
    if not counts.records:
        raise no_rows(rows.source, layout)
    rows.records += len(counts.set_aside)
    rows.set_aside += counts.set_aside
    rows.facts |= {
        "columns": layout.columns,
        "missing_cells": missing,
        "header_repeated": counts.header_repeated,
        "partial_last_line": counts.partial_last_line,
        "ragged_rows": counts.ragged_rows,
    }


def _json_items(rows: EvalRows, progress: Progress) -> Iterator[Item]:
    source = rows.source
    head = source.head.lstrip()
    if head.startswith("[") or re.match(r"\{[^{}\[\]]*?\"(?:" + "|".join(LISTS) + r")\"\s*:\s*\[", head):
        yield from _document_items(rows, read_json(source))
        return
    objects = JsonObjects()
    for line, text, value in objects.read(source, progress):
        if isinstance(value, dict):
            yield line, text, _flat(value)
    rows.records += len(objects.damaged)
    rows.set_aside += objects.damaged
    rows.facts["partial_last_line"] = int(objects.cut_line is not None)


def _document_items(rows: EvalRows, data: object) -> Iterator[Item]:
    items = data
    if isinstance(data, Mapping):
        items = next((data[key] for key in LISTS if isinstance(data.get(key), list)), [])
        shared = {key: item for key, item in data.items() if as_text(item) is not None}
        rows.unmapped += [key for key, item in data.items() if item is not items and key not in shared]
    else:
        shared = {}
    for number, value in enumerate(items if isinstance(items, list) else [], 1):
        if isinstance(value, dict):
            yield number, json.dumps(value)[:TEXT_LIMIT], shared | _flat(value)
        else:
            rows.records += 1
            rows.set_aside.append(SetAside(number, "not an object", repr(value)[:TEXT_LIMIT]))


READERS = (TaskResultsReader(),)
