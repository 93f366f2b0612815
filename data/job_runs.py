"""Which run a scheduler job was, where no file and no person says so: by the names of jobs and runs."""

from collections.abc import Sequence

import duckdb
import pandas as pd

from data.arrival.names import GENERIC
from data.view import View

FILE = "file"
BY_NAME, BY_COMMENT, BY_OUTPUT = "name", "comment", "output file"
_SLACK_H, _SLACK_STEPS_H = 24, 168
"""sacct writes local time: clocks a day or less apart may be the same time in another zone. Where only stamps
of steps are known, jobs that failed before the first one may be older: a week."""

_SHOWN = 5

_TIED = """
SELECT upload_id = $upload AS own, run, run_by, count(*) AS jobs FROM scheduler_jobs
 WHERE upload_id = $upload OR list_contains($runs::VARCHAR[], run)
 GROUP BY own, run, run_by ORDER BY jobs DESC, run, run_by
"""

_MATCH = f"""
WITH open AS (
    SELECT rowid AS id, job_id, name, comment, upload_id, started_at,
        coalesce(ended_at, started_at + to_microseconds((elapsed_s * 1e6)::BIGINT)) AS ended_at
    FROM scheduler_jobs WHERE run IS NULL OR run_by IN ($by_name, $by_comment, $by_output)
),
spans AS (
    SELECT run,
        CASE WHEN count(*) = count(first) THEN min(first) - to_hours(max(slack_h)) END AS first,
        CASE WHEN count(*) = count(last) THEN max(last) + to_hours(max(slack_h)) END AS last
    FROM (
        SELECT run, attempt, min(first) AS first, max(last) AS last, max(slack_h) AS slack_h FROM (
            SELECT run, attempt, started_at AS first,
                coalesce(ended_at, started_at + to_microseconds((elapsed_s * 1e6)::BIGINT)) AS last,
                CASE elapsed_basis WHEN 'log_clock' THEN {_SLACK_STEPS_H} ELSE {_SLACK_H} END AS slack_h
            FROM attempts
            UNION ALL SELECT run, attempt, started_at, ended_at, {_SLACK_H} FROM allocations
        ) GROUP BY run, attempt
    ) GROUP BY run
),
named AS (
    SELECT run, synthetic, first, last FROM runs LEFT JOIN spans USING (run)
    WHERE lower(run) NOT IN (SELECT unnest($generic::VARCHAR[]))
),
found AS (
    SELECT o.id, n.run, $by_name AS how, 1 AS rank FROM open o JOIN named n ON n.run = trim(o.name)
    UNION ALL
    SELECT o.id, n.run, $by_comment, 2 FROM open o JOIN named n ON n.run = trim(o.comment)
    UNION ALL
    SELECT o.id, n.run, $by_output, 3 FROM open o
    JOIN named n ON n.run = 'slurm-' || regexp_replace(o.job_id, '#[0-9]+$', '')
),
fitting AS (
    SELECT f.id, arg_min(f.run, f.rank) AS run, arg_min(f.how, f.rank) AS how
    FROM found f JOIN open o USING (id) JOIN named n USING (run) LEFT JOIN uploads u USING (upload_id)
    WHERE coalesce(u.synthetic = n.synthetic, true)
        AND coalesce(o.started_at <= n.last, true) AND coalesce(o.ended_at >= n.first, true)
    GROUP BY f.id
)
UPDATE scheduler_jobs j SET run = m.run, run_by = m.how
FROM (SELECT o.id, f.run, f.how FROM open o LEFT JOIN fitting f USING (id)) m
WHERE j.rowid = m.id AND (j.run IS DISTINCT FROM m.run OR j.run_by IS DISTINCT FROM m.how)
"""


def name_jobs(con: duckdb.DuckDBPyConnection) -> None:
    """Fill `run` and `run_by` of jobs that have a run's name or comment, or whose output file is its log.

    Slurm calls the output of job 123 `slurm-123.out`, and a log of that name is run `slurm-123`. A job more
    than a day before or after the run is another one, general names say nothing, and what a file or a person
    says stays. Always derived anew, so a run that comes later, or goes, changes its jobs.
    """
    if not con.execute("SELECT 1 FROM scheduler_jobs LIMIT 1").fetchall():
        return
    told = {"by_name": BY_NAME, "by_comment": BY_COMMENT, "by_output": BY_OUTPUT}
    con.execute(_MATCH, {**told, "generic": sorted(GENERIC)})


def tied(con: duckdb.DuckDBPyConnection, upload_id: str, runs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Sentences: which jobs of this upload, and of others that belong to its runs, are tied to which runs;
    and how many jobs of this upload are tied to none.
    """
    found = con.execute(_TIED, {"upload": upload_id, "runs": list(runs)}).fetchall()
    said, loose = [], []
    for mine in (True, False):
        here = [(run, how, jobs) for own, run, how, jobs in found if own is mine]
        known = [(run, how, jobs) for run, how, jobs in here if run is not None]
        total, sure = (sum(jobs for *_, jobs in rows) for rows in (here, known))
        named = _some([f"{run} ({jobs} by {how})" for run, how, jobs in known])
        if known and mine:
            said.append(
                f"Scheduler jobs of this file, new or changed: {sure} of {total} tied to runs, {named}. "
                f"{_CLOCK}"
            )
        elif known:
            said.append(
                f"Scheduler jobs loaded before and tied to runs of this file: {sure}, {named}. {_CLOCK}"
            )
        if mine and total and not known:
            loose.append(f"None of the {total} scheduler jobs in this file is tied to a run: {_UNTIED}.")
        elif mine and total > sure:
            loose.append(f"{total - sure} of {total} scheduler jobs are tied to no run: {_UNTIED}.")
    return said, loose


def job_ties(view: View, upload_id: str, runs: Sequence[str]) -> tuple[list[str], list[str]]:
    """What `tied` says of an upload now: on jobs tied to runs, and on those tied to none."""
    return tied(view.cursor, upload_id, runs)


_CLOCK = "Their clocks, ends and GPUs count as attempts."
_UNTIED = "no run has their name, comment or log file at that time"


def _some(named: Sequence[str]) -> str:
    rest = len(named) - _SHOWN
    return ", ".join(named[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def said_by_file(jobs: pd.DataFrame) -> pd.DataFrame:
    """Jobs of a file, those with a run marked as told by it."""
    if "run" not in jobs:
        return jobs
    told = pd.Series(FILE, jobs.index, dtype=object)
    return jobs.assign(run_by=told.where(jobs["run"].notna(), None))
