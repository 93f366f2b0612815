"""What the tests of GPU readers share: read a text, see its samples, and check the facts of real files."""

import csv
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from data.arrival.spool import spool, spool_bytes
from data.gpu.parts import samples_sql
from data.readers.base import Batch, Choices, Reader

CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"


def read(reader: Reader, text: str | bytes, folder: Path, name: str = "gpu.txt", **choices: Any) -> Batch:
    """The batch of a text; its sniff must be sure of it, and its books must balance."""
    data = text.encode() if isinstance(text, str) else text
    source = spool_bytes(data, name, folder)
    batch = reader.read(source, Choices(**choices), folder)
    aside = sum(one.column is None for one in batch.set_aside)
    assert batch.records == batch.stored + aside + sum(batch.ignored.values())
    assert batch.facts["records"] == batch.records
    return batch


def sureness(reader: Reader, text: str, folder: Path) -> float:
    """How sure a reader is of a text."""
    return reader.sniff(spool_bytes(text.encode(), "any.txt", folder)).confidence


def samples(batch: Batch) -> pd.DataFrame:
    """Stored samples in order of GPU and time."""
    return duckdb.sql(f"select * from {samples_sql(batch.gpu_parts[:1])} order by gpu_id, ts").df()


def real_files(*starts: str) -> list[str]:
    """Files of the corpus with facts that must hold, none where the corpus is absent."""
    return sorted({row["file"] for row in _expected() if row["file"].startswith(starts)})


def check_real(reader: Reader, name: str, folder: Path) -> None:
    """Every canonical fact of a real file holds, and the reader is sure of it."""
    source = spool(CORPUS / name, Path(name).name, folder)
    assert reader.sniff(source).confidence >= 0.9
    facts = reader.read(source, Choices(timezone="UTC"), folder).facts
    for row in _expected():
        if row["file"] != name:
            continue
        got, want, tolerance = facts.get(row["fact"]), row["value"], float(row["tol"] or 0)
        if want == "missing":
            assert got is None, row["fact"]
        elif isinstance(got, str):
            assert got == want, row["fact"]
        else:
            assert got is not None, row["fact"]
            assert abs(float(str(got)) - float(want)) <= tolerance * max(abs(float(want)), 0.001), row["fact"]


def _expected() -> list[dict[str, str]]:
    path = CORPUS / "EXPECTED.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as handle:
        return [row for row in csv.DictReader(handle) if row["canonical"] == "yes"]
