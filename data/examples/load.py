"""The example in a home: load it through the same readers as any upload, find it, take it out again."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from data.ingest import ingest_file, remove_example
from data.readers.base import Choices, Progress, no_progress
from data.receipt import Receipt
from data.store import Store

__all__ = ["example_loaded", "load_example", "remove_example"]


def load_example(store: Store, progress: Progress = no_progress) -> list[Receipt]:
    """Generate the files, ingest each, and return the receipts; every row carries the synthetic mark."""
    from data.examples.write import MANIFEST, write_example  # slow to import, needed once

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


def example_loaded(store: Store) -> bool:
    """True while any example file is in the home."""
    with store.view() as view:
        return bool(view.rows("SELECT 1 FROM uploads WHERE synthetic LIMIT 1"))
