"""`nvidia-smi dmon`: one row a GPU and tick, a header every page, no time unless it was asked for."""

import re
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.table import Column, Table, read_table
from data.gpu.text import write_twin
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.smi_monitor import Monitor, find_monitor

MEASURES = {
    "sm": Column("gpu_util", "%"),
    "mem": Column("mem_util", "%"),
    "fb": Column("mem_bytes", "MB"),
    "pwr": Column("power_w", "W"),
    "pclk": Column("sm_clock_mhz", "MHz"),
    "gtemp": Column("temp_c", "C"),
    "temp": Column("temp_c", "C", 1),
    "gract": Column("gr_engine_active", "%"),
    "smutil": Column("sm_active", "%"),
    "mmaact": Column("tensor_active", "%"),
    "dram": Column("dram_active", "%"),
    "gpu": Column("index"),
    "timestamp": Column("ts"),
}
"""Column of dmon -> measure. `sm` is NVML's GPU-Util, not SM activity; `mem` is controller time.

`--gpm-metrics` adds `gract`, `smutil`, `mmaact` and `dram`, percentages of what DCGM's PROF fields count.
"""
HEADER = re.compile(r"^\s*#\s*(?:date[,\s]+)?(?:time[,\s]+)?gpu[,\s]+(?!pid\b)\w+", re.IGNORECASE)
_UNITS = {"%": "%", "GPM:%": "%", "W": "W", "C": "C", "MHz": "MHz", "MB": "MB", "MiB": "MiB"}


class DmonReader:
    """Samples of `nvidia-smi dmon`."""

    format = "nvidia_smi_dmon"
    title = "nvidia-smi dmon text"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the `# gpu …` line: columns of dmon."""
        found = find_monitor(source, HEADER)
        if found is None or "pid" in found.names or "gpu" not in found.names:
            return Sniff(0.0, "no '# gpu …' line of nvidia-smi dmon")
        known = len(set(found.names) & set(MEASURES)) - 1
        if not known:
            return Sniff(0.4, "a '# gpu …' line, but no column of dmon that GPUs are measured by")
        return Sniff(0.97, f"a '# gpu …' line with {known} measures of nvidia-smi dmon")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows. With `-o DT` stamps are local time; without a date nothing can be placed in time.

        Raises UnreadableFileError without the `# gpu` line or without a row.
        """
        found = find_monitor(source, HEADER)
        if found is None:
            raise UnreadableFileError(
                "No '# gpu …' line names the columns",
                source.name,
                "Keep the header lines of nvidia-smi dmon.",
            )
        twin = write_twin(source, scratch, found.header, found.line, found.row, aligned=not found.comma)
        notes = []
        if not found.has_date:
            notes.append("Log with 'nvidia-smi dmon -o DT' to have date and time in each row.")
        table = Table(
            self.format,
            twin.layout,
            _columns(found),
            aside=twin.aside,
            headers_repeated=twin.headers_repeated,
            warnings=notes,
            facts={"columns": len(found.names)},
        )
        return read_table(twin.source, table, choices, scratch, progress)


def _columns(found: Monitor) -> dict[int, Column]:
    out: dict[int, Column] = {}
    for i, (name, unit) in enumerate(zip(found.header, found.column_units, strict=True)):
        column = MEASURES.get(name)
        if column is not None:
            out[i] = Column(column.target, _UNITS.get(unit, column.unit), column.rank)
    return out


READERS = (DmonReader(),)
