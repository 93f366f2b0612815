"""`rocm-smi --csv`: a row a card, columns that differ by card and version, no time of its own."""

import re
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.table import Column
from data.parse.csvio import CsvLayout, read_layout
from data.parse.values import unit_of_header
from data.readers.amd_smi import CardRows, read_cards
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.gpu_sampler import TIMES

MEASURES: tuple[tuple[str, Column], ...] = (
    (r"gpu use", Column("gfx_activity", "%")),
    (r"gpu memory read/write activity", Column("umc_activity", "%")),
    (r"(current|average) (socket )?graphics package power", Column("power_w", "W")),
    (r"power", Column("power_w", "W", 1)),
    (r"max graphics package power", Column("power_limit_w", "W")),
    (r"vram total used memory", Column("mem_bytes", "B")),
    (r"vram total memory", Column("mem_total_bytes", "B")),
    (r"temperature \(sensor junction\)", Column("temp_c", "C")),
    (r"temperature \(sensor edge\)", Column("temp_c", "C", 1)),
)
"""Name without its unit -> measure. `GFX Activity` is a running counter and `VRAM%` no amount of bytes."""
IDENTITY = {
    "device": Column("index"), "unique id": Column("uuid"), "pci bus": Column("bus"),
    "card series": Column("model"), "hostname": Column("host"), "host": Column("host"),
}  # fmt: skip
_UNIT = re.compile(r"\s*\([^()]*\)\s*$")


def is_header(names: tuple[str, ...]) -> bool:
    """Whether a line is a header of rocm-smi: `device` and a measure with its unit in brackets."""
    return "device" in [name.lower() for name in names] and any(_measure(name) for name in names)


def _measure(name: str) -> Column | None:
    plain = _UNIT.sub("", name).strip().lower()
    return next((column for pattern, column in MEASURES if re.fullmatch(pattern, plain)), None)


class RocmSmiReader:
    """Samples of `rocm-smi --csv`."""

    format = "rocm_smi_csv"
    title = "rocm-smi CSV"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: device, and a measure with its unit in brackets."""
        try:
            layout = read_layout(source, is_header, unique=False)
        except UnreadableFileError:
            return Sniff(0.0, "no header of rocm-smi (device, GPU use (%), …)")
        known = sum(_measure(name) is not None for name in layout.header)
        return Sniff(0.95, f"{known} of {layout.columns} columns are measures of rocm-smi")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows of cards. Without a column of times nothing can be placed in time.

        Raises UnreadableFileError without a header, without rows, or when a column is named twice.
        """
        layout = read_layout(source, is_header)
        plain = [name.lower() for name in layout.header]
        serial = plain.index("serial number") if "serial number" in plain else None
        judge = CardRows(layout, plain.index("device"), serial)
        return read_cards(self.format, source, layout, judge, _columns, choices, scratch, progress)


def _columns(layout: CsvLayout) -> dict[int, Column]:
    found: dict[int, Column] = {}
    taken: set[str] = set()
    for i, name in enumerate(layout.header):
        column = _measure(name)
        plain = name.strip().lower()
        if column is not None:
            found[i] = Column(column.target, unit_of_header(name) or column.unit, column.rank)
            continue
        identity = Column("ts") if plain in TIMES else IDENTITY.get(plain)
        if identity is not None and identity.target not in taken:
            taken.add(identity.target)
            found[i] = identity
    return found


READERS = (RocmSmiReader(),)
