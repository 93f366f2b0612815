"""Any JSON-lines training log with a step counter and numbers: mapped as far as its keys are known."""

import re
from pathlib import Path

from data.errors import UnreadableFileError
from data.logs.flat import FlatRun, Row, framework_of, make_batch
from data.logs.flat_rows import ANY_COUNTERS, number_steps
from data.logs.json_rows import epoch_of, numbers, read_json_log, shown, step_of
from data.logs.verl_batch import run_name
from data.readers import (
    prime_rl_metrics,
    tinker_metrics,
    trl_trainer_state,
    verl_jsonl,
    wandb_history,
    wandb_summary,
)  # fmt: skip
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.foreign import http_json

SOURCE = "flat_metrics"
KNOWN_FROM = 0.5
_OTHERS = tuple(
    reader
    for module in (
        verl_jsonl,
        tinker_metrics,
        prime_rl_metrics,
        trl_trainer_state,
        wandb_history,
        wandb_summary,
    )
    for reader in module.READERS
    if "text" in getattr(reader, "kinds", ("text",)) and not reader.format.endswith("_csv")
)
_NUMBER_KEY = re.compile(r'"([^"\\]{1,200})"\s*:\s*(?:-?\d|NaN)')
TELLING = re.compile(r"loss|reward|lr$|learning_rate|grad|kl|entropy|tokens|acc|score|nll|perplexity|mfu")
_COUNTERS = (*ANY_COUNTERS, "_step", "training_step", "rollout/step")
_STAMPS = ("_timestamp", "timestamp", "time", "ts", "wall_time")
_ELAPSED = ("_runtime", "elapsed_s", "elapsed_seconds", "elapsed")


class FlatJsonlReader:
    """JSON lines of a trainer that no other reader knows."""

    format = "flat_metrics_jsonl"
    title = "training metrics (JSON lines with a step)"

    def sniff(self, source: Source) -> Sniff:
        """A step counter and training words among numeric keys; never logs of requests."""
        head = source.head
        if not head.lstrip().startswith("{") or http_json(head):
            return Sniff(0.0, "no JSON lines, or a log of requests")
        found = set(_NUMBER_KEY.findall(head))
        counter = next((key for key in _COUNTERS if key in found), None)
        numeric = found - set(_COUNTERS) - set(_STAMPS) - {"epoch"}
        if any(reader.sniff(source).confidence >= KNOWN_FROM for reader in _OTHERS):
            return Sniff(0.1, "a reader of one trainer or tracker knows this file")
        framework = framework_of(sorted(numeric))[0]
        telling = framework or any(TELLING.search(key) for key in numeric)
        if counter is None or not telling:
            return Sniff(0.0, "no step counter with metrics of a training")
        if len(re.findall(rf'"{re.escape(counter)}"\s*:', head)) < 2 and "\n" not in head.strip():
            return Sniff(0.3, f"one object with {counter!r}")
        if framework:
            return Sniff(0.6, f"objects with {counter!r} and keys of {framework}")
        return Sniff(0.55, f"objects with {counter!r} and {len(numeric)} numeric keys of no known framework")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all objects; raises UnreadableFileError when none holds a step and a number."""
        bad: list[SetAside] = []
        log = read_json_log(source, lambda line, value: take(line, value, bad), progress)
        if not log.rows:
            raise UnreadableFileError(
                "No object with a step and a number in this file",
                source.name,
                "Load JSON lines with a step counter in each object, or use a template.",
            )
        log.set_aside += bad
        framework = framework_of(sorted({key for row in log.rows for key in row.values}))[0]
        file = log.file(self.format, SOURCE)
        file.warnings += number_steps(log.rows, framework)
        run = FlatRun(run_name(choices, source), log.rows, framework=framework)
        return make_batch(file, [run], source)


def take(line: int, value: dict[str, object], bad: list[SetAside]) -> Row | SetAside:
    """One object as a row; texts are left alone, they are no metrics."""
    inner = value.get("data") or value.get("metrics")
    flat = {**value, **inner} if isinstance(inner, dict) else value
    stamps = [at for key in _STAMPS if (at := epoch_of(flat.get(key))) is not None]
    heads = frozenset({"data", "metrics"} if isinstance(inner, dict) else ())
    texts = frozenset(key for key, item in flat.items() if isinstance(item, str | list))
    read = numbers(line, flat, heads | texts | (frozenset(_STAMPS) if stamps else frozenset()))
    bad += read.bad
    if step_of(flat, *_COUNTERS) is None:
        return SetAside(line, "an object without a whole step", shown(value))
    if not any(v == v for key, v in read.values.items() if key not in _COUNTERS):
        return SetAside(line, "an object without a metric", shown(value))
    elapsed = next((s for key in _ELAPSED if (s := read.values.get(key)) is not None and s >= 0), None)
    step = read.values.pop("_step", None)
    return Row(None, read.values, line, stamps[0] if stamps else None, elapsed, "_step", step)


READERS = (FlatJsonlReader(),)
