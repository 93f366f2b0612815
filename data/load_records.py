"""What is kept of an upload beside its rows: links, proposals, what was set aside, and its receipt."""

import json
from collections.abc import Sequence

import duckdb
import pandas as pd

from data.merge import merge
from data.readers.base import Batch
from data.receipt import Receipt
from data.tables import columns, keys
from data.upload import Upload, choices_dict

ROW_TABLES = (
    "metric_raw",
    "steps",
    "length_hist",
    "step_phases",
    "checkpoints",
    "evals",
    "eval_tasks",
    "gpus",
    "env_events",
    "scheduler_jobs",
    "costs",
)


def add_proposals(con: duckdb.DuckDBPyConnection, batch: Batch, upload_id: str) -> None:
    """What this file proposes for details that its runs lack."""
    if not batch.proposals:
        return
    rows = [
        {
            "upload_id": upload_id,
            "run": p.run,
            "field": p.field,
            "value": json.dumps(p.value, default=float),
            "how": p.how,
        }
        for p in batch.proposals
    ]
    merge(con, "proposals", pd.DataFrame(rows), "replace")


def add_set_aside(con: duckdb.DuckDBPyConnection, batch: Batch, upload_id: str) -> None:
    """Lines and cells of this file that were not read, with the reason."""
    if not batch.set_aside:
        return
    frame = pd.DataFrame(
        {
            "upload_id": upload_id,
            "line": [s.line for s in batch.set_aside],
            "column_name": [s.column for s in batch.set_aside],
            "reason": [s.reason for s in batch.set_aside],
            "text": [s.text[:500] for s in batch.set_aside],
        }
    )
    con.register("aside", frame)
    con.execute("INSERT INTO quarantine BY NAME SELECT * FROM aside")
    con.unregister("aside")


def add_links(
    con: duckdb.DuckDBPyConnection, batch: Batch, runs: list[str], upload_id: str, met: Sequence[str]
) -> None:
    """What ties this upload to others: taking one back means to replay those that share something with it."""
    links = {("run", run) for run in runs} | {("gpu", gpu) for gpu in met}
    for table, kind, column in (
        ("gpus", "gpu", "gpu_id"),
        ("eval_tasks", "eval", "eval_id"),
        ("evals", "eval", "eval_id"),
        ("checkpoints", "checkpoint", "checkpoint"),
    ):
        frame = batch.tables.get(table)
        if frame is None:
            continue
        free = frame[frame["run"].isna()] if "run" in frame and table != "gpus" else frame
        links |= {(kind, str(name)) for name in free[column].dropna().unique()}
    gpus = con.execute("SELECT DISTINCT unnest(gpu_ids) FROM gpu_parts WHERE upload_id = ?", [upload_id])
    links |= {("gpu", str(name)) for (name,) in gpus.fetchall()}
    for table in batch.tables:
        bag = table in ROW_TABLES and not keys(table)
        if bag or table == "scheduler_jobs":
            links.add(("table", table))
    if links:
        frame = pd.DataFrame(sorted(links), columns=["kind", "name"]).assign(upload_id=upload_id)
        con.register("links_in", frame)
        con.execute("INSERT INTO upload_links BY NAME SELECT * FROM links_in")
        con.unregister("links_in")


def add_upload(con: duckdb.DuckDBPyConnection, upload: Upload, receipt: Receipt) -> None:
    """The row of `uploads`: the file, how it was read, its counts and receipt."""
    row = {
        "upload_id": receipt.upload_id,
        "sha256": receipt.sha256,
        "name": receipt.file,
        "size_bytes": receipt.size_bytes,
        "format": receipt.format,
        "confidence": receipt.confidence,
        "why": receipt.why,
        "encoding": receipt.encoding,
        "line_ending": receipt.line_ending,
        "physical_lines": receipt.physical_lines,
        "records": receipt.records,
        "stored": receipt.stored,
        "quarantined": receipt.quarantined,
        "ignored": sum(receipt.ignored.values()),
        "rows_written": sum(receipt.rows_written.values()),
        "choices": json.dumps(choices_dict(upload.choices), sort_keys=True),
        "receipt": json.dumps(receipt.to_dict(), default=str),
        "timezone": receipt.timezone,
        "synthetic": upload.choices.synthetic,
        "uploaded_at": upload.at,
    }
    names = columns("uploads")
    con.execute(
        f"INSERT INTO uploads ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
        [row[name] for name in names],
    )
