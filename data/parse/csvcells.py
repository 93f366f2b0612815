"""Cells of one line of CSV, and the delimiter of a line that may be a header."""

import re
from functools import lru_cache

DELIMITERS = (",", ";", "\t", "|")
_INSIDE = re.compile(r'[^"]*+(?:""[^"]*+)*+')
REMEMBERED_CHARACTERS = 2_000
"""The longest line whose cells are remembered."""


def split_line(text: str, delimiter: str) -> list[str]:
    """Cells of one record, unquoted; an unclosed quote runs to the end."""
    if '"' not in text:
        return text.split(delimiter)
    cells: list[str] = []
    at, end = 0, len(text)
    while True:
        start = skip_spaces(text, at)
        if text.startswith('"', start):
            cell, at = _quoted(text, start + 1, delimiter)
        else:
            stop = text.find(delimiter, at)
            stop = stop if stop >= 0 else end
            cell, at = text[at:stop], stop
        cells.append(cell)
        if at >= end:
            return cells
        at += 1


def skip_spaces(text: str, at: int) -> int:
    """The place of the first character from `at` on that is no blank."""
    while text.startswith(" ", at):
        at += 1
    return at


def _quoted(text: str, at: int, delimiter: str) -> tuple[str, int]:
    stop = quote_end(text, at)
    cell = text[at:stop].replace('""', '"')
    if stop >= len(text):
        return cell, len(text)
    after = text.find(delimiter, stop + 1)
    after = after if after >= 0 else len(text)
    return cell + text[stop + 1 : after].rstrip(), after


def quote_end(text: str, at: int) -> int:
    """The place of the quote that closes a cell whose text begins at `at`; without one, its end."""
    inside = _INSIDE.match(text, at)
    return inside.end() if inside else at


def best_delimiter(line: str) -> str:
    """The delimiter that cuts a header line into most cells, but no quoted cell in two; else the comma.

    A legend of Prometheus holds commas: `Time;"up{job=""a"",gpu=""0""}"` has two cells.
    """
    cutting = [d for d in DELIMITERS if d == "," or d in line]
    return max(cutting, key=lambda d: (_cuts_no_quote(line, d), len(split_line(line, d)), d == ","))


def _cuts_no_quote(line: str, delimiter: str) -> bool:
    """Whether the line has more than one cell and all quotes open and close at the ends of cells."""
    if '"' not in line:
        return True
    at, cells = 0, 0
    while at <= len(line):
        start = skip_spaces(line, at)
        stop = line.find(delimiter, at)
        stop = stop if stop >= 0 else len(line)
        if line.startswith('"', start):
            _, stop = _quoted(line, start + 1, delimiter)
        elif '"' in line[at:stop]:
            return False
        at, cells = stop + 1, cells + 1
    return cells > 1


def header_cells(text: str, forced: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The delimiter of a line (`forced`, else the best one) and its trimmed cells.

    Some thirty readers ask for the same head of a file, so lines of a usual length are cut once.
    """
    return (_remembered if len(text) <= REMEMBERED_CHARACTERS else _cut)(text, forced)


def _cut(text: str, forced: str | None) -> tuple[str, tuple[str, ...]]:
    delimiter = forced or best_delimiter(text)
    return delimiter, tuple(cell.strip() for cell in split_line(text, delimiter))


_remembered = lru_cache(maxsize=1_000)(_cut)
