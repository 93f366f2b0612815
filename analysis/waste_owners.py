"""Whose GPU time it is: windows of attempts and scheduler jobs, and what the step counter says about them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd

from analysis.frames import Row, records, text
from analysis.holds import Hold, load_holds
from analysis.madeup import EVERYBODY, Scope
from data.queries import waste as queries
from data.queries.filters import Filters
from data.view import View
from models.stalls import Bools, Floats, Ints, Span, Thresholds, inside, step_spans

NOBODY = -1


@dataclass(frozen=True)
class Owner:
    """Who held a GPU: an attempt and pool of a run, or a scheduler job of no known run. None: not known."""

    run: str | None = None
    attempt: int | None = None
    pool: str | None = None
    job: str | None = None


@dataclass(frozen=True)
class Window:
    """Half-open time of an attempt or job, seconds since 1970; infinite where it is open.

    `gpus`: GPUs it holds of the machine; infinite where a file says whose the GPU is.
    """

    start_s: float
    end_s: float
    owner: Owner
    gpus: float = np.inf


@dataclass(frozen=True)
class Clocks:
    """Windows by run and by host, and spans of each run in which its step counter stands or advances."""

    by_run: Mapping[str, tuple[Window, ...]]
    by_host: Mapping[str, tuple[Window, ...]]
    frozen: Mapping[str, tuple[Span, ...]]
    advancing: Mapping[str, tuple[Span, ...]]

    def windows(self, gpu: Row) -> tuple[Window, ...]:
        """Windows of one GPU: those of its run with its pool; without a run those of the jobs on its host."""
        run = text(gpu["run"])
        if run is None:
            return self.by_host.get(str(gpu["host"]), ())
        pool = text(gpu["pool"])
        known = self.by_run.get(run, (Window(-np.inf, np.inf, Owner(run)),))
        return tuple(Window(w.start_s, w.end_s, Owner(run, w.owner.attempt, pool)) for w in known)


def read_clocks(
    view: View,
    filters: Filters,
    start: datetime,
    end: datetime,
    limits: Thresholds,
    scope: Scope = EVERYBODY,
) -> Clocks:
    """Clocks of the picked runs and of their jobs (all jobs of `scope` if none is picked) in [start, end)."""
    rows = records(queries.windows(view, filters))
    by_run: dict[str, list[Window]] = {}
    stops: dict[tuple[str, int], float | None] = {}
    for row in rows:
        begin, finish = _seconds(row["started_at"], -np.inf), _seconds(row["ended_at"], np.inf)
        by_run.setdefault(row["run"], []).append(Window(begin, finish, Owner(row["run"], row["attempt"])))
        died = row["status"] in ("failed", "cancelled") and np.isfinite(finish)
        stops[row["run"], row["attempt"]] = finish if died else None
    frozen, advancing = _step_clocks(queries.step_ends(view, filters), stops, limits)
    attempts = {run: _one_by_one(found) for run, found in by_run.items()}
    hosts = _by_host(load_holds(view, (start, end), scope).holds, set(filters.runs))
    return Clocks(attempts, hosts, frozen, advancing)


def _one_by_one(found: list[Window]) -> tuple[Window, ...]:
    """Windows of one run, each cut where the next attempt starts: a run has one attempt at a time."""
    starts = [*(w.start_s for w in found[1:]), np.inf]
    return tuple(
        Window(w.start_s, min(w.end_s, after), w.owner) for w, after in zip(found, starts, strict=True)
    )


def _seconds(moment: object, otherwise: float) -> float:
    return otherwise if pd.isna(moment) else pd.Timestamp(moment).timestamp()  # type: ignore[arg-type, call-overload]


def _by_host(holds: Iterable[Hold], picked: set[str]) -> dict[str, tuple[Window, ...]]:
    """Windows by machine; pools of one attempt that share a machine are one window of no named pool."""
    spans: dict[tuple[str, datetime, datetime, str | None, int | None, str | None], dict[str | None, float]]
    spans = {}
    for hold in holds:
        if hold.host and (not picked or hold.run in picked):
            key = hold.host, hold.start, hold.end, hold.run, hold.attempt, hold.job
            pools = spans.setdefault(key, {})
            pools[hold.pool] = pools.get(hold.pool, 0.0) + hold.gpus
    out: dict[str, list[Window]] = {}
    for (host, start, end, run, attempt, job), pools in spans.items():
        pool = next(iter(pools)) if len(pools) == 1 else None
        owner = Owner(run, attempt, pool, None if run else job)
        begin, finish = _seconds(start, -np.inf), _seconds(end, np.inf)
        out.setdefault(host, []).append(Window(begin, finish, owner, sum(pools.values())))
    return {host: tuple(found) for host, found in out.items()}


def _step_clocks(
    steps: pd.DataFrame, stops: Mapping[tuple[str, int], float | None], limits: Thresholds
) -> tuple[dict[str, tuple[Span, ...]], dict[str, tuple[Span, ...]]]:
    frozen: dict[str, list[Span]] = {}
    advancing: dict[str, list[Span]] = {}
    for run, attempt in dict.fromkeys(zip(steps["run"].tolist(), steps["attempt"].tolist(), strict=True)):
        part = steps[(steps["run"] == run) & (steps["attempt"] == attempt)]
        ends, excused = part["end_s"].to_numpy(np.float64), part["excused_s"].to_numpy(np.float64)
        still, moves = step_spans(ends.tolist(), excused.tolist(), stops.get((run, attempt)), limits)
        frozen.setdefault(run, []).extend(still)
        advancing.setdefault(run, []).extend(moves)
    return {r: tuple(sorted(s)) for r, s in frozen.items()}, {
        r: tuple(sorted(s)) for r, s in advancing.items()
    }


def place(
    start_s: Floats, end_s: Floats, windows: Sequence[Window], known: dict[Owner, int]
) -> tuple[Ints, Floats]:
    """(owner number, share of the row inside its window) of rows of one GPU; NOBODY outside every window.

    Where two jobs hold a host at the same time nobody knows whose GPU it is, so it is NOBODY's. `known`
    numbers the owners and grows.
    """
    owner, inside_frac = np.full(len(start_s), NOBODY, dtype=np.int64), np.zeros(len(start_s))
    if not windows:
        return owner, inside_frac
    ordered = sorted(windows, key=lambda w: (w.start_s, w.end_s))
    starts, ends = np.array([w.start_s for w in ordered]), np.array([w.end_s for w in ordered])
    numbers = np.array([known.setdefault(w.owner, len(known)) for w in ordered])
    held = np.searchsorted(starts, end_s, side="left") - np.searchsorted(np.sort(ends), start_s, side="right")
    for back in (0, 1):
        at = np.searchsorted(starts, end_s, side="left") - 1 - back
        here = np.maximum(at, 0)
        shared = np.minimum(end_s, ends[here]) - np.maximum(start_s, starts[here])
        frac = np.where(at >= 0, np.clip(shared / (end_s - start_s), 0, 1), 0.0)
        better = frac > inside_frac
        owner[better], inside_frac[better] = numbers[here][better], frac[better]
    # two windows that touch inside one row are no overlap
    crowded = (held > 1) & (inside_frac >= 1)
    return np.where(crowded, NOBODY, owner), np.where(crowded, 0.0, inside_frac)


def step_flags(windows: Sequence[Window], middle_s: Floats, clocks: Clocks) -> tuple[Bools, Bools]:
    """(frozen, advancing) of rows by their middle, as the step counters of all who held the GPU then say."""
    held, still, moves = _holders(windows, middle_s), np.zeros(len(middle_s)), np.zeros(len(middle_s))
    for run in sorted({w.owner.run for w in windows if w.owner.run}):
        mine = _holders([w for w in windows if w.owner.run == run], middle_s)
        still += mine * inside(middle_s, clocks.frozen.get(run, ()))
        moves += mine * inside(middle_s, clocks.advancing.get(run, ()))
    return (held > 0) & (still == held), (held > 0) & (moves == held)


def _holders(windows: Sequence[Window], times_s: Floats) -> Ints:
    """How many windows each time lies in, shape of `times_s`."""
    starts, ends = np.sort([w.start_s for w in windows]), np.sort([w.end_s for w in windows])
    begun, over = (np.searchsorted(side, times_s, side="right") for side in (starts, ends))
    return np.asarray(begun - over, dtype=np.int64)
