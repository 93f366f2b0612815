"""How the step rows of a file compare with those of stored attempts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pandas as pd
import pyarrow as pa

from data.merge import NUMERIC, differs
from data.readers.base import PROCESS_MARK, Batch
from data.sql import first
from data.tables import quote, types

STRONG = ("step_s", "elapsed_s", "tok_gen", "tok_total", "reward_mean", "len_mean", "throughput")
"""Measured quantities that two runs do not share by configuration."""
LOOSE = ("step_s", "tok_total", "tok_gen", "reward_mean", "len_mean")
LOOSE_RELATIVE, LOOSE_ABSOLUTE = 0.02, 1e-3
"""Two logs of one step differ by printing (three decimals) and by what the timer encloses."""
FINGERPRINT_ROWS = 3
PROCESS_STEPS, PROCESS_SLACK_S = 10, 600.0
"""Two processes of one run end the same step within so many of its durations, or within ten minutes."""


@dataclass(frozen=True)
class Evidence:
    """Steps that a file shares with one stored attempt.

    `overlap`: steps in the same kind of log; `compared` of them have a common value, `different` contradict.
    `other_overlap`, `other_far`: the same against other kinds of logs, with room for rounding; logs of two
    processes of one run measure different things, only their clocks can be far apart.
    """

    attempt: int
    overlap: int
    compared: int
    different: int
    other_overlap: int
    other_far: int


@contextmanager
def incoming(con: duckdb.DuckDBPyConnection, batch: Batch) -> Iterator[None]:
    """Temp tables `in_steps` and `in_raw`: the batch's rows under local names. A rollback drops them."""
    for name, table in (("in_steps", "steps"), ("in_raw", "metric_raw")):
        frame = batch.tables.get(table)
        kinds = types(table)
        given = set() if frame is None else set(frame.columns)
        listed = ", ".join(
            f"CAST({quote(c) if c in given else 'NULL'} AS {kind}) AS {quote(c)}" for c, kind in kinds.items()
        )
        if frame is None:
            con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {listed} WHERE false")
            continue
        con.register("in_frame", pa.Table.from_pandas(frame, preserve_index=False))
        con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {listed} FROM in_frame")
        con.unregister("in_frame")
    yield
    con.execute("DROP TABLE in_steps")
    con.execute("DROP TABLE in_raw")


def evidence(
    con: duckdb.DuckDBPyConnection, batch: Batch, local: str, number: int, run: str
) -> list[Evidence]:
    """One entry for each stored attempt of `run`; needs the tables of `incoming`."""
    if first(con, "SELECT 1 FROM attempt_sources WHERE run = ? LIMIT 1", [run]) is None:
        return []
    rows = con.execute(
        _evidence_sql(_given(batch)), {"run": run, "local": local, "number": number, "format": batch.format}
    ).fetchall()
    return [Evidence(*row) for row in rows]


def _given(batch: Batch) -> list[str]:
    """Columns of steps that the file fills: only these can be compared with what is stored."""
    frame = batch.tables.get("steps")
    return [] if frame is None else [c for c in types("steps") if c in frame and frame[c].notna().any()]


_TWO_PROCESSES = (
    f"(s.source <> i.source AND contains(s.source, '{PROCESS_MARK}') AND "
    f"split_part(s.source, '{PROCESS_MARK}', 1) = split_part(i.source, '{PROCESS_MARK}', 1))"
)
_CLOCKS_APART = (
    "abs(epoch(i.ts) - epoch(s.ts)) > "
    f"greatest({PROCESS_SLACK_S}, {PROCESS_STEPS} * coalesce(greatest(i.step_s, s.step_s), 0))"
)


def _pairs_sql(given: Sequence[str]) -> str:
    """Steps of the file beside the same steps of stored attempts."""
    kinds = types("steps")
    numbers = [c for c in given if kinds[c] in NUMERIC and c not in ("attempt", "step")]
    loose = [c for c in LOOSE if c in given]
    both = _any(f"(i.{quote(c)} IS NOT NULL AND s.{quote(c)} IS NOT NULL)" for c in numbers)
    clash = _any(differs(c, kinds[c]) for c in numbers)
    loose_both = _any(f"(i.{c} IS NOT NULL AND s.{c} IS NOT NULL)" for c in loose)
    far = _any(
        f"abs(i.{c} - s.{c}) > {LOOSE_RELATIVE} * greatest(abs(i.{c}), abs(s.{c})) + {LOOSE_ABSOLUTE}"
        for c in loose
    )
    return f"""
            SELECT s.attempt, s.step, s.source = i.source AS same, {both} AS compared,
                coalesce({clash}, false) AS clash,
                {_TWO_PROCESSES} OR {loose_both} AS loose,
                coalesce(CASE WHEN {_TWO_PROCESSES} THEN {_CLOCKS_APART} ELSE {far} END, false) AS far
            FROM in_steps i JOIN steps s ON s.run = $run AND s.step = i.step
            WHERE i.run = $local AND i.attempt = $number
            """


def _evidence_sql(given: Sequence[str]) -> str:
    return f"""
        WITH stored AS (SELECT DISTINCT attempt FROM attempt_sources WHERE run = $run),
        pairs AS ({_pairs_sql(given)}),
        raw AS (
            SELECT s.attempt, s.step, {differs("value", "DOUBLE")} AS clash
            FROM in_raw i JOIN metric_raw s ON s.run = $run AND s.key = i.key
                AND s.step IS NOT DISTINCT FROM i.step AND s.x_name IS NOT DISTINCT FROM i.x_name
                AND s.x IS NOT DISTINCT FROM i.x
            WHERE i.run = $local AND i.attempt = $number
                AND s.upload_id IN (SELECT upload_id FROM uploads WHERE format = $format)
        ),
        steps_seen AS (
            SELECT attempt, step, true AS overlap, compared, clash FROM pairs WHERE same
            UNION ALL SELECT attempt, step, true, clash IS NOT NULL, coalesce(clash, false) FROM raw
        ),
        same_log AS (
            SELECT attempt, count(DISTINCT n) AS overlap, count(DISTINCT n) FILTER (compared) AS compared,
                count(DISTINCT n) FILTER (clash) AS different
            FROM (SELECT *, coalesce(step, -1) AS n FROM steps_seen) GROUP BY attempt
        ),
        other_log AS (
            SELECT attempt, count(*) FILTER (loose) AS overlap, count(*) FILTER (far) AS far
            FROM pairs WHERE NOT same GROUP BY attempt
        )
        SELECT attempt, coalesce(s.overlap, 0), coalesce(compared, 0), coalesce(different, 0),
            coalesce(o.overlap, 0), coalesce(far, 0)
        FROM stored LEFT JOIN same_log s USING (attempt) LEFT JOIN other_log o USING (attempt)
        ORDER BY attempt
        """


def fingerprint(con: duckdb.DuckDBPyConnection, batch: Batch, local: str) -> str | None:
    """The run with an attempt whose overlapping step rows equal the file's: at least three, or all it has."""
    kinds, given = types("steps"), _given(batch)
    compare = [c for c in given if (kinds[c] in NUMERIC and c not in ("attempt", "step")) or c == "ts"]
    strong = _any(f"(i.{c} IS NOT NULL AND s.{c} IS NOT NULL)" for c in STRONG if c in given)
    clash = _any(differs(c, kinds[c]) for c in compare)
    row = first(
        con,
        f"""
        WITH mine AS (SELECT * FROM in_steps WHERE run = $local),
        raw_mine AS (SELECT * FROM in_raw WHERE run = $local AND step IS NOT NULL AND value <> round(value)),
        sizes AS (
            SELECT attempt, count(DISTINCT step) AS n FROM
                (SELECT attempt, step FROM mine UNION ALL SELECT attempt, step FROM raw_mine) GROUP BY attempt
        ),
        seen AS (
            SELECT i.attempt AS mine, s.run, s.attempt, s.step, {strong} AS strong,
                coalesce({clash}, false) AS clash
            FROM mine i JOIN steps s ON s.step = i.step AND s.source = i.source
            UNION ALL
            SELECT i.attempt, s.run, s.attempt, s.step, true, coalesce({differs("value", "DOUBLE")}, false)
            FROM raw_mine i JOIN metric_raw s ON s.key = i.key AND s.step = i.step
                AND s.x_name IS NOT DISTINCT FROM i.x_name AND s.x IS NOT DISTINCT FROM i.x
            WHERE s.upload_id IN (SELECT upload_id FROM uploads WHERE format = $format)
        )
        SELECT seen.run FROM seen JOIN sizes ON sizes.attempt = seen.mine
        GROUP BY seen.run, seen.attempt, seen.mine
        HAVING NOT bool_or(clash)
            AND count(DISTINCT step) FILTER (strong) >= least({FINGERPRINT_ROWS}, any_value(sizes.n))
        ORDER BY count(DISTINCT step) DESC, seen.run LIMIT 1
        """,
        {"local": local, "format": batch.format},
    )
    return str(row[0]) if row else None


def partner(con: duckdb.DuckDBPyConnection, local: str) -> str | None:
    """The only run whose other process ended the same steps (three, or all of the file) at the same time."""
    rows = con.execute(
        f"""
        WITH mine AS (SELECT * FROM in_steps WHERE run = $local AND ts IS NOT NULL),
        pairs AS (
            SELECT s.run, s.step, {_CLOCKS_APART} AS far FROM mine i JOIN steps s USING (step)
            WHERE s.ts IS NOT NULL AND {_TWO_PROCESSES}
        )
        SELECT run FROM pairs GROUP BY run
        HAVING count(DISTINCT step) >= least({FINGERPRINT_ROWS}, (SELECT count(DISTINCT step) FROM mine))
            AND NOT bool_or(far)
            AND run NOT IN (SELECT s.run FROM steps s JOIN mine i ON s.source = i.source)
        ORDER BY run
        """,
        {"local": local},
    ).fetchall()
    return str(rows[0][0]) if len(rows) == 1 else None


def clock_goes_on(
    con: duckdb.DuckDBPyConnection, local: str, number: int, run: str, attempt: int, clocks: Sequence[str]
) -> bool:
    """True unless one of `clocks` runs backwards where the file's steps meet the stored ones."""
    frame = con.execute(
        """
        SELECT true AS new, step, elapsed_s, ts FROM in_steps WHERE run = $local AND attempt = $number
        UNION ALL SELECT false, step, max(elapsed_s), max(ts) FROM steps
            WHERE run = $run AND attempt = $attempt GROUP BY step
        ORDER BY step
        """,
        {"local": local, "number": number, "run": run, "attempt": attempt},
    ).df()
    return all(_backward(frame, c) <= _within(frame, c) for c in clocks)


def _within(frame: pd.DataFrame, column: str) -> int:
    return _backward(frame[frame["new"]], column) + _backward(frame[~frame["new"]], column)


def _backward(frame: pd.DataFrame, column: str) -> int:
    known = frame[column].dropna().to_numpy()
    return int((known[1:] < known[:-1]).sum())


def _any(conditions: Iterator[str]) -> str:
    return "(" + (" OR ".join(conditions) or "false") + ")"
