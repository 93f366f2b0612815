"""post-training-toolkit (a callback of TRL trainers): `metrics.jsonl`, alone or in its run folder."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from data.arrival.bundle import Members, open_bundle
from data.errors import UnreadableFileError
from data.logs.flat import FlatRun, Row, make_batch
from data.logs.json_rows import JsonLog, numbers, read_json_log, shown, step_of
from data.logs.verl_batch import run_name
from data.parse.timezones import parse_stamp
from data.readers.base import Batch, Choices, Progress, Proposal, SetAside, Sniff, Source, no_progress
from data.readers.run_manifest import STATUSES, Manifest, manifest_proposals

METRICS = "metrics.jsonl"
METADATA = ("run_metadata_final.json", "run_metadata.json", "run_metadata_start.json")
"""The later of these knows more of the same run."""
POSTMORTEM = "postmortem.json"
RL_TRAINERS = ("grpo", "ppo")
KEYMAP_RL, KEYMAP_OTHER = "post-training-toolkit", "post-training-toolkit-offline"
TRAINER = "trl"
NO_STEP_TIMER = "The toolkit logs no step timer and no tokens: time comes from the stamps of its rows."

_HEADER = re.compile(r'^\s*\{"type"\s*:\s*"header"[^\n]*"trainer_type"')
_ROW = re.compile(
    r'^[ \t]*\{"step"\s*:\s*\d+\s*,\s*"timestamp"\s*:\s*"[^"]+"\s*,\s*"metrics"\s*:\s*\{', re.MULTILINE
)


@dataclass
class _Told:
    """What header, footer, metadata and post-mortem say of the run; stamps UTC."""

    run: str | None = None
    trainer: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    status: str = "unknown"
    cause: str | None = None
    model: str | None = None
    gpus: int | None = None
    gpu_model: str | None = None
    version: str | None = None
    offset: str | None = None
    warnings: list[str] = field(default_factory=list)

    def stamp(self, value: object) -> datetime | None:
        """UTC time of a stamp that states its offset."""
        found = parse_stamp(value) if isinstance(value, str) else None
        if found is None or found.offset is None:
            return None
        self.offset = self.offset or found.offset or None
        return found.at


class PostTrainingToolkitReader:
    """Metrics of the toolkit, as one file or as its run folder."""

    format = "post_training_toolkit"
    title = "post-training-toolkit run (metrics.jsonl or its folder)"
    kinds = ("text", "folder")

    def sniff(self, source: Source) -> Sniff:
        """A header object with a trainer type, or rows {"step", "timestamp", "metrics"}; or their folder."""
        if source.kind == "folder":
            names = open_bundle(source).names
            if METRICS in names and set(METADATA) & set(names):
                return Sniff(0.97, f"a folder with {METRICS} and {next(n for n in METADATA if n in names)}")
            return Sniff(0.0, f"no folder with {METRICS} and run_metadata*.json")
        if _HEADER.match(source.head):
            return Sniff(0.97, "a header object that names the trainer")
        if _ROW.search(source.head):
            return Sniff(0.9, 'objects {"step", "timestamp", "metrics"}')
        return Sniff(0.0, "neither the header nor the rows of the toolkit")

    def wanted(self, members: Members) -> list[str]:
        """The files of the run that are read; whatever else lies in the folder is loaded by itself."""
        return [name for name in (METRICS, *METADATA, POSTMORTEM) if name in members.names]

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read the metrics and what lies beside them; raises UnreadableFileError without any metric."""
        told = _Told()
        log_source = source
        if source.kind == "folder":
            members = open_bundle(source)
            _beside(told, members)
            if METRICS not in members.names:
                raise UnreadableFileError(f"No {METRICS} in this folder", source.name, "Load the run folder.")
            log_source = members.source(METRICS, scratch)
        bad: list[SetAside] = []
        log = read_json_log(log_source, lambda line, value: _take(line, value, told, bad), progress)
        log.set_aside += bad
        if not log.rows:
            raise UnreadableFileError(
                'No object {"step", "timestamp", "metrics"} in this file',
                source.name,
                "Load the metrics.jsonl that the toolkit's callback writes.",
            )
        return _batch(self.format, log, told, source, log_source, choices)


def _beside(told: _Told, members: Members) -> None:
    for name in METADATA:
        value = _object(told, members, name)
        if value:
            _metadata(told, value)
            break
    post = _object(told, members, POSTMORTEM)
    reason = post.get("exit_reason")
    if isinstance(reason, str):
        told.cause = reason
        told.status = "cancelled" if "interrupt" in reason.lower() else "failed"
        told.ended = told.stamp(post.get("timestamp")) or told.ended


def _object(told: _Told, members: Members, name: str) -> Mapping[str, object]:
    if name not in members.names:
        return {}
    try:
        value = json.loads(members.read_text(name))
    except (ValueError, RecursionError):
        told.warnings.append(f"{name} is damaged and was left out.")
        return {}
    return value if isinstance(value, dict) else {}


def _metadata(told: _Told, value: Mapping[str, object]) -> None:
    told.run = _text(value.get("run_id")) or told.run
    told.trainer = _text(value.get("trainer_type")) or told.trainer
    told.model = _text(value.get("model_name"))
    told.started = told.stamp(value.get("start_time")) or told.started
    told.ended = told.stamp(value.get("end_time")) or told.ended
    told.status = STATUSES.get((_text(value.get("status")) or "").lower(), "unknown")
    versions = value.get("package_versions")
    environment = value.get("environment")
    told.version = _text(_inside(versions, "trl")) or _text(_inside(environment, "trl_version"))
    names = next(
        (n for part in ("hardware", "environment") if (n := _inside(value.get(part), "gpu_names"))), None
    )
    if isinstance(names, list) and names and len(set(map(str, names))) == 1:
        told.gpu_model = str(names[0])
    on_gpu = any(_inside(value.get(part), "cuda_available") is True for part in ("hardware", "environment"))
    ranks = value.get("world_size")
    if on_gpu and isinstance(ranks, int) and ranks > 0:
        told.gpus = ranks


def _inside(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _take(line: int, value: dict[str, object], told: _Told, bad: list[SetAside]) -> Row | SetAside | str:
    kind = value.get("type")
    if kind == "header":
        told.run = told.run or _text(value.get("run_id"))
        told.trainer = told.trainer or _text(value.get("trainer_type"))
        told.started = told.started or told.stamp(value.get("timestamp"))
        return "header of the log"
    if kind == "footer":
        if told.status in ("unknown", "running"):
            told.status = STATUSES.get((_text(value.get("status")) or "").lower(), "unknown")
        told.ended = told.ended or told.stamp(value.get("timestamp"))
        return "footer of the log"
    metrics, step = value.get("metrics"), step_of(value, "step")
    if not isinstance(metrics, dict) or step is None:
        return SetAside(line, 'an object without a whole "step" and "metrics"', shown(value))
    read = numbers(line, metrics)
    if not any(v == v for v in read.values.values()):
        return SetAside(line, f"step {step} holds no number", shown(value))
    bad += read.bad
    return Row(step, read.values, line, told.stamp(value.get("timestamp")))


def _batch(
    format: str, log: JsonLog, told: _Told, source: Source, log_source: Source, choices: Choices
) -> Batch:
    trainer = (told.trainer or "").lower()
    name = run_name(choices, source, told.run)
    file = log.file(format, format)
    file.names_runs = told.run is not None and not choices.run
    file.warnings += [*told.warnings, NO_STEP_TIMER]
    stamps = [row.ts for row in log.rows if row.ts is not None]
    started = told.started or (stamps[0] if stamps else None)
    for row in log.rows:
        if started is not None and row.ts is not None:
            row.elapsed_s = (row.ts - started).total_seconds()
    run = FlatRun(
        run=name,
        rows=log.rows,
        framework=KEYMAP_RL if trainer in RL_TRAINERS else KEYMAP_OTHER,
        algorithm=_algorithm(trainer),
        started_at=started,
        ended_at=told.ended,
        elapsed_s=_elapsed(started, told.ended, stamps),
        elapsed_basis="clock",
        status=told.status,
        proposals=_proposals(name, told),
    )
    batch = make_batch(file, [run], log_source)
    batch.tables["runs"] = batch.tables["runs"].assign(framework=TRAINER, framework_version=told.version)
    if told.cause is not None:
        last = batch.tables["attempts"]["attempt"].max()
        attempts = batch.tables["attempts"]
        batch.tables["attempts"] = attempts.assign(
            cause=attempts["cause"].where(attempts["attempt"] != last, told.cause)
        )
    batch.facts |= {"gpus": told.gpus, "gpu_model": told.gpu_model, "time_zone": told.offset}
    return batch


def _elapsed(started: datetime | None, ended: datetime | None, stamps: list[datetime]) -> float | None:
    last = ended or (max(stamps) if stamps else None)
    if started is None or last is None or last < started:
        return None
    return (last - started).total_seconds()


def _algorithm(trainer: str) -> str | None:
    known = {"grpo": "grpo", "ppo": "ppo", "dpo": "dpo", "sft": "sft"}
    return known.get(trainer, "other" if trainer in ("orpo", "kto", "cpo") else None)


def _proposals(run: str, told: _Told) -> list[Proposal]:
    manifest = Manifest(run, model=told.model, gpus=told.gpus, gpu_model=told.gpu_model)
    return manifest_proposals(manifest, "the run's metadata")


READERS = (PostTrainingToolkitReader(),)
