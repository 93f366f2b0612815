"""Which run a file without a run name belongs to: by a person's word, its clock, or its folder."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

import duckdb

from data.arrival.names import GENERIC
from data.errors import UserError
from data.gpu.parts import samples_sql
from data.readers.base import Batch, Choices
from data.sql import number

NEW_ATTEMPT = "new"
PERSON, CLOCK, FOLDER = "person", "clock", "folder"
JOINABLE = frozenset({"gpus", "scheduler_jobs", "env_events"})
"""Tables of files that can belong to a run without saying so."""
MAY_BE_FREE = JOINABLE | {"evals", "eval_tasks", "checkpoints", "costs"}
"""Tables whose rows may belong to no run."""
SLACK_S, SLACK_FRAC = 600.0, 0.1
"""A logger starts before the first step and ends after the last one: by so much, or by this share."""
SURE, SURE_ZONE_ASSUMED, SURE_FOLDER = 0.9, 0.7, 0.8


@dataclass(frozen=True)
class Join:
    """What ties an upload to a run. `run` None: it belongs to none; `attempt` None: its rows decide.

    `attempt` "new" opens one. `by`: person, clock or folder; `confidence` 0..1; `why` ends "because …".
    """

    run: str | None
    attempt: int | str | None = None
    by: str = PERSON
    confidence: float = 1.0
    why: str = "you said so"

    def payload(self) -> dict[str, Any]:
        """JSON-ready form."""
        return asdict(self)

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> "Join":
        """Inverse of `payload`; other keys are passed over."""
        return cls(**{k: payload[k] for k in cls.__dataclass_fields__ if k in payload})

    def choices(self, choices: Choices) -> Choices:
        """The choices with this join in the place of their run name."""
        return replace(choices, run=self.run)


@dataclass(frozen=True)
class Candidate:
    """A run whose clock meets that of a file. `attempt` where only one does; `fits`: the file lies inside."""

    run: str
    attempt: int | None
    overlap_s: float
    fits: bool
    why: str


@dataclass(frozen=True)
class Span:
    """First and last stamp (UTC) of a file."""

    first: datetime
    last: datetime


def free_of_runs(batch: Batch) -> bool:
    """True for files that may belong to a run and name none."""
    named = [frame for frame in batch.tables.values() if "run" in frame and frame["run"].notna().any()]
    return bool(batch.tables) and set(batch.tables) <= JOINABLE and not named


def propose(con: duckdb.DuckDBPyConnection, batch: Batch, name: str, choices: Choices) -> Join | None:
    """The join that is made without asking: exactly one run fits by clock, else by folder. Else None."""
    if choices.run or not free_of_runs(batch):
        return None
    span = span_of(con, batch)
    found = candidates(con, span, choices.synthetic) if span else []
    near = folder_runs(con, name, choices.synthetic)
    chosen = _by_clock(found, near, batch.timezone_assumed) or _by_folder(con, found, near)
    if chosen is None or _doubtful(con, batch, str(chosen.run)):
        return None
    return chosen


def span_of(con: duckdb.DuckDBPyConnection, batch: Batch) -> Span | None:
    """First and last stamp of GPU samples, sandbox calls, or of one scheduler job."""
    firsts: list[datetime] = []
    lasts: list[datetime] = []
    if batch.gpu_parts:
        row = con.execute(f"SELECT min(ts), max(ts) FROM {samples_sql(batch.gpu_parts)}").fetchall()[0]
        if row[0] is not None:
            firsts.append(row[0])
            lasts.append(row[1])
    for table in ("env_events", "scheduler_jobs"):
        frame = batch.tables.get(table)
        if frame is None or "started_at" not in frame or (table == "scheduler_jobs" and len(frame) > 1):
            continue
        stamps = frame["started_at"].dropna()
        ends = frame["ended_at"].dropna() if "ended_at" in frame else stamps
        if len(stamps) and len(ends):
            firsts.append(stamps.min().to_pydatetime())
            lasts.append(ends.max().to_pydatetime())
    return Span(min(firsts), max(lasts)) if firsts else None


_CLOCKS = """
SELECT a.run, a.attempt, least(a.started_at, s.first) AS first,
    greatest(a.ended_at, a.started_at + to_microseconds((a.elapsed_s * 1e6)::BIGINT), s.last) AS last
FROM attempts a JOIN runs r USING (run) LEFT JOIN (
    SELECT run, attempt, min(ts) AS first, max(ts) AS last FROM steps WHERE ts IS NOT NULL GROUP BY ALL
) s USING (run, attempt)
WHERE r.synthetic = $synthetic
"""


def candidates(con: duckdb.DuckDBPyConnection, span: Span, synthetic: bool) -> list[Candidate]:
    """Runs whose attempts overlap `span` in time, longest overlap first."""
    rows = con.execute(
        f"SELECT * FROM ({_CLOCKS}) WHERE first <= $last AND last >= $first ORDER BY run, attempt",
        {"synthetic": synthetic, "first": span.first, "last": span.last},
    ).fetchall()
    runs: dict[str, list[tuple[int, datetime, datetime]]] = {}
    for run, attempt, first, last in rows:
        runs.setdefault(run, []).append((attempt, first, last))
    found = [_candidate(run, clocks, span) for run, clocks in runs.items()]
    return sorted(found, key=lambda c: (-c.overlap_s, c.run))


def _candidate(run: str, clocks: list[tuple[int, datetime, datetime]], span: Span) -> Candidate:
    inside = [attempt for attempt, first, last in clocks if _fits(first, last, span)]
    attempt = inside[0] if len(inside) == 1 else None
    first, last = min(c[1] for c in clocks), max(c[2] for c in clocks)
    overlap = (min(span.last, last) - max(span.first, first)).total_seconds()
    where = f"attempt {attempt}" if attempt is not None else "the run"
    fits = bool(inside) or _fits(first, last, span)
    how = "lies inside" if fits else "meets"
    why = f"its time ({_between(span.first, span.last)} UTC) {how} that of {where} ({_between(first, last)})"
    return Candidate(run, attempt, max(overlap, 0.0), fits, why)


def _between(first: datetime, last: datetime) -> str:
    """`2026-03-02 23:50 to 2026-03-03 01:10`; the day is not said twice."""
    end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
    return f"{first:%Y-%m-%d %H:%M} to {end}"


def _fits(first: datetime, last: datetime, span: Span) -> bool:
    slack = timedelta(seconds=max(SLACK_S, SLACK_FRAC * (last - first).total_seconds()))
    return first - slack <= span.first and span.last <= last + slack


def _by_clock(found: Sequence[Candidate], near: Sequence[str], zone_assumed: bool) -> Join | None:
    why_near = ""
    if len(found) > 1 and len(near) == 1:
        found = [c for c in found if c.run in near]
        why_near = " and it lies in the folder of that run"
    if len(found) != 1 or not found[0].fits:
        return None
    one = found[0]
    sure = SURE_ZONE_ASSUMED if zone_assumed else SURE
    zone = "; its stamps name no zone and were taken as UTC" if zone_assumed else ""
    only = "" if why_near else " and meets no other run"
    return Join(one.run, one.attempt, CLOCK, sure, f"{one.why}{only}{why_near}{zone}")


def _by_folder(
    con: duckdb.DuckDBPyConnection, found: Sequence[Candidate], near: Sequence[str]
) -> Join | None:
    """The only run of the folder, unless the clocks of both are known and never meet."""
    if len(near) != 1 or found:
        return None
    clocked = number(con, "SELECT count(*) FROM attempts WHERE run = ? AND started_at IS NOT NULL", [near[0]])
    if clocked:
        return None
    why = "it lies in the folder of that run, which has no clock of its own"
    return Join(near[0], None, FOLDER, SURE_FOLDER, why)


def folder_runs(con: duckdb.DuckDBPyConnection, name: str, synthetic: bool) -> list[str]:
    """Runs of logs in the nearest folder of `name` that holds one; folders any run may have say nothing."""
    for folder in PurePosixPath(name).parents:
        if str(folder) in (".", "/") or folder.name.lower() in GENERIC:
            continue
        rows = con.execute(
            "SELECT DISTINCT s.run FROM uploads u JOIN attempt_sources s USING (upload_id) "
            "WHERE starts_with(u.name, $folder || '/') AND u.synthetic = $synthetic "
            "AND s.last_step IS NOT NULL ORDER BY s.run",
            {"folder": str(folder), "synthetic": synthetic},
        ).fetchall()
        if rows:
            return [str(run) for (run,) in rows]
    return []


def _doubtful(con: duckdb.DuckDBPyConnection, batch: Batch, run: str) -> bool:
    """GPUs that another run holds already, or more GPUs than the run says it had: a person decides."""
    gpus = batch.tables.get("gpus")
    if gpus is None:
        return False
    ids = [str(i) for i in gpus["gpu_id"]]
    taken = number(
        con,
        "SELECT count(*) FROM gpus WHERE run IS NOT NULL AND run <> ? "
        "AND gpu_id IN (SELECT unnest(?::VARCHAR[]))",
        [run, ids],
    )
    held = number(
        con,
        "SELECT max(n) FROM (SELECT attempt, sum(gpus) AS n FROM (SELECT attempt, pool, max(gpus) AS gpus "
        "FROM allocations WHERE run = ? GROUP BY ALL) GROUP BY attempt)",
        [run],
    )
    return bool(taken) or (held > 0 and len(ids) > held)


def set_free(batch: Batch, name: str) -> None:
    """Take run and attempt out of all rows. Raises UserError for a log, whose rows need a run."""
    bound = sorted(set(batch.tables) - MAY_BE_FREE)
    if bound:
        raise UserError(
            f"The rows of this file ({', '.join(bound)}) need a run",
            name,
            "Choose a run, a new name, or an attempt of its own.",
        )
    for table, frame in batch.tables.items():
        named = [column for column in ("run", "attempt", "pool", "role") if column in frame]
        if table == "eval_tasks" or "run" not in named:
            continue
        batch.tables[table] = frame.assign(**dict.fromkeys(named))
    batch.proposals = []


def name_run(batch: Batch, run: str) -> None:
    """Rows of files that name no run get one."""
    for table in JOINABLE & set(batch.tables):
        frame = batch.tables[table]
        if "run" not in frame or frame["run"].isna().all():
            batch.tables[table] = frame.assign(run=run)


_WITHOUT_RUN = (
    "nvidia_smi", "dcgm", "amd_smi", "rocm_smi", "gpu_sampler", "grafana", "prometheus", "victoriametrics",
    "ipmi", "sacct", "sandbox_events", "wandb_system_events", "wide_", "ipd_gpu_samples", "ipd_env_events",
)  # fmt: skip


def joins_a_run(format_name: str) -> bool:
    """True for formats whose files seldom name a run: they are loaded after the logs beside them."""
    return format_name.startswith(_WITHOUT_RUN)


def span_of_upload(con: duckdb.DuckDBPyConnection, upload_id: str) -> Span | None:
    """First and last stamp of what an upload stored, None where nothing of it carries one."""
    row = con.execute(
        "SELECT min(first), max(last) FROM ("
        "SELECT min(ts_min) AS first, max(ts_max) AS last FROM gpu_parts WHERE upload_id = $id "
        "UNION ALL SELECT min(started_at), max(started_at) FROM env_events WHERE upload_id = $id "
        "UNION ALL SELECT min(started_at), max(ended_at) FROM scheduler_jobs WHERE upload_id = $id)",
        {"id": upload_id},
    ).fetchall()[0]
    return Span(row[0], row[1]) if row[0] is not None and row[1] is not None else None
