"""Clean GPU rows in file order -> spacing, minutes and facts without SQL; the same as `rollup` finds.

The loops are compiled (`plain_minutes`) and need every value in a narrow type: what does not fit gives None,
and the caller takes the way of SQL.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from data.gpu.ordered import Spacing
from data.gpu.rollup import HOLD_MEDIANS, MINUTE_US, NOT_ROLLED_UP
from data.parse.typed_csv import WORKERS
from data.parse.values import NumberRule

MOST_HALVES = 2**31 - 1
FEW_HOLES = 1 << 12
COUNT_ROWS = 1 << 18
BLOCK_ROWS = 1 << 14
EPOCH = datetime(1970, 1, 1)
Measures = Mapping[str, tuple[NDArray[Any], NumberRule]]
"""Numbers as written, NaN where missing, and their rule, by measure."""


@dataclass(frozen=True)
class Holes:
    """Rows that are followed by unknown time: GPU, stamp, seconds held and microseconds to the next row."""

    gpu: NDArray[Any]
    ts: NDArray[np.int64]
    dt_s: NDArray[np.float64]
    gap_us: NDArray[np.int64]


@dataclass(frozen=True)
class Sums:
    """What the rows add up to. `first`, `last`: stamps by GPU. `by_gpu`: sums of a measure by GPU number.

    `minute_gpu`, `minute`: GPU and minutes since 1970 of every row of `minutes`, the sums of a measure;
    `seconds`: seconds of samples in them. Columns of sums: see `plain_minutes`.
    """

    spacing: Spacing
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    minute_gpu: NDArray[Any]
    minute: NDArray[np.int64]
    seconds: NDArray[np.float64]
    minutes: Mapping[str, NDArray[np.float64]]
    by_gpu: Mapping[str, NDArray[np.float64]]
    holes: Holes

    def mean(self, measure: str) -> float | None:
        """Mean over all rows with a value."""
        total, n = self.by_gpu[measure][:, 0].sum(), self.by_gpu[measure][:, 5].sum()
        return float(total / n) if n else None

    def means(self, measure: str) -> list[tuple[int, float | None]]:
        """Mean over the rows of each GPU."""
        return _ratios(self.by_gpu[measure][:, 0], self.by_gpu[measure][:, 5])

    def top(self, measure: str) -> float | None:
        """Largest value."""
        top = self.by_gpu[measure][:, 4].max()
        return float(top) if np.isfinite(top) else None

    def means_by_time(self, measure: str) -> list[tuple[int, float | None]]:
        """Left-hold mean of each GPU."""
        return _ratios(self.by_gpu[measure][:, 2], self.by_gpu[measure][:, 1])

    def timed(self) -> dict[str, object]:
        """As `rollup.time_facts`."""
        found: dict[str, object] = {
            "first": EPOCH + timedelta(microseconds=int(self.first.min())),
            "last": EPOCH + timedelta(microseconds=int(self.last.max())),
        }
        found |= {name: getattr(self.spacing, name) for name in ("gap_max_s", "gap_median_s", "gap_s")}
        for name, sums in self.by_gpu.items():
            known, n = float(sums[:, 1].sum()), sums[:, 5].sum()
            found[f"known_{name}"] = known if n else None
            found[f"mean_{name}"] = float(sums[:, 2].sum()) / known if known else None
        return found

    def wide(self, gpu_ids: Sequence[str]) -> pa.Table:
        """The table that `rollup.wide_sql` makes."""
        columns = {
            "gpu_id": _named(gpu_ids, self.minute_gpu),
            "m": pa.array(self.minute),
            "k": pa.array(self.seconds),
        }
        for name, sums in self.minutes.items():
            empty = sums[:, 3] > sums[:, 4]
            for k, column in ((1, "k"), (2, "w"), (3, "lo"), (4, "hi")):
                columns[f"{column}_{name}"] = pa.array(np.ascontiguousarray(sums[:, k]), mask=empty)
            columns[f"n_{name}"] = pa.array(sums[:, 5].astype(np.int64))
        return pa.table(columns)

    def holes_table(self, gpu_ids: Sequence[str]) -> pa.Table:
        """Columns gpu_id, ts, dt_s and gap_us of the rows before unknown time."""
        holes = self.holes
        return pa.table(
            {
                "gpu_id": _named(gpu_ids, holes.gpu),
                "ts": pa.array(holes.ts.view("datetime64[us]")),
                "dt_s": pa.array(holes.dt_s),
                "gap_us": pa.array(holes.gap_us),
            }
        )


def _named(gpu_ids: Sequence[str], numbers: NDArray[Any]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), pa.array(gpu_ids, pa.string()))


def _ratios(above: NDArray[Any], below: NDArray[Any]) -> list[tuple[int, float | None]]:
    return [
        (k, a / b if b else None) for k, (a, b) in enumerate(zip(above.tolist(), below.tolist(), strict=True))
    ]


def add_up(gpu: NDArray[Any], ts_us: NDArray[np.int64], measures: Measures) -> Sums | None:
    """Sums of rows by GPU number (0.. without a hole) and UTC time.

    None when a GPU's time stands still or goes back, and when a number is beyond the types of the loops.
    """
    if gpu.dtype != np.int16 or not len(gpu) or ts_us.min() < 0:
        return None
    rows_of = rows_by_gpu(gpu)
    gaps = _Gaps.of(gpu, ts_us, rows_of)
    if gaps is None:
        return None
    holes = _cut(gpu, ts_us, gaps)
    spacing = Spacing(gaps.held, 2e6, gaps.top_s, gaps.median_s, gaps.total_s)
    span = (gaps.last - gaps.first) // MINUTE_US + 2
    room = np.minimum(span, rows_of * (2 + gaps.caps // (2 * MINUTE_US)))
    chosen = [name for name in measures if name not in NOT_ROLLED_UP]
    rows = _Rows(gpu, ts_us, gaps.held, np.cumsum(room) - room, int(room.sum()))
    with ThreadPoolExecutor(WORKERS) as pool:
        shares = [chosen[k::WORKERS] for k in range(max(1, min(WORKERS, len(chosen))))]
        found = list(pool.map(lambda names: rows.roll([measures[name] for name in names]), shares))
    of = {
        name: rolled.of(k)
        for names, rolled in zip(shares, found, strict=True)
        for k, name in enumerate(names)
    }
    one = found[0]
    return Sums(
        spacing,
        gaps.first,
        gaps.last,
        np.repeat(np.arange(len(rows_of)), one.minutes_of),
        one.minutes,
        one.seconds,
        {name: of[name][0] for name in chosen},
        {name: of[name][1] for name in chosen},
        holes,
    )


def rows_by_gpu(gpu: NDArray[Any]) -> NDArray[np.int64]:
    """Rows of each GPU number; a count of all at once would widen a copy of the whole column."""
    found, gpus = np.zeros(int(gpu.max()) + 1, np.int64), int(gpu.max()) + 1
    for start in range(0, len(gpu), COUNT_ROWS):
        found += np.bincount(gpu[start : start + COUNT_ROWS], minlength=gpus)
    return found


@dataclass(frozen=True)
class _Gaps:
    """By GPU: first and last stamp, longest gap and longest held time in half microseconds; of all gaps the
    facts in seconds. `held`: half microseconds to the next row of the GPU, not cut yet."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    longest: NDArray[np.int64]
    caps: NDArray[np.int64]
    held: NDArray[np.int32]
    top_s: float | None
    median_s: float | None
    total_s: float | None

    @classmethod
    def of(cls, gpu: NDArray[Any], ts_us: NDArray[np.int64], rows_of: NDArray[np.int64]) -> "_Gaps | None":
        from data.gpu import plain_minutes as loops

        gpus = len(rows_of)
        before = np.concatenate([[0], np.cumsum(np.maximum(rows_of - 1, 0))])
        place, seen = -1 - before[:-1], np.zeros((gpus, 4), np.int64)
        gaps, held = np.empty(before[-1], np.int64), np.empty(len(gpu), np.int32)
        with ThreadPoolExecutor(WORKERS) as pool:
            shares = np.linspace(0, gpus, min(WORKERS, gpus) + 1).astype(int).tolist()

            def block(low: int, high: int) -> bool:
                return bool(loops.gaps(gpu, ts_us, low, high, seen, place, gaps, held))

            if not all(list(pool.map(block, shares[:-1], shares[1:]))):
                return None
            middles = _medians(gaps, before, pool)
            caps = np.rint(2 * HOLD_MEDIANS * middles).astype(np.int64)
            if caps.max(initial=0) > MOST_HALVES:
                return None
            found = partial(cls, seen[:, 0].copy(), seen[:, 1].copy(), 2 * seen[:, 3], caps, held)
            if not gaps.size:
                return found(None, None, None)
            median = _median(gaps, int(np.median(middles[rows_of > 1])), pool)
        return found(int(seen[:, 3].max()) / 1e6, median / 1e6, int((seen[:, 1] - seen[:, 0]).sum()) / 1e6)


def _is_middle(n: int, below: int, equal: int) -> bool:
    """Whether a number is the median of n: both middle ones in order of size."""
    return below <= (n - 1) // 2 and n // 2 < below + equal


def _median(values: NDArray[np.int64], guess: int, pool: ThreadPoolExecutor) -> float:
    from data.gpu import plain_minutes as loops

    shares = np.array_split(values, WORKERS)
    below, equal = np.sum(list(pool.map(lambda one: loops.around(one, guess), shares)), axis=0).tolist()
    return guess if _is_middle(len(values), below, equal) else float(np.median(values))


def _medians(
    gaps: NDArray[np.int64], before: NDArray[np.int64], pool: ThreadPoolExecutor
) -> NDArray[np.float64]:
    """Median gap of each GPU, 0 without gaps; that of one GPU is a good guess for the next."""
    from data.gpu import plain_minutes as loops

    found = np.zeros(len(before) - 1)

    def block(low: int, high: int) -> None:
        guess = -1
        for g in range(low, high):
            own = gaps[before[g] : before[g + 1]]
            if len(own) and not (guess >= 0 and _is_middle(len(own), *loops.around(own, guess))):
                found[g] = np.median(own)
                guess = int(found[g]) if found[g] == int(found[g]) else -1
            elif len(own):
                found[g] = guess

    shares = np.linspace(0, len(found), WORKERS + 1).astype(int).tolist()
    list(pool.map(block, shares[:-1], shares[1:]))
    return found


def _cut(gpu: NDArray[Any], ts_us: NDArray[np.int64], gaps: _Gaps) -> Holes:
    """Cut what rows stand for at the longest held time of their GPU; the rows before unknown time."""
    from data.gpu import plain_minutes as loops

    size, count = FEW_HOLES, 0
    while True:
        holes = np.empty((size, 2), np.int64)
        if (gaps.longest > gaps.caps).any():
            count = loops.hold(gpu, ts_us, gaps.caps, np.full(len(gaps.caps), -1, np.int64), gaps.held, holes)
        if count <= size:
            break
        size = count
    rows, gap = holes[:count, 0][::-1], holes[:count, 1][::-1]
    return Holes(gpu[rows], ts_us[rows], gaps.held[rows] / 2e6, np.ascontiguousarray(gap))


@dataclass(frozen=True)
class _Rolled:
    """Minutes of all GPUs one GPU after the other, `minutes_of` of each; sums as written, by measure."""

    rules: Sequence[NumberRule]
    minutes_of: NDArray[np.int64]
    minutes: NDArray[np.int64]
    seconds: NDArray[np.float64]
    cells: NDArray[np.float64]
    rest: NDArray[np.float64]

    def of(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums by minute and by GPU of a measure in its base unit."""
        cells, first = self.cells[:, k], np.cumsum(self.minutes_of) - self.minutes_of
        totals = np.add.reduceat(cells, first)
        totals[:, 1:3] += self.rest[:, k]
        totals[:, 3] = np.minimum.reduceat(cells[:, 3], first)
        totals[:, 4] = np.maximum.reduceat(cells[:, 4], first)
        for sums in (cells, totals):
            for column in (0, 2, 3, 4):
                sums[:, column] = self.rules[k].scaled(sums[:, column])
        return cells, totals


@dataclass(frozen=True)
class _Rows:
    """Rows in file order. `first`: where the places for minutes of each GPU begin, `room` of them."""

    gpu: NDArray[Any]
    ts_us: NDArray[np.int64]
    held: NDArray[np.int32]
    first: NDArray[np.int64]
    room: int

    def roll(self, measures: Sequence[tuple[NDArray[Any], NumberRule]]) -> _Rolled:
        """Sums of some measures in one pass."""
        from data.gpu import plain_minutes as loops

        many, gpus = len(measures), len(self.first)
        used, until = self.first.copy(), np.full(gpus, -(1 << 62), np.int64)
        seconds, minutes = np.empty(self.room), np.empty(self.room, np.int64)
        cells, rest = np.empty((self.room * many, 6)), np.zeros((gpus * many, 2))
        block = np.empty((many, BLOCK_ROWS))
        for start in range(0, len(self.gpu), BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, len(self.gpu)))
            for k, (values, _) in enumerate(measures):
                block[k, : rows.stop - start] = values[rows]
            loops.roll(
                self.gpu[rows], self.ts_us[rows], self.held[rows], block,
                used, until, seconds, cells, minutes, rest,
            )  # fmt: skip
        places = np.concatenate([np.arange(a, b) for a, b in zip(self.first, used, strict=True)])
        return _Rolled(
            [rule for _, rule in measures],
            used - self.first,
            minutes[places],
            seconds[places],
            cells.reshape(self.room, many, 6)[places],
            rest.reshape(gpus, many, 2),
        )
