"""A table of finished runs: one row a run with its wall time, GPU-hours and cost in some currency."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.parse.csvio import CsvCounts, CsvLayout, CsvRow, best_delimiter, read_all, read_layout, split_line
from data.parse.decimals import PlainCells
from data.parse.last_line import BY_HAND
from data.parse.values import is_missing, parse_number
from data.readers.base import Batch, Choices, Progress, Proposal, SetAside, Sniff, Source, no_progress
from data.readers.run_manifest import ALGORITHMS

RUN = ("run_id", "run_name", "run", "experiment")
GPU_HOURS = ("gpu_hours", "gpu_h", "gpuhours", "gpu_hrs")
ALGORITHM = ("algorithm", "algo", "method")
_WALL = re.compile(
    r"^(?:wall(?:_?(?:time|clock))?|runtime|duration|elapsed)_(s|sec|seconds|min|minutes|h|hours)$"
)
_COST = re.compile(r"^(?:total_|billed_)?cost_([a-z]{3})$")
_FEW = 60
_MOST_GPUS = 1e6


@dataclass(frozen=True)
class _Columns:
    """Places of what is read; `currency` is in the name of the cost column."""

    run: int
    wall: int | None
    wall_unit: str
    gpu_hours: int
    cost: int
    currency: str
    algorithm: int | None

    @property
    def read(self) -> dict[int, str]:
        """Column -> what it becomes."""
        found = {
            self.run: "runs.run",
            self.gpu_hours: "helps to tell the GPUs",
            self.cost: "costs.billed_cost",
        }
        if self.wall is not None:
            found[self.wall] = "attempts.elapsed_s"
        return found if self.algorithm is None else {**found, self.algorithm: "runs.algorithm"}


@dataclass
class _Table:
    runs: list[dict[str, object]] = field(default_factory=list)
    attempts: list[dict[str, object]] = field(default_factory=list)
    costs: list[dict[str, object]] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    algorithms: list[str] = field(default_factory=list)
    gpu_hours: list[float] = field(default_factory=list)
    aside: list[SetAside] = field(default_factory=list)
    missing: int = 0


class RunCostTableReader:
    """CSV of runs with seconds, GPU-hours and cost."""

    format = "run_cost_table"
    title = "cost table of runs (CSV)"

    def sniff(self, source: Source) -> Sniff:
        """A header with a run, GPU-hours and a cost that names its currency; most have a wall time."""
        first = next((line for line in source.head.split("\n") if line.strip()), "")
        names = tuple(cell.strip() for cell in split_line(first, best_delimiter(first)))
        columns = _columns(names)
        if columns is None:
            return Sniff(0.0, "the header has no run, GPU-hours and cost with its currency")
        time = names[columns.gpu_hours if columns.wall is None else columns.wall]
        return Sniff(0.95, f"the header names a run, {time}, {names[columns.cost]}")

    def read(
        self,
        source: Source,
        choices: Choices,  # noqa: ARG002
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all rows; raises UnreadableFileError when a column is missing or no row is there."""
        layout = read_layout(source, lambda names: _columns(names) is not None)
        layout = replace(layout, open_end=BY_HAND)
        columns = _columns(layout.header)
        if columns is None:
            raise UnreadableFileError("A needed column is missing", source.name, "Name the run and its cost.")
        rows, counts = read_all(source, layout, progress)
        rows = list(PlainCells(source, layout).rows(rows))
        table = _Table()
        for row in rows:
            _take(table, columns, layout, row)
        return _batch(self.format, source, layout, columns, table, counts)


def _columns(names: tuple[str, ...]) -> _Columns | None:
    lower = [name.lower() for name in names]

    def at(wanted: tuple[str, ...]) -> int | None:
        return next((lower.index(name) for name in wanted if name in lower), None)

    walls = [(i, match[1]) for i, name in enumerate(lower) if (match := _WALL.match(name))]
    costs = [(i, match[1].upper()) for i, name in enumerate(lower) if (match := _COST.match(name))]
    run, hours = at(RUN), at(GPU_HOURS)
    if run is None or hours is None or not costs:
        return None
    wall, unit = walls[0] if walls else (None, "s")
    return _Columns(run, wall, unit, hours, *costs[0], at(ALGORITHM))


def _take(table: _Table, columns: _Columns, layout: CsvLayout, row: CsvRow) -> None:
    cells = {i: (row.cells[i].strip() if i < len(row.cells) else "") for i in range(len(layout.header))}
    table.missing += sum(is_missing(text) for text in row.cells)
    run = cells[columns.run]
    if is_missing(run):
        table.aside.append(SetAside(row.line, "a row that names no run", ",".join(row.cells)[:200]))
        return

    def number(place: int, unit: str | None = None) -> float | None:
        value = parse_number(cells[place], unit)
        if value.status in ("bad", "out_of_range") or (value.number or 0.0) < 0:
            reason = value.reason or "a negative amount"
            table.aside.append(SetAside(row.line, reason, cells[place][:80], layout.header[place]))
            return None
        return value.number

    wall = None if columns.wall is None else number(columns.wall, columns.wall_unit)
    hours = number(columns.gpu_hours)
    cost = number(columns.cost)
    algorithm = cells[columns.algorithm].lower() if columns.algorithm is not None else ""
    table.algorithms.append(algorithm)
    known = next((name for name in ALGORITHMS if name in algorithm), "other" if algorithm else None)
    table.runs.append({"run": run, "algorithm": known})
    table.attempts.append(
        {"run": run, "attempt": 1, "elapsed_s": wall, "elapsed_basis": None if wall is None else "clock"}
    )
    table.costs.append({"run": run, "billed_cost": cost, "currency": columns.currency, "bucket": "gpu"})
    if hours is not None:
        table.gpu_hours.append(hours)
    gpus = 3600 * hours / wall if hours and wall else 0.0
    if hours and wall and 0 < gpus <= _MOST_GPUS:
        whole = float(round(gpus)) if abs(gpus - round(gpus)) < 0.01 * gpus else gpus
        how = f"3600 x {hours:g} GPU-hours / {wall:g} s = {gpus:.4g}"
        table.proposals.append(Proposal(run, "gpus", whole, how))


def _batch(
    format: str, source: Source, layout: CsvLayout, columns: _Columns, table: _Table, counts: CsvCounts
) -> Batch:
    batch = Batch(format, records=counts.records, stored=len(table.runs), names_runs=True)
    batch.set_aside = counts.set_aside + table.aside
    attempts = pd.DataFrame(table.attempts)
    if len(attempts):
        attempts["attempt"] = attempts.groupby("run").cumcount() + 1
    frames = {
        "runs": pd.DataFrame(table.runs).drop_duplicates("run") if table.runs else pd.DataFrame(),
        "attempts": attempts,
        "costs": pd.DataFrame([row for row in table.costs if row["billed_cost"] is not None]),
    }
    batch.tables = {name: frame for name, frame in frames.items() if len(frame)}
    batch.proposals = table.proposals
    batch.mapped = {layout.header[i]: what for i, what in columns.read.items()}
    batch.unmapped = [name for name in layout.header if name and name not in batch.mapped]
    batch.facts = source_facts(source) | _facts(format, layout, columns, table, counts)
    batch.warnings += counts.said()
    if columns.currency != "USD":
        batch.warnings.append(
            f"Costs are in {columns.currency}: they are stored as they are and never added to dollars."
        )
    batch.warnings.append("Rent follows from run details; these bills are kept apart from it and not added.")
    batch.reconcile()
    return batch


def _facts(
    format: str, layout: CsvLayout, columns: _Columns, table: _Table, counts: CsvCounts
) -> dict[str, object]:
    costs = [row["billed_cost"] for row in table.costs]
    seconds = [row["elapsed_s"] for row in table.attempts]
    facts: dict[str, object] = {
        "format": format,
        "records": counts.records,
        "columns": layout.columns,
        "header_repeated": counts.header_repeated,
        "partial_last_line": counts.partial_last_line,
        "ragged_rows": counts.ragged_rows,
        "missing_cells": table.missing,
        "runs": len({row["run"] for row in table.runs}),
        "run_names": ";".join(dict.fromkeys(str(row["run"]) for row in table.runs)),
        "run_seconds": _sum(seconds),
        "gpu_hours": _sum(table.gpu_hours),
        "billed_cost": _sum(costs),
        "currency": columns.currency,
    }
    if columns.algorithm is not None and len(set(table.algorithms)) <= _FEW:
        name = layout.header[columns.algorithm]
        for text, n in Counter(table.algorithms).items():
            facts[f"records[{name}={text}]"] = n
            facts[f"billed_cost[{name}={text}]"] = _sum(
                [cost for cost, algorithm in zip(costs, table.algorithms, strict=True) if algorithm == text]
            )
    return facts


def _sum(values: Sequence[object]) -> float | None:
    known = [float(str(value)) for value in values if value is not None]
    return sum(known) if known else None


READERS = (RunCostTableReader(),)
