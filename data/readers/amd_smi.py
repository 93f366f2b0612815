"""`amd-smi metric --csv`, once and with `-w`: header each tick, epoch seconds, lists inside cells."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.batch import plain_index
from data.gpu.table import Column, Table, named, read_table
from data.gpu.text import NotARow, write_twin
from data.parse.csvio import CsvLayout, read_layout, split_line
from data.parse.values import is_missing, unit_of_header
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.gpu_sampler import TIMES

MEASURES = {
    "gfx_activity": Column("gfx_activity", "%"),
    "gfx_usage": Column("gfx_activity", "%"),
    "umc_activity": Column("umc_activity", "%"),
    "mem_usage": Column("umc_activity", "%"),
    "socket_power": Column("power_w", "W"),
    "current_socket_power": Column("power_w", "W"),
    "average_socket_power": Column("power_w", "W", 1),
    "power_usage": Column("power_w", "W", 2),
    "power_limit": Column("power_limit_w", "W"),
    "total_energy_consumption": Column("energy_j", "J"),
    "used_vram": Column("mem_bytes", "MB"),
    "vram_used": Column("mem_bytes", "MB"),
    "fb_used": Column("mem_bytes", "MB"),
    "total_vram": Column("mem_total_bytes", "MB"),
    "vram_total": Column("mem_total_bytes", "MB"),
    "fb_total": Column("mem_total_bytes", "MB"),
    "gfx_0_clk": Column("sm_clock_mhz", "MHz"),
    "gfx_clk": Column("sm_clock_mhz", "MHz", 1),
    "gfx_cur_clk": Column("sm_clock_mhz", "MHz", 1),
    "hotspot": Column("temp_c", "C"),
    "hotspot_temperature": Column("temp_c", "C"),
    "edge": Column("temp_c", "C", 1),
    "edge_temperature": Column("temp_c", "C", 1),
}
"""Column -> measure. `mem` is a temperature, `mem_usage` the memory controller; MB is MiB here too."""
IDENTITY = {
    "gpu": Column("index"), "gpu_bdf": Column("bus"), "bdf": Column("bus"),
    "gpu_uuid": Column("uuid"), "uuid": Column("uuid"), "hostname": Column("host"), "host": Column("host"),
    "market_name": Column("model"),
}  # fmt: skip
SERIALS = ("serial", "asic_serial", "serial_number")
_TELLING = frozenset({"gfx_activity", "gfx_usage", "umc_activity", "socket_power", "used_vram", "fb_used"})
_LIST = re.compile(r'"?\[[^\[\]"]*\]"?')


def is_header(names: tuple[str, ...]) -> bool:
    """Whether a line is a header of amd-smi: `gpu` first or after a time, and a column that only it has."""
    plain = [name.lower() for name in names]
    return "gpu" in plain[:3] and bool(set(plain) & _TELLING)


class AmdSmiReader:
    """Samples of `amd-smi metric --csv`."""

    format = "amd_smi_csv"
    title = "amd-smi metric CSV"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: gpu, and columns that only amd-smi has."""
        try:
            layout = read_layout(source, is_header, unique=False)
        except UnreadableFileError:
            return Sniff(0.0, "no header of amd-smi (gpu, gfx_activity, socket_power, …)")
        known = sum(name.lower() in MEASURES for name in layout.header)
        return Sniff(0.95, f"{known} of {layout.columns} columns are measures of amd-smi")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows; lists inside cells are put together again. Stamps are epoch seconds, so UTC.

        Raises UnreadableFileError without a header, without rows, or when a column is named twice.
        """
        layout = read_layout(source, is_header)
        judge = CardRows(layout, _at(layout, ("gpu",)), _at(layout, SERIALS))
        return read_cards(self.format, source, layout, judge, _columns, choices, scratch, progress)


def read_cards(
    format_name: str,
    source: Source,
    layout: CsvLayout,
    judge: "CardRows",
    columns: Callable[[CsvLayout], dict[int, Column]],
    choices: Choices,
    scratch: Path,
    progress: Progress,
) -> Batch:
    """Read a table of AMD cards: `judge` tells its lines apart, `columns` finds the measures of a header."""
    twin = write_twin(source, scratch, layout.header, layout.header_line, judge.row)
    given = named(twin.layout, choices)
    warnings, facts = judge.physical()
    table = Table(
        format_name,
        given,
        columns(given),
        aside=twin.aside,
        headers_repeated=twin.headers_repeated,
        warnings=warnings,
        facts=facts,
    )
    return read_table(twin.source, table, choices, scratch, progress)


class CardRows:
    """Rows of a table of AMD cards: lists made one cell, lines that name no card told apart."""

    def __init__(self, layout: CsvLayout, card: int | None, serial: int | None) -> None:
        self._layout, self._card, self._serial = layout, card, serial
        self._names = frozenset(name for name in layout.header if name)
        self._cards: dict[str, str] = {}

    def row(self, text: str) -> list[str] | NotARow:
        """Cells of one line; a header of a later tick, a blank line or a message is no row."""
        if not text.strip():
            return NotARow()
        whole = _LIST.sub(_one_cell, text) if "[" in text else text
        cells = split_line(whole, self._layout.delimiter)
        if self._names_card(cells):
            self._note(cells)
            return cells
        found = {cell.strip() for cell in cells} & self._names
        at = self._card
        names_card = at is not None and len(cells) > at and cells[at].strip() == self._layout.header[at]
        if len(found) > 1 or names_card:
            again = tuple(cell.strip() for cell in cells) == self._layout.header
            return NotARow("" if again else "another header", header=again, other_header=not again)
        if self._card is not None and len(cells) <= self._card and cells[0].strip()[:1].isdigit():
            return cells
        return NotARow("text between rows, or a row that names no card")

    def _names_card(self, cells: Sequence[str]) -> bool:
        at = self._card
        return at is not None and len(cells) > at and plain_index(cells[at].strip()) is not None

    def _note(self, cells: Sequence[str]) -> None:
        if self._serial is not None and self._card is not None and len(cells) > self._serial:
            serial = cells[self._serial].strip()
            if not is_missing(serial):
                self._cards.setdefault(cells[self._card].strip(), serial)

    def physical(self) -> tuple[list[str], dict[str, object]]:
        """What serial numbers say: partitions share one, so cards are counted by it. Call after reading."""
        cards, devices = len(set(self._cards.values())), len(self._cards)
        if not cards or cards == devices:
            return [], {}
        note = (
            f"{devices} devices carry {cards} serial numbers: they are partitions of {cards} cards. "
            "Each partition is kept as a row of its own; count the cards, not the partitions."
        )
        return [note], {"gpus": cards}


def _one_cell(match: re.Match[str]) -> str:
    return match[0].strip('"').replace(",", ";")


def _at(layout: CsvLayout, names: Sequence[str]) -> int | None:
    return next((i for i, name in enumerate(layout.header) if name.lower() in names), None)


def _columns(layout: CsvLayout) -> dict[int, Column]:
    found: dict[int, Column] = {}
    taken: set[str] = set()
    for i, name in enumerate(layout.header):
        plain = re.sub(r"\s*[\[(].*$", "", name).strip().lower()
        column = MEASURES.get(plain)
        if column is not None:
            found[i] = Column(column.target, unit_of_header(name) or column.unit, column.rank)
            continue
        identity = Column("ts") if plain in TIMES else IDENTITY.get(plain)
        if identity is not None and identity.target not in taken:
            taken.add(identity.target)
            found[i] = identity
    return found


READERS = (AmdSmiReader(),)
