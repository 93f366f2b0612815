"""A CSV with a column for each DCGM field, under old names and new."""

from pathlib import Path

from data.csvio import CsvLayout, read_layout
from data.errors import UnreadableFileError
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.dcgm_fields import LABELS, dcgm_field, dcgm_name
from data.readers.gpu_table import Column, Table, named, read_table
from data.values import unit_of_header

TIME_NAMES = frozenset({"time", "timestamp", "ts", "datetime", "date"})
_CONFIG_WORDS = frozenset({"gauge", "counter", "label"})


def is_header(names: tuple[str, ...]) -> bool:
    """Whether a line names DCGM fields in columns; a line of the exporter's counter list does not."""
    fields = [name for name in names if dcgm_name(name)]
    config = {name.lower() for name in names} & _CONFIG_WORDS or names[0].startswith("#")
    return len(names) > 1 and bool(fields) and not config and not any("{" in name for name in names)


class DcgmCsvReader:
    """Samples in a table with DCGM_FI_* columns."""

    format = "dcgm_csv"
    title = "CSV with DCGM_FI_… columns"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: columns named after fields of DCGM that we know."""
        try:
            layout = read_layout(source, is_header, unique=False)
        except UnreadableFileError:
            return Sniff(0.0, "no header with a DCGM_FI_… column")
        known = [name for name in layout.header if dcgm_field(name) and dcgm_name(name)]
        if not known:
            return Sniff(0.4, "DCGM_FI_… columns, but none of a measure that is read here")
        return Sniff(0.96, f"{len(known)} of {layout.columns} columns are fields of DCGM")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows; rows of MIG instances are counted as ignored.

        Raises UnreadableFileError without a header or without rows.
        """
        layout = named(read_layout(source, is_header), choices)
        table = Table(self.format, layout, _columns(layout))
        return read_table(source, table, choices, scratch, progress)


def _columns(layout: CsvLayout) -> dict[int, Column]:
    found: dict[int, Column] = {}
    taken: set[str] = set()
    for i, name in enumerate(layout.header):
        field = dcgm_field(name) if dcgm_name(name) else None
        if field is not None:
            found[i] = Column(field.measure, unit_of_header(name) or field.unit, field.rank)
            continue
        plain = name.strip().lower()
        target = "ts" if plain in TIME_NAMES else LABELS.get(plain)
        if target and target not in taken:
            taken.add(target)
            found[i] = Column(target)
    return found


READERS = (DcgmCsvReader(),)
