"""A sampler's table with columns for each GPU (`gpu0_util_pct`, `power_w_gpu1`), one row a tick."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data.gpu.csv_rows import GpuIdentity
from data.gpu.long import LongTable, Series
from data.gpu.long_build import build_rows
from data.gpu.metrics import Metric
from data.gpu.rollup import MEASURES
from data.gpu.table import NAMELESS, Column
from data.parse.csvio import CsvLayout, CsvRow
from data.parse.values import is_missing
from data.parse.wide import drop_absent, load_wide, long_table, time_facts, wide_batch
from data.readers.base import Batch, Choices, Progress, Source

_BEFORE = re.compile(r"^gpu[_ .-]?(\d{1,3})[_ .-]+(.+)$", re.IGNORECASE)
_BEHIND = re.compile(r"^(.+?)[_ .-]+gpu[_ .-]?(\d{1,3})$", re.IGNORECASE)


def own_gpu(name: str) -> tuple[str, str] | None:
    """(number of the GPU, name of the measure) of a column that names its GPU, else None."""
    if match := _BEFORE.match(name.strip()):
        return match[1], match[2]
    if match := _BEHIND.match(name.strip()):
        return match[2], match[1]
    return None


@dataclass(frozen=True)
class Places:
    """Columns of the stamps and the host (None: one host), and place -> (number of the GPU, measure)."""

    time: int
    host: int | None
    gpus: Mapping[int, tuple[str, Column]]


class _Hosts:
    """Series of each host's GPU columns."""

    def __init__(self, table: LongTable, places: Places, layout: CsvLayout) -> None:
        self.found: dict[str | None, list[int | None]] = {}
        self._table, self._places, self._header = table, places, layout.header

    def of_row(self, row: CsvRow) -> Sequence[int | None]:
        """Numbers of the series of a row's cells."""
        at = self._places.host
        cell = row.cells[at].strip() if at is not None and at < len(row.cells) else ""
        host = None if is_missing(cell) else cell
        if host not in self.found:
            self.found[host] = [self._series(host, i) for i in range(len(self._header))]
        return self.found[host]

    def _series(self, host: str | None, i: int) -> int | None:
        index, column = self._places.gpus.get(i, ("", None))
        if column is None or column.target not in MEASURES:
            return None
        name = self._header[i]
        gpu = GpuIdentity(0, 0, host=host, index=index)
        metric = Metric(column.target, column.unit or "")
        shown = f"{host}:{name}" if host else name
        return self._table.add_series(Series(shown, metric, gpu, column=name))


def read_wide(
    format: str,
    source: Source,
    layout: CsvLayout,
    places: Places,
    choices: Choices,
    scratch: Path,
    progress: Progress,
) -> Batch:
    """Read all cells."""
    with long_table(scratch) as table:
        hosts = _Hosts(table, places, layout)
        found = load_wide(source, layout, table, places.time, hosts.of_row, progress)
        batch = wide_batch(format, source, layout, found)
        if places.host is not None:
            drop_absent(table)
        if not build_rows(table, batch, source, choices, scratch):
            time_facts(batch, found, choices)
    _describe(batch, layout, places, table)
    named = [host for host in hosts.found if host]
    if named:
        batch.facts["hosts"] = len(named)
    elif not choices.host:
        batch.warnings.append(NAMELESS)
    batch.reconcile()
    return batch


def _describe(batch: Batch, layout: CsvLayout, places: Places, table: LongTable) -> None:
    gpus = {(one.gpu.host, one.gpu.index) for one in table.series if one.gpu is not None}
    batch.facts["gpus"] = len(gpus) or None
    batch.mapped = {layout.header[places.time]: "gpu_samples.ts"}
    if places.host is not None:
        batch.mapped[layout.header[places.host]] = "gpus.host"
    batch.mapped |= {
        layout.header[i]: f"gpu_samples.{one.target}"
        for i, (_, one) in places.gpus.items()
        if one.target in MEASURES
    }
    batch.unmapped = [name for name in layout.header if name and name not in batch.mapped]
