"""Runs, attempts, allocations and campaigns: always derived anew from what files said and people decided."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pandas as pd

from data.job_fold import Held, fold, runs_with_jobs, unsplit
from data.job_pools import agrees, disagreement, of_jobs
from data.job_runs import name_jobs
from data.merge import merge
from data.resumption import forget, settle

DERIVATION = "3"
"""Raise it when other rows follow from the same files: an older home is then derived anew as it is opened."""

EVERY_ATTEMPT = 0
"""Attempt of an allocation in a file that names neither attempts nor times: it holds for each of them."""

FIRST_LOGGED = "first evaluation logged"
"""`start_checkpoint` of a run whose first logged evaluation stands for the weights it started from."""

BY_DETAILS = "run_details"
"""In the place of an upload: a row that a person's run details brought."""


def derive(con: duckdb.DuckDBPyConnection, runs: Sequence[str]) -> None:
    """Recompute everything that depends on these runs, inside the caller's transaction.

    Later uploads win over earlier ones cell by cell; run details win over files. Jobs find their runs by what
    files and details say alone; then the jobs of every run are folded into its attempts, and where nobody
    says what an attempt resumed from, the numbers of its steps do.
    """
    names = sorted({*runs, *runs_with_jobs(con)})
    unsplit(con)
    forget(con)
    con.execute("DELETE FROM job_attempts")
    for table in ("runs", "attempts", "allocations"):
        con.execute(f"DELETE FROM {table} WHERE run IN (SELECT unnest(?::VARCHAR[]))", [names])
    con.execute(_RUNS, {"runs": names})
    con.execute(_ATTEMPTS, {"runs": names})
    _allocations(con, names, {})
    name_jobs(con)
    if held := fold(con):
        con.execute("DELETE FROM allocations WHERE run IN (SELECT unnest(?::VARCHAR[]))", [sorted(held)])
        _allocations(con, sorted(held), held)
    settle(con)
    con.execute("DELETE FROM campaigns")
    con.execute(_CAMPAIGNS)
    con.execute("DELETE FROM checkpoints WHERE upload_id = $by", {"by": BY_DETAILS})
    con.execute(_STARTS, {"by": BY_DETAILS, "first": FIRST_LOGGED})


def is_current(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether what is derived in this database was derived by the present rules; a home without runs is."""
    if not con.execute("SELECT 1 FROM run_sources LIMIT 1").fetchall():
        remember(con)
    found = con.execute("SELECT value FROM meta WHERE key = 'derivation'").fetchall()
    return found == [(DERIVATION,)]


def derive_all(con: duckdb.DuckDBPyConnection) -> None:
    """Derive every run by the present rules, inside the caller's transaction."""
    runs = con.execute("SELECT DISTINCT run FROM run_sources").fetchall()
    derive(con, [str(run) for (run,) in runs])
    remember(con)


def remember(con: duckdb.DuckDBPyConnection) -> None:
    """Note that the present rules derived what is in the database."""
    con.execute("DELETE FROM meta WHERE key = 'derivation'")
    con.execute("INSERT INTO meta VALUES ('derivation', ?)", [DERIVATION])


_RUNS = """
INSERT INTO runs BY NAME
SELECT f.run,
    coalesce(d.details->>'campaign', f.campaign) AS campaign,
    f.framework, f.framework_version,
    coalesce(d.details->>'algorithm', f.algorithm) AS algorithm,
    coalesce(d.details->>'mode', f.mode) AS mode,
    coalesce(d.details->>'llm', f.llm) AS llm,
    f.synthetic,
    coalesce(d.details->>'note', f.note) AS note
FROM (
    SELECT run, arg_max(campaign, seq) AS campaign, arg_max(framework, seq) AS framework,
        arg_max(framework_version, seq) AS framework_version, arg_max(algorithm, seq) AS algorithm,
        arg_max(mode, seq) AS mode, arg_max(llm, seq) AS llm, bool_or(synthetic) AS synthetic,
        arg_max(note, seq) AS note
    FROM run_sources WHERE run IN (SELECT unnest($runs::VARCHAR[])) GROUP BY run
) f LEFT JOIN run_settings d USING (run)
"""

# Status and basis come from the file that knows most of the attempt: a shorter, older copy changes neither.
# `pieces_s`: a log that was sent in pieces lasted from the start of the first to the end of the last.
# `log_s`: from the start of the first step to the stamp of the last, where every step has one and they rise;
# a pause of an hour and ten usual steps may have held no GPU and is left out: it stays a lower bound.
_ATTEMPTS = """
INSERT INTO attempts BY NAME
WITH ranked AS (
    SELECT *, {'step': coalesce(last_step, -1), 'seq': seq} AS knows,
        {
            'step': coalesce(last_step, -1),
            'basis': CASE elapsed_basis WHEN 'clock' THEN 3 WHEN 'progress_bar' THEN 2 ELSE 1 END,
            'seq': seq
        } AS times
    FROM attempt_sources WHERE run IN (SELECT unnest($runs::VARCHAR[]))
),
said AS (
    SELECT run, attempt,
        min(started_at) AS started_at, max(ended_at) AS ended_at,
        arg_max(elapsed_s, seq) FILTER (elapsed_basis = 'user' OR elapsed_basis IS NULL) AS user_s,
        arg_max(elapsed_basis, times) FILTER (elapsed_s IS NOT NULL AND elapsed_basis <> 'user') AS basis,
        max(elapsed_s) FILTER (elapsed_basis = 'clock') AS clock_s,
        epoch(max(started_at + to_microseconds((elapsed_s * 1e6)::BIGINT)) FILTER (elapsed_basis = 'clock'))
            - epoch(min(started_at) FILTER (elapsed_basis = 'clock')) AS pieces_s,
        max(elapsed_s) FILTER (elapsed_basis = 'progress_bar') AS bar_s,
        arg_max({'status': status, 'cause': cause}, knows) FILTER (status <> 'unknown') AS ending,
        arg_max(resumed_from_step, seq) AS resumed_from_step,
        arg_max(resumed_from_attempt, seq) AS resumed_from_attempt,
        max(last_checkpoint_step) AS last_checkpoint_step
    FROM ranked GROUP BY run, attempt
),
each_step AS (
    SELECT run, attempt, step, max(step_s) AS step_s, min(ts) AS ts FROM steps
    WHERE run IN (SELECT unnest($runs::VARCHAR[])) GROUP BY run, attempt, step
),
gaps AS (
    SELECT *, epoch(ts) - epoch(lag(ts) OVER (PARTITION BY run, attempt ORDER BY step)) AS since_s,
        since_s - coalesce(step_s, 0) AS rest_s,
        coalesce(median(step_s) OVER (PARTITION BY run, attempt), 0) AS usual_s
    FROM each_step
),
step_sums AS (
    SELECT run, attempt, fsum(step_s ORDER BY step) AS step_sum_s,
        min(ts) - to_microseconds((coalesce(arg_min(coalesce(step_s, 0), ts), 0) * 1e6)::BIGINT) AS first_at,
        max(ts) AS last_at,
        coalesce(fsum(rest_s ORDER BY step) FILTER (rest_s > greatest(3600, 10 * usual_s)), 0) AS pauses_s,
        count(*) = count(ts) AND coalesce(min(since_s), 0) >= -1
            AND coalesce(arg_min(coalesce(step_s, 0), ts), 0) <= 604800 AS in_order
    FROM gaps GROUP BY run, attempt
),
stamped AS (
    SELECT said.*, step_sum_s, first_at, last_at,
        CASE WHEN in_order THEN epoch(last_at) - epoch(least(first_at, started_at)) - pauses_s END AS log_s
    FROM said LEFT JOIN step_sums USING (run, attempt)
),
chosen AS (
    SELECT *, greatest(clock_s, pieces_s, epoch(ended_at) - epoch(started_at)) AS wall_s,
        CASE WHEN user_s IS NOT NULL THEN 'user'
            WHEN started_at IS NOT NULL AND ended_at IS NOT NULL THEN 'clock'
            WHEN basis IS NOT NULL AND basis <> 'step_sum' THEN basis
            WHEN log_s >= coalesce(step_sum_s - greatest(1, 0.01 * step_sum_s), 0) THEN 'log_clock'
            WHEN step_sum_s IS NOT NULL THEN 'step_sum' ELSE basis END AS chosen
    FROM stamped
),
timed AS (
    SELECT * EXCLUDE (started_at, ended_at),
        CASE WHEN chosen = 'log_clock' THEN least(first_at, started_at) ELSE started_at END AS started_at,
        CASE WHEN chosen = 'log_clock' AND ending.status IS DISTINCT FROM 'running'
            THEN coalesce(ended_at, last_at) ELSE ended_at END AS ended_at
    FROM chosen
)
SELECT t.run, t.attempt, t.started_at, t.ended_at,
    CASE chosen WHEN 'user' THEN user_s WHEN 'clock' THEN wall_s WHEN 'progress_bar' THEN bar_s
        WHEN 'log_clock' THEN greatest(log_s, step_sum_s) ELSE step_sum_s END AS elapsed_s,
    chosen AS elapsed_basis,
    coalesce(
        json_extract_string(d.details, '$.status."' || t.attempt || '"'), t.ending.status, 'unknown'
    ) AS status,
    t.ending.cause AS cause,
    t.resumed_from_step, t.resumed_from_attempt, t.last_checkpoint_step
FROM timed t LEFT JOIN run_settings d USING (run)
"""

_CAMPAIGNS = """
INSERT INTO campaigns BY NAME
WITH named AS (
    SELECT r.campaign, d.details->>'team' AS team, NULL AS shipped_checkpoint, 9e18::BIGINT AS seq
    FROM runs r LEFT JOIN run_settings d USING (run) WHERE r.campaign IS NOT NULL
    UNION ALL
    SELECT r.campaign, s.team, s.shipped_checkpoint, s.seq
    FROM runs r JOIN run_sources s ON s.run = r.run AND s.campaign = r.campaign
    UNION ALL
    SELECT DISTINCT campaign, NULL, NULL, -1 FROM costs WHERE campaign IS NOT NULL
)
SELECT campaign, arg_max(team, seq) AS team, arg_max(shipped_checkpoint, seq) AS shipped_checkpoint
FROM named GROUP BY campaign
"""

# '<run>@start' stands for the weights a run began with; its parent is the checkpoint that a person named.
_STARTS = """
INSERT INTO checkpoints BY NAME
WITH named AS (
    SELECT run, details->>'start_checkpoint' AS start FROM run_settings
    WHERE details->>'start_checkpoint' IS NOT NULL AND run IN (SELECT run FROM runs)
),
logged AS (
    SELECT coalesce(e.run, c.run) AS run,
        arg_min(e.checkpoint, (coalesce(e.step, c.step), coalesce(e.attempt, c.attempt))) AS checkpoint
    FROM evals e LEFT JOIN checkpoints c USING (checkpoint)
    WHERE coalesce(e.step, c.step) IS NOT NULL AND e.score IS NOT NULL GROUP BY 1
)
SELECT n.run || '@start' AS checkpoint, n.run, $by AS upload_id,
    CASE WHEN n.start = $first THEN l.checkpoint ELSE n.start END AS parent,
    'what the run started from, by its run details' AS note
FROM named n LEFT JOIN logged l USING (run)
WHERE (n.start <> $first OR l.checkpoint IS NOT NULL)
    AND NOT EXISTS (FROM checkpoints o WHERE o.checkpoint = n.run || '@start')
"""


def _allocations(
    con: duckdb.DuckDBPyConnection, runs: list[str], held: Mapping[str, Mapping[int, Held]]
) -> None:
    """Derive what each attempt held; `held`: the jobs of attempts that have some, by run and attempt."""
    attempts = _records(con, "SELECT * FROM attempts WHERE run IN (SELECT unnest(?::VARCHAR[]))", runs)
    said = _records(con, _FILE_ALLOCATIONS, runs)
    settings = {
        row["run"]: (json.loads(row["details"]), row["origin"])
        for row in _records(
            con, "SELECT * FROM run_settings WHERE run IN (SELECT unnest(?::VARCHAR[]))", runs
        )
    }
    rows: list[dict[str, Any]] = []
    notes: dict[str, str] = {}
    for attempt in attempts:
        key = (attempt["run"], attempt["attempt"])
        mine = [row for row in said if (row["run"], row["attempt"]) == key]
        own = {row["pool"] for row in mine}
        mine += [
            r for r in said if (r["run"], r["attempt"]) == (key[0], EVERY_ATTEMPT) and r["pool"] not in own
        ]
        details, origin = settings.get(attempt["run"], ({}, ""))
        jobs = held.get(attempt["run"], {})
        if not mine and attempt["attempt"] in jobs:
            mine = _like_another(said, attempt)
        pools = _of_attempt(mine, details, origin)
        if attempt["attempt"] in jobs and agrees(pools, jobs):
            pools = of_jobs(pools, jobs[attempt["attempt"]])
        elif attempt["attempt"] in jobs and (said_so := disagreement(key[0], pools, jobs)):
            notes.setdefault(key[0], said_so)
        rows += [_timed(row, attempt) for row in pools]
    if rows:
        frame = pd.DataFrame(rows)
        frame["started_at"] = pd.to_datetime(frame["started_at"])
        frame["ended_at"] = pd.to_datetime(frame["ended_at"])
        merge(con, "allocations", frame)
    for run, note in notes.items():
        con.execute("INSERT INTO job_attempts (run, note) VALUES (?, ?)", [run, note])


def _like_another(said: list[dict[str, Any]], attempt: dict[str, Any]) -> list[dict[str, Any]]:
    """Pools of the latest attempt that a file gives some, without their times: a job names no pools."""
    mine = [row for row in said if row["run"] == attempt["run"]]
    latest = max((row["attempt"] for row in mine), default=None)
    times = dict.fromkeys(("started_at", "ended_at", "seconds"))
    pools = {
        row["pool"]: {**row, **times, "attempt": attempt["attempt"]}
        for row in mine
        if row["attempt"] == latest
    }
    return list(pools.values())


_FILE_ALLOCATIONS = """
SELECT run, attempt, pool, started_at, arg_max(role, seq) AS role, arg_max(platform, seq) AS platform,
    arg_max(gpus, seq) AS gpus, arg_max(cores, seq) AS cores, arg_max(ended_at, seq) AS ended_at,
    arg_max(seconds, seq) AS seconds, arg_max(price_id, seq) AS price_id
FROM allocation_sources WHERE run IN (SELECT unnest(?::VARCHAR[]))
GROUP BY run, attempt, pool, started_at
"""


def _of_attempt(said: list[dict[str, Any]], details: dict[str, Any], origin: str) -> list[dict[str, Any]]:
    """File allocations, or the pools of the run details; a pool known to both keeps the times of the file."""
    pools = details.get("pools") or []
    default = details.get("platform")
    if said and (not pools or origin != "run_details"):
        return [row | {"platform": row["platform"] or default, "source": "file"} for row in said]
    out: list[dict[str, Any]] = []
    for pool in pools:
        given = {k: pool.get(k) for k in ("pool", "role", "platform", "gpus", "cores", "price_id", "seconds")}
        given["platform"] = given["platform"] or default
        segments = [row for row in said if row["pool"] == pool["pool"]]
        if given["seconds"] is not None or not segments:
            out.append({"started_at": None, "ended_at": None, **given, "source": "user"})
        elif len(segments) == 1:
            times = {k: segments[0][k] for k in ("started_at", "ended_at", "seconds")}
            out.append({**given, **times, "source": "user"})
        else:
            out += [_over(row, given) for row in segments]
    return out


def _over(segment: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """A pool that changed its size over time keeps the sizes that the file tells."""
    kept = {k: segment[k] for k in ("pool", "started_at", "ended_at", "seconds")}
    size = {k: given[k] if segment[k] is None else segment[k] for k in ("gpus", "cores")}
    return {**kept, **size, **{k: given[k] for k in ("role", "platform", "price_id")}, "source": "user"}


def _timed(row: dict[str, Any], attempt: dict[str, Any]) -> dict[str, Any]:
    started, ended = row["started_at"], row["ended_at"]
    if started is not None and ended is not None:
        seconds, basis = (ended - started).total_seconds(), "clock"
    elif row["seconds"] is not None:
        seconds, basis = row["seconds"], "user"
    else:
        seconds, basis = attempt["elapsed_s"], attempt["elapsed_basis"]
    named = {"run": attempt["run"], "attempt": attempt["attempt"], "seconds": seconds, "seconds_basis": basis}
    return {**row, **named}


def _records(con: duckdb.DuckDBPyConnection, sql: str, runs: list[str]) -> list[dict[str, Any]]:
    result = con.execute(sql, [runs])
    names = [d[0] for d in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
