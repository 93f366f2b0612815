"""Scheduler jobs of runs folded into the derived attempts: their clock, status, GPUs, and steps by stamp."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import duckdb

from data.job_attempts import SLACK, Job, LogAttempt, Piece, Placed, length_s, place, status_of

Row = dict[str, Any]
Key = tuple[str, int]
SPLIT_TABLES = ("steps", "step_phases", "metric_raw", "length_hist", "checkpoints", "evals")
_OWN_TIMES = (
    "Scheduler jobs of {run} ({n}) lie in the time that a file or the run details give its pools: that time "
    "counts, and no job is added to it."
)


@dataclass(frozen=True)
class Held:
    """Jobs of one attempt: the main one and those beside it."""

    main: Job
    beside: tuple[Job, ...] = ()


def job_notes(con: duckdb.DuckDBPyConnection, upload_id: str, runs: Sequence[str]) -> list[str]:
    """Sentences about what could not be told of the jobs of these runs, and of the runs of its own jobs."""
    sql = """SELECT DISTINCT note FROM job_attempts WHERE note IS NOT NULL
        AND (run IN (SELECT unnest($runs::VARCHAR[]))
            OR run IN (SELECT run FROM scheduler_jobs WHERE upload_id = $upload)) ORDER BY note"""
    return [str(note) for (note,) in con.execute(sql, {"runs": list(runs), "upload": upload_id}).fetchall()]


def _any_split(con: duckdb.DuckDBPyConnection) -> bool:
    return bool(con.execute("SELECT 1 FROM job_attempts WHERE split_from IS NOT NULL LIMIT 1").fetchall())


def unsplit(con: duckdb.DuckDBPyConnection) -> None:
    """Give steps that were split by jobs back to the attempt their log told, so that files can meet them."""
    if not _any_split(con):
        return
    for table in SPLIT_TABLES:
        con.execute(
            f"UPDATE {table} t SET attempt = j.split_from FROM job_attempts j "
            "WHERE j.split_from IS NOT NULL AND t.run = j.run AND t.attempt = j.attempt"
        )
    con.execute("UPDATE job_attempts SET split_from = NULL")


def runs_with_jobs(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Runs whose attempts were made or changed by jobs."""
    return [str(run) for (run,) in con.execute("SELECT DISTINCT run FROM job_attempts").fetchall()]


def fold(con: duckdb.DuckDBPyConnection) -> dict[str, dict[int, Held]]:
    """Fold the jobs of every run into its attempts; returns what each attempt held, by run and attempt.

    Attempts and allocations must be those of files and details, and no step split. Runs without a job that
    started are left alone.
    """
    jobs = _jobs(con)
    if not jobs:
        return {}
    con.execute("DELETE FROM job_attempts")
    runs = sorted(jobs)
    attempts = _attempts(con, runs)
    logs = _logs(con, runs, attempts)
    own = _own_times(con, runs)
    found: dict[str, dict[int, Held]] = {}
    for run in runs:
        open_jobs, note = _not_covered(run, jobs[run], own.get(run, []))
        placed = place(open_jobs, logs[run]) if open_jobs else Placed()
        notes = [*([note] if note else []), *placed.notes]
        _keep(con, run, placed.pieces, notes)
        if placed.pieces:
            _write(con, run, placed.pieces, attempts[run], logs[run])
            found[run] = {piece.attempt: Held(piece.job, piece.beside) for piece in placed.pieces}
    _split(con)
    return found


def _records(con: duckdb.DuckDBPyConnection, sql: str, params: list[Any]) -> list[Row]:
    result = con.execute(sql, params)
    names = [d[0] for d in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


_JOBS = """
SELECT run, job_id, cluster, coalesce(state, '') AS state, started_at, ended_at, elapsed_s, gpus
FROM scheduler_jobs j WHERE started_at IS NOT NULL AND run IN (SELECT run FROM runs)
ORDER BY run, started_at, job_id, ended_at NULLS LAST, cluster NULLS LAST
"""


def _jobs(con: duckdb.DuckDBPyConnection) -> dict[str, list[Job]]:
    """Jobs by run: those with GPUs, or all of a run none of whose jobs states any."""
    found: dict[str, dict[tuple[str, datetime], Job]] = defaultdict(dict)
    for row in _records(con, _JOBS, []):
        running = status_of(row["state"])[0] == "running"
        end, seconds = row["ended_at"], row["elapsed_s"]
        if end is None and not running and seconds is not None:
            end = row["started_at"] + timedelta(seconds=seconds)
        if (end is None and not running) or (end is not None and end <= row["started_at"]):
            continue
        job = Job(
            row["job_id"], row["cluster"], row["state"], row["started_at"], None if running else end, seconds,
            row["gpus"],
        )  # fmt: skip
        found[row["run"]].setdefault((job.job_id, job.start), job)
    out = {}
    for run, mine in found.items():
        sized = [job for job in mine.values() if job.gpus]
        out[run] = sized or list(mine.values())
    return out


def _attempts(con: duckdb.DuckDBPyConnection, runs: list[str]) -> dict[str, dict[int, Row]]:
    found: dict[str, dict[int, Row]] = {run: {} for run in runs}
    for row in _records(con, "SELECT * FROM attempts WHERE run IN (SELECT unnest(?::VARCHAR[]))", [runs]):
        found[row["run"]][row["attempt"]] = row
    return found


_STEPS = """
SELECT run, attempt, step, min(ts) AS ts, max(step_s) AS step_s FROM steps
WHERE run IN (SELECT unnest(?::VARCHAR[])) GROUP BY ALL ORDER BY run, attempt, step
"""
_LOGGED = """
SELECT run, attempt, max(last_step) AS last_step FROM attempt_sources
WHERE run IN (SELECT unnest(?::VARCHAR[])) GROUP BY ALL
"""


def _logs(
    con: duckdb.DuckDBPyConnection, runs: list[str], attempts: Mapping[str, Mapping[int, Row]]
) -> dict[str, list[LogAttempt]]:
    """What logs tell of each run's attempts; one that nothing is known of tells nothing."""
    steps: dict[Key, list[Row]] = defaultdict(list)
    for row in _records(con, _STEPS, [runs]):
        steps[row["run"], row["attempt"]].append(row)
    logged = {(r["run"], r["attempt"]) for r in _records(con, _LOGGED, [runs]) if r["last_step"] is not None}
    out: dict[str, list[LogAttempt]] = {run: [] for run in runs}
    for run, mine in attempts.items():
        for number, row in sorted(mine.items()):
            rows = steps.get((run, number), [])
            said = row["status"] != "unknown" or row["resumed_from_step"] is not None
            if rows or said or row["elapsed_s"] is not None or (run, number) in logged:
                out[run].append(_log(row, rows))
    return out


def _log(row: Row, rows: Sequence[Row]) -> LogAttempt:
    stamped = [(int(r["step"]), r["ts"]) for r in rows if r["ts"] is not None]
    whole = bool(rows) and len(stamped) == len(rows)
    sums = sum(float(r["step_s"]) for r in rows if r["step_s"] is not None)
    return LogAttempt(
        row["attempt"], row["status"], row["started_at"], row["ended_at"], tuple(stamped) if whole else (),
        sums, (int(rows[0]["step"]), int(rows[-1]["step"])) if rows else None, row["resumed_from_step"],
        row["resumed_from_attempt"],
    )  # fmt: skip


_OWN = """
SELECT run, started_at, ended_at FROM allocations
WHERE run IN (SELECT unnest(?::VARCHAR[]))
    AND (seconds_basis = 'user' OR (started_at IS NOT NULL AND ended_at IS NOT NULL))
"""


def _own_times(con: duckdb.DuckDBPyConnection, runs: list[str]) -> dict[str, list[Row]]:
    """Windows that pools have of their own; without a start where only seconds are given."""
    out: dict[str, list[Row]] = defaultdict(list)
    for row in _records(con, _OWN, [runs]):
        out[row["run"]].append(row)
    return out


def _not_covered(run: str, jobs: Sequence[Job], own: Sequence[Row]) -> tuple[list[Job], str]:
    """Jobs whose time no pool's own time covers, and a sentence where that time is not theirs."""
    if any(row["started_at"] is None for row in own):
        return [], _OWN_TIMES.format(n=len(jobs), run=run)
    left = [job for job in jobs if not any(_covers(row["started_at"], row["ended_at"], job) for row in own)]
    other = [
        job
        for job in jobs
        if job not in left and not any(_same(row["started_at"], row["ended_at"], job) for row in own)
    ]
    return left, _OWN_TIMES.format(n=len(other), run=run) if other else ""


def _same(start: datetime, end: datetime, job: Job) -> bool:
    return abs(job.start - start) <= SLACK and (job.end is None or abs(job.end - end) <= SLACK)


def _covers(start: datetime, end: datetime, job: Job) -> bool:
    shared = (min(end, job.until) - max(start, job.start)).total_seconds()
    return shared > 0 and shared >= 0.5 * min(job.held_s, (end - start).total_seconds())


def _keep(con: duckdb.DuckDBPyConnection, run: str, pieces: Sequence[Piece], notes: Sequence[str]) -> None:
    rows: list[list[Any]] = [[run, None, None, None, None, None, None, note] for note in notes]
    for piece in pieces:
        from_log = piece.log.attempt if piece.split and piece.log is not None else None
        span = piece.steps if piece.split and piece.steps is not None else (None, None)
        rows.append([run, piece.attempt, piece.job.job_id, piece.job.cluster, from_log, *span, None])
        rows += [[run, piece.attempt, job.job_id, job.cluster, *[None] * 4] for job in piece.beside]
    if rows:
        con.executemany("INSERT INTO job_attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _split(con: duckdb.DuckDBPyConnection) -> None:
    if not _any_split(con):
        return
    for table in SPLIT_TABLES:
        con.execute(
            f"UPDATE {table} t SET attempt = j.attempt FROM job_attempts j WHERE j.split_from IS NOT NULL "
            "AND t.run = j.run AND t.attempt = j.split_from AND t.step BETWEEN j.first_step AND j.last_step"
        )


_STATUS = "SELECT json_extract_string(details, '$.status.\"' || ? || '\"') FROM run_settings WHERE run = ?"


def _write(
    con: duckdb.DuckDBPyConnection,
    run: str,
    pieces: Sequence[Piece],
    known: Mapping[int, Row],
    logs: Sequence[LogAttempt],
) -> None:
    """Put the attempts of a run in place: those of jobs, and those of logs that lie in no job."""
    told = {log.attempt for log in logs}
    rows = {number: row for number, row in known.items() if number in told}
    for piece in pieces:
        base = known[piece.log.attempt] if piece.log is not None else None
        said = con.execute(_STATUS, [str(piece.attempt), run]).fetchall()
        rows[piece.attempt] = _row(run, piece, base, pieces, said[0][0] if said else None)
    con.execute("DELETE FROM attempts WHERE run = ?", [run])
    columns = list(next(iter(rows.values())))
    marks = ", ".join("?" * len(columns))
    con.executemany(
        f"INSERT INTO attempts ({', '.join(columns)}) VALUES ({marks})",
        [[row[name] for name in columns] for row in rows.values()],
    )


def _row(run: str, piece: Piece, base: Row | None, pieces: Sequence[Piece], said: str | None) -> Row:
    """An attempt with the clock of its job; what a person or the log says of its end goes before the job."""
    log = base or {}
    status, cause = status_of(piece.job.state) if piece.last else ("unknown", None)
    ends_log = piece.log is not None and not any(
        other.split and other.log is piece.log and other.start > piece.start for other in pieces
    )
    if ends_log and log["status"] not in ("unknown", "running"):
        status, cause = log["status"], log["cause"] or (cause if log["status"] == status else None)
    first_part = not piece.split
    return {
        "run": run,
        "attempt": piece.attempt,
        "started_at": piece.start,
        "ended_at": piece.end,
        "elapsed_s": length_s(piece),
        "elapsed_basis": "clock",
        "status": said or status,
        "cause": cause,
        "resumed_from_step": piece.parent_step
        if piece.parent is not None
        else log.get("resumed_from_step")
        if first_part
        else None,
        "resumed_from_attempt": piece.parent
        if piece.parent is not None
        else log.get("resumed_from_attempt")
        if first_part
        else None,
        "last_checkpoint_step": log.get("last_checkpoint_step") if ends_log else None,
    }
