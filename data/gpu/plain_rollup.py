"""Clean GPU rows in file order -> spacing, minutes and facts without SQL; the same as `rollup` finds.

The loops are compiled (`plain_minutes`) and need every value in a narrow type: what does not fit gives None,
and the caller takes the way of SQL.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
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
    held, first, holes = _held(gpu, ts_us, gaps.caps)
    spacing = Spacing(held, 2e6, gaps.top_s, gaps.median_s, gaps.total_s)
    span = (gaps.last - first) // MINUTE_US + 2
    room = np.minimum(span, rows_of * (2 + gaps.caps // (2 * MINUTE_US)))
    ends = np.cumsum(room)
    rolled = {name: pair for name, pair in measures.items() if name not in NOT_ROLLED_UP}
    chosen = rolled or {"": (np.zeros(len(gpu), np.float32), NumberRule("", 1.0, 0.0, 0.0, False))}
    rows = _Rows(gpu, ts_us, held, len(rows_of))
    with ThreadPoolExecutor(WORKERS) as pool:
        sums = pool.map(lambda name: rows.roll(chosen[name], ends), chosen)
        found = dict(zip(chosen, sums, strict=True))
    one = next(iter(found.values()))
    used = np.concatenate([np.arange(a, b) for a, b in zip(ends - room, one.used, strict=True)])
    return Sums(
        spacing,
        first,
        gaps.last,
        np.repeat(np.arange(len(rows_of)), one.used - (ends - room)),
        one.minutes[used],
        one.cells[used, 0],
        {name: found[name].cells[used] for name in rolled},
        {name: found[name].totals for name in rolled},
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
    """Longest held time in half microseconds and last stamp by GPU; the facts of all gaps in seconds."""

    caps: NDArray[np.int64]
    last: NDArray[np.int64]
    top_s: float | None
    median_s: float | None
    total_s: float | None

    @classmethod
    def of(cls, gpu: NDArray[Any], ts_us: NDArray[np.int64], rows_of: NDArray[np.int64]) -> "_Gaps | None":
        from data.gpu import plain_minutes as loops

        gpus = len(rows_of)
        before = np.concatenate([[0], np.cumsum(np.maximum(rows_of - 1, 0))])
        place, last = -1 - before[:-1], np.zeros(gpus, np.int64)
        gaps = np.empty(before[-1], np.int64)
        with ThreadPoolExecutor(WORKERS) as pool:
            shares = np.linspace(0, gpus, min(WORKERS, gpus) + 1).astype(int).tolist()

            def block(k: int) -> bool:
                return bool(loops.gaps(gpu, ts_us, shares[k], shares[k + 1], last, place, gaps))

            if not all(list(pool.map(block, range(len(shares) - 1)))):
                return None
            middles = _medians(gaps, before, pool, loops.is_middle)
        caps = np.rint(2 * HOLD_MEDIANS * middles).astype(np.int64)
        if caps.max(initial=0) > MOST_HALVES:
            return None
        if not gaps.size:
            return cls(caps, last, None, None, None)
        typical = int(np.median(middles[rows_of > 1]))
        median = typical if loops.is_middle(gaps, typical) else float(np.median(gaps))
        return cls(caps, last, int(gaps.max()) / 1e6, median / 1e6, int(gaps.sum()) / 1e6)


def _medians(
    gaps: NDArray[np.int64],
    before: NDArray[np.int64],
    pool: ThreadPoolExecutor,
    is_middle: Callable[..., bool],
) -> NDArray[np.float64]:
    """Median gap of each GPU, 0 without gaps; that of one GPU is a good guess for the next."""
    found = np.zeros(len(before) - 1)

    def block(low: int, high: int) -> None:
        guess = -1
        for g in range(low, high):
            own = gaps[before[g] : before[g + 1]]
            if len(own) and not (guess >= 0 and is_middle(own, guess)):
                found[g] = np.median(own)
                guess = int(found[g]) if found[g] == int(found[g]) else -1
            elif len(own):
                found[g] = guess

    shares = np.linspace(0, len(found), WORKERS + 1).astype(int).tolist()
    list(pool.map(block, shares[:-1], shares[1:]))
    return found


def _held(
    gpu: NDArray[Any], ts_us: NDArray[np.int64], caps: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64], Holes]:
    """(half microseconds held, first stamp of each GPU, rows before unknown time)."""
    from data.gpu import plain_minutes as loops

    held, size = np.empty(len(gpu), np.int32), FEW_HOLES
    while True:
        following = np.full(len(caps), -1, np.int64)
        holes = np.empty((size, 2), np.int64)
        count = loops.hold(gpu, ts_us, caps, following, held, holes)
        if count <= size:
            break
        size = count
    rows, gap = holes[:count, 0][::-1], holes[:count, 1][::-1]
    return held, following, Holes(gpu[rows], ts_us[rows], held[rows] / 2e6, np.ascontiguousarray(gap))


@dataclass(frozen=True)
class _Rolled:
    used: NDArray[np.int64]
    minutes: NDArray[np.int64]
    cells: NDArray[np.float64]
    totals: NDArray[np.float64]


@dataclass(frozen=True)
class _Rows:
    gpu: NDArray[Any]
    ts_us: NDArray[np.int64]
    held: NDArray[np.int32]
    gpus: int

    def roll(self, measure: tuple[NDArray[Any], NumberRule], ends: NDArray[np.int64]) -> _Rolled:
        """Sums of one measure; `ends`: where the places for minutes of each GPU end."""
        from data.gpu import plain_minutes as loops

        room, used, until = (
            int(ends[-1]),
            np.concatenate([[0], ends[:-1]]),
            np.full(self.gpus, -(1 << 62), np.int64),
        )
        cells, minutes = np.empty((room, 6)), np.empty(room, np.int64)
        totals = np.zeros((self.gpus, 6))
        totals[:, 3], totals[:, 4] = np.inf, -np.inf
        values, rule = measure
        by, factor = (100.0, 1.0) if rule.factor == 0.01 else (1.0, rule.factor)
        loop = {"i2": loops.roll_short, "f4": loops.roll_single, "f8": loops.roll_double}[
            values.dtype.str[1:]
        ]
        loop(self.gpu, self.ts_us, self.held, values, by, factor, used, until, cells, minutes, totals)
        return _Rolled(used, minutes, cells, totals)
