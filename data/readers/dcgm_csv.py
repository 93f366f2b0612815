"""A CSV with a column for each DCGM field, under old names and new."""

import re
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.metrics import PERCENT_OR_RATIO, Metric, metric
from data.gpu.table import Column, Table, named, read_table
from data.parse.csvio import CsvLayout, read_layout
from data.parse.timezones import parse_stamp
from data.parse.values import unit_of_header
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

TIME_NAMES = frozenset({"time", "timestamp", "ts", "datetime", "date"})
LABELS = {
    "gpu": "index", "gpu_id": "index", "gpuid": "index", "device": "index", "entity": "index",
    "gpu_index": "index", "gpu_idx": "index", "index": "index", "id": "index", "entity_id": "index",
    "uuid": "uuid", "gpu_uuid": "uuid", "pci_bus_id": "bus", "hostname": "host", "host": "host",
    "node": "host", "instance": "host", "modelname": "model", "gpu_i_id": "mig", "gpu_instance_id": "mig",
}  # fmt: skip
"""Label of dcgm-exporter (lower case) -> field of GpuIdentity."""
_NAME = re.compile(r"\bDCGM_FI_(?:DEV|PROF)_[A-Z0-9_]+\b", re.IGNORECASE)
_CONFIG_WORDS = frozenset({"gauge", "counter", "label"})


def dcgm_name(text: str) -> str | None:
    """The name of a DCGM field in a column name, None when there is none."""
    match = _NAME.search(text)
    return match[0].upper() if match else None


def _metric(text: str) -> Metric | None:
    return metric(dcgm_name(text))


def is_header(names: tuple[str, ...]) -> bool:
    """Whether a line names DCGM fields in columns; a line of the exporter's counter list does not."""
    fields = [name for name in names if dcgm_name(name)]
    config = {name.lower() for name in names} & _CONFIG_WORDS or names[0].startswith("#")
    data = any("{" in name or parse_stamp(name) is not None for name in names)
    return len(names) > 1 and bool(fields) and not config and not data


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
        known = [name for name in layout.header if _metric(name)]
        if not known:
            return Sniff(0.4, "DCGM_FI_… columns, but none of a measure that is read here")
        if layout.header[0] == "Time" and not {name.lower() for name in layout.header} & set(LABELS):
            return Sniff(0.4, "DCGM_FI_… columns beside 'Time' and nothing that names a GPU: a panel export?")
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
    plains = [re.sub(r"[^a-z0-9]+", "_", name.strip().lower()) for name in layout.header]
    kinds = {"device", "entity"} if {"id", "entity_id"} & set(plains) else set()
    for i, name in enumerate(layout.header):
        if (known := _metric(name)) is not None:
            unit = None if known.unit == PERCENT_OR_RATIO else known.unit
            found[i] = Column(known.measure, unit_of_header(name) or unit, int(unit is None))
            continue
        plain = plains[i]
        if plain in kinds:
            continue
        target = "ts" if plain in TIME_NAMES else LABELS.get(plain)
        if target and target not in taken:
            taken.add(target)
            found[i] = Column(target)
    return found


READERS = (DcgmCsvReader(),)
