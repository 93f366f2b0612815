"""Mappings that people made, kept in the workspace by the columns of the table they were made for."""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from data.mapping.language import FORMAT, MappingError, header_hash, make_plan
from data.parse.table_records import table_sample
from data.readers.base import Choices, Source
from data.workspace import Workspace, utc_now

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class SavedMapping:
    """Columns and time zone as they were chosen for the last table with these columns; `at` is UTC."""

    columns: Mapping[str, str]
    timezone: str | None
    at: datetime


def remember_mapping(workspace: Workspace, source: Source, choices: Choices) -> None:
    """Keep the mapping that a table was read with; a later one for the same columns replaces it."""
    if choices.format != FORMAT or not choices.columns:
        return
    sample = table_sample(source)
    if sample is None:
        return
    document = json.dumps({"columns": dict(choices.columns), "timezone": choices.timezone}, sort_keys=True)
    with workspace.connect() as con:
        con.execute(
            "INSERT INTO mappings (header_sha256, document, updated_at) VALUES (?, ?, ?) "
            "ON CONFLICT (header_sha256) DO UPDATE SET document = excluded.document, "
            "updated_at = excluded.updated_at",
            (header_hash(sample.header), document, utc_now().isoformat()),
        )


def saved_mapping(workspace: Workspace, header: Iterable[str]) -> SavedMapping | None:
    """The mapping that was last used for a table with these columns.

    None when there is none, or when it names fields that this version does not have.
    """
    with workspace.reading() as con:
        row = con.execute(
            "SELECT document, updated_at FROM mappings WHERE header_sha256 = ?", (header_hash(header),)
        ).fetchone()
    if row is None:
        return None
    document = json.loads(row["document"])
    try:
        make_plan(document["columns"])
    except MappingError as error:
        LOG.warning("a saved mapping is not offered: %s", error)
        return None
    return SavedMapping(document["columns"], document["timezone"], datetime.fromisoformat(row["updated_at"]))
