"""One metric of many nodes or GPUs, one column each (AcmeTrace), and GPU columns by machine (Philly)."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.csv_rows import GpuIdentity
from data.gpu.legend import NODE_ONLY, node_columns, node_series
from data.gpu.long import LongTable, Series
from data.gpu.long_build import build_rows, unconfirmed
from data.gpu.metrics import Metric, chosen_metric, metric_inside, metric_of_file
from data.parse.csvio import CsvLayout, CsvRow, read_layout, split_line
from data.parse.timezones import Stamp, parse_stamp
from data.parse.values import is_missing
from data.parse.wide import decimal_mark, drop_absent, load_wide, long_table, time_facts, wide_batch
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

GUESSED = "the measure is named only by the file name: confirm it"
_TIMES = ("time", "timestamp")
_GPU_COLUMN = re.compile(r"^gpu_?(\d{1,2})_?util(?:ization)?$", re.IGNORECASE)
_MACHINE = ("machineid", "machine_id", "machine", "hostname", "host", "node")
_ZONES = {"PST": -8, "PDT": -7, "MST": -7, "MDT": -6, "EST": -5, "EDT": -4}
"""Zone words of one meaning in traces of the United States; CST is also China's."""


class WideMetricReader:
    """A column Time and one column for each node address, or node address and GPU number."""

    format = "wide_metric_by_node"
    title = "one metric, one column a node or GPU"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: a time column, and columns named by address or numbered node."""
        layout = _wide_layout(source)
        if layout is None:
            return Sniff(0.0, "no time column with columns named by node address")
        line = _first_line(source, layout)
        if not line or parse_stamp(line[0]) is None:
            return Sniff(0.3, "columns named by node, but the first cell is no time")
        return Sniff(0.96, f"a time column and {layout.columns - 1} columns named by node")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all cells. The measure stands only in the file name: a person confirms it (`columns`, `*`).

        A full metric name of an exporter in the file name needs no confirmation. Columns of whole nodes
        never become GPU samples.
        """
        layout = _wide_layout(source)
        if layout is None:
            raise UnreadableFileError(
                "No column is named by a node", source.name, "Name the columns <address> or <address>-<GPU>."
            )
        with long_table(scratch, decimal_mark(source, layout)) as table:
            return self._read(source, layout, table, choices, scratch, progress)

    def _read(
        self,
        source: Source,
        layout: CsvLayout,
        table: LongTable,
        choices: Choices,
        scratch: Path,
        progress: Progress,
    ) -> Batch:
        nodes = node_columns([name for name in layout.header[1:] if name]) or {}
        named = metric_inside(Path(source.name).stem)
        sure = chosen_metric(choices, "*") or (named[1] if named else None)
        guess = sure or metric_of_file(source.name)
        numbers: list[int | None] = [None]
        confirmed = True
        for i, name in enumerate(layout.header[1:], start=2):
            said = chosen_metric(choices, name, str(i)) or sure
            confirmed = confirmed and (said is not None or not name)
            series = node_series(name, nodes.get(name), said or guess)
            numbers.append(table.add_series(series) if name else None)
        found = load_wide(source, layout, table, 0, lambda _: numbers, progress)
        batch = wide_batch(self.format, source, layout, found)
        placed = build_rows(table, batch, source, choices, scratch)
        if not placed:
            time_facts(batch, found, choices)
        _node_facts(batch, nodes)
        _describe(table, batch)
        if placed and not confirmed:
            unconfirmed(table, batch, GUESSED)
        _warn(batch, None if confirmed else guess, table)
        batch.reconcile()
        return batch


def _wide_layout(source: Source) -> CsvLayout | None:
    try:
        layout = read_layout(
            source, lambda names: len(names) > 1 and names[0].lower() in _TIMES, unique=False
        )
    except UnreadableFileError:
        return None
    names = [name for name in layout.header[1:] if name]
    return layout if names and node_columns(names) else None


def _first_line(source: Source, layout: CsvLayout) -> list[str]:
    lines = source.head.split("\n")[layout.first_data_line - 1 :]
    return next((split_line(line, layout.delimiter) for line in lines if line.strip()), [])


def _node_facts(batch: Batch, nodes: Mapping[str, GpuIdentity]) -> None:
    batch.facts["hosts"] = len({one.host for one in nodes.values()}) or None
    gpus = {(one.host, one.index) for one in nodes.values() if one.index is not None}
    batch.facts["gpus"] = len(gpus) or None


def _describe(table: LongTable, batch: Batch) -> None:
    for one in table.series:
        if one.kept and one.metric is not None:
            batch.mapped[one.name] = f"gpu_samples.{one.metric.measure}"
        else:
            batch.unmapped.append(one.name)


def _warn(batch: Batch, guess: Metric | None, table: LongTable) -> None:
    if guess is not None:
        batch.warnings.append(
            f"Only the file name says what is measured: it looks like {guess.measure} in {guess.unit}. "
            "Nothing was stored: confirm the measure of the columns, then read the file again."
        )
    elif not any(one.metric for one in table.series):
        batch.warnings.append(
            "Neither the header nor the file name names a GPU measure: say what the columns hold, or leave "
            "it; CPU and network values are no GPU utilisation."
        )
    if any(one.aside == NODE_ONLY for one in table.series):
        batch.warnings.append("Columns of whole nodes were left out: a mean over a node is no GPU.")


class MachineUtilReader:
    """A row for each machine and minute with one utilisation column a GPU, as in the Philly trace."""

    format = "wide_gpu_util_by_machine"
    title = "GPU utilisation, a row a machine and minute (Philly)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: time, machine, and gpu0_util, gpu1_util, …"""
        layout = _machine_layout(source)
        if layout is None:
            return Sniff(0.0, "no columns gpu0_util, gpu1_util, … beside a machine")
        return Sniff(0.96, "a time, a machine and one utilisation column a GPU")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all cells: percent by GPU. PST and PDT in the stamps are obeyed row by row.

        A machine's columns without any number are GPUs that it does not have.
        """
        layout = _machine_layout(source)
        if layout is None:
            raise UnreadableFileError(
                "No columns gpu0_util, gpu1_util, … beside a machine", source.name, "Check the header."
            )
        with long_table(scratch) as table:
            return self._read(source, layout, table, choices, scratch, progress)

    def _read(
        self,
        source: Source,
        layout: CsvLayout,
        table: LongTable,
        choices: Choices,
        scratch: Path,
        progress: Progress,
    ) -> Batch:
        names = [name.lower() for name in layout.header]
        time = next(i for i, name in enumerate(names) if name in _TIMES)
        machine = next(i for i, name in enumerate(names) if name in _MACHINE)
        gpus = {i: m[1] for i, name in enumerate(layout.header) if (m := _GPU_COLUMN.match(name))}
        machines = _Machines(table, machine, gpus, layout.header)
        found = load_wide(source, layout, table, time, machines.of_row, progress, parse_zoned)
        batch = wide_batch(self.format, source, layout, found)
        drop_absent(table)
        if not build_rows(table, batch, source, choices, scratch):
            time_facts(batch, found, choices)
        batch.facts["hosts"] = len(machines.names) or None
        batch.facts["gpus"] = sum(one.kept for one in table.series) or None
        batch.mapped = {layout.header[time]: "gpu_samples.ts", layout.header[machine]: "gpus.host"}
        batch.mapped |= {layout.header[i]: "gpu_samples.gpu_util" for i in gpus}
        batch.unmapped = [name for name in layout.header if name and name not in batch.mapped]
        batch.reconcile()
        return batch


class _Machines:
    """Series of each machine's GPU columns."""

    def __init__(
        self, table: LongTable, machine: int, gpus: Mapping[int, str], header: Sequence[str]
    ) -> None:
        self.names: dict[str, list[int | None]] = {}
        self._table, self._machine, self._gpus, self._header = table, machine, gpus, header

    def of_row(self, row: CsvRow) -> Sequence[int | None]:
        """Numbers of the series of a row's cells."""
        host = row.cells[self._machine].strip() if self._machine < len(row.cells) else ""
        if is_missing(host):
            return [None] * len(self._header)
        if host not in self.names:
            self.names[host] = [self._series(host, i) for i in range(len(self._header))]
        return self.names[host]

    def _series(self, host: str, column: int) -> int | None:
        index = self._gpus.get(column)
        if index is None:
            return None
        gpu = GpuIdentity(0, 0, host=host, index=index)
        name = self._header[column]
        return self._table.add_series(Series(f"{host}:{index}", Metric("gpu_util", "%"), gpu, column=name))


def parse_zoned(text: str | None) -> Stamp | None:
    """`parse_stamp`, and stamps that end in PST, PDT or another zone word of one meaning."""
    clean = (text or "").strip()
    hours = _ZONES.get(clean[-3:])
    if hours is None:
        return parse_stamp(clean)
    stamp = parse_stamp(clean[:-3].rstrip())
    if stamp is None or stamp.offset is not None:
        return None
    return Stamp(stamp.at - timedelta(hours=hours), f"-{-hours:02d}:00")


def _machine_layout(source: Source) -> CsvLayout | None:
    def fits(names: tuple[str, ...]) -> bool:
        lower = [name.lower() for name in names]
        return (
            any(name in _TIMES for name in lower)
            and any(name in _MACHINE for name in lower)
            and any(_GPU_COLUMN.match(name) for name in names)
        )

    try:
        return read_layout(source, fits)
    except UnreadableFileError:
        return None


READERS = (WideMetricReader(), MachineUtilReader())
