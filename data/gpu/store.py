"""GPU samples into Parquet parts and roll-ups; what overlaps stored samples is merged, not counted twice."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import duckdb

from data.durable import flush
from data.gpu.parts import samples_sql
from data.gpu.rolled import Part, Rolled
from data.gpu.rollup import (
    HOLD_MEDIANS,
    MEASURES,
    MINUTE_US,
    NOT_ROLLED_UP,
    coverage_sql,
    minutes_of_wide_sql,
    wide_sql,
    with_gaps_sql,
)
from data.merge import differs
from data.readers.base import Progress
from data.sql import first, number
from data.tables import types

SPARE_US = 1000
"""Seconds known by samples may miss the span of a GPU by rounding; more than this is unknown time."""


def add_samples(
    con: duckdb.DuckDBPyConnection,
    parts: Path,
    files: Sequence[Path],
    upload_id: str,
    notes: list[str],
    progress: Progress,
    rolled: Rolled | None = None,
) -> dict[str, int]:
    """Take over scratch parts (columns of `gpu_samples`) in the caller's transaction; rows added by table.

    A sample is its GPU and stamp. Of a stamp that is stored already the stored values stay and empty ones are
    filled. Parts of a GPU that gets more samples are rewritten as one, because the seconds that a sample
    stands for depend on its neighbours. A part without a committed row in `gpu_parts` is invisible and swept
    later; the parts reach the disk while their sums are stored. `rolled`: what the reader knows of the files.
    """
    if rolled is None or list(files) != list(rolled.parts):
        rolled = None
        files = [f for f in files if number(con, f"SELECT count(*) FROM {samples_sql([f])}")]
    if not files:
        return {}
    progress("samples", 0, None)
    whole = rolled.whole if rolled else _describe(con, samples_sql(files))
    old = con.execute(
        "SELECT part_id, file, rows FROM gpu_parts WHERE list_has_any(gpu_ids, ?::VARCHAR[])",
        [whole.gpu_ids],
    ).fetchall()
    if old:
        placed = [_combined(con, parts, [parts / name for _, name, _ in old], files, notes)]
        whole, rolled = _describe(con, samples_sql(placed)), None
        _forget(con, [part for part, *_ in old], whole.gpu_ids)
    else:
        placed = [_take(con, parts, path) for path in files]
    for path, part in zip(placed, _kept(con, placed, whole, rolled), strict=True):
        _list_part(con, path, upload_id, part)
    progress("samples", whole.rows, whole.rows)
    return {"gpu_samples": whole.rows - sum(rows for *_, rows in old)}


def _kept(
    con: duckdb.DuckDBPyConnection, placed: Sequence[Path], whole: Part, rolled: Rolled | None
) -> list[Part]:
    """As `_summed`, once the parts are on the disk too."""
    with ThreadPoolExecutor(len(placed)) as pool:
        on_disk = [pool.submit(flush, path) for path in placed]
        found = _summed(con, placed, whole, rolled)
        for one in on_disk:
            one.result()
    return found


def _summed(
    con: duckdb.DuckDBPyConnection, placed: Sequence[Path], whole: Part, rolled: Rolled | None
) -> list[Part]:
    """Store the sums by minute of new parts; what each of them holds."""
    if rolled:
        _store_sums(con, rolled)
        return list(rolled.parts.values())
    _roll_up(con, samples_sql(placed), whole)
    return [_describe(con, samples_sql([path])) for path in placed] if len(placed) > 1 else [whole]


def _forget(con: duckdb.DuckDBPyConnection, part_ids: list[str], gpu_ids: list[str]) -> None:
    con.execute("DELETE FROM gpu_parts WHERE part_id IN (SELECT unnest(?::VARCHAR[]))", [part_ids])
    for table in ("gpu_minutes", "gpu_coverage"):
        con.execute(f"DELETE FROM {table} WHERE gpu_id IN (SELECT unnest(?::VARCHAR[]))", [gpu_ids])


def _store_sums(con: duckdb.DuckDBPyConnection, rolled: Rolled) -> None:
    con.register("rolled_wide", rolled.sums.wide(rolled.gpu_ids))
    con.register("rolled_holes", rolled.sums.holes_table(rolled.gpu_ids))
    try:
        unknown = coverage_sql("rolled_holes") if rolled.whole.has_gaps else ""
        _store_wide(con, "rolled_wide", rolled.whole.measures, unknown)
    finally:
        con.unregister("rolled_wide")
        con.unregister("rolled_holes")


def _roll_up(con: duckdb.DuckDBPyConnection, relation: str, part: Part) -> None:
    con.execute(f"CREATE OR REPLACE TEMP TABLE wide AS {wide_sql(relation, part.measures, full=part.full)}")
    _store_wide(con, "wide", part.measures, coverage_sql(with_gaps_sql(relation)) if part.has_gaps else "")
    con.execute("DROP TABLE wide")


def _store_wide(con: duckdb.DuckDBPyConnection, wide: str, measures: Sequence[str], gaps: str) -> None:
    """Rows of gpu_minutes, and of gpu_coverage with the unknown seconds of `gaps` (SQL, may be empty)."""
    if set(measures) - NOT_ROLLED_UP:
        con.execute(f"INSERT INTO gpu_minutes BY NAME {minutes_of_wide_sql(wide, measures)}")
    known = (
        f"SELECT gpu_id, make_timestamp(m * {MINUTE_US}) AS minute, k AS known_s, 0 AS unknown_s FROM {wide}"
    )
    if gaps:
        known = (
            f"SELECT gpu_id, minute, sum(known_s) AS known_s, sum(unknown_s) AS unknown_s FROM ({known} "
            f"UNION ALL SELECT gpu_id, minute, 0, unknown_s FROM ({gaps})) GROUP BY gpu_id, minute"
        )
    con.execute(f"INSERT INTO gpu_coverage BY NAME {known}")


def _describe(con: duckdb.DuckDBPyConnection, relation: str) -> Part:
    counts = ", ".join(f"sum(n_{m})" for m in MEASURES)
    by_gpu = ", ".join(f"count({m}) AS n_{m}" for m in MEASURES)
    row = first(
        con,
        f"""
        SELECT sum(n)::BIGINT, list(gpu_id ORDER BY gpu_id), min(first), max(last),
            bool_or(epoch_us(last) - epoch_us(first) - known_s * 1e6 > {SPARE_US}), {counts}
        FROM (
            SELECT gpu_id, count(*) AS n, min(ts) AS first, max(ts) AS last, sum(dt_s) AS known_s, {by_gpu}
            FROM {relation} GROUP BY gpu_id
        )
        """,
    )
    if row is None:
        raise RuntimeError("an aggregate returned no row")
    found = tuple(m for m, n in zip(MEASURES, row[5:], strict=True) if n)
    full = tuple(m for m, n in zip(MEASURES, row[5:], strict=True) if n == row[0])
    return Part(int(row[0]), list(row[1]), row[2], row[3], bool(row[4]), found, full)


def _take(con: duckdb.DuckDBPyConnection, parts: Path, path: Path) -> Path:
    """Move a scratch part to its place, rewritten when a column is of another type."""
    target = parts / f"{uuid4().hex}.parquet"
    described = con.execute(f"DESCRIBE SELECT * FROM read_parquet({_text(str(path))})").fetchall()
    has, known = {str(row[0]): str(row[1]) for row in described}, types("gpu_samples")
    if has.items() <= known.items() and {"gpu_id", "ts", "dt_s"} <= has.keys():
        return path.replace(target)
    listed = ", ".join(f"{name if name in has else 'NULL'}::{kind} AS {name}" for name, kind in known.items())
    return _copy(con, f"SELECT {listed} FROM read_parquet({_text(str(path))})", target)


def _combined(
    con: duckdb.DuckDBPyConnection,
    parts: Path,
    stored: Sequence[Path],
    fresh: Sequence[Path],
    notes: list[str],
) -> Path:
    named = ", ".join(f"any_value({m}) AS {m}" for m in MEASURES)
    once = f"(SELECT gpu_id, ts, {named} FROM {samples_sql(fresh)} GROUP BY gpu_id, ts)"
    kinds = types("gpu_samples")
    clash = " OR ".join(differs(m, kinds[m]) for m in MEASURES)
    contradict = number(
        con, f"SELECT count(*) FROM {once} i JOIN {samples_sql(stored)} s USING (gpu_id, ts) WHERE {clash}"
    )
    if contradict:
        notes.append(f"{contradict} GPU samples were there with other values and were kept as they are.")
    filled = ", ".join(f"coalesce(s.{m}, i.{m}) AS {m}" for m in MEASURES)
    listed = ", ".join(MEASURES)
    return _copy(
        con,
        f"""
        WITH merged AS (
            SELECT s.gpu_id, s.ts, {filled} FROM {samples_sql(stored)} s LEFT JOIN {once} i USING (gpu_id, ts)
            UNION ALL
            SELECT i.gpu_id, i.ts, {listed} FROM {once} i ANTI JOIN {samples_sql(stored)} s USING (gpu_id, ts)
        ),
        spaced AS (
            SELECT *, epoch_us(lead(ts) OVER (PARTITION BY gpu_id ORDER BY ts)) - epoch_us(ts) AS gap_us
            FROM merged
        ),
        caps AS (SELECT gpu_id, {HOLD_MEDIANS} * median(gap_us) AS cap_us FROM spaced GROUP BY gpu_id)
        SELECT gpu_id, ts, if(gap_us IS NULL, 0, least(gap_us, cap_us)) / 1e6 AS dt_s, {listed}
        FROM spaced JOIN caps USING (gpu_id)
        """,
        parts / f"{uuid4().hex}.parquet",
    )


def _list_part(con: duckdb.DuckDBPyConnection, path: Path, upload_id: str, part: Part) -> None:
    con.execute(
        "INSERT INTO gpu_parts (part_id, file, upload_id, rows, gpu_ids, ts_min, ts_max) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        [path.stem, path.name, upload_id, part.rows, part.gpu_ids, part.first, part.last],
    )


def _copy(con: duckdb.DuckDBPyConnection, select: str, target: Path) -> Path:
    partial = target.with_suffix(".part")
    con.execute(f"COPY ({select}) TO {_text(str(partial))} (FORMAT parquet, COMPRESSION zstd)")
    return partial.replace(target)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
