"""Canonical facts of one file, without a home."""

import tempfile
from pathlib import Path

from data.arrival.gather import spooled, units, walk
from data.arrival.spool import spool
from data.arrival.unpack import is_archive, unpack
from data.errors import UnreadableFileError
from data.facts_base import blank_facts
from data.readers import choose
from data.readers.base import Choices, Progress, Source, no_progress


def facts_of(
    path: Path | str, timezone: str | None = None, progress: Progress = no_progress, format: str | None = None
) -> dict[str, object]:
    """`{"file", "format", "facts"}` of a file; facts that it does not fix are None.

    An archive or a folder must hold one readable file, or be one run's folder. `timezone`: IANA name in which
    stamps without a zone are read. Ratios 0..1, bytes, UTC epoch seconds. Raises UnreadableFileError or
    AmbiguousFormatError when no reader is sure of the file.
    """
    file = Path(path)
    choices = Choices(format=format, timezone=timezone)
    with tempfile.TemporaryDirectory(prefix="ipd-facts-") as folder:
        scratch = Path(folder)
        source = _source(file, choices, scratch, progress)
        reader = choose(source, choices)
        batch = reader.read(source, choices, scratch, progress)
    return {"file": str(path), "format": batch.format, "facts": blank_facts() | batch.facts}


def _source(file: Path, choices: Choices, scratch: Path, progress: Progress) -> Source:
    if file.is_dir():
        found, failed = walk(file, file.resolve().name, scratch, progress)
        for item in failed:
            raise item.error
    elif file.is_file() and is_archive(file):
        found = unpack(file, file.name, scratch / "unpacked", progress=progress)
    else:
        return spool(file, file.name, scratch, progress)
    known: list[Source] = []
    refusals: list[UnreadableFileError] = []
    for number, unit in enumerate(units(found.files, scratch, choices.format)):
        try:
            source = spooled(unit, scratch / f"unit-{number}", progress)
            choose(source, choices)
            known.append(source)
        except UnreadableFileError as error:
            refusals.append(error)
    if len(known) == 1:
        return known[0]
    if len(refusals) == 1 and not known:
        raise refusals[0]
    names = ", ".join(source.name for source in known[:5])
    raise UnreadableFileError(
        f"It holds {len(known)} readable files ({names})" if known else "No file in it can be read",
        str(file),
        "Unpack it and give one of them.",
    )
