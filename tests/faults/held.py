"""What a batch holds, in a form that two readings of one file can be compared in, and the comparison."""

import math
from dataclasses import dataclass
from datetime import date, datetime

import pandas as pd
import pyarrow.parquet as pq

from data.readers.base import Batch
from tests.faults.inputs import Sample
from tests.faults.mutate import Damage

Row = dict[str, object]
Held = dict[str, list[Row]]

IDENTITY = {
    "steps": ("run", "step", "source"),
    "step_phases": ("run", "step", "phase", "source_key"),
    "metric_raw": ("run", "step", "x_name", "x", "key"),
    "length_hist": ("run", "step", "bucket_low", "bucket_high"),
    "evals": ("run", "step", "model", "benchmark", "metric", "k", "effort", "split"),
    "eval_tasks": ("benchmark", "task", "repeat"),
    "gpu_samples": ("gpu_id", "ts"),
    "costs": ("charge_start", "resource_name", "sku", "category", "bucket", "description", "note", "run"),
    "env_events": ("run", "env", "started_at"),
    "scheduler_jobs": ("job_id",),
    "checkpoints": ("run", "step"),
}
"""What a row is about, without the attempt: a counter that runs back rightly opens another one."""
NOT_COMPARED = frozenset({"attempt", "eval_id", "checkpoint", "upload_id"})
BY_NEIGHBOUR = {"gpu_samples": ("dt_s",), "steps": ("elapsed_s", "ts", "throughput", "throughput_basis")}
"""Columns that come from two records: they may differ where one of the two was touched."""
COUNTS = (
    "records", "ragged_rows", "blank_lines", "physical_lines", "missing_cells", "partial_last_line",
)  # fmt: skip
"""Beginnings of facts that count what stands in the file: foreign lines may change them."""


FORM = ("encoding", "line_ending", "size_bytes")
"""Facts that name the very thing that a mutation changes."""


def held(batch: Batch) -> Held:
    """Rows of every table and of the GPU parts, cells as plain values."""
    found = {name: _rows(frame) for name, frame in batch.tables.items() if len(frame)}
    samples = [row for part in batch.gpu_parts for row in _rows(pq.read_table(part).to_pandas())]
    if samples:
        found["gpu_samples"] = samples
    return found


def _rows(frame: pd.DataFrame) -> list[Row]:
    kept = frame.drop(columns="line", errors="ignore")  # where a row stood says nothing of what it is
    return [{str(k): plain(v) for k, v in row.items()} for row in kept.to_dict("records")]


def plain(value: object) -> object:
    """None for everything missing; numbers to ten digits, so that the order of a sum does not matter."""
    if isinstance(value, datetime | date):
        return None if pd.isna(value) else str(pd.Timestamp(value))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, int):
        return float(value)
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.10g}")
    return None if value is pd.NaT or value is pd.NA else str(value)


@dataclass
class Truth:
    """The whole file's rows, by what they are about and by column."""

    rows: Held
    facts: dict[str, object]

    def __post_init__(self) -> None:
        self.by_key: dict[tuple[object, ...], dict[str, set[object]]] = {}
        self.by_column: dict[tuple[str, str], set[object]] = {}
        for table, rows in self.rows.items():
            for row in rows:
                cells = self.by_key.setdefault(key_of(table, row), {})
                for column, value in row.items():
                    cells.setdefault(column, set()).add(value)
                    self.by_column.setdefault((table, column), set()).add(value)


def key_of(table: str, row: Row) -> tuple[object, ...]:
    """What a row is about."""
    return (table, *(row.get(name) for name in IDENTITY.get(table, ())))


def broken(sample: Sample, damage: Damage, truth: Truth, rows: Held, facts: dict[str, object]) -> list[str]:
    """What of a promise does not hold, in words."""
    if damage.promise in ("same", "more"):
        return _differing(truth, rows, facts, damage.promise)
    if damage.promise == "rows":
        return _strangers(sample, damage, truth, rows)
    return _inventions(sample, truth, rows) if damage.promise == "values" else []


def _differing(truth: Truth, rows: Held, facts: dict[str, object], promise: str) -> list[str]:
    found = []
    for table in sorted(set(truth.rows) | set(rows)):
        was, now = (sorted(map(repr, some.get(table, []))) for some in (truth.rows, rows))
        if was != now:
            gone, new = sorted(set(was) - set(now)), sorted(set(now) - set(was))
            found.append(f"{table}: {len(was)} -> {len(now)} rows, gone {gone[:1]}, new {new[:1]}")
    for name in sorted(set(truth.facts) | set(facts)):
        if name.startswith(FORM) or (promise == "more" and name.startswith(COUNTS)):
            continue
        if _told(name, truth.facts) != _told(name, facts):
            found.append(f"fact {name}: {truth.facts.get(name)} -> {facts.get(name)}")
    return found


def _told(name: str, facts: dict[str, object]) -> object:
    """A fact as plain value; the order of runs follows the columns."""
    value = plain(facts.get(name))
    return sorted(value.split(";")) if name == "run_names" and isinstance(value, str) else value


def _strangers(sample: Sample, damage: Damage, truth: Truth, rows: Held) -> list[str]:
    found: list[str] = []
    moved = cut = 0
    for table, some in rows.items():
        if table not in IDENTITY or table in sample.loose:
            continue
        for row in some:
            cells = truth.by_key.get(key_of(table, row))
            if cells is None:
                odd = ["not in the whole file"]
            else:
                odd = [
                    f"{c}={v}, was {sorted(map(str, cells.get(c, ())))}"
                    for c, v in row.items()
                    if c not in NOT_COMPARED and v is not None and v not in cells.get(c, set())
                ]
            by_neighbour = [text for text in odd if text.startswith(BY_NEIGHBOUR.get(table, ("\0",)))]
            moved += len(by_neighbour)
            odd = [text for text in odd if text not in by_neighbour]
            if odd and damage.cut_cell and not cut:
                cut += 1
            elif odd:
                found.append(f"{key_of(table, row)}: {'; '.join(odd)}")
    if moved > 2 * max(damage.touched, 1) * 4:
        found.append(f"{moved} values by neighbour changed where {damage.touched} lines were touched")
    return found


def _inventions(sample: Sample, truth: Truth, rows: Held) -> list[str]:
    found = []
    raw = truth.by_column.get(("metric_raw", "value"), set())
    for table, some in rows.items():
        if table not in IDENTITY or table in sample.loose or sample.format == "opencost_csv":
            continue  # what its columns leave of the total of a row is a cost of its own
        for row in some:
            passed = {*NOT_COMPARED, *BY_NEIGHBOUR.get(table, ()), *IDENTITY[table]}
            numbers = {c: v for c, v in row.items() if isinstance(v, float) and c not in passed}
            known = {c: truth.by_column.get((table, c), set()) | raw for c in numbers}
            odd = [f"{c}={v}" for c, v in numbers.items() if v not in known[c]]
            if odd:
                found.append(f"{key_of(table, row)}: {', '.join(odd)}")
    return found
