"""Clean GPU rows in file order -> seconds each stands for and a Parquet part, without a sort of the rows.

The same left hold as `gpu_rollup.hold`, for files in which the stamps of every GPU increase from row to row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from data.gpu_rollup import HOLD_MEDIANS, MEASURES
from data.values import NumberRule

BLOCK_ROWS = 1 << 20
GROUP_ROWS = 1 << 19


@dataclass(frozen=True)
class Spacing:
    """`held_us`: microseconds that each row stands for, in file order; gaps between samples of one GPU."""

    held_us: NDArray[Any]
    gap_max_s: float | None
    gap_median_s: float | None
    gap_s: float | None


def space(gpu: NDArray[Any], ts_us: NDArray[np.int64]) -> Spacing | None:
    """The spacing of rows by GPU number and UTC time; None when a GPU's time stands still or goes back."""
    held: NDArray[Any] = np.zeros(len(gpu), np.int32)
    gaps: list[NDArray[Any]] = []
    rows_of = np.bincount(gpu)
    for low, high in _blocks(rows_of):
        rows = np.flatnonzero((gpu >= low) & (gpu < high))
        rows = rows[np.argsort(gpu[rows], kind="stable")]
        ends = np.cumsum(rows_of[low:high])
        block = _space_block(ts_us[rows], ends)
        if block is None:
            return None
        mine, found = block
        if mine.size and (mine.max() >= 1 << 31 or np.any(mine != np.floor(mine))):
            held = held.astype(np.float64)
        held[rows] = mine
        gaps.append(found.astype(np.int32) if found.size and found.max() < 1 << 31 else found)
    every = np.concatenate(gaps)
    if not every.size:
        return Spacing(held, None, None, None)
    top, total = int(every.max()), int(every.sum(dtype=np.int64))
    return Spacing(held, top / 1e6, float(np.median(every, overwrite_input=True)) / 1e6, total / 1e6)


def _blocks(rows_of: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of GPU numbers with about BLOCK_ROWS rows, so that memory does not grow with the file."""
    low, rows = 0, 0
    for number, n in enumerate(rows_of.tolist()):
        if rows and rows + n > BLOCK_ROWS:
            yield low, number
            low, rows = number, 0
        rows += n
    yield low, len(rows_of)


def _space_block(
    ts_us: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
    """(microseconds held, gaps) of rows that lie GPU by GPU, each up to its end."""
    gap, inner = np.diff(ts_us, append=ts_us[-1:]), np.ones(len(ts_us), bool)
    inner[ends - 1] = False
    found = gap[inner]
    if np.any(found <= 0):
        return None
    held = gap.astype(np.float64)
    start = 0
    for end in ends.tolist():
        if end - start > 1:
            own = held[start : end - 1]
            np.minimum(own, HOLD_MEDIANS * np.median(own), out=own)
        if end > start:
            held[end - 1] = 0
        start = end
    return held, found


def write_part(
    path: Path, table: pa.Table, gpu_ids: Sequence[str], measures: Mapping[str, tuple[str, NumberRule]]
) -> None:
    """Write the columns of `gpu_samples` from a table with ts, gpu, held_us and numbers as written.

    `measures`: column and rule of each measure; the others are NULL.
    """
    names, writer = pa.array(gpu_ids, pa.string()), None
    try:
        for start in range(0, table.num_rows, GROUP_ROWS):
            rows = table.slice(start, GROUP_ROWS)
            columns = {
                "gpu_id": pa.DictionaryArray.from_arrays(_one(rows, "gpu").cast(pa.int32()), names),
                "ts": _one(rows, "ts"),
                "dt_s": pa.array(_one(rows, "held_us").to_numpy() / 1e6),
            }
            for name in MEASURES:
                columns[name] = _measure(rows, measures.get(name))
            batch = pa.record_batch(columns)
            writer = writer or pq.ParquetWriter(path, batch.schema, store_schema=False)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()


def _measure(rows: pa.Table, source: tuple[str, NumberRule] | None) -> pa.Array:
    if source is None:
        return pa.nulls(rows.num_rows, pa.float64())
    column, rule = source
    raw = _one(rows, column).to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return pa.array(rule.scaled(raw), from_pandas=True)


def _one(rows: pa.Table, name: str) -> pa.Array:
    return rows.column(name).combine_chunks()
