"""`dcgmi dmon`: rows of entities with short tags of DCGM fields, ratios 0..1, and never a time."""

import re
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.table import Column, Table, read_table
from data.gpu.text import NotARow, head_lines, write_twin
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

TAGS = {
    "GPUTL": Column("gpu_util", "%"),
    "MCUTL": Column("mem_util", "%"),
    "GRACT": Column("gr_engine_active", "ratio"),
    "SMACT": Column("sm_active", "ratio"),
    "TENSO": Column("tensor_active", "ratio"),
    "DRAMA": Column("dram_active", "ratio"),
    "FBUSD": Column("mem_bytes", "MiB"),
    "FBTTL": Column("mem_total_bytes", "MiB"),
    "POWER": Column("power_w", "W"),
    "TOTEC": Column("energy_j", "mJ"),
    "SMCLK": Column("sm_clock_mhz", "MHz"),
    "TMPTR": Column("temp_c", "C"),
}
"""Short tag -> measure. SMOCC is resident warps, no activity; GRACT is the graphics engine, not the SMs."""
_HEADER = re.compile(r"^\s*#\s*Entity\s+(\S.*)$", re.IGNORECASE)
_ENTITY = re.compile(r"^\s*(GPU-CI|GPU-I|GPU|CPU|SW|CORE|CX|LINK)\s+(\S+)\s*(.*)$", re.IGNORECASE)
NOT_A_GPU = "row of an instance, a switch or a CPU, not of a GPU"
NO_TIME = (
    "dcgmi dmon prints no time, and the file does not say its interval (-d): "
    "log through DCGM's exporter, or put a time before each row."
)


class DcgmiDmonReader:
    """Samples of `dcgmi dmon`."""

    format = "dcgmi_dmon"
    title = "dcgmi dmon text"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the `#Entity` line with short tags."""
        found = _find(source)
        if found is None:
            return Sniff(0.0, "no '#Entity' line of dcgmi dmon")
        known = sum(tag in TAGS for tag in found[1])
        return Sniff(0.97 if known else 0.7, f"an '#Entity' line with {known} known tags of dcgmi dmon")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows of GPUs; other entities are counted as ignored. Means only: rows have no time.

        Raises UnreadableFileError without the `#Entity` line or without a row.
        """
        found = _find(source)
        if found is None:
            raise UnreadableFileError(
                "No '#Entity' line names the columns", source.name, "Keep the header lines of dcgmi dmon."
            )
        line, tags = found
        judge = _Judge(tags)
        twin = write_twin(source, scratch, ("Entity", *tags), line, judge.row)
        columns = {i: TAGS[tag] for i, tag in enumerate(tags, 1) if tag in TAGS}
        table = Table(
            self.format,
            twin.layout,
            {0: Column("index"), **columns},
            aside=twin.aside,
            headers_repeated=twin.headers_repeated,
            warnings=[NO_TIME],
            facts={"columns": len(tags) + 1},
            ignored={NOT_A_GPU: judge.others} if judge.others else {},
        )
        return read_table(twin.source, table, choices, scratch, progress)


class _Judge:
    def __init__(self, tags: tuple[str, ...]) -> None:
        self._tags = tags
        self.others = 0

    def row(self, text: str) -> list[str] | NotARow:
        """Cells of a GPU's row: its number, then the values."""
        line = text.strip()
        if not line or re.fullmatch(r"ID\b.*", line):
            return NotARow()
        if line.startswith("#"):
            match = _HEADER.match(line)
            again = match is not None and tuple(match[1].upper().split()) == self._tags
            return NotARow(header=again, other_header=match is not None and not again)
        match = _ENTITY.match(line)
        if match is None:
            return NotARow("text between rows")
        if match[1].upper() != "GPU":
            self.others += 1
            return NotARow()
        return [match[2], *match[3].split(None, len(self._tags) - 1)]


def _find(source: Source) -> tuple[int, tuple[str, ...]] | None:
    for number, text in enumerate(head_lines(source), 1):
        if match := _HEADER.match(text):
            return number, tuple(tag.upper() for tag in match[1].split())
    return None


READERS = (DcgmiDmonReader(),)
