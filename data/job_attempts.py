"""Which attempt of a run each of its scheduler jobs was: by windows of jobs, stamps of steps, clocks of logs.

Pure rules on plain values; docs/scheduler-jobs.md tells them. A job is an attempt; an attempt of the log that
lies in the window of a job is that attempt, so nothing is counted twice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby, pairwise

SLACK = timedelta(minutes=10)
"""Clocks of a log and of a scheduler may differ by so much."""
ZONES = timedelta(hours=26)
"""Clocks in different zones are at most so far apart."""
_ROUNDING = 1.01
_RUNNING = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "STOPPED", "SIGNALING", "STAGE_OUT"})
_CANCELLED = frozenset({"CANCELLED", "PREEMPTED", "REQUEUED", "REQUEUE_HOLD", "REVOKED", "SPECIAL_EXIT"})
_FAILED = frozenset(
    {"FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "LAUNCH_FAILED"}
)


@dataclass(frozen=True)
class Job:
    """A job that started: `end` None while it runs; `seconds` as the scheduler says, `gpus` None unknown."""

    job_id: str
    cluster: str | None
    state: str
    start: datetime
    end: datetime | None = None
    seconds: float | None = None
    gpus: float | None = None

    @property
    def until(self) -> datetime:
        """Its end; a job that runs has none."""
        return self.end if self.end is not None else datetime.max

    @property
    def held_s(self) -> float:
        """Seconds it held its GPUs, of one that runs as far as the export tells; inf when it does not."""
        if self.end is None:
            return math.inf if self.seconds is None else self.seconds
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True)
class LogAttempt:
    """An attempt that a log told of. `stamps`: (step, end of it) of every step, () unless all have one."""

    attempt: int
    status: str = "unknown"
    start: datetime | None = None
    end: datetime | None = None
    stamps: tuple[tuple[int, datetime], ...] = ()
    step_sum_s: float = 0.0
    steps: tuple[int, int] | None = None
    resumed_from_step: int | None = None
    resumed_from_attempt: int | None = None

    @property
    def begin(self) -> datetime | None:
        """Earliest moment that is known of it."""
        return self.start if self.start is not None else self.stamps[0][1] if self.stamps else None


@dataclass(frozen=True)
class Piece:
    """One attempt: (a part of) the window of `job`, with the jobs that held more GPUs `beside` it.

    `log`: the log's attempt that it is, or from which steps `steps` (first, last) are taken when `split`.
    `last`: the attempt ends as the job did. `parent`, `parent_step`: what it resumed from, if that follows.
    """

    attempt: int
    job: Job
    start: datetime
    end: datetime | None
    beside: tuple[Job, ...] = ()
    log: LogAttempt | None = None
    steps: tuple[int, int] | None = None
    split: bool = False
    last: bool = True
    parent: int | None = None
    parent_step: int | None = None


@dataclass(frozen=True)
class Placed:
    """Attempts in order of time, and sentences about what could not be told."""

    pieces: tuple[Piece, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Claim:
    log: LogAttempt
    begin: datetime | None
    steps: tuple[int, int] | None = None
    part: int = 0
    blind: bool = False


@dataclass
class _State:
    mains: list[Job]
    claims: dict[int, list[_Claim]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unplaced: list[LogAttempt] = field(default_factory=list)

    def claim(self, at: int, claim: _Claim) -> None:
        self.claims.setdefault(at, []).append(claim)

    def free(self) -> list[int]:
        return [at for at in range(len(self.mains)) if at not in self.claims]


def status_of(state: str) -> tuple[str, str | None]:
    """(status of an attempt, its cause) of a scheduler's state; unknown for words that are no end."""
    if state == "COMPLETED":
        return "completed", None
    if state in _RUNNING:
        return "running", None
    if state in _CANCELLED:
        return "cancelled", None if state == "CANCELLED" else state
    return ("failed", state) if state in _FAILED else ("unknown", state or None)


def place(jobs: Sequence[Job], logs: Sequence[LogAttempt]) -> Placed:
    """Attempts of a run from its jobs and from what its logs tell.

    Jobs that ran beside a larger one belong to its attempt. A log's attempt belongs to the job in whose
    window its steps, or most of its clock, lie; one whose steps lie in several jobs is split. Without
    any clock it belongs to the only job long enough for its steps, and that is said. A job that no log is
    known of is an attempt of its own, unless it may be a log's attempt under another time zone.
    """
    mains, beside = _side_by_side(jobs)
    state = _State(mains)
    for log in sorted(logs, key=lambda one: one.attempt):
        if log.stamps:
            _by_stamps(state, log)
        elif log.start is not None and log.end is not None:
            _by_clock(state, log, log.start, log.end)
    _without_clock(state, [log for log in logs if log.begin is None or (not log.stamps and log.end is None)])
    held_back = _held_back(state)
    return Placed(tuple(_pieces(state, beside, held_back, logs)), tuple(state.notes))


def _side_by_side(jobs: Sequence[Job]) -> tuple[list[Job], dict[Job, list[Job]]]:
    """Jobs in order of time, and those that ran beside each of them, most of their time and not larger."""
    found: dict[Job, list[Job]] = {}
    for job in sorted(jobs, key=lambda j: (-(j.gpus or 0.0), -j.held_s, j.start, j.job_id)):
        over = [(_overlap_s(job.start, job.until, main), main.start, main) for main in found]
        best = max(over, key=lambda one: (one[0], one[1]), default=None)
        if best is not None and best[0] > 0.5 * job.held_s:
            found[best[2]].append(job)
        else:
            found[job] = []
    return sorted(found, key=lambda j: (j.start, j.job_id)), found


def _overlap_s(start: datetime, end: datetime, job: Job) -> float:
    return max(0.0, (min(end, job.until) - max(start, job.start)).total_seconds())


def _by_stamps(state: _State, log: LogAttempt) -> None:
    where = [(step, at, _window(state.mains, at)) for step, at in log.stamps]
    runs = [(at, list(rows)) for at, rows in groupby(where, key=lambda row: row[2])]
    places = [at for at, _ in runs if at is not None]
    if len(places) == len(runs) and len(set(places)) == len(places):
        for part, (at, rows) in enumerate(zip(places, (rows for _, rows in runs), strict=True)):
            begin = log.begin if part == 0 else rows[0][1]
            state.claim(at, _Claim(log, begin, (rows[0][0], rows[-1][0]), part))
        return
    counts = {at: sum(1 for row in where if row[2] == at) for at in set(places)}
    best = max(counts, key=lambda at: (counts[at], at), default=None)
    if best is None or counts[best] * 2 <= len(where):
        state.unplaced.append(log)
        return
    state.claim(best, _Claim(log, log.begin))
    state.notes.append(
        f"{len(where) - counts[best]} of {len(where)} steps of attempt {log.attempt} have stamps outside job "
        f"{state.mains[best].job_id}, in whose window the others lie: the attempt was taken as that job."
    )


def _window(mains: Sequence[Job], at: datetime) -> int | None:
    inside = [n for n, job in enumerate(mains) if job.start <= at <= job.until]
    if inside:
        return inside[-1]
    near = [(max(job.start - at, at - job.until), n) for n, job in enumerate(mains)]
    gap, n = min(near, default=(ZONES, 0))
    return n if gap <= SLACK else None


def _by_clock(state: _State, log: LogAttempt, start: datetime, end: datetime) -> None:
    overlaps = [_overlap_s(start, end, job) for job in state.mains]
    best = max(range(len(overlaps)), key=lambda n: (overlaps[n], n), default=None)
    if best is None or overlaps[best] < 0.5 * (end - start).total_seconds() or overlaps[best] <= 0:
        state.unplaced.append(log)
    else:
        state.claim(best, _Claim(log, start))


def _without_clock(state: _State, logs: Sequence[LogAttempt]) -> None:
    """Place attempts whose steps carry no time of day."""
    free = state.free()
    if not logs or not free:
        return
    names = ", ".join(str(log.attempt) for log in logs)
    if len(logs) > 1 and len(logs) != len(free):
        state.unplaced += logs
        state.notes.append(
            f"The steps of attempts {names} carry no time of day, so which of the {len(free)} jobs they "
            "belong to is not known: the jobs add no time to these attempts. Load a log with stamps."
        )
        return
    if len(logs) > 1:
        for at, log in zip(free, sorted(logs, key=lambda one: one.attempt), strict=True):
            state.claim(at, _Claim(log, state.mains[at].start))
        state.notes.append(
            f"The steps of attempts {names} carry no time of day: they were taken as the {len(free)} jobs in "
            "their order."
        )
        return
    log = logs[0]
    fitting = [at for at in free if log.step_sum_s <= _ROUNDING * state.mains[at].held_s + 1]
    ended = [at for at in fitting if state.mains[at].state == "COMPLETED"]
    at = (ended or fitting or free)[-1]
    state.claim(at, _Claim(log, state.mains[at].start, blind=not fitting))
    if len(free) > 1:
        state.notes.append(_blind_words(log, state.mains[at], len(free), len(fitting)))


def _blind_words(log: LogAttempt, job: Job, free: int, fitting: int) -> str:
    head = f"The steps of attempt {log.attempt} carry no time of day"
    if fitting == 1:
        return f"{head}: they were taken as those of job {job.job_id}, the only one of {free} long enough."
    if fitting:
        return (
            f"{head} and fit into {fitting} of {free} jobs: they were taken as those of job {job.job_id}. "
            "Load a log with stamps to be sure."
        )
    return (
        f"{head} and take longer than any of the {free} jobs, so several did them: what of the jobs before "
        f"{job.job_id} survives is not known. Load a log with stamps."
    )


def _held_back(state: _State) -> set[int]:
    """Free jobs that may be a log's attempt which lies in no job: they are not counted a second time."""
    out: set[int] = set()
    for log in state.unplaced:
        start, end = log.begin, log.end or (log.stamps[-1][1] if log.stamps else None)
        if start is None or end is None:
            out |= set(state.free())
            continue
        length = (end - start).total_seconds()
        same = {
            at
            for at in state.free()
            if state.mains[at].held_s >= 0.9 * length and abs(state.mains[at].start - start) <= ZONES
        }
        out |= same
        if same:
            names = ", ".join(state.mains[at].job_id for at in sorted(same))
            state.notes.append(
                f"Attempt {log.attempt} lies in the window of no job, but may be job {names} in another time "
                "zone: that job is not counted beside it. Read the scheduler file again with the zone of the "
                "cluster."
            )
    return out


def _pieces(
    state: _State, beside: dict[Job, list[Job]], held_back: set[int], logs: Sequence[LogAttempt]
) -> list[Piece]:
    fresh = max((log.attempt for log in logs), default=0)
    numbers: dict[tuple[int, int], int] = {}
    out: list[Piece] = []
    for at, job in enumerate(state.mains):
        if at in held_back:
            continue
        claims = sorted(state.claims.get(at, ()), key=lambda c: (c.begin or job.start, c.log.attempt))
        if not claims:
            fresh += 1
            out.append(Piece(fresh, job, job.start, job.end, tuple(beside[job])))
        for n, claim in enumerate(claims):
            start = job.start if n == 0 else max(out[-1].start, claim.begin or job.start)
            if n > 0:
                out[-1] = replace(out[-1], end=start, last=False)
            number = claim.log.attempt
            if claim.part:
                fresh += 1
                number = fresh
            numbers[claim.log.attempt, claim.part] = number
            more = tuple(beside[job]) if n == 0 else ()
            out.append(Piece(number, job, start, job.end, more, claim.log, claim.steps, claim.part > 0))
    blind = {c.log.attempt for claims in state.claims.values() for c in claims if c.blind}
    return _with_parents(out, numbers, blind)


def _with_parents(pieces: list[Piece], numbers: dict[tuple[int, int], int], blind: set[int]) -> list[Piece]:
    """What each attempt resumed from, where the order in time and the steps say it."""
    out = list(pieces)
    parts: dict[int, int] = {}
    for n, piece in enumerate(pieces):
        log = piece.log
        if log is None:
            continue
        part = parts[log.attempt] = parts.get(log.attempt, -1) + 1
        if part and piece.split and piece.steps is not None:
            before = numbers[log.attempt, part - 1]
            out[n] = replace(out[n], parent=before, parent_step=piece.steps[0] - 1)
            continue
        _resumption(out, n, log, log.attempt in blind)
    return out


def _resumption(out: list[Piece], n: int, log: LogAttempt, blind: bool) -> None:
    """Resumption of the first part of a log: from the log before it, else from jobs nobody has a log of."""
    if log.resumed_from_attempt is not None:
        return
    first = log.steps[0] if log.steps is not None else 0
    step = log.resumed_from_step
    if step is None and first <= 1 and not blind:
        return
    earlier = [piece for piece in out[:n] if piece.log is not None and piece.log is not log]
    if earlier:
        if step is not None:
            out[n] = replace(out[n], parent=earlier[-1].attempt, parent_step=step)
        return
    dark = [k for k in range(n) if out[k].log is None and status_of(out[k].job.state)[0] != "completed"]
    if dark:
        known = step if step is not None else None if blind else first - 1
        out[n] = replace(out[n], parent=out[dark[-1]].attempt, parent_step=known)
        for a, b in pairwise(dark):
            out[b] = replace(out[b], parent=out[a].attempt)


def length_s(piece: Piece) -> float | None:
    """Seconds of an attempt; of a running one what its export or the last stamp of its steps shows."""
    if piece.end is not None:
        return (piece.end - piece.start).total_seconds()
    told = [piece.job.start + timedelta(seconds=piece.job.seconds)] if piece.job.seconds is not None else []
    told += [at for _, at in piece.log.stamps[-1:]] if piece.log is not None else []
    return max(0.0, (max(told) - piece.start).total_seconds()) if told else None
