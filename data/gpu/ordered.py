"""Clean GPU rows in file order -> seconds each stands for and a Parquet part, without a sort of the rows.

The same left hold as `gpu_rollup.hold`, for files in which the stamps of every GPU increase from row to row.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from data.gpu.rollup import HOLD_MEDIANS, MEASURES
from data.parse.typed_csv import WORKERS
from data.parse.values import NumberRule

BLOCK_ROWS = 1 << 20
GROUP_ROWS = 1 << 18


@dataclass(frozen=True)
class Spacing:
    """`held_us`: microseconds that each row stands for, in file order; gaps between samples of one GPU."""

    held_us: NDArray[Any]
    gap_max_s: float | None
    gap_median_s: float | None
    gap_s: float | None


def space(gpu: NDArray[Any], ts_us: NDArray[np.int64], whole: bool = True) -> Spacing | None:
    """The spacing of rows by GPU number and UTC time; None when a GPU's time stands still or goes back.

    `whole`: expect that every row stands for whole microseconds below 2^31, which take half the memory.
    """
    rows_of = np.bincount(gpu)
    before = np.concatenate([[0], np.cumsum(np.maximum(rows_of - 1, 0))])
    held: NDArray[Any] = np.zeros(len(gpu), np.int32 if whole else np.float64)
    gaps: NDArray[Any] = np.empty(before[-1], np.int32 if whole else np.int64)

    def block(numbers: tuple[int, int]) -> bool:
        low, high = numbers
        rows = np.flatnonzero((gpu >= low) & (gpu < high))
        # Far jumps through memory are dear: rows are fetched in file order and sorted inside the block.
        order = np.argsort(gpu[rows], kind="stable")
        spaced = _space_block(ts_us[rows][order], np.cumsum(rows_of[low:high]))
        if spaced is None:
            return False
        if whole and not all(_is_whole(one) for one in spaced):
            raise _NotWholeError
        mine = np.empty_like(spaced[0])
        mine[order], gaps[before[low] : before[high]] = spaced
        held[rows] = mine
        return True

    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            if not all(list(pool.map(block, _blocks(rows_of)))):
                return None
    except _NotWholeError:
        return space(gpu, ts_us, whole=False)
    if not gaps.size:
        return Spacing(held, None, None, None)
    top, total = int(gaps.max()), int(gaps.sum(dtype=np.int64))
    return Spacing(held, top / 1e6, float(np.median(gaps, overwrite_input=True)) / 1e6, total / 1e6)


def _is_whole(us: NDArray[Any]) -> bool:
    return not us.size or bool(us.max() < 1 << 31 and np.all(us == np.floor(us)))


class _NotWholeError(Exception):
    """A row stands for a fraction of a microsecond, or for very long."""


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


def write_parts(
    path: Path, table: pa.Table, gpu_ids: Sequence[str], measures: Mapping[str, tuple[str, NumberRule]]
) -> list[Path]:
    """Write the columns of `gpu_samples` from a table with ts, gpu, held_us and numbers as written.

    A large table becomes a file a core, `path` and others beside it. `measures`: column and rule of each
    measure; the others are NULL.
    """
    files = max(1, min(WORKERS, table.num_rows // (2 * GROUP_ROWS)))
    each = -(-table.num_rows // files)
    paths = [path, *(path.with_stem(f"{path.stem}-{k}") for k in range(1, files))]
    names = pa.array(gpu_ids, pa.string())

    def write(k: int) -> None:
        writer = None
        try:
            for start in range(k * each, min((k + 1) * each, table.num_rows), GROUP_ROWS):
                rows = table.slice(start, min(GROUP_ROWS, (k + 1) * each - start))
                batch = _samples(rows, names, measures)
                writer = writer or pq.ParquetWriter(
                    paths[k], batch.schema, store_schema=False, write_statistics=["gpu_id", "ts"]
                )
                writer.write_batch(batch)
        finally:
            if writer is not None:
                writer.close()

    with ThreadPoolExecutor(files) as pool:
        list(pool.map(write, range(files)))
    return paths


def _samples(
    rows: pa.Table, names: pa.Array, measures: Mapping[str, tuple[str, NumberRule]]
) -> pa.RecordBatch:
    columns = {
        "gpu_id": pa.DictionaryArray.from_arrays(_one(rows, "gpu").cast(pa.int32()), names),
        "ts": _one(rows, "ts"),
        "dt_s": pa.array(_one(rows, "held_us").to_numpy() / 1e6),
    }
    empty = pa.nulls(rows.num_rows, pa.float64())
    for name in MEASURES:
        columns[name] = _measure(rows, *measures[name]) if name in measures else empty
    return pa.record_batch(columns)


def _measure(rows: pa.Table, column: str, rule: NumberRule) -> pa.Array:
    raw = _one(rows, column).to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return pa.array(rule.scaled(raw), from_pandas=True)


def _one(rows: pa.Table, name: str) -> pa.Array:
    return rows.column(name).combine_chunks()
