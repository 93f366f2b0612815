"""From an upload to committed rows: spool, choose a reader, read, store in one transaction, remember."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import duckdb

from data.arrival.spool import ByteStream, spool
from data.catalogue import load_catalogue
from data.durable import flush
from data.errors import UserError
from data.load import write
from data.mapping.saved import remember_mapping
from data.readers.base import Choices, Progress, Source, no_progress
from data.rebuild import made_by_itself, rebuild, remove_example, undo_upload
from data.receipt import Receipt
from data.run_details import check_ids, choices_details, missing_for_cost
from data.sql import first
from data.store import Store
from data.upload import Upload, choices_from, read_upload
from data.workspace import utc_now

__all__ = ["find_upload", "ingest_file", "rebuild", "remove_example", "undo_upload"]

SPACE_FACTOR = 3
"""Free space wanted: the original, its rows and the write-ahead log, each at most as large as the file."""

FLUSH_FROM_BYTES = 1 << 26
"""From this size on the original goes to the disk while it is read, not after it."""


def ingest_file(
    store: Store,
    path_or_stream: Path | str | ByteStream,
    name: str | None = None,
    choices: Choices | None = None,
    progress: Progress = no_progress,
) -> Receipt:
    """Load one file; rows, receipt and decision are committed together or nothing is.

    The same bytes twice write nothing and say so (`duplicate_of`). `progress` is called with (stage, done,
    total): spool in bytes, read in the reader's unit, store in tables; raising from it cancels the upload.
    Raises UnreadableFileError, AmbiguousFormatError or another UserError with the remedy.
    """
    decided = check_choices(choices or Choices())
    file_name = name or (Path(path_or_stream).name if isinstance(path_or_stream, Path | str) else "upload")
    check_space(store.home, path_or_stream)
    work = store.spool / uuid4().hex
    try:
        source = spool(path_or_stream, file_name, work, progress)
        return ingest_source(store, source, decided, work, progress)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def find_upload(store: Store, sha256: str) -> Receipt | None:
    """The receipt of the upload with these bytes, None when there is none."""
    with store.view() as view:
        return _stored_receipt(view.cursor, sha256)


def ingest_source(
    store: Store, source: Source, choices: Choices, work: Path, progress: Progress = no_progress
) -> Receipt:
    """Load a spooled file with checked choices; `work` is a folder of its own that the caller removes."""
    known = find_upload(store, source.sha256)
    if known is not None:
        return _duplicate(store, known, source, choices)
    with _flushing(source) as flushed:
        upload = read_upload(source, choices, work, utc_now(), progress=progress)
        flushed()
    return _commit(store, source, choices, upload, progress)


def _commit(store: Store, source: Source, choices: Choices, upload: Upload, progress: Progress) -> Receipt:
    """Keep the original and store what was read, unless another upload of these bytes came first."""
    with store.exclusive():
        known = find_upload(store, source.sha256)
        if known is not None:
            return _duplicate(store, known, source, choices)
        kept = keep_original(store, source)
        try:
            with store.transaction() as con:
                receipt = write(con, store.parts, upload, progress, ask=True)
        except BaseException:
            if kept:
                store.original(source.sha256).unlink(missing_ok=True)
            raise
        payload = {**upload.payload(), **made_by_itself(receipt)}
        store.workspace.decide("upload", payload, upload_sha256=source.sha256, at=upload.at)
    remember_mapping(store.workspace, source, upload.choices)
    return receipt


@contextmanager
def _flushing(source: Source) -> Iterator[Callable[[], object]]:
    """Bring a large original to the disk while it is read; the call waits, and raises what went wrong."""
    if source.size_bytes < FLUSH_FROM_BYTES:
        yield bool
        return
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(flush, source.original).result


def keep_original(store: Store, source: Source) -> bool:
    """Put the original bytes under their hash, durably; False when they were there."""
    target = store.original(source.sha256)
    if target.exists() and target.stat().st_size == source.size_bytes:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{uuid4().hex}.part")
    try:
        os.link(source.original, temporary)
        flush(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    flush(target.parent)
    return True


def check_choices(choices: Choices) -> Choices:
    """Refuse choices that no catalogue knows before any byte is read; models get their catalogue name."""
    catalogue = load_catalogue()
    check_ids(catalogue, choices.llm, [choices.platform])
    choices_details(choices)
    model = catalogue.llm_id(choices.llm) if choices.llm else None
    return replace(choices, llm=model) if model else choices


def check_space(home: Path, path_or_stream: object) -> None:
    """Refuse a file that the disk of the home has no room for."""
    if not isinstance(path_or_stream, Path | str) or not Path(path_or_stream).is_file():
        return
    size, free = Path(path_or_stream).stat().st_size, shutil.disk_usage(home).free
    if free < SPACE_FACTOR * size:
        raise UserError(
            f"{free / 1e6:.0f} MB are free, {SPACE_FACTOR * size / 1e6:.0f} MB are needed for this file",
            str(home),
            "Free some space or move the home to a larger disk (IPD_HOME).",
        )


def _stored_receipt(cursor: duckdb.DuckDBPyConnection, sha256: str) -> Receipt | None:
    row = first(cursor, "SELECT receipt FROM uploads WHERE sha256 = ?", [sha256])
    return Receipt.from_dict(json.loads(row[0])) if row else None


def _duplicate(store: Store, known: Receipt, source: Source, choices: Choices) -> Receipt:
    note = f"These bytes were loaded before as {known.file}: nothing was written."
    note += _not_applied(store, known, choices)
    lacking = tuple(m.__dict__ for run in known.runs for m in missing_for_cost(store, run))
    return known.with_(
        file=source.name,
        duplicate_of=known.upload_id,
        rows_written={},
        warnings=(*known.warnings, note),
        missing_for_cost=lacking,
    )


READING = ("format", "timezone", "host", "run", "step", "benchmark", "columns")
"""Choices that decide how a file is read: other ones need another reading."""


def _not_applied(store: Store, known: Receipt, choices: Choices) -> str:
    """What was asked for differently this time, and how to get it."""
    with store.view() as view:
        row = first(view.cursor, "SELECT choices FROM uploads WHERE upload_id = ?", [known.upload_id])
    before = choices_from({"choices": json.loads(row[0])}) if row else Choices()
    in_force = {
        "format": known.format,
        "timezone": before.timezone or known.timezone,
        "host": before.host,
        "run": before.run or (known.runs[0] if len(known.runs) == 1 else None),
        "step": before.step,
        "benchmark": before.benchmark,
        "columns": dict(before.columns),
    }
    asked = {name: getattr(choices, name) for name in READING if getattr(choices, name) not in (None, "", {})}
    other = {name: value for name, value in asked.items() if value != in_force[name]}
    text = ""
    if other:
        named = ", ".join(f"{name} {value}, not {in_force[name] or 'open'}" for name, value in other.items())
        text += (
            f" It was asked for differently this time ({named}), which was not applied: choose 'Read it "
            "differently' on its card on the page Telemetry, or undo the upload there and load it again."
        )
    if choices_details(choices):
        text += " The details given with this upload were not applied: edit them in the run details."
    return text
