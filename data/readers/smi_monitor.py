"""The header and rows of `nvidia-smi dmon` and `pmon`: two `#` lines a page, columns by name."""

import re
from dataclasses import dataclass

from data.gpu.text import NotARow, head_lines
from data.readers.base import Source

_DATE = re.compile(r"^(\d{4})[-/]?(\d{2})[-/]?(\d{2})$")
_TIME = re.compile(r"^\d{1,2}:\d{2}:\d{2}(?:\.\d+)?$")


@dataclass(frozen=True)
class Monitor:
    """Header of a monitor: `names` in file order, `units` of each, the line it stands on (from 1)."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    line: int
    comma: bool

    @property
    def has_date(self) -> bool:
        """Whether rows begin with a date and a time; a time alone fixes no instant."""
        return self.names[:2] == ("date", "time")

    @property
    def header(self) -> tuple[str, ...]:
        """Column names, with the date and the time as one."""
        return ("timestamp", *self.names[2:]) if self.has_date else self.names

    @property
    def column_units(self) -> tuple[str, ...]:
        """Units in the order of `header`."""
        return ("", *self.units[2:]) if self.has_date else self.units

    def row(self, text: str) -> list[str] | NotARow:
        """Cells of one row, a command with its spaces; a header of a later page is no row."""
        line = text.strip()
        if not line:
            return NotARow()
        if line.startswith("#"):
            names = names_of(line)
            again = names == self.names
            return NotARow(header=again, other_header=not again and "gpu" in names)
        cuts = len(self.names) - 1 if self.names[-1] == "command" else -1
        cells = [cell.strip() for cell in line.split("," if self.comma else None, cuts)]
        return self._checked(cells)

    def _checked(self, cells: list[str]) -> list[str] | NotARow:
        at = self.names.index("gpu")
        if len(cells) <= at:
            return cells[:1] if _DATE.match(cells[0]) or cells[0].isdigit() else NotARow("text between rows")
        if not cells[at].isdigit():
            return NotARow("text between rows")
        if self.has_date:
            date = _DATE.match(cells[0])
            stamp = f"{date[1]}-{date[2]}-{date[3]} {cells[1]}" if date else f"{cells[0]} {cells[1]}"
            return [stamp, *cells[2:]]
        if self.names[0] == "time" and not _TIME.match(cells[0]):
            return NotARow("text between rows")
        return cells


def names_of(line: str) -> tuple[str, ...]:
    """Names of a `#` line, in lower case."""
    return tuple(cell.lower() for cell in re.split(r"[,\s]+", line.strip().lstrip("#").strip()) if cell)


def find_monitor(source: Source, is_names: re.Pattern[str]) -> Monitor | None:
    """The last `#` line that `is_names` accepts before the first row, and the unit line under it."""
    lines = head_lines(source)
    found: Monitor | None = None
    for number, line in enumerate(lines, 1):
        if found is not None and line.strip() and not line.strip().startswith("#"):
            break
        if line.strip().startswith("#") and is_names.search(line):
            names = names_of(line)
            under = next((text.strip() for text in lines[number:] if text.strip()), "")
            cells = re.split(r"[,\s]+", under.lstrip("#").strip()) if under.startswith("#") else []
            units = tuple(cells) if len(cells) == len(names) else ("",) * len(names)
            found = Monitor(names, units, number, "," in line)
    return found
