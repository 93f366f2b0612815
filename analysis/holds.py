"""Who held which GPUs on which machine, when: allocations of runs and jobs of a scheduler."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

import pandas as pd

from analysis.bill import Charge, span_of, stamp
from analysis.frames import Row, number, records, text
from analysis.madeup import EVERYBODY, Scope, own_rows
from data.money.machines import gpu_model
from data.queries import bills as queries
from data.slurm_fields import nodes_of
from data.view import View
from models.accrual import overlap_s

Span = tuple[datetime, datetime]
_TINY = 1e-9


@dataclass(frozen=True)
class Hold:
    """`gpus` GPUs (a part of one where pools share a machine) held during [start, end).

    `job` is set where no run is known. `host` None: the machine is not known. `loose`: it may be the same
    GPUs as a job that names no run, so that only a named machine proves anything about it.
    """

    number: int
    start: datetime
    end: datetime
    gpus: float
    host: str | None
    gpu: str | None
    platform: str | None
    run: str | None = None
    attempt: int | None = None
    pool: str | None = None
    role: str | None = None
    campaign: str | None = None
    team: str | None = None
    job: str | None = None
    account: str | None = None
    groups: tuple[str, ...] = ()
    loose: bool = False

    def gpu_s(self, start: datetime, end: datetime) -> float:
        """GPU-seconds held inside [start, end)."""
        return self.gpus * overlap_s(self.start, self.end, start, end)


@dataclass(frozen=True)
class Holds:
    """All holds that touch a span, runs with GPUs at unknown times, and what is known of each run.

    `has_jobs`: a scheduler file covers a part of the span. `ambiguous`: runs that may be one of its jobs.
    """

    holds: tuple[Hold, ...]
    untimed: frozenset[str]
    owners: dict[str, tuple[str | None, str | None]]
    teams: dict[str, str]
    has_jobs: bool
    ambiguous: tuple[str, ...] = ()


@dataclass
class _Build:
    rows: list[Hold] = field(default_factory=list)

    def add(self, start: datetime, end: datetime, gpus: float, host: str | None, **owner: object) -> None:
        if gpus > _TINY and end > start:
            self.rows.append(Hold(len(self.rows), start, end, gpus, host, **owner))  # type: ignore[arg-type]


def load_holds(view: View, span: Span | None, scope: Scope = EVERYBODY) -> Holds:
    """Holds of `scope` inside `span` (None: all), whole and in an order that does not depend on files."""
    rows = [
        row
        for row in own_rows(records(queries.held(view)), scope)
        if row["role"] != "sandbox" and number(row["gpus"]) > 0
    ]
    timed = [(row, clock) for row in rows if (clock := span_of(row)) is not None and clock[1] > clock[0]]
    theirs = [row for row in records(queries.jobs(view)) if scope.has_upload(row["upload_id"])]
    jobs = [(row, at) for row in theirs if (at := _job_span(row)) is not None]
    with_clock = {row["run"] for row, _ in timed}
    inside = [(row, at) for row, at in jobs if _touches(at, span)]
    free = [(row, at) for row, at in inside if text(row["run"]) is None or row["run"] not in with_clock]
    linked = [(row, at) for row, at in jobs if text(row["run"]) in with_clock]
    placed = _hosts(records(queries.hosts(view)))
    build, ambiguous = _Build(), set()
    for row, clock in timed:
        if _touches(clock, span):
            where = _placements(row, clock, timed, placed, linked)
            loose = not any(host for _, host, _ in where) and _may_be_a_job(row, clock, free)
            ambiguous |= {str(row["run"])} if loose else set()
            _hold(build, row, clock, where, loose)
    for row, at in free:
        _hold_job(build, row, at)
    owners = queries.owners(view)
    untimed = {str(row["run"]) for row in rows if span_of(row) is None} | (
        set(owners) - {r["run"] for r in rows}
    )
    return Holds(
        tuple(build.rows),
        frozenset(untimed),
        owners,
        queries.teams(view),
        bool(inside),
        tuple(sorted(ambiguous)),
    )


def _touches(at: Span, span: Span | None) -> bool:
    return span is None or overlap_s(*at, *span) > 0


def _job_span(row: Row) -> Span | None:
    start, end = stamp(row["started_at"]), stamp(row["ended_at"])
    return (start, end) if start is not None and end is not None and end > start else None


def _hosts(rows: Iterable[Row]) -> dict[str, list[Row]]:
    out: dict[str, list[Row]] = {}
    for row in rows:
        if text(row["run"]):
            out.setdefault(row["run"], []).append(row)
    return out


def _may_be_a_job(row: Row, clock: Span, free: Sequence[tuple[Row, Span]]) -> bool:
    """Whether a job that names no run held as many GPUs at the time."""
    return any(number(job["gpus"]) >= number(row["gpus"]) and overlap_s(*at, *clock) > 0 for job, at in free)


Placement = tuple[Span, str | None, float]
"""When, on which host, how many GPUs of the allocation."""


def _placements(
    row: Row,
    clock: Span,
    timed: Sequence[tuple[Row, Span]],
    placed: dict[str, list[Row]],
    linked: Sequence[tuple[Row, Span]],
) -> list[Placement]:
    """Where an allocation was: hosts of its sampled GPUs, else nodes of the jobs that belong to its run."""
    found: list[Placement] = []
    for host in placed.get(row["run"], ()):
        if _fits(host["attempt"], row["attempt"]) and _fits(host["pool"], row["pool"]):
            share = _share(row, clock, timed, pool=text(host["pool"]))
            found.append((clock, str(host["host"]), number(host["gpus"]) * share))
    if not found:
        share = _share(row, clock, timed, pool=None)
        for job, at in linked:
            if job["run"] == row["run"] and overlap_s(*at, *clock) > 0:
                cut = max(at[0], clock[0]), min(at[1], clock[1])
                found += [(cut, host, gpus * share) for host, gpus in _nodes(job) if host]
    return found


def _fits(said: object, own: object) -> bool:
    """Whether what a GPU row says is what the allocation is, or the row does not say."""
    return bool(pd.isna(said)) or said == own  # type: ignore[call-overload]


def _share(row: Row, clock: Span, timed: Sequence[tuple[Row, Span]], pool: str | None) -> float:
    """Share of a machine of the run that this allocation has: by GPUs, among the pools held beside it."""
    beside = [
        number(other["gpus"])
        for other, at in timed
        if other["run"] == row["run"]
        and other["attempt"] == row["attempt"]
        and (pool is None or other["pool"] == pool)
        and overlap_s(*at, *clock) > 0
    ]
    return number(row["gpus"]) / sum(beside)


def _nodes(job: Row) -> list[tuple[str | None, float]]:
    """(host, GPUs) of a job; GPUs are spread evenly over its nodes."""
    gpus, names = number(job["gpus"]), nodes_of(str(job["node_list"] or ""))
    return [(name, gpus / len(names)) for name in names] if names else [(None, gpus)]


def _hold(build: _Build, row: Row, clock: Span, where: Sequence[Placement], loose: bool) -> None:
    """Holds of one allocation: never more GPUs than it has; what no machine explains has no host."""
    gpus = number(row["gpus"])
    platform = text(row["platform"])
    owner = {
        "gpu": gpu_model(platform), "platform": platform, "run": str(row["run"]),
        "attempt": int(row["attempt"]), "pool": str(row["pool"]), "role": str(row["role"]),
        "campaign": text(row["campaign"]),
        "team": text(row["team"]), "loose": loose,
        "groups": () if row["pool"] == "all" else (str(row["pool"]),),
    }  # fmt: skip
    edges = sorted({*clock, *(edge for span, _, _ in where for edge in span)})
    for start, end in pairwise(edges):
        here = [(host, size) for span, host, size in where if overlap_s(*span, start, end) > 0]
        known_gpus = sum(size for _, size in here)
        scale = min(1.0, gpus / known_gpus) if known_gpus > 0 else 0.0
        for host, size in here:
            build.add(start, end, size * scale, host, **owner)
        build.add(start, end, gpus - known_gpus * scale, None, **owner)


def _hold_job(build: _Build, job: Row, at: Span) -> None:
    run, model = text(job["run"]), text(job["gpu_model"])
    groups = tuple(name for name in (text(job["partition"]), text(job["cluster"])) if name)
    for host, gpus in _nodes(job):
        build.add(
            *at, gpus, host, gpu=gpu_model(model), platform=None, run=run, campaign=text(job["campaign"]),
            team=text(job["team"]), job=None if run else str(job["job_id"]), account=text(job["account"]),
            groups=groups,
        )  # fmt: skip


def host_names(name: str | None) -> set[str]:
    """Spellings under which bills and samplers write one machine.

    The whole text, the last part of a path or ARN, and the name before the first dot; an address keeps all of
    itself, a port is dropped.
    """
    if not name or not name.strip():
        return set()
    whole = name.strip().casefold()
    last = whole.replace("/", " ").replace(" ", "/").rstrip("/").rsplit("/", 1)[-1]
    bare = last.rsplit(":", 1)[0] if last.rsplit(":", 1)[-1].isdigit() else last.rsplit(":", 1)[-1]
    short = bare if bare.replace(".", "").isdigit() else bare.split(".", 1)[0]
    return {one for one in (whole, last, bare, short) if one}


def machine_names(charge: Charge) -> set[str]:
    """Spellings of the machine that a line names by its resource or a tag."""
    return set[str]().union(*map(host_names, (charge.resource_id, charge.resource_name, charge.host)))
