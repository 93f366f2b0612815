"""W&B system events: one JSON object a moment, with `system.gpu.N.…` keys of all GPUs of the node."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.gpu.keys import KeyedGpus, fill, gpu_from_keys, gpu_key
from data.gpu.table import NAMELESS
from data.gpu.text import head_lines
from data.parse.csvio import PROGRESS_EVERY, TEXT_LIMIT, CsvLayout, CsvRows, no_rows, open_lines, read_layout
from data.parse.decimals import PlainCells
from data.parse.last_line import cut_inside
from data.parse.values import parse_number
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress

_SYSTEM = re.compile(r"^(?:system[./]|gpu\.\d+\.|cpu\b|proc\.|disk\b|network\b|memory)")
NO_STAMP = "no time stamp"
NO_GPU = "row without a GPU measure"
LATEST = 32_503_680_000.0
"""Seconds since 1970 until the year 3000; a later number is no time."""


@dataclass
class _Events:
    values: dict[str, list[float | None]] = field(default_factory=dict)
    stamps: list[datetime | None] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    set_aside: list[SetAside] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    facts: dict[str, object] = field(default_factory=dict)
    partial: int = 0
    last_line: list[str] = field(default_factory=list)
    runtime_s: float | None = None

    def add(self, line: int, row: dict[str, object]) -> None:
        """Take one object that names at least one GPU measure."""
        at = len(self.lines)
        self.lines.append(line)
        self.stamps.append(_stamp(row.get("_timestamp")))
        if self.stamps[-1] is None and "_timestamp" in row:
            text = json.dumps(row)[:TEXT_LIMIT]
            self.set_aside.append(SetAside(line, NO_STAMP, text))
        for name, value in row.items():
            if gpu_key(name) is None:
                self.others[name] += 1
                continue
            column = self.values.setdefault(name, [])
            column.extend([None] * (at - len(column)))
            column.append(_finite(value))
        runtime = _finite(row.get("_runtime"))
        if runtime is not None:
            self.runtime_s = max(runtime, self.runtime_s or 0.0)

    def columns(self) -> dict[str, list[float | None]]:
        """Columns of equal length."""
        return {name: [*got, *[None] * (len(self.lines) - len(got))] for name, got in self.values.items()}


class WandbEventsReader:
    """GPU samples of a W&B system events stream."""

    format = "wandb_system_events"
    title = "W&B system events (JSON lines or CSV)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the keys of the first objects, or the header: system metrics of GPUs, and little else."""
        keys: set[str] = set()
        for text in head_lines(source)[:20]:
            keys |= set(_object(text) or {})
        if not keys and (layout := _table(source)) is not None:
            keys = {name for name in layout.header if name}
        gpus = [name for name in keys if gpu_key(name)]
        if not gpus:
            return Sniff(0.0, "no JSON lines with system.gpu.N keys")
        if "_step" in keys:
            return Sniff(0.2, "system metrics beside _step: a run history")
        system = sum(bool(_SYSTEM.match(name)) or name.startswith("_") for name in keys)
        why = f"{len(gpus)} GPU measures, {system} of {len(keys)} keys are system metrics"
        return Sniff(0.97 if 2 * system > len(keys) else 0.3, why)

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all objects. `_timestamp` is UTC epoch seconds; rows without GPU keys are counted as ignored.

        Raises UnreadableFileError when no object names a GPU measure.
        """
        layout = _table(source)
        events = _read(source, progress) if layout is None else _read_table(source, layout, progress)
        found = gpu_from_keys(events.columns(), events.stamps, events.lines)
        if found is None:
            raise UnreadableFileError(
                "No object has a GPU measure such as system.gpu.0.gpu",
                source.name,
                "Export the events stream of a run on GPUs: run.history(stream='events').",
            )
        return _batch(events, found, source, choices, scratch)


def _read(source: Source, progress: Progress) -> _Events:
    events = _Events()
    for line, text in _lines(source):
        if line % PROGRESS_EVERY == 0:
            progress("read", line, source.physical_lines)
        if not text.strip():
            continue
        row = _object(text)
        if row is None and line == source.physical_lines and not source.ends_with_newline:
            events.partial, events.last_line = 1, [cut_inside(line, "object")]
        elif row is None:
            events.set_aside.append(SetAside(line, "not a JSON object", text[:TEXT_LIMIT]))
        elif not any(gpu_key(name) for name in row):
            events.ignored[NO_GPU] += 1
        else:
            events.add(line, row)
    progress("read", source.physical_lines, source.physical_lines)
    return events


def _table(source: Source) -> CsvLayout | None:
    """The layout of a stream that was saved as a table (pandas' to_csv), None for JSON lines."""
    if source.head.lstrip()[:1] in ("{", "["):
        return None
    try:
        return read_layout(source, lambda names: any(gpu_key(name) for name in names))
    except UnreadableFileError:
        return None


def _read_table(source: Source, layout: CsvLayout, progress: Progress) -> _Events:
    events, rows = _Events(), CsvRows(source, layout, progress)
    for row in PlainCells(source, layout).rows(rows):
        cells: dict[str, object] = {}
        for name, text in zip(layout.header, row.cells, strict=False):
            value = parse_number(text)
            if value.status == "bad" and gpu_key(name):
                events.set_aside.append(SetAside(row.line, value.reason, text[:TEXT_LIMIT], name))
            cells[name] = value.number
        events.add(row.line, cells)
    events.set_aside += rows.counts.set_aside
    events.partial, events.last_line = rows.counts.partial_last_line, rows.counts.said()
    events.facts = {
        "columns": layout.columns,
        "header_repeated": rows.counts.header_repeated,
        "ragged_rows": rows.counts.ragged_rows,
    }
    if not rows.counts.records:
        raise no_rows(source, layout, rows.counts)
    return events


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    with closing(open_lines(source)) as lines:
        yield from enumerate(lines, 1)


def _object(text: str) -> dict[str, object] | None:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = float(value) if abs(value) < 1e300 else math.inf
    return number if math.isfinite(number) else None


def _stamp(value: object) -> datetime | None:
    seconds = _finite(value)
    if seconds is None or not 0 < seconds < LATEST:
        return None
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _batch(events: _Events, found: KeyedGpus, source: Source, choices: Choices, scratch: Path) -> Batch:
    batch = Batch(WandbEventsReader.format)
    batch.facts = source_facts(source)
    fill(found, batch, source, choices, scratch, choices.run)
    batch.set_aside = [*events.set_aside, *found.set_aside]
    batch.ignored = events.ignored + _unstored(found, events)
    batch.records = len(events.lines) + sum(events.ignored.values())
    batch.records += sum(one.column is None and one.reason != NO_STAMP for one in events.set_aside)
    aside = sum(one.column is None for one in batch.set_aside)
    batch.stored = batch.records - aside - sum(batch.ignored.values())
    batch.mapped |= found.keys
    batch.unmapped = [name for name in events.others if not name.startswith("_")]
    batch.unmapped += [name for name in events.values if name not in found.keys]
    batch.warnings += found.warnings
    batch.facts |= {
        "format": batch.format,
        "records": batch.records,
        "partial_last_line": events.partial,
        "missing_cells": sum(found.missing.values()),
        "hosts": found.nodes,
        "run_seconds": events.runtime_s,
        **events.facts,
        **{f"missing_cells[{name}]": n for name, n in found.missing.items()},
    }
    batch.warnings += events.last_line
    if not choices.host and found.nodes is None:
        batch.warnings.append(NAMELESS)
    batch.reconcile()
    return batch


def _unstored(found: KeyedGpus, events: _Events) -> Counter[str]:
    """Objects of which no sample is stored, by reason."""
    frame = found.frame[found.frame["stamp"].notna()]
    first = frame.drop_duplicates(["gpu", "stamp"])
    stored = set(first["line"])
    timed = [line for line, at in zip(events.lines, events.stamps, strict=True) if at is not None]
    valued = set(frame["line"])
    out: Counter[str] = Counter()
    out["duplicate sample"] = sum(line in valued and line not in stored for line in timed)
    out["row without a number of a GPU"] = sum(line not in valued for line in timed)
    timeless = sum(at is None for at in events.stamps)
    out["no time column"] = timeless - sum(one.reason == NO_STAMP for one in events.set_aside)
    return +out


READERS = (WandbEventsReader(),)
