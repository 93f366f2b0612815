"""Tables of clusters without telemetry: node inventories, pod requests, and totals by cluster."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pandas as pd

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.parse.csvio import TEXT_LIMIT, CsvCounts, CsvLayout, CsvRow, read_all, read_layout
from data.parse.decimals import PlainCells
from data.parse.timezones import Stamp, parse_stamp, to_utc, zone_of
from data.parse.values import is_missing, parse_number
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress

CAPACITY = "capacity of nodes, nothing to place in time"
TOTALS = "totals of a cluster, no telemetry"
KINDS_LISTED = 20
_MODEL = ("gpu_model", "model", "gpu_type", "gpu_spec")
_CAPACITY = ("gpu_capacity_num", "gpu_num", "num_gpus", "gpus", "gpu")
_NODE = ("node_name", "sn", "node", "hostname", "host", "machine")
_HOST_SIZE = ("cpu_num", "cpu_milli", "cpu", "cpus", "memory_mib", "memory", "cpu_capacity_num")
_POD = ("name", "pod_name", "pod", "instance_sn", "job_name")
_REQUEST = ("num_gpu", "gpu_request")
_START, _END, _DURATION = ("scheduled_time", "start_time"), ("deletion_time", "end_time"), ("duration",)
_SUBMIT = ("creation_time", "submit_time")
_STATE = ("pod_phase", "phase", "status", "state")
_USER = ("user", "organization", "user_name")
_POD_SIGNS = frozenset(
    {"pod_phase", "gpu_milli", "qos", "creation_time", "deletion_time", "scheduled_time", "gpu_limit",
     "app_name", "worker_num", "submit_time"}
)  # fmt: skip
_SHARES = ("complete_gpu_time", "cancel_gpu_time", "fail_gpu_time")


_FIELDS = {
    "name": "job_id", "gpus": "gpus", "milli": "gpus", "workers": "gpus", "start": "started_at",
    "end": "ended_at", "duration": "elapsed_s", "state": "state", "user": "user_name",
    "submit": "submitted_at", "model": "gpu_model",
}  # fmt: skip
"""What `_jobs` looks for -> column of scheduler_jobs."""


@dataclass
class _Sheet:
    """All rows of a small table with their books, addressed by the first known name of a column."""

    layout: CsvLayout
    rows: list[CsvRow]
    counts: CsvCounts

    def column(self, *names: str) -> int | None:
        """Place of the first of these names."""
        lower = [name.lower() for name in self.layout.header]
        return next((lower.index(name) for name in names if name in lower), None)

    def text(self, row: CsvRow, column: int | None) -> str | None:
        """A cell without padding, None when it is missing."""
        if column is None or column >= len(row.cells) or is_missing(row.cells[column]):
            return None
        return row.cells[column].strip()


def _names(source: Source) -> frozenset[str]:
    try:
        return frozenset(name.lower() for name in read_layout(source).header if name)
    except UnreadableFileError:
        return frozenset()


def _sheet(source: Source, progress: Progress) -> _Sheet:
    layout = read_layout(source)
    rows, counts = read_all(source, layout, progress)
    rows = list(PlainCells(source, layout).rows(rows))
    return _Sheet(layout, rows, counts)


def _batch(name: str, source: Source, sheet: _Sheet) -> Batch:
    """A batch with the facts of rows and cells, and records by the text of columns with few texts."""
    missing: Counter[int] = Counter()
    texts: dict[int, Counter[str]] = {i: Counter() for i, head in enumerate(sheet.layout.header) if head}
    for row in sheet.rows:
        for i, cell in enumerate(row.cells):
            missing[i] += bool(sheet.layout.header[i]) and is_missing(cell)
            if i in texts:
                texts[i]["" if is_missing(cell) else cell.strip()] += 1
                if len(texts[i]) > KINDS_LISTED:
                    del texts[i]
    counts = sheet.counts
    facts = source_facts(source) | {
        "format": name,
        "records": counts.records,
        "columns": sheet.layout.columns,
        "header_repeated": counts.header_repeated,
        "partial_last_line": counts.partial_last_line,
        "ragged_rows": counts.ragged_rows,
        "missing_cells": sum(missing.values()),
    }
    facts |= {f"missing_cells[{head}]": missing[i] for i, head in enumerate(sheet.layout.header) if head}
    facts |= {
        f"records[{sheet.layout.header[i]}={text}]": n
        for i, kinds in texts.items()
        for text, n in kinds.items()
    }
    aside = list(counts.set_aside)
    return Batch(name, counts.records, set_aside=aside, facts=facts, warnings=counts.said())


def _amount(sheet: _Sheet, row: CsvRow, column: int | None, batch: Batch) -> float | None:
    """The number in a cell; what is none or negative is set aside."""
    text = sheet.text(row, column)
    if text is None or column is None:
        return None
    value = parse_number(text)
    if value.number is None or value.number < 0:
        reason = value.reason or "a negative amount"
        batch.set_aside.append(SetAside(row.line, reason, text[:TEXT_LIMIT], sheet.layout.header[column]))
        return None
    return value.number


def _nothing_stored(batch: Batch, sheet: _Sheet, reason: str, warning: str) -> Batch:
    """The batch of a table that gives facts alone: every row is ignored for `reason`."""
    batch.ignored[reason] += len(sheet.rows)
    batch.unmapped = [name for name in sheet.layout.header if name]
    batch.warnings.append(warning)
    batch.reconcile()
    return batch


class InventoryReader:
    """GPUs by node: capacity, no time."""

    format = "gpu_node_inventory"
    title = "list of nodes with their GPUs"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: node, GPU model, number of GPUs, and CPUs or memory of the host."""
        names = _names(source)
        groups = (_MODEL, _CAPACITY, _NODE, _HOST_SIZE)
        if len(names) <= 10 and all(names & set(group) for group in groups) and not names & _POD_SIGNS:
            return Sniff(0.93, "columns of nodes, their GPU model and number of GPUs")
        return Sniff(0.0, "no columns of nodes with GPU model and number")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Count GPUs by model. Nothing is stored: a capacity has no time."""
        del choices, scratch
        sheet = _sheet(source, progress)
        batch = _batch(self.format, source, sheet)
        model, capacity, node = sheet.column(*_MODEL), sheet.column(*_CAPACITY), sheet.column(*_NODE)
        by_model: Counter[str] = Counter()
        for row in sheet.rows:
            gpus = _amount(sheet, row, capacity, batch)
            if gpus is not None:
                by_model[sheet.text(row, model) or ""] += int(gpus)
        batch.facts |= {
            "gpus": sum(by_model.values()),
            "gpu_model": ";".join(name for name in by_model if name) or None,
            "hosts": len({sheet.text(row, node) for row in sheet.rows} - {None}),
        }
        batch.facts |= {f"gpus[{name}]": n for name, n in by_model.items()}
        return _nothing_stored(
            batch, sheet, CAPACITY, "This is an inventory: it says what is there, not when it was used."
        )


class ClusterSummaryReader:
    """A row of totals for each cluster."""

    format = "cluster_summary"
    title = "totals of clusters (no telemetry)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: job numbers and GPU times by outcome."""
        names = _names(source)
        if names >= {*_SHARES, "job_num"}:
            return Sniff(0.95, "columns of job numbers and GPU times by outcome")
        return Sniff(0.0, "no columns of GPU times by outcome")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """GPU-hours by cluster from GPU-seconds, missing where one outcome is blank. Nothing is stored."""
        del choices, scratch
        sheet = _sheet(source, progress)
        batch = _batch(self.format, source, sheet)
        name, shares = sheet.column("id", "cluster", "name"), [sheet.column(share) for share in _SHARES]
        hours: list[float | None] = []
        for row in sheet.rows:
            seconds = [_amount(sheet, row, share, batch) for share in shares]
            known = [one for one in seconds if one is not None]
            hours.append(sum(known) / 3600 if len(known) == len(seconds) else None)
            batch.facts[f"gpu_hours[{sheet.text(row, name)}]"] = hours[-1]
        known_hours = [one for one in hours if one is not None]
        batch.facts["gpu_hours"] = sum(known_hours) if len(known_hours) == len(hours) else None
        return _nothing_stored(
            batch,
            sheet,
            TOTALS,
            "These are totals of clusters without a time axis: no run can be built from them.",
        )


class PodRequestReader:
    """Pods or instances with the GPUs that they asked for."""

    format = "pod_request_table"
    title = "table of pods with their GPU requests"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: a pod, a GPU request, and scheduling columns."""
        names = _names(source)
        signs = names & _POD_SIGNS
        if names & set(_POD) and names & set(_REQUEST) and len(signs) >= 2:
            return Sniff(0.94, f"columns of pods, GPU requests and {', '.join(sorted(signs)[:3])}")
        return Sniff(0.0, "no columns of pods with GPU requests")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Every pod becomes a job. A share of a GPU stays a share; without start and end there are no hours.

        Small numbers as times are seconds from an unknown start: they give run times, not instants.
        """
        del scratch
        sheet = _sheet(source, progress)
        batch = _batch(self.format, source, sheet)
        zone = zone_of(choices.timezone)
        jobs = pd.DataFrame(list(_jobs(sheet, batch)))
        for column in ("submitted_at", "started_at", "ended_at"):
            jobs[column] = [_utc(stamp, zone) for stamp in jobs[column]]
        hours = (jobs["gpus"] * jobs["elapsed_s"] / 3600).dropna()
        batch.facts |= {
            "jobs": int(jobs["job_id"].notna().sum()),
            "gpus": float(jobs["gpus"].sum()) if jobs["gpus"].notna().any() else None,
            "gpu_hours": float(hours.sum()) if len(hours) else None,
        }
        _store(batch, jobs)
        _tell(batch, sheet, jobs)
        batch.reconcile()
        return batch


def _jobs(sheet: _Sheet, batch: Batch) -> Iterator[dict[str, object]]:
    at = {
        "name": sheet.column(*_POD), "gpus": sheet.column(*_REQUEST), "milli": sheet.column("gpu_milli"),
        "workers": sheet.column("worker_num"), "start": sheet.column(*_START), "end": sheet.column(*_END),
        "duration": sheet.column(*_DURATION), "state": sheet.column(*_STATE), "user": sheet.column(*_USER),
        "submit": sheet.column(*_SUBMIT), "model": sheet.column(*_MODEL),
    }  # fmt: skip
    batch.mapped = {
        sheet.layout.header[column]: f"scheduler_jobs.{_FIELDS[key]}"
        for key, column in at.items()
        if column is not None
    }
    for row in sheet.rows:
        gpus = _amount(sheet, row, at["gpus"], batch)
        milli, workers = (_amount(sheet, row, at[key], batch) for key in ("milli", "workers"))
        if gpus is not None:
            gpus *= (milli / 1000 if milli is not None else 1) * (workers if workers is not None else 1)
        start, end = (parse_stamp(sheet.text(row, at[key])) for key in ("start", "end"))
        yield {
            "job_id": sheet.text(row, at["name"]),
            "user_name": sheet.text(row, at["user"]),
            "state": sheet.text(row, at["state"]),
            "gpu_model": sheet.text(row, at["model"]),
            "submitted_at": parse_stamp(sheet.text(row, at["submit"])),
            "started_at": start,
            "ended_at": end,
            "elapsed_s": _elapsed(sheet, row, at, (start, end), batch),
            "gpus": gpus,
            "line": row.line,
        }


def _elapsed(
    sheet: _Sheet,
    row: CsvRow,
    at: dict[str, int | None],
    stamps: tuple[Stamp | None, Stamp | None],
    batch: Batch,
) -> float | None:
    if at["duration"] is not None:
        return _amount(sheet, row, at["duration"], batch)
    start, end = stamps
    if start is not None and end is not None:
        seconds = (end.at - start.at).total_seconds()
    elif start is None and end is None:
        begin, stop = (_amount(sheet, row, at[key], batch) for key in ("start", "end"))
        if begin is None or stop is None:
            return None
        seconds = stop - begin
    else:
        return None
    if seconds < 0:
        text = f"{sheet.text(row, at['start'])} to {sheet.text(row, at['end'])}"
        column = sheet.layout.header[at["end"] or 0]
        batch.set_aside.append(SetAside(row.line, "the end is before the start", text[:TEXT_LIMIT], column))
        return None
    return seconds


def _utc(stamp: Stamp | None, zone: object) -> datetime | None:
    if stamp is None:
        return None
    return to_utc(stamp.at, zone) if stamp.offset is None and zone is not None else stamp.at  # type: ignore[arg-type]


def _store(batch: Batch, jobs: pd.DataFrame) -> None:
    """Named pods into the table; of a name that comes again the last line counts."""
    nameless = jobs["job_id"].isna()
    again = jobs.duplicated("job_id", keep="last") & ~nameless
    kept = jobs[~nameless & ~again].drop(columns="line")
    batch.stored = len(kept)
    for reason, n in (("no name", int(nameless.sum())), ("listed again further down", int(again.sum()))):
        if n:
            batch.ignored[reason] += n
    batch.tables["scheduler_jobs"] = kept


def _tell(batch: Batch, sheet: _Sheet, jobs: pd.DataFrame) -> None:
    batch.unmapped = [head for head in sheet.layout.header if head and head not in batch.mapped]
    timeless = int(jobs["elapsed_s"].isna().sum())
    if timeless:
        batch.warnings.append(
            f"{timeless} of {len(jobs)} pods have no start and end: their GPU-hours are unknown."
        )
    if jobs["started_at"].isna().all() and jobs["elapsed_s"].notna().any():
        batch.warnings.append("Times count from an unknown start: run times are known, dates are not.")


READERS = (InventoryReader(), ClusterSummaryReader(), PodRequestReader())
