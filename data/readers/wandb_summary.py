"""W&B run summaries (wandb-summary.json): the last value of each metric and the run's clock."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from data.errors import UnreadableFileError
from data.logs.flat import FlatFile, FlatRun, framework_of, make_batch
from data.logs.flat_attempts import LONGEST_RUN_S
from data.logs.flat_rows import LOG_COUNTER, number_steps
from data.logs.verl_batch import run_name
from data.logs.wandb_rows import CLOCKS, History
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

SOURCE = "wandb_summary"
_MEDIA = ("_type", "_latest_artifact_path")
_DEEPEST = 8
_LAST_ONLY = "A summary holds last values only: step times and tokens of single steps are not in it."


class WandbSummaryReader:
    """wandb-summary.json, also as the API gives it."""

    format = "wandb_summary_json"
    title = "W&B run summary (JSON)"

    def sniff(self, source: Source) -> Sniff:
        """One JSON object with W&B's own keys beside metrics."""
        summary = _summary(source.head)
        if summary is None:
            return _cut_off(source)
        if isinstance(summary.get(LOG_COUNTER), list | dict):
            return Sniff(0.0, "columns of a history")
        own = [key for key in ("_wandb", LOG_COUNTER, *CLOCKS) if key in summary]
        others = [key for key in summary if not key.startswith("_")]
        if "_wandb" in own and others:
            return Sniff(0.97, f"one JSON object with {', '.join(own)} and {len(others)} metrics")
        if len(own) >= 2 and others:
            return Sniff(0.85, f"one JSON object with {', '.join(own)} and {len(others)} metrics")
        return Sniff(0.0, "no keys of W&B")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,  # noqa: ARG002
    ) -> Batch:
        """Read the object; raises UnreadableFileError when it is none or holds no number."""
        summary = _summary(source.path.read_text(encoding="utf-8"))
        if summary is None:
            raise UnreadableFileError(
                "This is not one JSON object", source.name, "Load the wandb-summary.json of a run."
            )
        history = History()
        history.take(1, dict(_flatten(summary)), "")
        if not history.rows:
            raise UnreadableFileError(
                "The summary holds no number", source.name, "Check that the run logged metrics."
            )
        row = history.rows[""][0]
        file = FlatFile(self.format, SOURCE, 1, set_aside=history.bad, warnings=[_LAST_ONLY])
        framework = framework_of(row.values)[0]
        file.warnings += number_steps([row], framework)
        run = FlatRun(run_name(choices, source), [row], framework=framework, whole=True)
        run.elapsed_s = row.elapsed_s if row.elapsed_s is not None else _runtime(summary)
        batch = make_batch(file, [run], source)
        tokens, seconds = batch.facts.get("tokens_total"), batch.facts.get("run_seconds")
        if isinstance(tokens, float) and isinstance(seconds, float) and seconds > 0:
            batch.facts["throughput_tokens_per_s"] = tokens / seconds
        batch.facts["missing_cells"] = history.missing
        return batch


def _cut_off(source: Source) -> Sniff:
    """A summary longer than the head shows its own keys at most."""
    longer = source.head.lstrip().startswith("{") and source.size_bytes > len(source.head)
    if longer and "\n{" not in source.head and re.search(r'"_wandb"\s*:\s*\{', source.head):
        return Sniff(0.9, "the beginning of one JSON object with _wandb")
    return Sniff(0.0, "not one JSON object")


def _summary(text: str) -> dict[str, object] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _runtime(summary: dict[str, object]) -> float | None:
    own = summary.get("_wandb")
    seconds = own.get("runtime") if isinstance(own, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return float(seconds) if 0 <= seconds <= LONGEST_RUN_S else None


def _flatten(value: dict[str, object], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Nested metrics joined by slashes; media and deep objects stay whole, W&B's own block is left out."""
    for name, item in value.items():
        key = f"{prefix}{name}"
        if key == "_wandb":
            continue
        if isinstance(item, dict) and depth < _DEEPEST and not any(mark in item for mark in _MEDIA):
            yield from _flatten(item, f"{key}/", depth + 1)
        else:
            yield key, item


READERS = (WandbSummaryReader(),)
