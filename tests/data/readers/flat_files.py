"""Small made-up histories, and the ways in which they reach a reader."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd

from data.logs.flat import FlatFile, FlatRun, Row, make_batch
from data.readers.base import Batch, Choices, Source
from data.readers.registry import choose
from tests.data.verl_files import spooled

Records = list[dict[str, Any]]


def history_csv(records: Records, drop: str = "") -> str:
    """A W&B history as pandas writes it: one column a key, blanks where a record lacks it."""
    names = sorted({key for record in records for key in record} - {drop})
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def jsonl(records: Records) -> str:
    """One object a line."""
    return "".join(json.dumps(record) + "\n" for record in records)


def clocked(records: Records, step_s: float = 10.0, offset: int = 0) -> Records:
    """Add W&B's own columns: one log call every `step_s` seconds, 5 s after the start of the process."""
    return [
        {
            "_step": i + offset,
            "_runtime": 5.0 + step_s * (i + 1),
            "_timestamp": 1.75e9 + 5.0 + step_s * (i + 1),
            **record,
        }
        for i, record in enumerate(records)
    ]


def load(text: str, folder: Path, name: str = "run.csv", expect: str | None = None) -> Batch:
    """What the product makes of a file: the reader is chosen by content."""
    source = spooled(text, folder, name)
    reader = choose(source, Choices())
    if expect is not None:
        assert reader.format == expect
    return reader.read(source, Choices(), folder)


def engine(rows: list[Row], folder: Path, **run: Any) -> Batch:
    """Rows straight into the engine."""
    source: Source = spooled("x\n", folder, "log.txt")
    return make_batch(FlatFile("test", "test", len(rows)), [FlatRun("r", rows, **run)], source)


def rows(records: Records) -> list[Row]:
    """Rows with the step under `step`."""
    return [
        Row(int(r["step"]), {k: float(v) for k, v in r.items()}, line) for line, r in enumerate(records, 1)
    ]


def steps(batch: Batch) -> pd.DataFrame:
    """Steps in order."""
    return batch.tables["steps"].sort_values(["run", "attempt", "step"]).reset_index(drop=True)


def phases(batch: Batch) -> dict[str, tuple[float, str]]:
    """Phase -> (seconds, kind of its rows)."""
    frame = batch.tables["step_phases"]
    return {
        str(phase): (float(rows["seconds"].sum()), "/".join(sorted(set(rows["kind"]))))
        for phase, rows in frame.groupby("phase")
    }
