"""lm-evaluation-harness: results_*.json (scores) and samples_*.jsonl (one object a document)."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePath

from data.errors import UnreadableFileError
from data.eval_batch import EvalRows, Owner, as_number, as_text, deep, owner_of, read_json
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.template_rows import Row
from data.readers.verl_jsonl import JsonObjects

HARNESS = "lm-evaluation-harness"
PERCENT = frozenset({"bleu", "chrf", "ter"})
"""Metrics that the harness reports from 0 to 100."""
LOWER = frozenset(
    {"word_perplexity", "byte_perplexity", "bits_per_byte", "perplexity", "ter", "wer", "brier_score"}
)
_NO_METRICS = frozenset({"alias", "name", "sample_len", "sample_count", "samples"})
_MODEL = re.compile(r"(?:^|,)\s*(?:pretrained|model|model_name|path)=([^,]+)")
_SAMPLE_KEYS = ('"doc_id"', '"filtered_resps"', '"resps"')
_SAMPLE_NAME = re.compile(r"^samples_(.+?)(?:_\d{4}-\d\d-\d\dT[\d\-.:]+)?$")
_LEAVE = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"})


class LmEvalResultsReader:
    """The results file of one invocation of the harness: one evaluation a task, metric and filter."""

    format = "lm_eval_results_json"
    title = "lm-evaluation-harness results (JSON)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the keys at the top and the `metric,filter` names inside."""
        head = source.head
        if not head.lstrip().startswith("{") or not re.search(r'"results"\s*:\s*\{', head):
            return Sniff(0.0, 'no JSON object with "results"')
        named = re.search(r'"[\w@]+_stderr(?:,[\w\-]+)?"\s*:|"[\w@]+,[\w\-]+"\s*:\s*-?[\d.N]', head)
        keys = ("versions", "n-shot", "configs", "group_subtasks", "lm_eval_version", "n-samples")
        also = any(f'"{key}"' in head for key in keys)
        if named:
            return Sniff(0.97 if also else 0.9, "results by task with metric,filter names of the harness")
        return Sniff(0.4 if also else 0.1, '"results", but no metric,filter names')

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all scores. Raises UnreadableFileError when the JSON is damaged or holds no score."""
        del scratch, progress
        data = read_json(source)
        results = deep(data, "results")
        if not isinstance(data, Mapping) or not isinstance(results, Mapping):
            raise UnreadableFileError(
                'No object "results" in this file', source.name, "Load the results_*.json of the harness."
            )
        rows = EvalRows(self.format, source, choices, records=1, stored=1)
        owner, common = owner_of(_model(data), source, choices), _common(data)
        for task, metrics in results.items():
            if isinstance(metrics, Mapping):
                for row in _task_rows(rows, data, str(task), metrics):
                    rows.add(owner, common | row)
        if not isinstance(deep(data, "configs"), Mapping) and not isinstance(deep(data, "versions"), Mapping):
            rows.warnings.append("The file lacks configs and versions: split and version are not known.")
        return rows.finish()


def _model(data: Mapping[str, object]) -> str | None:
    arguments = deep(data, "config", "model_args")
    if isinstance(arguments, Mapping):
        arguments = ",".join(f"{key}={value}" for key, value in arguments.items())
    match = _MODEL.search(str(arguments or ""))
    named = as_text(data.get("model_name")) or (match[1].strip() if match else None)
    return named or as_text(deep(data, "config", "model"))


def _common(data: Mapping[str, object]) -> Row:
    version = as_text(data.get("lm_eval_version")) or (as_text(data.get("git_hash")) or "")[:8]
    at = as_number(data.get("date"))
    seed = as_number(deep(data, "config", "random_seed"))
    return {
        "harness": f"{HARNESS} {version}".strip(),
        "at": datetime.fromtimestamp(at, UTC).replace(tzinfo=None) if at and 1e9 < at < 4e9 else None,
        "seed": int(seed) if seed is not None else None,
    }


def _task_rows(
    rows: EvalRows, data: Mapping[str, object], task: str, metrics: Mapping[str, object]
) -> list[Row]:
    out: list[Row] = []
    for key, value in metrics.items():
        metric, _, kind = str(key).partition(",")
        if metric in _NO_METRICS or metric.endswith("_stderr"):
            continue
        score = as_number(value)
        if score is None:
            if value not in ("N/A", " ", "", None):
                rows.unmapped.append(f"{task}: {key}")
            continue
        if metric in LOWER or deep(data, "higher_is_better", task, metric) is False:
            rows.unmapped.append(f"{task}: {key}")
            rows.warnings.append(f"{metric} of {task} is better when lower: it was not kept as a score.")
            continue
        stderr = as_number(metrics.get(f"{metric}_stderr,{kind}" if kind else f"{metric}_stderr"))
        out.append(_setup(data, task) | _score(metric, kind, score, stderr))
    return out


def _score(metric: str, kind: str, score: float, stderr: float | None) -> Row:
    within = 0 <= score <= 1
    scale = "percent" if metric in PERCENT else "fraction" if within else "points"
    shown = metric if kind in ("", "none") else f"{metric} ({kind})"
    return {"metric": shown, "score": score, "score_kind": scale, "stderr": stderr}


def _setup(data: Mapping[str, object], task: str) -> Row:
    """What has to be equal before two scores of a task may be compared."""
    config = deep(data, "configs", task)
    shots = as_number(deep(data, "n-shot", task))
    shots = shots if shots is not None else as_number(deep(config, "num_fewshot"))
    done = as_number(deep(data, "n-samples", task, "effective"))
    limit, chat = deep(data, "config", "limit"), as_text(data.get("chat_template"))
    kwargs = deep(data, "config", "gen_kwargs")
    effort = [f"{int(shots)}-shot"] if shots is not None else []
    effort += [f"limit={limit}"] if limit else []
    effort += [_words(kwargs)] if kwargs else []
    effort += ["chat template"] if chat else []
    repeats = as_number(deep(config, "repeats"))
    split = as_text(deep(config, "test_split")) or as_text(deep(config, "validation_split"))
    return {
        "benchmark": task,
        "benchmark_version": as_text(deep(data, "versions", task)),
        "split": split,
        "effort": "; ".join(effort) or None,
        "n_tasks": int(done) if done else None,
        "k": int(repeats) if repeats and repeats > 1 else None,
    }


def _words(kwargs: object) -> str:
    if isinstance(kwargs, Mapping):
        return ",".join(f"{key}={value}" for key, value in sorted(kwargs.items()))
    return str(kwargs)


@dataclass
class _Group:
    """Results of one filter and metric."""

    passed: list[Row] = field(default_factory=list)


class LmEvalSamplesReader:
    """The sample log of one task: which documents were answered rightly."""

    format = "lm_eval_samples_jsonl"
    title = "lm-evaluation-harness samples (JSON lines)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the keys of the first object."""
        first = source.head.lstrip()
        hits = [key for key in _SAMPLE_KEYS if key in first] if first.startswith("{") else []
        return Sniff(0.97 if len(hits) >= 2 else 0.0, f"{len(hits)} keys of the harness's sample log")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all documents; the file names no model, so its own name stands for the checkpoint."""
        del scratch
        rows, objects = EvalRows(self.format, source, choices), JsonObjects()
        groups: dict[tuple[str, str], _Group] = {}
        for line, text, value in objects.read(source, progress):
            rows.records += 1
            found = _sample(value)
            if not found:
                rows.set_aside.append(SetAside(line, "no doc_id with a result", text[:200]))
                continue
            rows.stored += 1
            for key, task in found:
                groups.setdefault(key, _Group()).passed.append(task)
        rows.records += len(objects.damaged)
        rows.set_aside += objects.damaged
        rows.facts["partial_last_line"] = int(objects.cut_line is not None)
        stem = PurePath(source.name).stem
        match = _SAMPLE_NAME.match(stem)
        for (metric, kind), group in groups.items():
            _add(rows, owner_of(None, source, choices), match[1] if match else stem, (metric, kind), group)
        return rows.finish()


def _sample(value: object) -> list[tuple[tuple[str, str], Row]]:
    if not isinstance(value, Mapping) or value.get("doc_id") is None:
        return []
    listed = value.get("metrics")
    names = listed if isinstance(listed, list) else [key for key in value if key not in _LEAVE]
    kind = as_text(value.get("filter")) or "none"
    out: list[tuple[tuple[str, str], Row]] = []
    for name in names:
        result = value.get(name)
        number = float(result) if isinstance(result, bool) else as_number(result)
        if number is not None and 0 <= number <= 1 and name not in LOWER:
            task = as_text(deep(value, "doc", "task_id")) or str(value["doc_id"])
            out.append(((str(name), kind), {"task": task, "passed": number}))
    return out


def _add(rows: EvalRows, owner: Owner, benchmark: str, key: tuple[str, str], group: _Group) -> None:
    metric, kind = key
    seen: dict[str, list[float]] = {}
    tasks: list[Row] = []
    for task in group.passed:
        known = seen.setdefault(str(task["task"]), [])
        tasks.append({**task, "repeat": len(known)})
        known.append(float(str(task["passed"])))
    score = math.fsum(math.fsum(v) / len(v) for v in seen.values()) / len(seen)
    shown = metric if kind == "none" else f"{metric} ({kind})"
    values: Row = {"benchmark": benchmark, "metric": shown, "score": score, "n_tasks": len(seen)}
    most = max(len(v) for v in seen.values())
    rows.add(owner, values | {"harness": HARNESS, "k": most if most > 1 else None}, tasks)


READERS = (LmEvalResultsReader(), LmEvalSamplesReader())
