"""A batch into the database: names, rows, provenance, derived tables, receipt, in one transaction."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from data.attempt_match import incoming
from data.catalogue import load_catalogue
from data.checkpoints import name_checkpoints
from data.derive import EVERY_ATTEMPT, derive
from data.gpu.claims import contradicted
from data.gpu.machine import keep_apart
from data.gpu.platform import name_platforms
from data.gpu.store import add_samples
from data.identity import Identity, apply, identify
from data.job_fold import job_notes, unsplit
from data.job_runs import tied
from data.join import Join, name_run, propose, set_free
from data.load_records import ROW_TABLES, add_links, add_proposals, add_set_aside, add_upload
from data.merge import Policy, merge
from data.money.cost_tags import book_by_tags
from data.money.equal_lines import equal_lines
from data.money.equal_lines import said as equal_lines_said
from data.readers.base import Batch, Choices, Progress, no_progress
from data.receipt import Receipt, describe
from data.run_details import apply_choices, missing
from data.sql import first
from data.sql import number as sql_number
from data.tables import columns
from data.upload import Upload

DERIVED = ("campaigns", "runs", "attempts", "allocations")
LAST_WINS = frozenset({"gpus", "scheduler_jobs"})
"""A later export of these knows more: a job ends, a GPU moves to another run."""


def write(
    con: duckdb.DuckDBPyConnection,
    parts: Path,
    upload: Upload,
    progress: Progress = no_progress,
    *,
    join: Join | None = None,
    ask: bool = False,
) -> Receipt:
    """Store an upload and return its receipt; UserError when the person's choices do not fit the file.

    `join` ties it to a run whatever its name says. `ask`: a file that names no run may be joined to the only
    one that fits; the receipt's `joins` then say so (`by` is clock or folder).
    """
    batch, choices = upload.batch, upload.choices
    batch.reconcile()
    _known_tables(batch)
    receipt = describe(upload.source, upload.sniff, batch, choices)
    stamp = {"upload_id": receipt.upload_id, "seq": _next_seq(con)}
    _fill_source(batch)
    notes: list[str] = []
    met = keep_apart(con, parts, batch, upload.source.name, choices, notes)
    if join is None and ask:
        join = propose(con, batch, upload.source.name, choices)
    if join is not None:
        choices = _tie(batch, upload, join, choices)
    unsplit(con)
    with incoming(con, batch):
        identity = identify(con, batch, upload.source.name, choices, join)
    last_steps = _last_steps(batch)
    apply(con, batch, identity, choices, join)
    name_checkpoints(con, batch)
    runs = _runs(identity, choices)
    newest = _knows_most(con, identity, last_steps)
    notes += [*identity.notes, *name_platforms(batch, load_catalogue()), *book_by_tags(con, batch)]
    written = _sources(con, batch, identity, choices, stamp, last_steps)
    written |= _rows(con, batch, receipt.upload_id, newest, identity.explicit, notes, progress)
    notes += equal_lines_said(equal := equal_lines(con, batch.tables.get("costs"), receipt.upload_id))
    written |= add_samples(con, parts, batch.gpu_parts, receipt.upload_id, notes, progress, batch.gpu_rollup)
    apply_choices(con, runs, choices)
    return _finish(con, upload, receipt.with_(equal_lines=equal), identity, runs, written, notes, met)


def _finish(
    con: duckdb.DuckDBPyConnection,
    upload: Upload,
    receipt: Receipt,
    identity: Identity,
    runs: list[str],
    written: dict[str, int],
    notes: list[str],
    met: Sequence[str],
) -> Receipt:
    """Derive what depends on the stored rows, and keep what is said about the upload."""
    batch, upload_id = upload.batch, receipt.upload_id
    add_proposals(con, batch, upload_id)
    derive(con, runs)
    notes.extend(contradicted(_reader(con), runs).values())
    notes.extend(_no_clock(con, identity, receipt.warnings))
    notes.extend(job_notes(con, upload_id, runs))
    known, loose = tied(con, upload_id, runs)
    receipt = receipt.with_(tied=tuple(known), untied=tuple(loose))
    add_set_aside(con, batch, upload_id)
    add_links(con, batch, runs, upload_id, met)
    receipt = _told(con, receipt, identity, runs, written, notes)
    add_upload(con, upload, receipt)
    con.execute(TELEMETRY_END)
    return receipt


def _tie(batch: Batch, upload: Upload, join: Join, choices: Choices) -> Choices:
    """Give the batch the run of the join, or none; the choices with what the join says."""
    if join.run is None:
        set_free(batch, upload.source.name)
    else:
        name_run(batch, join.run)
    return join.choices(choices)


def _told(
    con: duckdb.DuckDBPyConnection,
    receipt: Receipt,
    identity: Identity,
    runs: Sequence[str],
    written: dict[str, int],
    notes: Sequence[str],
) -> Receipt:
    return receipt.with_(
        runs=tuple(runs),
        joins=tuple(identity.joins),
        rows_written={k: n for k, n in written.items() if n},
        warnings=(*receipt.warnings, *notes),
        missing_for_cost=tuple(asdict(m) for run in runs for m in missing(_reader(con), run)),
    )


TELEMETRY_END = """
DELETE FROM meta WHERE key = 'telemetry_end';
INSERT INTO meta SELECT 'telemetry_end', coalesce(max(t), (SELECT max(charge_end) FROM costs))::VARCHAR FROM (
    SELECT max(ts) AS t FROM steps UNION ALL SELECT max(ended_at) FROM attempts
    UNION ALL SELECT max(ts_max) FROM gpu_parts UNION ALL SELECT max("at") FROM evals
    UNION ALL SELECT max(started_at) FROM env_events UNION ALL SELECT max(ended_at) FROM scheduler_jobs
) HAVING coalesce(max(t), (SELECT max(charge_end) FROM costs)) IS NOT NULL
"""
"""Keeps in `meta` the newest stamp of any telemetry, or none where no row carries one.

The end of a charge is the end of a day or month that is paid for, perhaps one to come; it says nothing about
what was measured, so it counts only in a home that holds nothing but bills.
"""


def _known_tables(batch: Batch) -> None:
    unknown = set(batch.tables) - set(ROW_TABLES) - set(DERIVED)
    if unknown:
        raise RuntimeError(f"{batch.format}: no table is called {sorted(unknown)}")
    batch.tables = {name: frame for name, frame in batch.tables.items() if len(frame)}


def _fill_source(batch: Batch) -> None:
    steps = batch.tables.get("steps")
    if steps is None:
        return
    if "source" not in steps:
        batch.tables["steps"] = steps.assign(source=batch.format)
    else:
        batch.tables["steps"] = steps.assign(source=steps["source"].fillna(batch.format))
    if batch.clock_from_stamps and "elapsed_s" in steps:
        batch.tables["steps"] = batch.tables["steps"].drop(columns=["elapsed_s"])


def _no_clock(con: duckdb.DuckDBPyConnection, identity: Identity, said: Sequence[str]) -> list[str]:
    """What the time of attempts misses that is a sum of step times; nothing where the reader has said it."""
    if any("start-up" in text for text in said):
        return []
    found = []
    for run, attempt in dict.fromkeys((identity.runs[r], n) for (r, _), n in identity.attempts.items()):
        row = first(con, "SELECT elapsed_basis FROM attempts WHERE run = ? AND attempt = ?", [run, attempt])
        if row and row[0] == "step_sum":
            found.append(f"attempt {attempt} of {run}")
    if not found:
        return []
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return [
        f"No file has a clock of {', '.join(found[:3])}{more}: its time is the sum of step times, without "
        "start-up, gaps between steps and restarts."
    ]


def _next_seq(con: duckdb.DuckDBPyConnection) -> int:
    return sql_number(con, "SELECT max(seq) FROM run_sources") + 1


def _last_steps(batch: Batch) -> dict[tuple[str, int], int]:
    """Last step of each local attempt in the file."""
    found: dict[tuple[str, int], int] = {}
    for table in ("steps", "metric_raw", "evals"):
        frame = batch.tables.get(table)
        if frame is None or not {"run", "attempt", "step"} <= set(frame.columns):
            continue
        last = frame.groupby(["run", "attempt"], as_index=False)["step"].max().dropna()
        for run, attempt, step in zip(last["run"], last["attempt"], last["step"], strict=True):
            key = (str(run), int(attempt))
            found[key] = max(found.get(key, int(step)), int(step))
    return found


def _runs(identity: Identity, choices: Choices) -> list[str]:
    named = list(dict.fromkeys(identity.runs.values()))
    if choices.run and choices.run not in named:
        named.append(choices.run)
    return named


def _knows_most(
    con: duckdb.DuckDBPyConnection, identity: Identity, last_steps: dict[tuple[str, int], int]
) -> bool:
    """True when no stored file goes further in an attempt that this file holds."""
    for (local, number), attempt in identity.attempts.items():
        row = first(
            con,
            "SELECT max(last_step) FROM attempt_sources WHERE run = ? AND attempt = ?",
            [identity.runs[local], attempt],
        )
        if row and row[0] is not None and last_steps.get((local, number), -1) < row[0]:
            return False
    return True


def _sources(
    con: duckdb.DuckDBPyConnection,
    batch: Batch,
    identity: Identity,
    choices: Choices,
    stamp: dict[str, Any],
    last_steps: dict[tuple[str, int], int],
) -> dict[str, int]:
    """What this file says about runs, attempts and allocations, kept apart so that it can be taken back.

    Returns rows of the file by table; only files that list runs or allocations count.
    """
    locals_of = {run: local for local, run in identity.runs.items()}
    runs = pd.DataFrame({"run": _runs(identity, choices)})
    if len(runs):
        runs = _joined(runs, batch.tables.get("runs"), ["run"], columns("run_sources"))
        runs = _joined(runs, batch.tables.get("campaigns"), ["campaign"], columns("run_sources"))
        marked = runs["synthetic"].fillna(False).astype(bool) if "synthetic" in runs else False
        runs = runs.assign(local_run=runs["run"].map(locals_of), synthetic=marked | choices.synthetic)
        merge(con, "run_sources", runs.assign(**stamp), "replace")
    _attempt_sources(con, batch, identity, stamp, last_steps)
    allocations = batch.tables.get("allocations")
    if allocations is not None:
        kept = allocations.drop(columns=["source"], errors="ignore")
        if not identity.explicit:
            timed = kept.reindex(columns=["started_at", "ended_at", "seconds"]).notna().any(axis=1)
            kept = kept.assign(attempt=kept["attempt"].where(timed, EVERY_ATTEMPT))
        merge(con, "allocation_sources", kept.assign(**stamp), "replace")
    listed = ("runs", "attempts", "allocations") if batch.format.startswith("ipd_") else ()
    return {table: len(batch.tables[table]) for table in listed if table in batch.tables}


def _attempt_sources(
    con: duckdb.DuckDBPyConnection,
    batch: Batch,
    identity: Identity,
    stamp: dict[str, Any],
    last_steps: dict[tuple[str, int], int],
) -> None:
    attempts = pd.DataFrame(
        [
            {
                "run": identity.runs[local],
                "attempt": attempt,
                "local_attempt": number,
                "last_step": last_steps.get((local, number)),
            }
            for (local, number), attempt in identity.attempts.items()
        ]
    )
    if attempts.empty:
        return
    attempts = _joined(attempts, batch.tables.get("attempts"), ["run", "attempt"], columns("attempt_sources"))
    if assumed := {(identity.runs[run], identity.attempts[run, n]) for run, n in batch.resumed_assumed}:
        pairs = zip(attempts["run"], attempts["attempt"], strict=True)
        told = pd.Series([pair not in assumed for pair in pairs], index=attempts.index)
        for name in ("resumed_from_step", "resumed_from_attempt"):
            attempts[name] = attempts[name].astype("Int64").where(told)  # settle() infers it, with its badge
    attempts["last_step"] = attempts["last_step"].astype("Int64")
    merge(con, "attempt_sources", attempts.assign(**stamp), "replace")


def _joined(base: pd.DataFrame, more: pd.DataFrame | None, on: list[str], wanted: list[str]) -> pd.DataFrame:
    """Add the columns of `more` that a table has; the last row of a key wins cell by cell."""
    if more is None or not set(on) <= set(base.columns):
        return base
    fresh = [c for c in more.columns if c in wanted and c not in base.columns]
    grouped = more[[*on, *fresh]].groupby(on, dropna=False, sort=False, as_index=False).last()
    return base.merge(grouped, on=on, how="left")


def _rows(
    con: duckdb.DuckDBPyConnection,
    batch: Batch,
    upload_id: str,
    newest: bool,
    explicit: bool,
    notes: list[str],
    progress: Progress,
) -> dict[str, int]:
    written: dict[str, int] = {}
    present = [t for t in ROW_TABLES if t in batch.tables]
    for done, table in enumerate(present):
        progress("store", done, len(present))
        frame = batch.tables[table].assign(upload_id=upload_id)
        later_wins = explicit or table in LAST_WINS or (newest and table in ("evals", "checkpoints"))
        policy: Policy = "replace" if later_wins else "keep"
        merged = merge(con, table, frame, policy)
        written[table] = merged.written
        if merged.conflicts and table not in LAST_WINS:
            notes.append(_conflict(table, merged.conflicts, policy))
    progress("store", len(present), len(present))
    return written


def _conflict(table: str, n: int, policy: Policy) -> str:
    rows, was = (f"{n} row", "was") if n == 1 else (f"{n} rows", "were")
    if policy == "replace":
        return f"{rows} of {table} {was} there with other values and {was} replaced; undo takes that back."
    kept = "it is" if n == 1 else "they are"
    return f"{rows} of {table} {was} there with other values and {was} kept as {kept}."


def _reader(con: duckdb.DuckDBPyConnection) -> Callable[[str, list[Any]], list[tuple[Any, ...]]]:
    return lambda sql, params: con.execute(sql, params).fetchall()
