"""The example in a home: load it through the same readers as any upload, find it, take it out again."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from data.readers.base import Choices, Progress, no_progress
from data.store import Store

if TYPE_CHECKING:
    from data.ingest import Receipt


def load_example(store: Store, progress: Progress = no_progress) -> "list[Receipt]":
    """Generate the files, ingest each, and return the receipts; every row carries the synthetic mark."""
    from data.examples.write import MANIFEST, write_example
    from data.ingest import ingest_file

    receipts = []
    with TemporaryDirectory(prefix="ipd-example-") as name:
        folder = Path(name)
        write_example(folder)
        listed = json.loads((folder / MANIFEST).read_text())["files"]
        for done, item in enumerate(listed):
            progress("example", done, len(listed))
            choices = Choices(**item["choices"], synthetic=True)
            receipts.append(ingest_file(store, folder / item["file"], item["file"], choices, no_progress))
        progress("example", len(listed), len(listed))
    return receipts


def example_uploads(store: Store) -> list[str]:
    """Upload ids of the example files in the home, newest first."""
    with store.view() as view:
        rows = view.rows("SELECT upload_id FROM uploads WHERE synthetic ORDER BY uploaded_at DESC, upload_id")
    return [str(row[0]) for row in rows]


def example_loaded(store: Store) -> bool:
    """True while any example file is in the home."""
    return bool(example_uploads(store))


def remove_example(store: Store) -> int:
    """Undo every example upload; returns how many were undone."""
    from data.ingest import undo_upload

    uploads = example_uploads(store)
    for upload_id in uploads:
        undo_upload(store, upload_id)
    return len(uploads)
