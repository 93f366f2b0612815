"""Which signals say that a busy looking GPU makes no progress, and which spells of them are long enough.

GPU-Util only says that a kernel was resident: a hung collective shows 100 %. Progress is judged by the tensor
pipes, by the memory interface, by power against its limit and by the step counter of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Span = tuple[float, float]

NO_TRAFFIC, LOW_POWER, FROZEN = 1, 2, 4
SIGNALS = {NO_TRAFFIC: "no_traffic", LOW_POWER: "low_power", FROZEN: "frozen_steps"}


@dataclass(frozen=True)
class Thresholds:
    """When a GPU counts as idle or stalled; ratios 0..1, times in seconds. All are heuristics.

    idle: SM activity below `idle_sm_frac` (GPU-Util 0 where it is not recorded) for `idle_s`. Stalled for
    `stall_s`: see `signals`. The step counter is frozen after max(`frozen_s`, `frozen_steps` x median step).
    """

    idle_sm_frac: float = 0.05
    idle_s: float = 300.0
    stall_s: float = 300.0
    stall_util_frac: float = 0.9
    stall_tensor_frac: float = 0.02
    stall_dram_frac: float = 0.05
    stall_power_frac: float = 0.35
    frozen_steps: float = 5.0
    frozen_s: float = 600.0


@dataclass(frozen=True)
class Segments:
    """Pieces of GPU time, sorted by `gpu`, then `start_s`; every array has shape (n,).

    `known_s`: seconds with a sample that tells busy from idle; the rest of the piece is unknown. Measures are
    means over the known seconds, NaN where not recorded: `util` GPU-Util, `power` draw / limit. `decodes`:
    memory traffic alone is work here. `frozen`, `advancing`: what the step counter of the run says then.
    """

    gpu: Ints
    start_s: Floats
    end_s: Floats
    known_s: Floats
    sm: Floats
    util: Floats
    tensor: Floats
    dram: Floats
    power: Floats
    decodes: Bools
    frozen: Bools
    advancing: Bools

    def __len__(self) -> int:
        return len(self.gpu)


def moving(seg: Segments, limits: Thresholds) -> Bools:
    """Where tensor pipes or memory traffic prove work, shape (n,)."""
    proof = (seg.tensor >= limits.stall_tensor_frac) | (seg.dram >= limits.stall_dram_frac)
    return np.asarray(proof, dtype=bool)


def decided(seg: Segments, limits: Thresholds) -> Bools:
    """Where the samples tell busy from idle, shape (n,)."""
    told = ~np.isnan(seg.sm) | ~np.isnan(seg.util) | moving(seg, limits)
    return told & (seg.known_s > 0)


def quiet(seg: Segments, limits: Thresholds) -> Bools:
    """Where nothing runs: SM activity (of a GPU that decodes: the larger of SM and memory activity) below the
    threshold; without SM activity GPU-Util = 0. Shape (n,).
    """
    active = np.where(seg.decodes, np.fmax(seg.sm, seg.dram), seg.sm)
    bare = np.isnan(seg.sm) & (seg.util == 0) & ~moving(seg, limits)
    still = (active < limits.idle_sm_frac) & ~np.isnan(seg.sm)
    return np.asarray(decided(seg, limits) & (still | bare), dtype=bool)


def signals(seg: Segments, limits: Thresholds) -> Ints:
    """Bits of SIGNALS by segment, shape (n,): what says that a GPU which looks busy stands still.

    no_traffic: GPU-Util high, tensor and memory activity low. low_power: GPU-Util high, power low against its
    limit. frozen_steps: the counter stands while the GPU looks busy. Proof of work overrules the last two.
    """
    high, moves = seg.util >= limits.stall_util_frac, moving(seg, limits)
    still = (seg.tensor < limits.stall_tensor_frac) & (seg.dram < limits.stall_dram_frac)
    busy = decided(seg, limits) & (high | ~quiet(seg, limits))
    out = NO_TRAFFIC * (high & still) + LOW_POWER * (high & ~moves & (seg.power < limits.stall_power_frac))
    return np.asarray(out + FROZEN * (seg.frozen & busy & ~moves), dtype=np.int64) * (seg.known_s > 0)


def unproven(seg: Segments, limits: Thresholds) -> Bools:
    """Busy segments without proof of progress: no tensor or memory activity recorded and no step counter that
    advances, or a frozen counter while the GPU works. GPU-Util alone cannot tell a hang. Shape (n,).
    """
    busy = decided(seg, limits) & ~quiet(seg, limits)
    return busy & ~seg.advancing & (seg.frozen | ~moving(seg, limits))


def spells(seg: Segments, flag: Bools, passing: Bools, least_s: float) -> Ints:
    """Number of the spell each segment belongs to, -1 for none; shape (n,).

    A spell is a row of flagged segments of one GPU with at least `least_s` known seconds. Segments in
    `passing` (no sample) neither break nor lengthen it, unless a hole is longer than `least_s`.
    """
    out = np.full(len(seg), -1, dtype=np.int64)
    rows = np.flatnonzero(~passing)
    if not len(rows):
        return out
    on, gpu = flag[rows], seg.gpu[rows]
    first = np.ones(len(rows), dtype=bool)
    holes = seg.start_s[rows][1:] - seg.end_s[rows][:-1]
    first[1:] = (gpu[1:] != gpu[:-1]) | ~on[:-1] | (holes > least_s)
    number = np.cumsum(first & on) - 1
    held = np.bincount(number[on], weights=seg.known_s[rows][on]) if on.any() else np.zeros(0)
    # sums of parts of a minute miss whole seconds by rounding
    long = held >= least_s - 1e-6
    names = np.cumsum(long) - 1
    out[rows[on]] = np.where(long[number[on]], names[number[on]], -1)
    return out


def step_spans(
    ends_s: Sequence[float],
    excused_s: Sequence[float],
    stop_s: float | None,
    limits: Thresholds,
) -> tuple[list[Span], list[Span]]:
    """(frozen, advancing) spans of one attempt from the ends of its steps (rising, seconds).

    The counter is frozen when the next end comes later than max(frozen_s, frozen_steps x median step) plus
    `excused_s` of that step (evaluation, checkpoint). A median step of work lies somewhere in such a gap, so
    one at each end of it is neither frozen nor advancing. `stop_s`: end of an attempt that failed or was
    cancelled; None: the time after the last step stays open.
    """
    gaps = np.diff(np.asarray(ends_s, dtype=np.float64))
    if not len(gaps):
        return [], []
    median = float(np.median(gaps))
    limit = max(limits.frozen_s, limits.frozen_steps * median)
    frozen, advancing = [], []
    for at, gap in enumerate(gaps):
        begin, end = float(ends_s[at]), float(ends_s[at + 1])
        if gap - excused_s[at + 1] > limit:
            frozen.append((begin + median, end - median))
        else:
            advancing.append((begin, end))
    last = float(ends_s[-1])
    if stop_s is not None and stop_s - last > limit:
        frozen.append((last + median, stop_s))
    return frozen, advancing


def inside(times_s: Floats, spans: Sequence[Span]) -> Bools:
    """Whether each time lies in one of the spans (rising, not overlapping), shape of `times_s`."""
    if not spans:
        return np.zeros(len(times_s), dtype=bool)
    starts, ends = (np.array(side) for side in zip(*spans, strict=True))
    place = np.searchsorted(starts, times_s, side="right") - 1
    return np.asarray((place >= 0) & (times_s < ends[np.maximum(place, 0)]), dtype=bool)
