"""Parquet of run histories and of other training logs."""

import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError, UserError
from data.readers.base import Batch, Choices, Source
from data.readers.parquet_metrics import WandbHistoryParquetReader
from data.readers.registry import choose
from tests.data.readers.flat_files import clocked, phases, steps


def parquet(records: list[dict[str, Any]], rows_a_group: int = 2) -> bytes:
    names = list(dict.fromkeys(key for record in records for key in record))
    table = pa.table({name: pa.array([r.get(name) for r in records]) for name in names})
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=rows_a_group)
    return out.getvalue()


def spooled(data: bytes, folder: Path, name: str = "run.parquet") -> Source:
    return spool_bytes(data, name, folder)


def load(data: bytes, folder: Path, expect: str) -> Batch:
    source = spooled(data, folder)
    reader = choose(source, Choices())
    assert reader.format == expect
    return reader.read(source, Choices(), folder)


def skyrl(*numbers: int) -> list[dict[str, Any]]:
    return [
        {"trainer/global_step": n, "timing/step": 9.0, "timing/generate": 5.0, "reward/avg_raw_reward": 0.5}
        for n in numbers
    ]


def test_a_history_reads_like_its_csv(tmp_path: Path) -> None:
    records = clocked(skyrl(1, 2, 3), offset=1)
    records[1] |= {"table": {"_type": "table-file", "path": "x"}, "eval/gsm8k/avg_score": 0.75}
    batch = load(parquet(records), tmp_path, "wandb_history_parquet")
    assert (batch.records, batch.stored, batch.facts["columns"]) == (3, 3, 9)
    assert phases(batch) == {"rollout": (15.0, "wall")}
    assert batch.facts["run_seconds"] == 35.0
    assert batch.facts["eval_score[gsm8k]"] == 0.75
    assert batch.facts["missing_cells"] == 4
    assert any("1 cells hold texts or objects" in text for text in batch.warnings)


def test_a_flat_log_needs_a_step_column(tmp_path: Path) -> None:
    batch = load(parquet(skyrl(1, 2)), tmp_path, "flat_metrics_parquet")
    assert steps(batch)["step"].tolist() == [1, 2]
    assert batch.facts["step_seconds_sum"] == 18.0
    with pytest.raises(UserError):
        choose(spooled(parquet([{"user": "a", "n": 3}]), tmp_path, "x.parquet"), Choices())


def test_exact_decimals_are_numbers(tmp_path: Path) -> None:
    column = {"_step": [1, 2], "_runtime": [10.0, 20.0], "_timestamp": [1767225610.0, 1767225620.0]}
    exact = pa.array([Decimal("7.25"), Decimal("8.50")], pa.decimal128(10, 2))
    out = io.BytesIO()
    pq.write_table(pa.table({**column, "timing/step": exact}), out)
    batch = load(out.getvalue(), tmp_path, "wandb_history_parquet")
    assert steps(batch)["step_s"].tolist() == [7.25, 8.5]


def test_runs_by_name(tmp_path: Path) -> None:
    records = [{"run": name, **r} for name in ("a", "b") for r in skyrl(1, 2)]
    batch = load(parquet(records), tmp_path, "flat_metrics_parquet")
    assert (batch.names_runs, batch.facts["run_names"]) == (True, "a;b")


def test_damage_is_told(tmp_path: Path) -> None:
    data = parquet(clocked(skyrl(1, 2)))
    with pytest.raises(UserError):
        choose(spooled(data[: len(data) // 2], tmp_path, "cut.parquet"), Choices())
    with pytest.raises(UnreadableFileError, match="cannot be opened"):
        WandbHistoryParquetReader().read(spooled(data[:40], tmp_path, "c.parquet"), Choices(), tmp_path)
    with pytest.raises(UnreadableFileError, match="no rows"):
        empty = io.BytesIO()
        bare = pa.table({"_step": pa.array([], pa.int64()), "_runtime": pa.array([], pa.float64())})
        pq.write_table(bare, empty)
        WandbHistoryParquetReader().read(
            spooled(empty.getvalue(), tmp_path, "e.parquet"), Choices(), tmp_path
        )
