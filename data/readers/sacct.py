"""Slurm accounting: `sacct -P` or `-p`, with a header or (-n) without one."""

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from pathlib import Path

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.parse.csvio import TEXT_LIMIT, open_lines
from data.parse.last_line import only_line
from data.parse.timezones import parse_stamp, same_wall_clock, to_utc, zone_of
from data.parse.values import is_missing, parse_number
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.sacct_lines import (
    JOB_ID,
    STATES,
    Counts,
    Layout,
    Line,
    find_header,
    guess_columns,
    read_lines,
)
from data.readers.sacct_lines import state_of as _state
from data.readers.template_rows import Row
from data.readers.template_tables import frame_of
from data.slurm_fields import elapsed_seconds, gpus_of, nodes_of

LOOK_LINES = 400
_TEXT = {
    "name": "JobName", "user_name": "User", "account": "Account", "partition": "Partition",
    "comment": "Comment",
}  # fmt: skip
_STAMPS = {"submitted_at": "Submit", "started_at": "Start", "ended_at": "End"}
_OTHER = ("AllocTRES", "AllocGRES", "ReqTRES", "ReqGRES", "Elapsed", "ElapsedRaw", "NNodes", "AllocNodes")
_STEP = "job step (it repeats the allocation)"
_NO_TIME = frozenset({"unknown", "none", "na", "n/a", ""})


class SacctReader:
    """Jobs of a Slurm cluster. Steps are not jobs: they repeat the allocation."""

    format = "sacct_parsable2"
    title = "Slurm accounting (sacct -P)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the fields of the header, or by job ids and states where there is none."""
        lines = source.head.split("\n")[:LOOK_LINES]
        layout = find_header(lines)
        if layout is not None:
            known = {*_TEXT.values(), *_STAMPS.values(), *_OTHER, "JobIDRaw", "State", "ExitCode", "NodeList"}
            found = known & set(layout.names)
            return Sniff(
                0.97 if found else 0.4, f"a header with JobID and {len(found)} other fields of sacct"
            )
        jobs = [text for text in lines if "|" in text and JOB_ID.match(text.split("|")[0].strip())]
        if not jobs:
            return Sniff(0.0, "no bars with a JobID")
        layout = guess_columns(jobs, {})
        if layout is not None:
            return Sniff(0.93, f"job ids and states without a header: {layout.guessed}")
        if any(".batch|" in text for text in jobs):
            return Sniff(0.55, "job ids and steps without a header")
        states = sum(any(_state(cell) in STATES for cell in text.split("|")) for text in jobs)
        return Sniff(0.3 if states * 2 > len(jobs) else 0.1, "numbers and bars, as job ids without a header")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all jobs. Stamps are cluster time: `choices.timezone` places them, else they count as UTC.

        Raises UnreadableFileError when nothing says which field is which, or no record is there.
        """
        del scratch, progress
        layout = _layout(source, choices)
        counts, jobs = Counts(), _Jobs(layout, zone_of(choices.timezone), choices)
        for line in read_lines(source, layout, counts):
            jobs.add(line)
        if not counts.records and counts.last_line:
            raise only_line(source.name, counts.last_line)
        if not counts.records:
            raise UnreadableFileError(
                "There are no job lines", source.name, "Check the dates given to sacct (-S, -E) and the user."
            )
        batch = Batch(self.format, records=counts.records, stored=jobs.stored, ignored=jobs.ignored)
        batch.set_aside = [*counts.set_aside, *jobs.set_aside]
        rows = jobs.rows()
        if rows:
            batch.tables["scheduler_jobs"] = frame_of("scheduler_jobs", rows)
        batch.mapped = {name: f"scheduler_jobs.{target}" for name, target in jobs.used.items()}
        batch.unmapped = [name for name in layout.names if name and name not in jobs.used]
        batch.facts = source_facts(source) | _facts(layout, counts, jobs, rows)
        _zone(batch, jobs, choices)
        _warn(batch, layout, jobs)
        batch.warnings += [counts.last_line] if counts.last_line else []
        batch.reconcile()
        return batch


def _layout(source: Source, choices: Choices) -> Layout:
    lines = [text.rstrip("\n") for text in islice(open_lines(source), LOOK_LINES)]
    layout = find_header(lines) or guess_columns(lines, choices.columns)
    if layout is None:
        raise UnreadableFileError(
            "No header says which field is which",
            source.name,
            "Export again without -n, or say the fields by position, such as 1=JobID, 2=State, 3=Elapsed, "
            "4=AllocTRES.",
        )
    return layout


@dataclass
class _Jobs:
    """Takes the records in file order; `rows` gives the jobs, several of one id told apart."""

    layout: Layout
    zone: tzinfo | None
    choices: Choices
    stored: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    set_aside: list[SetAside] = field(default_factory=list)
    used: dict[str, str] = field(default_factory=dict)
    missing: int = 0
    naive: int = 0
    offset: str | None = None
    requested: int = 0
    _by_id: dict[tuple[str, str], list[Row]] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Take one record."""
        self.missing += sum(1 for cell in line.cells if is_missing(cell))
        at = self.layout.at("JobID", "JobIDRaw")
        job_id = line.cells[at].strip() if at is not None and at < len(line.cells) else ""
        if not JOB_ID.match(job_id):
            text = "|".join(line.cells)[:TEXT_LIMIT]
            self.set_aside.append(SetAside(line.line, f"'{job_id}' is no job id", text))
            return
        if "." in job_id:
            self.ignored[_STEP] += 1
            return
        row = self._row(line, job_id)
        known = self._by_id.setdefault((job_id, str(row["cluster"])), [])
        if row in known:
            self.ignored["duplicate row"] += 1
            return
        known.append(row)
        self.stored += 1

    def _cell(self, line: Line, *names: str) -> str:
        for name in names:
            at = self.layout.at(name)
            if at is not None and at < len(line.cells) and not is_missing(line.cells[at]):
                return line.cells[at].strip()
        return ""

    def _row(self, line: Line, job_id: str) -> Row:
        row: Row = {"job_id": job_id, "run": self.choices.run}
        row |= {column: self._cell(line, name) or None for column, name in _TEXT.items()}
        row |= {column: self._time(line, name) for column, name in _STAMPS.items()}
        row["cluster"] = self._cell(line, "Cluster") or None
        row["state"] = _state(self._cell(line, "State")) or None
        row["node_list"] = self._cell(line, "NodeList") or None
        row["elapsed_s"] = self._elapsed(line, row)
        self._second_pass(row)
        row["nodes"] = parse_number(self._cell(line, "NNodes", "AllocNodes")).number
        row["energy_j"] = parse_number(self._cell(line, "ConsumedEnergyRaw")).number
        row["gpus"], row["gpu_model"] = self._gpus(line)
        return row

    def _gpus(self, line: Line) -> tuple[float | None, str | None]:
        if self.layout.at("AllocTRES", "AllocGRES") is not None:
            return gpus_of(self._cell(line, "AllocTRES", "AllocGRES"))
        found = gpus_of(self._cell(line, "ReqTRES", "ReqGRES"))
        self.requested += found[0] is not None
        return found

    def _time(self, line: Line, name: str) -> datetime | None:
        text = self._cell(line, name)
        if text.casefold() in _NO_TIME:
            return None
        stamp = parse_stamp(text)
        if stamp is None:
            self.set_aside.append(SetAside(line.line, "not a time", text[:TEXT_LIMIT], name))
            return None
        if stamp.offset is not None:
            self.offset = stamp.offset or "+00:00"
            return stamp.at
        self.naive += 1
        return to_utc(stamp.at, self.zone) if self.zone else stamp.at

    def _second_pass(self, row: Row) -> None:
        """Of a local time that occurs twice, take the later one where only that fits the elapsed time."""
        start, end, elapsed = row["started_at"], row["ended_at"], row["elapsed_s"]
        if not (self.zone and isinstance(start, datetime) and isinstance(end, datetime) and elapsed):
            return
        off = timedelta(seconds=float(str(elapsed))) - (end - start)
        if off > timedelta() and same_wall_clock(end, end + off, self.zone):
            row["ended_at"] = end + off
        elif off < timedelta() and same_wall_clock(start, start - off, self.zone):
            row["started_at"] = start - off

    def _elapsed(self, line: Line, row: Row) -> float | None:
        raw = parse_number(self._cell(line, "ElapsedRaw"), "s").number
        if raw is not None:
            return raw
        text = self._cell(line, "Elapsed")
        seconds = elapsed_seconds(text) if text else None
        if text and seconds is None and text.casefold() not in _NO_TIME:
            self.set_aside.append(SetAside(line.line, "not [DD-]HH:MM:SS", text[:TEXT_LIMIT], "Elapsed"))
        start, end = row["started_at"], row["ended_at"]
        if seconds is None and isinstance(start, datetime) and isinstance(end, datetime) and end >= start:
            return (end - start).total_seconds()
        return seconds

    def rows(self) -> list[Row]:
        """All jobs. Earlier starts of a requeued job (sacct -D) are `<id>#1`, …; the last keeps the id."""
        out: list[Row] = []
        for (job_id, _), rows in self._by_id.items():
            ordered = sorted(rows, key=lambda row: (row["started_at"] is None, str(row["started_at"])))
            for n, row in enumerate(ordered, 1):
                out.append(row if n == len(ordered) else {**row, "job_id": f"{job_id}#{n}"})
        filled = {name for row in out for name, value in row.items() if value is not None}
        pairs = {**_TEXT, **_STAMPS, "job_id": "JobID", "cluster": "Cluster", "state": "State"}
        pairs |= {"node_list": "NodeList", "energy_j": "ConsumedEnergyRaw"}
        for column, name in pairs.items():
            if name in self.layout.names and column in filled:
                self.used[name] = column
        sources = {"gpus": ("AllocTRES", "AllocGRES"), "elapsed_s": ("ElapsedRaw", "Elapsed")}
        sources |= {"nodes": ("NNodes", "AllocNodes")}
        for column, names in sources.items():
            self.used |= {name: column for name in names if name in self.layout.names}
        return out


def _facts(layout: Layout, counts: Counts, jobs: _Jobs, rows: list[Row]) -> dict[str, object]:
    facts: dict[str, object] = {
        "format": SacctReader.format,
        "records": counts.records,
        "columns": sum(1 for name in layout.names if name) if layout.header_line else None,
        "header_repeated": counts.header_repeated,
        "partial_last_line": counts.partial_last_line,
        "ragged_rows": counts.ragged_rows,
        "missing_cells": jobs.missing,
        "jobs": len({(str(row["job_id"]).partition("#")[0], row["cluster"]) for row in rows}),
        "time_zone": jobs.offset,
    }
    if layout.at("AllocTRES", "AllocGRES", "ReqTRES", "ReqGRES") is not None:
        known = [gpus for row in rows if isinstance(gpus := row["gpus"], float)]
        facts["gpus"] = math.fsum(known) if known else None
        models = dict.fromkeys(str(row["gpu_model"]) for row in rows if row["gpu_model"])
        facts["gpu_model"] = ";".join(models) or None
        facts |= _gpu_hours(rows)
    if layout.at("NodeList") is not None:
        facts["hosts"] = len({node for row in rows for node in nodes_of(str(row["node_list"] or ""))}) or None
    return facts | _span(jobs, rows)


def _gpu_hours(rows: list[Row]) -> dict[str, object]:
    held: dict[str, list[float]] = {"": []}
    for row in rows:
        gpus, seconds = row["gpus"], row["elapsed_s"]
        if not isinstance(gpus, float) or not isinstance(seconds, float):
            continue
        held[""].append(gpus * seconds / 3600)
        if row["cluster"]:
            held.setdefault(str(row["cluster"]), []).append(gpus * seconds / 3600)
    return {
        f"gpu_hours[{cluster}]" if cluster else "gpu_hours": math.fsum(hours) if hours else None
        for cluster, hours in held.items()
    }


def _span(jobs: _Jobs, rows: list[Row]) -> dict[str, object]:
    stamps = [at for row in rows for name in _STAMPS if isinstance(at := row[name], datetime)]
    if not stamps:
        return {}
    found: dict[str, object] = {"span_s": (max(stamps) - min(stamps)) / timedelta(seconds=1)}
    if jobs.zone is not None or not jobs.naive:
        found["time_first_epoch_s"] = min(stamps).replace(tzinfo=UTC).timestamp()
    return found


def _zone(batch: Batch, jobs: _Jobs, choices: Choices) -> None:
    if not jobs.naive:
        batch.timezone = jobs.offset
        return
    batch.timezone = choices.timezone or "UTC"
    if jobs.zone is None:
        batch.timezone_assumed = True
        batch.warnings.append(
            "sacct writes the cluster's local time without a zone: it was taken as UTC. "
            "Choose the zone of the cluster, or the jobs are hours off against bills and telemetry."
        )


def _warn(batch: Batch, layout: Layout, jobs: _Jobs) -> None:
    if layout.guessed:
        named = ", ".join(f"{i} {name}" for i, name in enumerate(layout.names, 1) if name)
        batch.warnings.append(f"The file has no header; fields were taken as {named} ({layout.guessed}).")
    if not jobs.stored and batch.ignored[_STEP]:
        batch.warnings.append("The file holds steps only, no job: no GPU-hours were counted.")
    if layout.at("AllocTRES", "AllocGRES", "ReqTRES", "ReqGRES") is None:
        batch.warnings.append("No field AllocTRES: the GPUs of the jobs are not known.")
    elif jobs.requested:
        batch.warnings.append("No field AllocTRES: the GPUs are those that were asked for (ReqTRES).")


READERS = (SacctReader(),)
