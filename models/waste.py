"""The waste identity: paid = not_allocated + idle + stalled + working + unknown, GPU-seconds and dollars."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from models.stalls import Bools, Ints, Segments, Thresholds, decided, quiet, signals, spells, unproven

PARTS = ("not_allocated", "idle", "stalled", "working", "unknown")
UNKNOWN, IDLE, STALLED, WORKING = 0, 1, 2, 3
TOLERANCE = 0.02
"""Samples may exceed the allocation by this share: whole minutes at both ends of a run."""


@dataclass(frozen=True)
class Classified:
    """What each segment counts as (UNKNOWN..WORKING), its stall signals, its spell of idle or stalled time
    (-1: none) and whether working time lacks a proof of progress. Shape (n,) each.
    """

    state: Ints
    signal: Ints
    spell: Ints
    unproven: Bools


def classify(seg: Segments, limits: Thresholds) -> Classified:
    """Judge every known second; stalled goes before idle, what is neither for long enough is working."""
    signal, passing = signals(seg, limits), ~decided(seg, limits)
    stalls = spells(seg, signal > 0, passing, limits.stall_s)
    idles = spells(seg, quiet(seg, limits) & (stalls < 0), passing, limits.idle_s)
    state = np.full(len(seg), WORKING, dtype=np.int64)
    state[passing] = UNKNOWN
    state[idles >= 0] = IDLE
    state[stalls >= 0] = STALLED
    shift = int(stalls.max(initial=-1)) + 1
    spell = np.where(stalls >= 0, stalls, np.where(idles >= 0, idles + shift, -1))
    return Classified(state, signal, spell, unproven(seg, limits) & (state == WORKING))


def edges(seg: Segments, found: Classified) -> Bools:
    """Segments next to a change of state, where means over a minute may mix two states. Shape (n,)."""
    out = np.zeros(len(seg), dtype=bool)
    if len(seg) > 1:
        change = (found.state[1:] != found.state[:-1]) | (found.spell[1:] != found.spell[:-1])
        change &= seg.gpu[1:] == seg.gpu[:-1]
        out[1:] |= change
        out[:-1] |= change
    first = np.ones(len(seg), dtype=bool)
    first[1:] = seg.gpu[1:] != seg.gpu[:-1]
    ends = first | np.roll(first, -1)
    return out | (ends & (found.spell >= 0))


@dataclass(frozen=True)
class Measured:
    """GPU-seconds of one owner that samples tell; `unproven` is part of `working`, `warm` of `idle`."""

    idle: float = 0.0
    stalled: float = 0.0
    working: float = 0.0
    unproven: float = 0.0
    warm: float = 0.0

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def known(self) -> float:
        """GPU-seconds whose state is known."""
        return self.idle + self.stalled + self.working


@dataclass(frozen=True)
class Split(Measured):
    """Parts of paid GPU-seconds (or of dollars): those of PARTS add up to what was paid.

    What samples tell, and beside it what nobody held and what no sample tells. Only the high bound of waste
    counts `unproven` as a stall.
    """

    not_allocated: float = 0.0
    unknown: float = 0.0

    def times(self, amount: float) -> "Split":
        """The parts of `amount` when this split holds shares of 1."""
        return Split(*(amount * getattr(self, f.name) for f in fields(self)))

    @property
    def paid(self) -> float:
        """Sum of the five parts."""
        return self.not_allocated + self.idle + self.stalled + self.working + self.unknown

    @property
    def waste(self) -> float:
        """What is known to be wasted: the low bound of waste, unknown time counted as working."""
        return self.not_allocated + self.idle + self.stalled

    @property
    def waste_high(self) -> float:
        """Waste when unknown time and working time without a proof of progress are waste too."""
        return self.waste + self.unknown + self.unproven

    @property
    def coverage(self) -> float:
        """Share of what was paid whose state is known; NaN when nothing was paid."""
        return 1 - self.unknown / self.paid if self.paid > 0 else float("nan")

    def bounds(self, part: str) -> tuple[float, float]:
        """Low and high of a part: unknown time may be any of them; what is unknown is itself known."""
        value = float(getattr(self, part))
        if part in ("idle", "stalled"):
            return value, value + self.unknown + (self.unproven if part == "stalled" else 0.0)
        if part == "working":
            return max(0.0, value - self.unproven), value + self.unknown
        return value, value


def fits(allocated_s: float, measured: Measured) -> bool:
    """False when samples say more GPU-seconds than were allocated: then they contradict each other."""
    return measured.known <= allocated_s * (1 + TOLERANCE) + 1e-9


def shares(allocated_s: float, measured: Measured) -> Split:
    """Parts of an allocation as shares of 1: measured seconds / allocated ones, the rest unknown.

    Samples that exceed the allocation within the tolerance are scaled to it; beyond it all is unknown.
    """
    if not allocated_s > 0 or not fits(allocated_s, measured):
        return Split(unknown=1.0)
    whole = max(allocated_s, measured.known)
    parts = {f.name: getattr(measured, f.name) / whole for f in fields(measured)}
    return Split(unknown=max(0.0, 1 - measured.known / whole), **parts)
