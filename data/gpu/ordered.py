"""Clean GPU rows in file order -> seconds each stands for, without a sort of the rows.

The same left hold as `rollup.hold`, for files in which the stamps of every GPU increase from row to row.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data.gpu.rollup import HOLD_MEDIANS
from data.parse.typed_csv import WORKERS

BLOCK_ROWS = 1 << 20


@dataclass(frozen=True)
class Spacing:
    """`held`: what each row stands for, in file order, `per_s` of it a second; gaps between samples."""

    held: NDArray[Any]
    per_s: float
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
        return Spacing(held, 1e6, None, None, None)
    top, total = int(gaps.max()), int(gaps.sum(dtype=np.int64))
    return Spacing(held, 1e6, top / 1e6, float(np.median(gaps, overwrite_input=True)) / 1e6, total / 1e6)


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
