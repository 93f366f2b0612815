"""A run's own manifest: one flat JSON object that says what ran, when and on which GPUs; no metrics."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from data.catalogue import load_catalogue
from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.logs.framework import frameworks
from data.logs.verl_batch import run_name
from data.parse.timezones import Stamp, parse_stamp, to_utc, zone_of
from data.readers.base import Batch, Choices, Progress, Proposal, Sniff, Source, no_progress
from data.readers.tinker_console import named_llm

MAX_BYTES = 4 << 20
ALGORITHMS = ("grpo", "ppo", "dpo", "sft", "distill")
STATUSES = {
    "running": "running", "completed": "completed", "finished": "completed", "success": "completed",
    "succeeded": "completed", "failed": "failed", "crashed": "failed", "error": "failed",
    "cancelled": "cancelled", "canceled": "cancelled", "killed": "cancelled",
}  # fmt: skip
NAMES: dict[str, tuple[str, ...]] = {
    "run": ("run_id", "run_name", "run", "experiment_name", "experiment"),
    "start": ("start_ts", "start_iso", "started_at", "start_time", "start_time_utc", "started"),
    "end": ("end_ts", "end_iso", "ended_at", "end_time", "end_time_utc", "finished_at"),
    "model": ("model", "model_name", "base_model", "model_path"),
    "algorithm": ("algorithm", "algo", "method", "trainer_type"),
    "hardware": ("hardware", "gpu", "gpu_type", "gpu_model", "gpu_name"),
    "gpus": ("gpus", "num_gpus", "n_gpus", "gpu_count", "world_size"),
    "status": ("status", "state"),
}
"""What a manifest tells -> the keys that may tell it, the first one there wins."""
_TELLING = ("start", "model", "algorithm", "hardware", "gpus", "end")
_KEY = re.compile(r'"([^"\\]+)"\s*:')
_HARDWARE = re.compile(r"^\s*(\d{1,6})\s*[x×*]\s*([^,;(]+)")
_COMMIT = re.compile(r"^(.+?)_(?:commit|version)$")
_METRICS = re.compile(r"/|^(?:loss|reward|step_s|log_history|metrics)$")


@dataclass
class Manifest:
    """What the object says; `model` as it is written, times UTC."""

    run: str
    started: datetime | None = None
    ended: datetime | None = None
    offset: str | None = None
    status: str = "unknown"
    algorithm: str | None = None
    model: str | None = None
    gpus: int | None = None
    gpu_model: str | None = None
    framework: str | None = None
    framework_version: str | None = None
    used: dict[str, str] = field(default_factory=dict)


class RunManifestReader:
    """JSON settings of one run."""

    format = "run_manifest_json"
    title = "run manifest (JSON)"

    def sniff(self, source: Source) -> Sniff:
        """One object with a run's name and at least three of start, model, algorithm, hardware."""
        head = source.head.strip()
        if not head.startswith("{"):
            return Sniff(0.0, "no JSON object")
        keys = _KEY.findall(head)
        told = [name for name in _TELLING if set(NAMES[name]) & set(keys)]
        named = bool(set(NAMES["run"]) & set(keys))
        if not named or any(_METRICS.search(key) for key in keys) or _lines_of_objects(head):
            return Sniff(0.0, "no single object of run settings")
        if len(told) >= 3:
            return Sniff(0.93, f"one object that names a run and its {', '.join(told[:3])}")
        return Sniff(0.3 if told else 0.0, "one object that names a run and little else")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read the object; raises UnreadableFileError when it is damaged or names nothing of a run."""
        progress("read", 0, 1)
        value = load_object(source)
        found = manifest_of(value, run_name(choices, source), choices.timezone)
        if not found.used:
            raise UnreadableFileError(
                "The object holds nothing that a run manifest tells",
                source.name,
                "Give it a run_id and, where known, start_ts, model, algorithm and hardware.",
            )
        batch = Batch(self.format, records=1, stored=1, names_runs="run" in found.used.values())
        batch.tables = manifest_tables(found)
        batch.proposals = manifest_proposals(found, "the manifest")
        batch.facts = source_facts(source) | _facts(found, self.format)
        batch.mapped = {key: f"runs.{name}" for key, name in found.used.items()}
        batch.unmapped = [key for key in value if key not in found.used]
        batch.warnings = [
            "The file holds settings of a run and no steps: load the run's log for its numbers."
        ]
        batch.reconcile()
        progress("read", 1, 1)
        return batch


def load_object(source: Source) -> dict[str, object]:
    """The JSON object of a small file; raises UnreadableFileError otherwise."""
    if source.path.stat().st_size > MAX_BYTES:
        raise UnreadableFileError(
            f"A manifest of more than {MAX_BYTES >> 20} MB", source.name, "Load the log itself."
        )
    try:
        value = json.loads(source.path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(
            f"The JSON is damaged ({error})", source.name, "Copy the whole file again."
        ) from error
    if not isinstance(value, dict):
        raise UnreadableFileError("The file holds no JSON object", source.name, "Load the run's manifest.")
    return value


def manifest_of(value: Mapping[str, object], fallback_run: str, zone: str | None) -> Manifest:
    """What an object of run settings says; stamps without an offset are placed by `zone` only."""
    found = Manifest(fallback_run)
    texts = {name: _first(value, keys) for name, keys in NAMES.items()}
    if (run := texts["run"]) is not None:
        found.run = run[1]
    start, end = texts["start"], texts["end"]
    found.started, found.offset = _moment(value, NAMES["start"], zone)
    found.ended, _ = _moment(value, NAMES["end"], zone)
    if (status := texts["status"]) is not None:
        found.status = STATUSES.get(status[1].lower(), "unknown")
    if (algorithm := texts["algorithm"]) is not None:
        name = algorithm[1].lower()
        found.algorithm = next((a for a in ALGORITHMS if a in name), "other")
    found.model = texts["model"][1] if texts["model"] else None
    _hardware(found, texts["hardware"], texts["gpus"])
    found.used = {pair[0]: name for name, pair in texts.items() if pair is not None}
    for name, pair in (("start", start), ("end", end)):
        found.used |= {key: name for key in NAMES[name] if pair is not None and key in value}
    _framework(found, value)
    return found


def _first(value: Mapping[str, object], keys: tuple[str, ...]) -> tuple[str, str] | None:
    for key in keys:
        item = value.get(key)
        if isinstance(item, str | int | float) and not isinstance(item, bool) and str(item).strip():
            return key, str(item).strip()
    return None


def _moment(
    value: Mapping[str, object], keys: tuple[str, ...], zone: str | None
) -> tuple[datetime | None, str | None]:
    """The first stamp that fixes an instant, and the offset that some stamp states."""
    at, offset = None, None
    for key in keys:
        stamp = parse_stamp(str(value[key])) if key in value else None
        if stamp is None:
            continue
        offset = offset or stamp.offset or None
        at = at or _utc(stamp, zone)
    return at, offset


def _utc(stamp: Stamp, zone: str | None) -> datetime | None:
    if stamp.offset is not None:
        return stamp.at
    chosen = zone_of(zone)
    return to_utc(stamp.at, chosen) if chosen is not None else None


def _hardware(found: Manifest, text: tuple[str, str] | None, count: tuple[str, str] | None) -> None:
    """`4x NVIDIA H20 96GB, NV18 full mesh`, or a name and a number of their own."""
    match = _HARDWARE.match(text[1]) if text else None
    if match is not None:
        found.gpus, found.gpu_model = int(match[1]), match[2].strip()
    elif text is not None:
        found.gpu_model = text[1].split(",")[0].strip()
    if count is not None and count[1].isdecimal() and len(count[1]) < 7 and int(count[1]) > 0:
        found.gpus = int(count[1])


def _framework(found: Manifest, value: Mapping[str, object]) -> None:
    known = {name.replace("-", "_"): name for name in frameworks() if not name.endswith("-sft")}
    stated = value.get("framework")
    if isinstance(stated, str) and stated.lower().replace("-", "_") in known:
        found.framework = known[stated.lower().replace("-", "_")]
        found.used["framework"] = "framework"
    for key, item in value.items():
        match = _COMMIT.match(key)
        if match is not None and match[1].lower() in known and isinstance(item, str):
            found.framework = found.framework or known[match[1].lower()]
            found.framework_version = item
            found.used[key] = "framework_version"


def manifest_tables(found: Manifest) -> dict[str, pd.DataFrame]:
    """`runs` and `attempts` of a manifest."""
    elapsed = None
    if found.started is not None and found.ended is not None and found.ended >= found.started:
        elapsed = (found.ended - found.started).total_seconds()
    run = {
        "run": found.run,
        "framework": found.framework,
        "framework_version": found.framework_version,
        "algorithm": found.algorithm,
    }
    attempt = {
        "run": found.run,
        "attempt": 1,
        "started_at": found.started,
        "ended_at": found.ended if elapsed is not None else None,
        "elapsed_s": elapsed,
        "elapsed_basis": "clock" if elapsed is not None else None,
        "status": found.status,
    }
    return {"runs": pd.DataFrame([run]), "attempts": pd.DataFrame([attempt])}


def manifest_proposals(found: Manifest, where: str) -> list[Proposal]:
    """Run details that a manifest states: GPUs, platform, model."""
    out = named_llm(found.run, found.model, f"{where} names the model ")
    if found.gpus is not None:
        named = f" {found.gpu_model}" if found.gpu_model else ""
        out.append(Proposal(found.run, "gpus", found.gpus, f"{where} states {found.gpus}{named}"))
    platform = load_catalogue().platform_of_gpu(found.gpu_model) if found.gpu_model else None
    if platform is not None:
        how = f"{where} names the GPUs {found.gpu_model}"
        out.append(Proposal(found.run, "platform", platform.platform_id, how))
    return out


def _facts(found: Manifest, format: str) -> dict[str, object]:
    started = found.started.replace(tzinfo=UTC).timestamp() if found.started else None
    span = None
    if found.started is not None and found.ended is not None:
        span = (found.ended - found.started).total_seconds()
    return {
        "format": format,
        "records": 1,
        "runs": 1,
        "run_names": found.run,
        "steps_count": 0,
        "partial_last_line": 0,
        "gpus": found.gpus,
        "gpu_model": found.gpu_model,
        "time_first_epoch_s": started,
        "time_zone": found.offset,
        "run_seconds": span,
        "span_s": span,
    }


def _lines_of_objects(head: str) -> bool:
    """Whether more than one object begins at the start of a line."""
    return "\n{" in head


READERS = (RunManifestReader(),)
