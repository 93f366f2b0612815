"""Compiled loops over rows in file order: gaps of each GPU, seconds held, and sums by GPU and minute.

The formulas are those of `rollup`, value by value; only the order in which sums are added up differs. Only
`data.gpu.plain_rollup` imports this module.
"""

from typing import Any

import numba as nb
import numpy as np

from data.parse.jit import compiled, inlined, part

MINUTE_US, FAR_GAP_S = 60_000_000, 7 * 86400
"""As in `rollup`: a compiled loop keeps the numbers of its own file."""
TOTAL, KNOWN, WEIGHTED, LOW, HIGH, COUNT = 0, 1, 2, 3, 4, 5
"""Columns of sums: values, seconds with a value, values x seconds, least, largest, and samples that begin."""
FIRST, LAST, ROW, LONGEST = 0, 1, 2, 3
"""Columns of what is seen of a GPU; see `gaps`."""
HALVES_PER_S, MOST_HALVES = 2e6, 2**31 - 1
NOT_NEGATIVE = 2**62 - 1
"""Masked with it, an index is known not to be counted from the end, which would cost a look at every turn."""


def _column(kind: Any) -> Any:
    """A column that is only read: Arrow hands out such memory."""
    return nb.types.Array(kind, 1, "C", readonly=True)


_GPU, _TS, _HELD = _column(nb.int16), _column(nb.int64), _column(nb.int32)
_I64, _I64_2, _F64_2 = nb.int64[::1], nb.int64[:, ::1], nb.float64[:, ::1]


@compiled(nb.boolean(_GPU, _TS, nb.int64, nb.int64, _I64_2, _I64, _I64, nb.int32[::1]))
def gaps(gpu: Any, ts: Any, low: int, high: int, seen: Any, place: Any, out: Any, held: Any) -> bool:
    """Gaps of GPUs low..high to `out`, GPU by GPU from `place`; False when a GPU's time does not increase.

    `seen`, by GPU: stamp of its first and of its last row, its last row, its longest gap. `held`: half
    microseconds to the next row, at most MOST_HALVES, 0 for the last row of a GPU.
    """
    for row in range(len(gpu)):
        g = np.int64(gpu[row]) & 0xFFFF
        if g < low or g >= high:
            continue
        at = ts[row]
        if place[g] >= 0:
            gap = at - seen[g, LAST]
            if gap <= 0:
                return False
            out[place[g]] = gap
            place[g] += 1
            held[seen[g, ROW]] = min(2 * gap, MOST_HALVES)
            if gap > seen[g, LONGEST]:
                seen[g, LONGEST] = gap
        else:
            place[g] = -1 - place[g]
            seen[g, FIRST], seen[g, LONGEST] = at, 0
        seen[g, LAST], seen[g, ROW] = at, row
    for one in range(low, high):
        held[seen[one, ROW]] = 0
    return True


@compiled(nb.types.UniTuple(nb.int64, 2)(_TS, nb.int64))  # type: ignore[no-untyped-call]
def around(values: Any, guess: int) -> tuple[int, int]:
    """How many values are below `guess`, and how many equal it."""
    below, equal = 0, 0
    for k in range(len(values)):
        below += values[k] < guess
        equal += values[k] == guess
    return below, equal


@compiled(nb.int64(_GPU, _TS, _I64, _I64, nb.int32[::1], nb.int64[:, ::1]))
def hold(gpu: Any, ts: Any, caps: Any, following: Any, held: Any, holes: Any) -> int:
    """Half microseconds that rows stand for: to the next row of the GPU, at most its cap, 0 for the last.

    `following`: of each GPU the stamp of its next row, below 0 at the end of the file. Returns how many rows
    are followed by unknown time; `holes` takes the first of them from the end: row and gap.
    """
    found = 0
    for back in range(len(gpu)):
        row = len(gpu) - 1 - back
        g = np.int64(gpu[row])
        after = following[g]
        following[g] = ts[row]
        gap = after - ts[row] if after >= 0 else 0
        held[row] = min(2 * gap, caps[g])
        if 2 * gap > caps[g]:
            if found < len(holes):
                holes[found, 0], holes[found, 1] = row, gap
            found += 1
    return found


@part
def _open(seconds: Any, cells: Any, minutes: Any, many: int, cell: int, minute: Any) -> None:
    """Begin a minute, empty."""
    minutes[cell], seconds[cell] = minute, 0.0
    for one in range(cell * many, (cell + 1) * many):
        for k in range(6):
            cells[one, k] = 0.0
        cells[one, LOW], cells[one, HIGH] = np.inf, -np.inf


@inlined
def _add(cells: Any, one: int, seconds: float, value: float, own: float) -> None:
    cells[one, KNOWN] += seconds
    cells[one, WEIGHTED] += seconds * value
    cells[one, LOW] = min(cells[one, LOW], value)
    cells[one, HIGH] = max(cells[one, HIGH], value)
    cells[one, TOTAL] += own * value
    cells[one, COUNT] += own


@part
def _piece(seconds: Any, cells: Any, values: Any, row: int, cell: int, part_s: float, own: float) -> None:
    """Add a part of what a row stands for to one minute."""
    many = values.shape[0]
    seconds[cell] += part_s
    for m in range(many):
        value = values[m, row]
        if value == value:
            _add(cells, cell * many + m, part_s, value, own)


@compiled(nb.void(_GPU, _TS, _HELD, _F64_2, _I64, _I64, nb.float64[::1], _F64_2, _I64, _F64_2))
def roll(gpu: Any, ts: Any, held: Any, values: Any,
         used: Any, until: Any, seconds: Any, cells: Any, minutes: Any, rest: Any) -> None:  # fmt: skip
    """Sums by minute of some measures: `seconds` of samples, and in `cells` a row a minute and measure.

    `values`: a row a measure. `used`: of each GPU the place of its next minute. `until`: where its open
    minute ends, in microseconds. `rest`, a row a GPU and measure: what rounding to whole microseconds where
    a sample is cut at the end of a minute left out of KNOWN and WEIGHTED.
    """
    many = values.shape[0]
    for row in range(len(gpu)):
        g, at = np.int64(gpu[row]) & 0xFFFF, ts[row]
        if at >= until[g]:
            minute = at // MINUTE_US
            until[g] = (minute + 1) * MINUTE_US
            _open(seconds, cells, minutes, many, used[g], minute)
            used[g] += 1
        cell = (used[g] - 1) & NOT_NEGATIVE
        row_s = held[row] / HALVES_PER_S
        whole = np.int64(np.rint(row_s * 1e6))
        if at + whole <= until[g] or row_s > FAR_GAP_S:
            seconds[cell] += row_s
            for m in range(many):
                value = values[m, row]
                if value == value:
                    _add(cells, (cell * many + m) & NOT_NEGATIVE, row_s, value, 1.0)
            continue
        _piece(seconds, cells, values, row, cell, (until[g] - at) / 1e6, 1.0)
        while until[g] < at + whole:
            cell = used[g]
            used[g] += 1
            _open(seconds, cells, minutes, many, cell, until[g] // MINUTE_US)
            _piece(seconds, cells, values, row, cell, min(MINUTE_US, at + whole - until[g]) / 1e6, 0.0)
            until[g] += MINUTE_US
        for m in range(many):
            value = values[m, row]
            if value == value:
                rest[g * many + m, 0] += row_s - whole / 1e6
                rest[g * many + m, 1] += (row_s - whole / 1e6) * value
