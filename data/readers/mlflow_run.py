"""The folder of one MLflow run, as the file store writes it: a file a metric, and what the run was.

Source: mlflow/store/tracking/file_store.py (`metrics/<key>`: lines "milliseconds value step", older ones
without a step, newer ones with a data set behind) and mlflow/entities/run_status.py.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from data.arrival.bundle import Members, open_bundle
from data.arrival.names import run_name_of
from data.errors import UnreadableFileError
from data.gpu.keys import add_gpus, gpu_from_keys
from data.logs.flat import FlatFile, FlatRun, make_batch
from data.logs.llm_guess import guess_llm
from data.logs.tensorboard import Points, epoch_time, restarts, rows, utc
from data.logs.verl_config import Config, ConfigCollector, config_proposals
from data.readers.base import Batch, Choices, Progress, Proposal, SetAside, Sniff, Source, no_progress

META, METRICS, PARAMS, TAGS = "meta.yaml", "metrics/", "params/", "tags/"
STATUSES = {
    "1": "running", "2": "running", "3": "completed", "4": "failed", "5": "cancelled",
    "RUNNING": "running", "FINISHED": "completed", "FAILED": "failed", "KILLED": "cancelled",
}  # fmt: skip
MODEL_PARAMS = (
    "actor_rollout_ref.model.path", "model_name_or_path", "model.path", "model_path", "model_name", "model",
    "base_model", "trainer.policy.model.path", "policy.model_name", "_name_or_path",
)  # fmt: skip
SYSTEM = "system/"
_SYSTEM_GPU = re.compile(r"^system/(?:.*/)?gpu_(\d+)_(\w+)$")
_SYSTEM_MEASURES = {
    "utilization_percentage": ("gpu", 1.0),
    "memory_usage_megabytes": ("memoryAllocatedBytes", 1e6),
    "power_usage_watts": ("powerWatts", 1.0),
}
"""What MLflow's system monitor writes, as the W&B key of the same measure; megabytes are 1e6 bytes there."""
_SMALL_TEXT = 64 << 10
_META_LINE = re.compile(r"^(\w+):\s*(.*?)\s*$")


@dataclass
class _Run:
    """What meta.yaml, params and tags say; times are epoch seconds."""

    name: str | None = None
    started_s: float | None = None
    ended_s: float | None = None
    status: str = "unknown"
    deleted: bool = False
    model: str | None = None
    model_from: str = ""
    config: Config = field(default_factory=Config)


class MlflowRunReader:
    """One run of MLflow's file store."""

    format = "mlflow_run"
    title = "MLflow run folder (metrics, params, tags, meta.yaml)"
    kinds = ("folder",)

    def sniff(self, source: Source) -> Sniff:
        """meta.yaml with a run id, and metric files of "milliseconds value step" lines beside it."""
        members = open_bundle(source)
        metrics = [name for name in members.names if name.startswith(METRICS)]
        if META not in members.names or not metrics:
            return Sniff(0.0, "no folder with meta.yaml and metrics")
        meta = _meta(members.read_text(META, _SMALL_TEXT))
        first = next((text for name in metrics for text in members.read_text(name, 200).split("\n")[:1]), "")
        if ("run_id" in meta or "run_uuid" in meta) and _point(first) is not None:
            return Sniff(0.98, f"meta.yaml of a run, and {len(metrics)} files of its metrics")
        return Sniff(0.0, "meta.yaml and metrics that are not those of an MLflow run")

    def wanted(self, members: Members) -> list[str]:
        """Metrics, params, tags and meta.yaml; artifacts are files of their own."""
        return [name for name in members.names if name == META or name.startswith((METRICS, PARAMS, TAGS))]

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all metrics; raises UnreadableFileError when there is none."""
        members = open_bundle(source)
        told = _told(members)
        points = _points(members, progress)
        if not points.value:
            raise UnreadableFileError(
                "No metric in this MLflow run",
                source.name,
                "Load the folder that holds meta.yaml and metrics/.",
            )
        points.starts = [(0, told.started_s)]
        return self._batch(points, told, source, choices, scratch)

    def _batch(self, points: Points, told: _Run, source: Source, choices: Choices, scratch: Path) -> Batch:
        run = choices.run or told.name or run_name_of(source.name)
        file = FlatFile(
            format=self.format,
            source_name=self.format,
            records=points.records,
            set_aside=points.set_aside,
            partial_last_line=points.cut,
            warnings=points.warnings + (["MLflow holds this run as deleted."] if told.deleted else []),
            names_runs=told.name is not None,
            facts={"physical_lines": None, "encoding": None, "line_ending": None},
        )
        found = rows(points, restarts(points, _own_axis), _own_axis)
        flat = FlatRun(
            run,
            found,
            algorithm=told.config.algorithm,
            llm=told.model,
            started_at=utc(told.started_s),
            ended_at=utc(told.ended_s),
            elapsed_basis="clock",
            status=told.status,
            proposals=_proposals(run, told),
        )
        if told.started_s is not None and told.ended_s is not None and told.ended_s >= told.started_s:
            flat.elapsed_s = told.ended_s - told.started_s
        batch = make_batch(file, [flat], source)
        batch.timezone = "UTC"
        _add_gpus(batch, points, source, choices, scratch, run)
        return batch


def _own_axis(key: str) -> bool:
    """MLflow's system monitor counts its own samples as steps."""
    return key.startswith(SYSTEM)


def _points(members: Members, progress: Progress) -> Points:
    """All points of all metrics in the order of their times."""
    points = Points()
    found: list[tuple[float, str, int, int, float]] = []
    names = [name for name in members.names if name.startswith(METRICS)]
    for done, name in enumerate(names):
        progress("read", done, len(names))
        key = name.removeprefix(METRICS)
        for line, text in _lines(members, name, points):
            points.records += 1
            point = _point(text)
            if point is None:
                points.set_aside.append(SetAside(line, f"{name}: no time, value and step", text[:200]))
            else:
                found.append((point[0], key, line, point[2], point[1]))
    for at, key, line, step, value in sorted(found, key=lambda item: item[0]):
        points.put(key, step, at, value, line)
    return points


def _lines(members: Members, name: str, points: Points) -> Iterator[tuple[int, str]]:
    text = members.read_text(name)
    whole, _, rest = text.rpartition("\n")
    if rest.strip():
        points.cut += 1
        points.warnings.append(f"{name}: its last line has no end; it was dropped.")
    for line, one in enumerate(whole.split("\n"), 1):
        if one.strip():
            yield line, one


def _point(text: str) -> tuple[float, float, int] | None:
    """(epoch seconds, value, step) of a line; None when it is none."""
    cells = text.split()
    if len(cells) < 2:
        return None
    try:
        at, value, step = int(cells[0]) / 1000, float(cells[1]), int(cells[2]) if len(cells) > 2 else 0
    except (ValueError, OverflowError):
        return None
    return (at, value, step) if abs(step) < 1 << 62 and math.isfinite(at) else None


def _meta(text: str) -> dict[str, str]:
    """Top-level entries of the flat YAML that MLflow writes."""
    found = {}
    for line in text.split("\n"):
        if match := _META_LINE.match(line):
            value = match[2]
            quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
            found[match[1]] = value[1:-1].replace("''", "'") if quoted else value
    return {key: value for key, value in found.items() if value not in ("", "null", "~")}


def _told(members: Members) -> _Run:
    meta = _meta(members.read_text(META, _SMALL_TEXT)) if META in members.names else {}
    told = _Run(meta.get("run_name") or _small(members, f"{TAGS}mlflow.runName"))
    told.started_s, told.ended_s = (_milliseconds(meta.get(name)) for name in ("start_time", "end_time"))
    told.status = STATUSES.get(meta.get("status", ""), "unknown")
    told.deleted = meta.get("lifecycle_stage") == "deleted"
    params = {
        name.removeprefix(PARAMS).replace("/", "."): members.read_text(name, _SMALL_TEXT).strip()
        for name in members.names
        if name.startswith(PARAMS)
    }
    told.config = ConfigCollector(overrides=params).config()
    told.model_from = next((name for name in MODEL_PARAMS if params.get(name)), "")
    told.model = params.get(told.model_from)
    return told


def _small(members: Members, name: str) -> str | None:
    return (members.read_text(name, _SMALL_TEXT).strip() or None) if name in members.names else None


def _milliseconds(text: str | None) -> float | None:
    return epoch_time(int(text) / 1000) if text and text.isdecimal() and len(text) < 20 else None


def _proposals(run: str, told: _Run) -> list[Proposal]:
    out = config_proposals(run, told.config)
    guess = guess_llm(told.model) if told.model else None
    if guess is not None:
        out.append(Proposal(run, "llm", guess, f"the run's parameter {told.model_from} is {told.model}"))
    return out


def _add_gpus(
    batch: Batch, points: Points, source: Source, choices: Choices, scratch: Path, run: str
) -> None:
    names = list(points.tags)
    moments: dict[float, dict[str, float]] = {}
    for tag, wall, value in zip(points.tag, points.wall_s, points.value, strict=True):
        match = _SYSTEM_GPU.match(names[tag])
        rule = _SYSTEM_MEASURES.get(match[2]) if match else None
        if match and rule:
            moments.setdefault(wall, {})[f"gpu.{match[1]}.{rule[0]}"] = value * rule[1]
    keys = dict.fromkeys(key for values in moments.values() for key in values)
    columns = {key: [values.get(key) for values in moments.values()] for key in keys}
    stamps: list[datetime | None] = [
        datetime.fromtimestamp(wall, UTC).replace(tzinfo=None) if epoch_time(wall) else None
        for wall in moments
    ]
    found = gpu_from_keys(columns, stamps) if columns else None
    if found is not None:
        add_gpus(batch, found, source, choices, scratch, run)


READERS = (MlflowRunReader(),)
