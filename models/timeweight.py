"""Left-hold weighting of irregular samples: the reference that the SQL roll-up is checked against."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
HOLD_FACTOR = 3.0


@dataclass(frozen=True)
class Minute:
    """One minute of one measure: seconds known, value x seconds, extremes, samples that started in it."""

    minute: int
    known_s: float
    weighted_sum: float
    v_min: float
    v_max: float
    n: int

    @property
    def mean(self) -> float:
        """Time-weighted mean; NaN when no second is known."""
        return self.weighted_sum / self.known_s if self.known_s > 0 else float("nan")


def hold_seconds(ts_s: npt.ArrayLike, factor: float = HOLD_FACTOR) -> Floats:
    """Seconds each sample of one GPU stands for: min(gap to the next, factor x median gap); the last one 0.

    `ts_s` has shape (n,), seconds, rising. The median is taken over gaps above 0.
    """
    ts = _rising(ts_s)
    held = np.zeros(len(ts))
    gaps = np.diff(ts)
    real = gaps[gaps > 0]
    if len(real):
        held[:-1] = np.minimum(gaps, factor * float(np.median(real)))
    return held


def unknown_seconds(ts_s: npt.ArrayLike, factor: float = HOLD_FACTOR) -> Floats:
    """Rest of each gap that no sample stands for, shape (n,); 0 for the last sample."""
    ts = _rising(ts_s)
    rest = np.zeros(len(ts))
    rest[:-1] = np.diff(ts)
    return rest - hold_seconds(ts, factor)


def weighted_mean(ts_s: npt.ArrayLike, values: npt.ArrayLike, factor: float = HOLD_FACTOR) -> float:
    """Time-weighted mean of one measure; a NaN value leaves its time unknown. NaN when nothing is known."""
    held, v = hold_seconds(ts_s, factor), np.asarray(values, dtype=np.float64)
    known = ~np.isnan(v)
    total = held[known].sum()
    return float((held[known] * v[known]).sum() / total) if total > 0 else float("nan")


def minutes(
    ts_s: npt.ArrayLike, values: npt.ArrayLike, factor: float = HOLD_FACTOR, *, split: bool = True
) -> list[Minute]:
    """Roll samples of one GPU and measure up to minutes (index = floor(ts / 60)).

    With `split` a held span that crosses a border counts in each minute it touches; otherwise all
    of it counts in the minute of its sample.
    """
    ts, v = _rising(ts_s), np.asarray(values, dtype=np.float64)
    if v.shape != ts.shape:
        raise ValueError(f"{v.size} values for {ts.size} times")
    cells: dict[int, list[tuple[float, float, bool]]] = {}
    for start, span, value in zip(ts, hold_seconds(ts, factor), v, strict=True):
        if not np.isnan(value):
            for minute, seconds, own in _parts(float(start), float(span), split):
                cells.setdefault(minute, []).append((seconds, float(value), own))
    return [_minute(m, rows) for m, rows in sorted(cells.items())]


def _parts(start: float, span: float, split: bool) -> list[tuple[int, float, bool]]:
    first = int(start // 60)
    if not split or start + span <= (first + 1) * 60:
        return [(first, span, True)]
    end, out = start + span, [(first, (first + 1) * 60 - start, True)]
    minute = first + 1
    while minute * 60 < end:
        out.append((minute, min(60.0, end - minute * 60), False))
        minute += 1
    return out


def _minute(minute: int, rows: list[tuple[float, float, bool]]) -> Minute:
    seconds, values = [r[0] for r in rows], [r[1] for r in rows]
    weighted = sum(s * v for s, v in zip(seconds, values, strict=True))
    return Minute(minute, sum(seconds), weighted, min(values), max(values), sum(r[2] for r in rows))


def _rising(ts_s: npt.ArrayLike) -> Floats:
    ts = np.asarray(ts_s, dtype=np.float64)
    if ts.ndim != 1 or not np.isfinite(ts).all() or (np.diff(ts) < 0).any():
        raise ValueError("times must be one finite, rising column of seconds")
    return ts
