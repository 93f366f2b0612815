"""OpenHands: output.jsonl with its evaluation, and score tables of its index."""

import re
from pathlib import Path

from data.errors import UnreadableFileError
from data.eval_batch import EvalRows, as_number, as_text, deep, owner_of, read_json
from data.parse.task_rows import TaskGroup, passed_of
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.swe_bench import repository_of
from data.readers.template_rows import Row
from data.readers.verl_jsonl import JsonObjects

HARNESS = "OpenHands"
_RESULT = (
    ("report", "resolved"), ("test_result", "report", "resolved"), ("test_result", "resolved"),
    ("test_result", "result"), ("test_result", "passed"), ("test_result", "score"), ("resolved",),
)  # fmt: skip
"""Where the result of a task stands, by version of the harness."""
_SCORES = ('"benchmark"', '"score"', '"metric"')


class OpenHandsReader:
    """Agent runs with their result: one object an instance."""

    format = "openhands_output_jsonl"
    title = "OpenHands output (JSON lines with results)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the keys of an instance: objects may be far longer than what is looked at."""
        head = source.head.lstrip()
        if not head.startswith("{") or '"instance_id"' not in head:
            return Sniff(0.0, "no objects with an instance_id")
        keys = ("test_result", "metadata", "history", "agent_class", "report", "metrics", "model_patch")
        found = [key for key in keys if f'"{key}"' in head]
        agent = {"test_result", "agent_class"} & set(found) or re.search(r'"report"\s*:\s*\{', head)
        return Sniff(0.94 if agent else 0.1 * len(found), f"instances with {', '.join(found) or 'no result'}")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all instances. Raises UnreadableFileError when none was evaluated yet."""
        del scratch
        rows, objects = EvalRows(self.format, source, choices), JsonObjects()
        groups: dict[tuple[object, ...], TaskGroup] = {}
        for line, text, value in objects.read(source, progress):
            rows.records += 1
            reason = _take(groups, value)
            if reason == "repeated":
                rows.ignored["instance that was there before"] += 1
            elif reason:
                rows.set_aside.append(SetAside(line, reason, text[:200]))
            else:
                rows.stored += 1
        rows.records += len(objects.damaged)
        rows.set_aside += objects.damaged
        rows.facts["partial_last_line"] = int(objects.cut_line is not None)
        for group in groups.values():
            model = as_text(group.key.pop("model"))
            rows.add(owner_of(model, source, choices), group.values(), group.tasks)
        return rows.finish()


def _take(groups: dict[tuple[object, ...], TaskGroup], value: object) -> str:
    task = as_text(deep(value, "instance_id"))
    if task is None:
        return "no instance_id"
    result = next((found for path in _RESULT if (found := deep(value, *path)) is not None), None)
    if result is None:
        return "not evaluated yet: the object holds a patch and no result"
    passed, reason = passed_of(result)
    if passed is None:
        return reason
    key = _key(value, task)
    group = groups.setdefault(tuple(key.values()), TaskGroup(key))
    usage = deep(value, "metrics", "accumulated_token_usage")
    tokens = [as_number(deep(usage, name)) for name in ("prompt_tokens", "completion_tokens")]
    known = [number for number in tokens if number is not None]
    row: Row = {"task": task, "passed": passed, "cluster": repository_of(task)}
    row |= {
        "usd": as_number(deep(value, "metrics", "accumulated_cost")),
        "tokens": sum(known) if known else None,
    }
    repeat = as_number(deep(value, "attempt"))
    # Attempts are counted from 1, and a retry of the same attempt is written again.
    return "" if group.add(row, int(repeat) - 1 if repeat and repeat >= 1 else 0) else "repeated"


def _key(value: object, task: str) -> Row:
    agent = as_text(deep(value, "metadata", "agent_class"))
    version = as_text(deep(value, "metadata", "agent_version"))
    limit = as_number(deep(value, "metadata", "max_iterations"))
    effort = [as_text(deep(value, "metadata", "llm_config", "reasoning_effort"))]
    effort += [f"max_iterations={int(limit)}" if limit else None]
    dataset = as_text(deep(value, "metadata", "dataset"))
    named = as_text(deep(value, "metadata", "llm_config", "model"))
    return {
        "model": named or as_text(deep(value, "model_name_or_path")),
        "benchmark": dataset or ("SWE-bench" if repository_of(task) else "OpenHands"),
        "split": as_text(deep(value, "metadata", "data_split")),
        "harness": " ".join(word for word in (HARNESS, agent, version) if word),
        "effort": "; ".join(word for word in effort if word) or None,
        "metric": "resolved",
    }


class OpenHandsScoresReader:
    """A list of scores, one a benchmark."""

    format = "openhands_scores_json"
    title = "OpenHands scores (JSON list by benchmark)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by a JSON list of objects with benchmark, score and metric."""
        head = source.head.lstrip()
        hits = sum(key in head for key in _SCORES)
        listed = bool(re.match(r"\[\s*\{", head))
        return Sniff(0.93 if listed and hits == len(_SCORES) else 0.0, f"a list with {hits} keys of a score")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all scores; above 1 they are percent, by the index's own description."""
        del scratch, progress
        data = read_json(source)
        if not isinstance(data, list):
            raise UnreadableFileError("This is no list of scores", source.name, "Load the scores.json.")
        rows = EvalRows(self.format, source, choices, records=len(data))
        numbers = [as_number(deep(item, "score")) for item in data]
        percent = any(number is not None and number > 1 for number in numbers)
        for line, (item, score) in enumerate(zip(data, numbers, strict=True), 1):
            name = as_text(deep(item, "benchmark"))
            if name is None or score is None or not 0 <= score <= (100 if percent else 1):
                rows.set_aside.append(SetAside(line, "no benchmark with a score", repr(item)[:200]))
                continue
            rows.stored += 1
            values: Row = {"benchmark": name, "score": score, "harness": HARNESS}
            values["score_kind"] = "percent" if percent else "fraction"
            values |= {"metric": as_text(deep(item, "metric")), "usd": as_number(deep(item, "total_cost"))}
            rows.add(
                owner_of(None, source, choices), values | {"score_kind": "percent" if percent else "fraction"}
            )
        return rows.finish()


READERS = (OpenHandsReader(), OpenHandsScoresReader())
