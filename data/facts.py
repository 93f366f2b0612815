"""Canonical facts of one file, without a home."""

import tempfile
from pathlib import Path

from data.facts_base import blank_facts
from data.readers import choose
from data.readers.base import Choices, Progress, no_progress
from data.spool import spool


def facts_of(
    path: Path | str, timezone: str | None = None, progress: Progress = no_progress, format: str | None = None
) -> dict[str, object]:
    """`{"file", "format", "facts"}` of a file; facts that it does not fix are None.

    `timezone`: IANA name in which stamps without a zone are read. Ratios 0..1, bytes, UTC epoch seconds.
    Raises UnreadableFileError or AmbiguousFormatError when no reader is sure of the file.
    """
    file = Path(path)
    with tempfile.TemporaryDirectory(prefix="ipd-facts-") as folder:
        scratch = Path(folder)
        source = spool(file, file.name, scratch, progress)
        choices = Choices(format=format, timezone=timezone)
        reader = choose(source, choices)
        batch = reader.read(source, choices, scratch, progress)
    return {"file": str(path), "format": batch.format, "facts": blank_facts() | batch.facts}
