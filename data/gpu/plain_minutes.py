"""Compiled loops over rows in file order: gaps of each GPU, seconds held, and sums by GPU and minute.

The formulas are those of `rollup`, value by value; only the order in which sums are added up differs. Only
`data.gpu.plain_rollup` imports this module.
"""

from typing import Any

import numba as nb
import numpy as np

from data.parse.jit import compiled, part

MINUTE_US, FAR_GAP_S = 60_000_000, 7 * 86400
"""As in `rollup`: a compiled loop keeps the numbers of its own file."""
SECONDS, KNOWN, WEIGHTED, LOW, HIGH, COUNT = 0, 1, 2, 3, 4, 5
"""Columns of the sums by minute; of those by GPU, SECONDS holds the sum of the values."""
HALVES_PER_S = 2e6


def _column(kind: Any) -> Any:
    """A column that is only read: Arrow hands out such memory."""
    return nb.types.Array(kind, 1, "C", readonly=True)


_GPU, _TS, _HELD = _column(nb.int16), _column(nb.int64), _column(nb.int32)
_I64, _F64_2 = nb.int64[::1], nb.float64[:, ::1]


@compiled(nb.boolean(_GPU, _TS, nb.int64, nb.int64, _I64, _I64, _I64))
def gaps(gpu: Any, ts: Any, low: int, high: int, last: Any, place: Any, out: Any) -> bool:
    """Gaps of GPUs low..high to `out`, GPU by GPU from `place`; False when a GPU's time does not increase.

    `last`: of each GPU the stamp of its last row, below 0 before the first.
    """
    for row in range(len(gpu)):
        g = np.int64(gpu[row])
        if g < low or g >= high:
            continue
        if place[g] >= 0:
            gap = ts[row] - last[g]
            if gap <= 0:
                return False
            out[place[g]] = gap
            place[g] += 1
        else:
            place[g] = -1 - place[g]
        last[g] = ts[row]
    return True


@compiled(nb.boolean(_TS, nb.int64))
def is_middle(values: Any, guess: int) -> bool:
    """Whether `guess` is the median: both middle values in order of size."""
    below, equal = 0, 0
    for k in range(len(values)):
        below += values[k] < guess
        equal += values[k] == guess
    return below <= (len(values) - 1) // 2 and len(values) // 2 < below + equal


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
def _open(cells: Any, minutes: Any, used: Any, g: Any, minute: Any) -> Any:
    """The next minute of a GPU, empty."""
    cell = used[g]
    used[g] += 1
    minutes[cell] = minute
    for k in range(6):
        cells[cell, k] = 0.0
    cells[cell, LOW], cells[cell, HIGH] = np.inf, -np.inf
    return cell


@part
def _add(cells: Any, cell: int, seconds: float, value: float, own: float) -> None:
    cells[cell, SECONDS] += seconds
    if value == value:
        cells[cell, KNOWN] += seconds
        cells[cell, WEIGHTED] += seconds * value
        cells[cell, LOW] = min(cells[cell, LOW], value)
        cells[cell, HIGH] = max(cells[cell, HIGH], value)
        cells[cell, COUNT] += own


def _roll(gpu: Any, ts: Any, held: Any, values: Any, by: float, factor: float,
          used: Any, until: Any, cells: Any, minutes: Any, totals: Any) -> None:  # fmt: skip
    """Sums by minute of one measure to `cells`, by GPU to `totals`; a value is `values / by * factor`.

    `used`: of each GPU the place of its next minute. `until`: where its open minute ends, in microseconds.
    """
    for row in range(len(gpu)):
        g, at = np.int64(gpu[row]), ts[row]
        value = np.float64(values[row]) / by * factor
        if at >= until[g]:
            minute = at // MINUTE_US
            until[g] = (minute + 1) * MINUTE_US
            _open(cells, minutes, used, g, minute)
        cell = used[g] - 1
        seconds = held[row] / HALVES_PER_S
        whole = np.int64(np.rint(seconds * 1e6))
        if value == value:
            totals[g, SECONDS] += value
            totals[g, KNOWN] += seconds
            totals[g, WEIGHTED] += seconds * value
            totals[g, LOW] = min(totals[g, LOW], value)
            totals[g, HIGH] = max(totals[g, HIGH], value)
            totals[g, COUNT] += 1.0
        if at + whole <= until[g] or seconds > FAR_GAP_S:
            _add(cells, cell, seconds, value, 1.0)
            continue
        _add(cells, cell, (until[g] - at) / 1e6, value, 1.0)
        while until[g] < at + whole:
            cell = _open(cells, minutes, used, g, until[g] // MINUTE_US)
            _add(cells, cell, min(MINUTE_US, at + whole - until[g]) / 1e6, value, 0.0)
            until[g] += MINUTE_US


_ROLL = (nb.float64, nb.float64, _I64, _I64, _F64_2, _I64, _F64_2)
roll_short = compiled(nb.void(_GPU, _TS, _HELD, _column(nb.int16), *_ROLL))(_roll)
roll_single = compiled(nb.void(_GPU, _TS, _HELD, _column(nb.float32), *_ROLL))(_roll)
roll_double = compiled(nb.void(_GPU, _TS, _HELD, _column(nb.float64), *_ROLL))(_roll)
