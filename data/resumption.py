"""Where attempts resumed: what a person said, else what the numbers of their logged steps say.

An attempt whose first logged step is k > 1 did not start from nothing: it stands on step k - 1 of the latest
attempt before it that had come so far. That is an inference, so it is kept apart from what files and people
say (ASSUMED).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb

from data.errors import UserError

if TYPE_CHECKING:
    from data.store import Store

ASSUMED = """
coalesce(t.resumed_from_step, t.resumed_from_attempt) IS NOT NULL
    AND NOT EXISTS (FROM attempt_sources s WHERE s.run = t.run AND s.attempt = t.attempt
        AND coalesce(s.resumed_from_step, s.resumed_from_attempt) IS NOT NULL)
    AND NOT EXISTS (FROM job_attempts j WHERE j.run = t.run AND j.attempt = t.attempt
        AND j.split_from IS NOT NULL)
    AND NOT EXISTS (FROM run_settings d WHERE d.run = t.run
        AND json_extract_string(d.details, '$.resumed."' || t.attempt || '"') IS NOT NULL)
"""
"""SQL condition on a row `t` of attempts: its resumption is inferred, nobody said it."""

_PLACED = """
WITH dated AS (
    SELECT run, attempt, started_at, bool_and(started_at IS NOT NULL) OVER (PARTITION BY run) AS clocks
    FROM attempts WHERE run IN (SELECT unnest($runs::VARCHAR[]))
),
logged AS (
    SELECT run, attempt, min(step) AS first_step, max(step) AS last_step FROM steps
    WHERE run IN (SELECT unnest($runs::VARCHAR[])) GROUP BY ALL
),
placed AS (
    SELECT d.run, d.attempt, l.first_step, l.last_step, row_number() OVER (
        PARTITION BY d.run ORDER BY CASE WHEN clocks THEN started_at END, d.attempt) AS place
    FROM dated d LEFT JOIN logged l USING (run, attempt)
)
"""

_SAID = f"""
UPDATE attempts t SET resumed_from_step = f.step, resumed_from_attempt = f.parent FROM (
    {_PLACED},
    told AS (
        SELECT p.*, CAST(json_extract_string(d.details, '$.resumed."' || p.attempt || '"') AS BIGINT) AS step
        FROM placed p JOIN run_settings d USING (run)
    )
    SELECT c.run, c.attempt, any_value(c.step) AS step,
        arg_max(b.attempt,
            (coalesce(c.step BETWEEN b.first_step AND b.last_step, false)::INT, b.place)) AS parent
    FROM told c LEFT JOIN placed b ON b.run = c.run AND b.place < c.place
    WHERE c.step IS NOT NULL GROUP BY c.run, c.attempt
) f WHERE t.run = f.run AND t.attempt = f.attempt
"""

_INFERRED = f"""
UPDATE attempts t SET resumed_from_step = f.step, resumed_from_attempt = f.parent FROM (
    {_PLACED}
    SELECT c.run, c.attempt, any_value(c.first_step) - 1 AS step,
        arg_max(b.attempt, ((b.last_step >= c.first_step - 1)::INT, b.place)) AS parent
    FROM placed c JOIN placed b ON b.run = c.run AND b.place < c.place AND b.first_step < c.first_step
    WHERE c.first_step > 1 GROUP BY c.run, c.attempt
) f WHERE t.run = f.run AND t.attempt = f.attempt
    AND t.resumed_from_step IS NULL AND t.resumed_from_attempt IS NULL
"""


def forget(con: duckdb.DuckDBPyConnection) -> None:
    """Take every inferred resumption back, so that what follows is inferred anew from all that is known."""
    con.execute(
        f"UPDATE attempts t SET resumed_from_step = NULL, resumed_from_attempt = NULL WHERE {ASSUMED}"
    )


def settle(con: duckdb.DuckDBPyConnection) -> None:
    """Give attempts the step that a person said they resumed from, else the one before their first step.

    A said step 0 is a start from nothing. Attempts follow each other by start where each of the run has one,
    else by number; the latest that reached the step is the one resumed from.
    """
    runs: dict[str, Any] = {"runs": _runs(con)}
    if runs["runs"]:
        con.execute(_SAID, runs)
        con.execute(_INFERRED, runs)


def _runs(con: duckdb.DuckDBPyConnection) -> Sequence[str]:
    """Runs with more than one attempt."""
    rows = con.execute("SELECT run FROM attempts GROUP BY run HAVING count(*) > 1 ORDER BY run").fetchall()
    return [str(run) for (run,) in rows]


def check_resumed(store: "Store", run: str, resumed: Mapping[int, int]) -> None:
    """Raise UserError for an attempt that is said to resume from a step that it did itself."""
    with store.view() as view:
        rows = view.rows("SELECT attempt, min(step) FROM steps WHERE run = ? GROUP BY attempt", [run])
    begins = {int(attempt): int(first) for attempt, first in rows}
    for attempt, step in resumed.items():
        first = begins.get(attempt)
        if first is not None and step >= first > 0:
            raise UserError(
                f"Attempt {attempt} cannot have resumed from step {step}: its log begins at step {first}",
                f"run details of {run}",
                f"Give a step below {first}, 0 for a start from nothing, or leave it empty.",
            )
