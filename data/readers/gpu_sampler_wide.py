"""A sampler's table with columns for each GPU (`gpu0_util_pct`, `power_w_gpu1`), one row a tick."""

import re
from collections.abc import Mapping
from pathlib import Path

from data.csvio import CsvLayout
from data.gpu_long import LongTable, Series
from data.gpu_long_build import build_rows
from data.gpu_metrics import Metric
from data.gpu_rollup import MEASURES, connect
from data.readers.base import Batch, Choices, Progress, Source
from data.readers.gpu_csv import GpuIdentity
from data.readers.gpu_table import NAMELESS, Column
from data.wide import load_wide, wide_batch

_BEFORE = re.compile(r"^gpu[_ .-]?(\d{1,3})[_ .-]+(.+)$", re.IGNORECASE)
_BEHIND = re.compile(r"^(.+?)[_ .-]+gpu[_ .-]?(\d{1,3})$", re.IGNORECASE)


def own_gpu(name: str) -> tuple[str, str] | None:
    """(number of the GPU, name of the measure) of a column that names its GPU, else None."""
    if match := _BEFORE.match(name.strip()):
        return match[1], match[2]
    if match := _BEHIND.match(name.strip()):
        return match[2], match[1]
    return None


def read_wide(
    format: str,
    source: Source,
    layout: CsvLayout,
    time: int,
    gpus: Mapping[int, tuple[str, Column]],
    choices: Choices,
    scratch: Path,
    progress: Progress,
) -> Batch:
    """Read all cells. `time`: place of the stamps; `gpus`: place -> (number of the GPU, measure)."""
    con = connect(scratch)
    try:
        table = LongTable(con)
        numbers: list[int | None] = [None] * len(layout.header)
        for i, (index, column) in gpus.items():
            if column.target in MEASURES:
                metric = Metric(column.target, column.unit or "")
                gpu = GpuIdentity(0, 0, index=index)
                numbers[i] = table.add_series(Series(layout.header[i], metric, gpu))
        found = load_wide(source, layout, table, time, lambda _: numbers, progress)
        batch = wide_batch(format, source, layout, found)
        build_rows(table, batch, source, choices, scratch)
    finally:
        con.close()
    batch.facts["gpus"] = len({index for index, _ in gpus.values()})
    batch.mapped = {layout.header[time]: "gpu_samples.ts"}
    batch.mapped |= {
        layout.header[i]: f"gpu_samples.{gpus[i][1].target}" for i, n in enumerate(numbers) if n is not None
    }
    batch.unmapped = [name for name in layout.header if name and name not in batch.mapped]
    if not choices.host:
        batch.warnings.append(NAMELESS)
    batch.reconcile()
    return batch
