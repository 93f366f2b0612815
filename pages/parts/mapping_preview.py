"""What a mapping would give, read from the first rows by the same readers that will read the file."""

import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from data.arrival.spool import spool_bytes
from data.errors import UserError
from data.mapping.check import Summary, summarise
from data.mapping.language import FORMAT, parse_meaning
from data.parse.table_records import TableSample
from data.readers.base import Batch, Choices
from data.readers.mapped import MappedTableReader

_ROWS = 6
_SHOWN = (
    "steps",
    "step_phases",
    "gpu_samples",
    "evals",
    "eval_tasks",
    "costs",
    "scheduler_jobs",
    "env_events",
)
_HIDDEN = ("source", "upload_id", "eval_id", "throughput_basis", "dt_s")


@dataclass(frozen=True)
class Preview:
    """First rows by table, reasons for which whole rows would be set aside, or the error of reading."""

    tables: dict[str, pd.DataFrame]
    stored: int
    records: int
    raw: tuple[str, ...]
    warnings: tuple[str, ...]
    aside: tuple[tuple[str, int], ...] = ()
    error: str = ""


@st.cache_data(max_entries=64, show_spinner=False)
def preview(name: str, sample: dict[str, Any], choices: dict[str, Any]) -> Preview:
    """Read the sample as the file would be read."""
    table = TableSample.from_dict(sample)
    frame = pd.DataFrame(list(table.rows), columns=list(table.header), dtype=str)
    with tempfile.TemporaryDirectory(prefix="ipd-preview-") as folder:
        place = Path(folder)
        try:
            source = spool_bytes(frame.to_csv(index=False).encode(), name, place / "spool")
            batch = MappedTableReader().read(source, Choices(**{**choices, "format": FORMAT}), place)
            return _shown(batch)
        except UserError as error:
            return Preview({}, 0, len(frame), (), (), f"{error.what}. {error.remedy}")


def _shown(batch: Batch) -> Preview:
    found = {name: frame for name, frame in batch.tables.items() if name in _SHOWN}
    if batch.gpu_parts:
        found["gpu_samples"] = pd.read_parquet(batch.gpu_parts[0]).sort_values(["ts", "gpu_id"])
    tables = {}
    for name in _SHOWN:
        if name in found:
            frame = found[name].dropna(axis="columns", how="all")
            tables[name] = frame.drop(columns=[c for c in _HIDDEN if c in frame]).head(_ROWS)
    raw = batch.tables.get("metric_raw")
    keys = tuple(dict.fromkeys(raw["key"])) if raw is not None else ()
    aside = Counter(one.reason for one in batch.set_aside if one.column is None)
    return Preview(
        tables, batch.stored, batch.records, keys, tuple(batch.warnings), tuple(aside.most_common(3))
    )


def summary_of(table: TableSample, column: str, text: str, timezone: str | None) -> Summary:
    """One column under one choice."""
    return summarise(table.cells(column), parse_meaning(text, column), timezone)


def in_words(summary: Summary, text: str) -> str:
    """Smallest, largest and missing in one short line."""
    base = parse_meaning(text).field
    unit = {"UTC": "UTC", "ratio": "", "score": "", "": "", "rollouts": ""}.get(base.unit, base.unit)
    parts = []
    if summary.low is not None and summary.high is not None:
        parts.append(f"{_number(summary.low)} to {_number(summary.high)} {unit}".rstrip())
    parts.append(f"{summary.missing} of {summary.rows} missing")
    if summary.bad:
        parts.append(f"{summary.bad} set aside")
    return " · ".join(parts)


def _number(value: object) -> str:
    if not isinstance(value, float):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
