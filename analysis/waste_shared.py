"""Machines that jobs hold in part: which sampled seconds are certainly theirs, where no file names GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
import pandas as pd

from analysis.waste_owners import Owner, Window
from models.stalls import Bools, Floats, Ints, Segments
from models.waste import Classified

TINY = 1e-6


@dataclass(frozen=True)
class Turn:
    """A time, in seconds since 1970, in which `holders` (owner, GPUs) hold a part of a machine."""

    start_s: float
    end_s: float
    holders: tuple[tuple[Owner, float], ...]

    @property
    def gpus(self) -> float:
        """GPUs held by all of them."""
        return sum(gpus for _, gpus in self.holders)


@dataclass(frozen=True)
class Unplaced:
    """GPU-seconds that jobs held on a machine while nobody knows on which of its `gpus` sampled GPUs."""

    host: str
    gpus: int
    holders: tuple[Owner, ...]
    gpu_s: float


@dataclass(frozen=True)
class Entries:
    """Rows of segments booked to owners: `share` of a GPU and `known_s`; `unsure`: no proof of progress."""

    row: Ints
    owner: Ints
    known_s: Floats
    share: Floats
    unsure: Bools


NO_TURNS: tuple[Turn, ...] = ()
NONE = Entries(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, bool))


def joined(parts: Sequence[Entries]) -> Entries:
    """Entries one after the other."""
    return Entries(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Entries)))


def turns(windows: Sequence[Window], gpus: int) -> tuple[tuple[Window, ...], tuple[Turn, ...]]:
    """(windows in which one owner alone holds all `gpus` sampled GPUs of a machine, all other held times)."""
    edges = sorted({w.start_s for w in windows} | {w.end_s for w in windows})
    begins: dict[float, list[Window]] = {}
    for window in windows:
        begins.setdefault(window.start_s, []).append(window)
    sole: list[Window] = []
    parts: list[Turn] = []
    held: list[Window] = []
    for start, end in pairwise(edges):
        held = [w for w in held if w.end_s > start] + begins.get(start, [])
        if len(held) == 1 and held[0].gpus >= gpus - TINY:
            joined = bool(sole) and sole[-1].owner == held[0].owner and sole[-1].end_s == start
            first = sole.pop().start_s if joined else start
            sole.append(Window(first, end, held[0].owner, held[0].gpus))
        elif held:
            parts.append(Turn(start, end, tuple((w.owner, w.gpus) for w in held)))
    return tuple(sole), tuple(parts)


def most_gpus(seg: Segments, rows: Ints) -> int:
    """GPUs of a machine that are sampled in the same minute, at most: a replaced GPU counts once."""
    known = rows[seg.known_s[rows] > 0]
    seen = pd.DataFrame({"minute": seg.start_s[known] // 60, "gpu": seg.gpu[known]})
    return int(seen.groupby("minute")["gpu"].nunique().max()) if len(known) else 0


def certain(seg: Segments, found: Classified, rows: Ints, gpus: int) -> tuple[Ints, Floats, Bools]:
    """(rows, seconds, unsure) of the minutes in which all `gpus` GPUs of a machine are in the same state.

    Seconds are scaled to those of the GPU that is known least; unsure: one of them lacks a proof of progress.
    """
    rows = rows[(found.state[rows] > 0) & (seg.known_s[rows] > 0)]
    if not len(rows):
        return rows, np.zeros(0), np.zeros(0, dtype=bool)
    table = pd.DataFrame({"minute": seg.start_s[rows] // 60, "gpu": seg.gpu[rows], "s": seg.known_s[rows]})
    table["state"], table["unsure"] = found.state[rows], found.unproven[rows]
    by = table.groupby("minute")
    each = table.groupby(["minute", "gpu"])["s"].sum().groupby("minute")
    cells = pd.DataFrame({"low": by["state"].min(), "high": by["state"].max(), "unsure": by["unsure"].any()})
    cells["scale"] = each.min() * each.count() / each.sum()
    alike = (cells["low"] == cells["high"]) & (each.count() >= gpus)
    mine = table["minute"].map(alike).to_numpy(bool)
    kept = table[mine]
    seconds = kept["s"] * kept["minute"].map(cells["scale"])
    return rows[mine], seconds.to_numpy(np.float64), kept["minute"].map(cells["unsure"]).to_numpy(bool)


def share_out(
    seg: Segments,
    found: Classified,
    rows: Ints,
    gpus: int,
    parts: Sequence[Turn],
    known: dict[Owner, int],
) -> Entries:
    """What of a machine's samples its holders certainly had: where all GPUs did the same, any GPU did.

    Where they hold more GPUs than are sampled, nobody knows whose the sampled ones are.
    """
    rows, seconds, unsure = certain(seg, found, rows, gpus)
    order = np.argsort(seg.start_s[rows], kind="stable")
    rows, seconds, unsure = rows[order], seconds[order], unsure[order]
    starts, ends = seg.start_s[rows], seg.end_s[rows]
    longest = float((ends - starts).max(initial=0.0))
    out: list[Entries] = []
    for turn in (turn for turn in parts if turn.gpus <= gpus + TINY and len(rows)):
        low = int(np.searchsorted(starts, turn.start_s - longest, side="left"))
        at = slice(low, int(np.searchsorted(starts, turn.end_s, side="left")))
        inside = np.minimum(ends[at], turn.end_s) - np.maximum(starts[at], turn.start_s)
        frac = np.clip(inside / (ends[at] - starts[at]), 0, 1)
        for owner, held in turn.holders:
            share = np.full(len(frac), held / gpus)
            number = np.full(len(frac), known.setdefault(owner, len(known)), dtype=np.int64)
            out.append(Entries(rows[at], number, seconds[at] * frac * share, share, unsure[at]))
    return joined([NONE, *out])


def unplaced(
    host: str, gpus: int, seg: Segments, rows: Ints, parts: Sequence[Turn], booked: Entries
) -> Unplaced:
    """What holders had of a machine while it was sampled and what is not known of it."""
    first, last = float(seg.start_s[rows].min()), float(seg.end_s[rows].max())
    held = sum(t.gpus * max(0.0, min(t.end_s, last) - max(t.start_s, first)) for t in parts)
    names = dict.fromkeys(
        owner for t in parts for owner, _ in t.holders if t.end_s > first and t.start_s < last
    )
    return Unplaced(host, gpus, tuple(names), max(0.0, held - float(booked.known_s.sum())))
