"""One file on its way into the database: read, and described so that the same can be read again later."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from data import readers
from data.errors import UnreadableFileError
from data.mapping.language import FORMAT
from data.parse.table_records import table_sample
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

BY_HAND = Sniff(1.0, "its columns were mapped by hand")


@dataclass(frozen=True)
class Upload:
    """A read file. `at` is when the person decided to load it (UTC)."""

    source: Source
    sniff: Sniff
    batch: Batch
    choices: Choices
    at: datetime

    def payload(self) -> dict[str, object]:
        """What the decision to load a file remembers."""
        return {
            "sha256": self.source.sha256,
            "name": self.source.name,
            "choices": choices_dict(self.choices),
            "format": self.batch.format,
        }


def read_upload(
    source: Source,
    choices: Choices,
    work: Path,
    at: datetime,
    *,
    known_format: str | None = None,
    progress: Progress = no_progress,
) -> Upload:
    """Choose a reader and read a spooled file; `known_format` is the one chosen when it was first loaded."""
    reader = readers.choose(source, replace(choices, format=choices.format or known_format))
    scratch = work / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        batch = reader.read(source, choices, scratch, progress)
    except UnreadableFileError as error:
        error.table = table_sample(source)
        raise
    sniff = BY_HAND if batch.format == FORMAT else reader.sniff(source)
    return Upload(source, sniff, batch, choices, at)


def choices_dict(choices: Choices) -> dict[str, Any]:
    """The choices that were made, JSON-ready."""
    given = {**choices.__dict__, "columns": dict(choices.columns)}
    return {k: v for k, v in given.items() if v is not None and v is not False and v != {}}


def choices_from(payload: Mapping[str, Any]) -> Choices:
    """The choices that a decision remembers."""
    return Choices(**payload.get("choices", {}))
