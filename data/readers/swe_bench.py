"""SWE-bench harness: the report of a run (lists of instance ids) and the reports of single instances."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePath

from data.errors import UnreadableFileError
from data.eval_batch import EvalRows, as_number, owner_of, read_json
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.template_rows import Row

HARNESS = "SWE-bench"
NOT_RESOLVED = ("unresolved_ids", "empty_patch_ids", "error_ids", "incomplete_ids", "unstopped_ids")
_TOP = ('"total_instances"', '"resolved_instances"', '"resolved_ids"', '"submitted_instances"')
_SINGLE = re.compile(
    r'\A\s*\{\s*"[\w.\-]+"\s*:\s*\{[^{}]*"(?:patch_is_None|patch_exists|patch_successfully_applied)"'
)
_INSTANCE = re.compile(r"^(.+?)__(.+)-\d+$")
_VARIANT = re.compile(
    r"swe[\-_ ]?bench[\-_ ]*(verified|lite|multimodal|multilingual|live|pro)", re.IGNORECASE
)
_BY_SIZE = {500: "Verified", 300: "Lite", 2294: ""}


def repository_of(task: str) -> str | None:
    """`django__django-11099` -> `django/django`: instances of one repository are not independent."""
    match = _INSTANCE.match(task)
    return f"{match[1]}/{match[2]}" if match else None


class SweBenchReader:
    """What `swebench.harness.run_evaluation` leaves behind."""

    format = "swe_bench_report_json"
    title = "SWE-bench harness report (JSON)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the counts and lists of ids of a report, or by the fields of one instance."""
        if not source.head.lstrip().startswith("{"):
            return Sniff(0.0, "no JSON object")
        hits = sum(key in source.head for key in _TOP)
        if hits >= 2:
            return Sniff(0.9 + 0.02 * hits, f"{hits} keys of a SWE-bench report")
        if _SINGLE.search(source.head):
            return Sniff(0.95, "instances with their patch and whether it resolved")
        return Sniff(0.0, "no keys of a SWE-bench report")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read the report. The score is resolved / all instances, so errors and empty patches count as not.

        Raises UnreadableFileError when the JSON is damaged, is no report, or contradicts itself.
        """
        del scratch, progress
        data = read_json(source)
        if not isinstance(data, Mapping):
            raise UnreadableFileError("This is no report", source.name, "Load the <model>.<run>.json.")
        rows = EvalRows(self.format, source, choices, records=1, stored=1)
        if any(key.strip('"') in data for key in _TOP):
            _report(rows, data)
        else:
            _instances(rows, data)
        return rows.finish()


def _report(rows: EvalRows, data: Mapping[str, object]) -> None:
    name = rows.source.name
    passed = dict.fromkeys(_ids(data, "resolved_ids"), 1.0)
    for key in NOT_RESOLVED:
        for task in _ids(data, key):
            if task in passed and passed[task] == 1.0:
                raise UnreadableFileError(
                    f"{task} is listed as resolved and in {key}", name, "Write the report again."
                )
            passed[task] = 0.0
    said = as_number(data.get("resolved_instances"))
    resolved = said if said is not None else sum(passed.values())
    total = as_number(data.get("total_instances")) or float(len(passed))
    if total <= 0 or resolved > total:
        raise UnreadableFileError(
            f"{resolved:.0f} of {total:.0f} instances cannot be resolved", name, "Write the report again."
        )
    if passed and sum(passed.values()) != resolved:
        rows.warnings.append(
            f"The report counts {resolved:.0f} resolved instances but lists {sum(passed.values()):.0f}."
        )
    if passed and len(passed) < total:
        rows.warnings.append(f"{total - len(passed):.0f} of {total:.0f} instances are not listed by id.")
    submitted = as_number(data.get("submitted_instances"))
    if submitted is not None and submitted < total:
        rows.warnings.append(
            f"Only {submitted:.0f} of {total:.0f} instances were submitted: the others count as not resolved."
        )
    _add(rows, passed, resolved / total, int(total))


def _ids(data: Mapping[str, object], key: str) -> list[str]:
    value = data.get(key)
    return [str(item) for item in value] if isinstance(value, list) else []


def _instances(rows: EvalRows, data: Mapping[str, object]) -> None:
    passed = {
        str(task): float(found)
        for task, value in data.items()
        if isinstance(value, Mapping) and isinstance(found := value.get("resolved"), bool)
    }
    rows.records = rows.stored = max(len(passed), 1)
    if passed:
        _add(rows, passed, sum(passed.values()) / len(passed), len(passed))


def _add(rows: EvalRows, passed: Mapping[str, float], score: float, total: int) -> None:
    stem = PurePath(rows.source.name).stem
    model, _, run_id = stem.rpartition(".")
    model = (model or stem).replace("__", "/")
    values: Row = {
        "benchmark": _benchmark(rows, stem, total),
        "harness": HARNESS,
        "metric": "resolved",
        "n_tasks": total,
        "score": score,
    }
    tasks: list[Row] = [
        {"task": task, "cluster": repository_of(task), "repeat": 0, "passed": value}
        for task, value in passed.items()
    ]
    rows.add(owner_of(model, rows.source, rows.choices), values, tasks, tag=run_id or None)


def _benchmark(rows: EvalRows, stem: str, total: int) -> str:
    """The set by the file name, else by its size: the report itself does not say it."""
    named = _VARIANT.search(stem)
    if named:
        return f"SWE-bench {named[1].capitalize()}"
    if total in _BY_SIZE:
        found = f"SWE-bench {_BY_SIZE[total]}".strip()
        rows.warnings.append(f"The report does not name its set: {found} has {total} instances, as this one.")
        return found
    rows.warnings.append(f"The report does not name its set: {total} instances of SWE-bench.")
    return "SWE-bench"


READERS = (SweBenchReader(),)
