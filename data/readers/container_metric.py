"""One metric of many containers in three columns: value, time, container (Alibaba GenAI serving trace)."""

from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.csv_rows import GpuIdentity
from data.gpu.long import LongTable, Series
from data.gpu.long_build import build_rows, unconfirmed
from data.gpu.metrics import Metric, chosen_metric, metric_of_file
from data.parse.csvio import CsvLayout, CsvRow, read_layout
from data.parse.values import is_missing
from data.parse.wide import SeriesOfRow, decimal_mark, load_wide, long_table, time_facts, wide_batch
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

GUESSED = "the measure is named only by the file name: confirm it"
_VALUE = ("value",)
_TIME = ("timestamp_anon", "timestamp", "time", "ts")
_CONTAINER = ("container_ip", "container_id", "container", "container_name", "pod_ip", "pod", "pod_name")
MAX_COLUMNS = 6


class ContainerMetricReader:
    """Rows of value, time and container; what the value is stands only in the file name."""

    format = "long_metric_by_container"
    title = "one metric, a row a container and time"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: value, a time and a container."""
        if _layout(source) is None:
            return Sniff(0.0, "no columns value, time and container")
        return Sniff(0.95, "columns value, time and container")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows. The file name's measure gives means; samples are stored once it is confirmed."""
        layout = _layout(source)
        if layout is None:
            raise UnreadableFileError(
                "No columns value, time and container", source.name, "Check the header."
            )
        with long_table(scratch, decimal_mark(source, layout)) as table:
            return _read(source, layout, table, choices, scratch, progress)


def _column(layout: CsvLayout, names: tuple[str, ...]) -> int:
    lower = [name.lower() for name in layout.header]
    return next(lower.index(name) for name in names if name in lower)


def _layout(source: Source) -> CsvLayout | None:
    def fits(names: tuple[str, ...]) -> bool:
        lower = {name.lower() for name in names}
        return len(names) <= MAX_COLUMNS and all(lower & set(some) for some in (_VALUE, _TIME, _CONTAINER))

    try:
        return read_layout(source, fits)
    except UnreadableFileError:
        return None


def _read(
    source: Source, layout: CsvLayout, table: LongTable, choices: Choices, scratch: Path, progress: Progress
) -> Batch:
    value, time, container = (_column(layout, names) for names in (_VALUE, _TIME, _CONTAINER))
    sure = chosen_metric(choices, layout.header[value], str(value + 1))
    measured = sure or metric_of_file(source.name)
    known: dict[str, list[int | None]] = {}
    found = load_wide(
        source, layout, table, time, _series_of(table, known, layout, (value, container), measured), progress
    )
    batch = wide_batch(ContainerMetricReader.format, source, layout, found)
    if not build_rows(table, batch, source, choices, scratch):
        time_facts(batch, found, choices)
    batch.facts |= {"gpus": None, "hosts": None}
    batch.mapped = {layout.header[time]: "gpu_samples.ts", layout.header[container]: "gpus.gpu_id"}
    _warn(batch, layout, value, time, measured, sure)
    if sure is None and measured is not None:
        unconfirmed(table, batch, GUESSED)
    batch.reconcile()
    return batch


def _series_of(
    table: LongTable,
    known: dict[str, list[int | None]],
    layout: CsvLayout,
    at: tuple[int, int],
    measured: Metric | None,
) -> SeriesOfRow:
    value, container = at
    width = len(layout.header)

    def of_row(row: CsvRow) -> list[int | None]:
        name = row.cells[container].strip() if container < len(row.cells) else ""
        if name not in known:
            gpu = None if is_missing(name) else GpuIdentity(0, 0, gpu_id=name)
            series = table.add_series(Series(name, measured, gpu, column=layout.header[value]))
            known[name] = [series if i == value else None for i in range(width)]
        return known[name]

    return of_row


def _warn(
    batch: Batch, layout: CsvLayout, value: int, time: int, measured: Metric | None, sure: Metric | None
) -> None:
    name = layout.header[value]
    if sure is not None:
        batch.mapped[name] = f"gpu_samples.{sure.measure}"
    else:
        batch.unmapped.append(name)
    if sure is None and measured is not None:
        batch.warnings.append(
            f"Only the file name says what '{name}' is: it looks like {measured.measure} in {measured.unit}. "
            "Nothing was stored: confirm the measure of the column, then read the file again."
        )
    elif measured is None:
        batch.warnings.append(f"Nothing says what '{name}' measures: say so, then read the file again.")
    batch.warnings.append("Each container counts as one GPU; how many GPUs it holds is not in the file.")
    if "anon" in layout.header[time].lower():
        batch.facts["time_first_epoch_s"] = None
        batch.warnings.append("The times are anonymised: distances hold, dates do not.")


READERS = (ContainerMetricReader(),)
