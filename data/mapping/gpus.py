"""Rows of a mapped table of GPU samples -> the bulk path of our own template."""

import csv
from array import array
from dataclasses import replace
from pathlib import Path

from data.arrival.spool import spool
from data.mapping.cells import is_plain, plain_cell
from data.mapping.language import FORMAT, Plan
from data.mapping.rows import describe, fields_of
from data.parse.csvio import CsvLayout, read_layout
from data.parse.table_items import is_csv
from data.parse.table_records import Records
from data.readers.base import Batch, Choices, Progress, Source
from data.readers.template_specs import templates
from data.readers.templates import GpuSamplesReader


class _Samples(GpuSamplesReader):
    """The template's reader with columns that a person has chosen."""

    def __init__(self) -> None:
        super().__init__(templates()["gpu_samples"])
        self.format = FORMAT

    def samples(
        self,
        plan: Plan,
        source: Source,
        choices: Choices,
        layout: CsvLayout,
        scratch: Path,
        progress: Progress,
    ) -> Batch:
        """Read all samples of a CSV."""
        fields = fields_of(plan, self.template.columns(), layout.header, {})
        return self._rows(source, choices, layout, fields, scratch, progress)


def gpu_batch(
    plan: Plan,
    source: Source,
    choices: Choices,
    names: tuple[str, ...],
    scratch: Path,
    progress: Progress,
) -> Batch:
    """Read GPU samples; anything but a plain CSV is written out as one first."""
    if source.kind == "text" and is_csv(source) and is_plain(list(plan.columns.values())):
        batch = _Samples().samples(plan, source, choices, read_layout(source), scratch, progress)
        describe(batch, plan, names)
        return batch
    plain, lines, records = _written_out(plan, source, scratch, progress)
    batch = _Samples().samples(plan, plain, choices, read_layout(plain), scratch, progress)
    batch.set_aside = [replace(one, line=lines[one.line - 2]) for one in batch.set_aside]
    batch.records += len(records.set_aside)
    batch.set_aside += records.set_aside
    batch.facts |= records.facts
    batch.warnings += records.warnings
    describe(batch, plan, names)
    return batch


def _written_out(
    plan: Plan, source: Source, scratch: Path, progress: Progress
) -> tuple[Source, "array[int]", Records]:
    """(a CSV of the mapped columns, line in the file of each of its rows, the books of the file)."""
    path, lines, records = scratch / "mapped.csv", array("q"), Records(source)
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(plan.columns)
        for line, _, cells in records.read(progress):
            lines.append(line)
            row = [plain_cell(cells.get(name, ""), one) for name, one in plan.columns.items()]
            writer.writerow([cell.replace("\n", " ") for cell in row])
    return spool(path, source.name, scratch / "mapped"), lines, records
