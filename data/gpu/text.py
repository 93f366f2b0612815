"""Tables that are not CSV -> a tab-separated twin with the same line numbers, for the one CSV path."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from data.errors import UnreadableFileError
from data.parse.csvio import HOPELESS_ROWS, TEXT_LIMIT, CsvLayout, open_lines
from data.readers.base import SetAside, Source

TAB = "\t"
UNDER_ANOTHER = "row under a header with other columns; load that part as a file of its own"


@dataclass(frozen=True)
class NotARow:
    """A line that is no row: `reason` when it must be set aside, "" for a blank, unit or comment line.

    `header`: the header again; `other_header`: one with other columns, whose rows cannot be read by ours.
    """

    reason: str = ""
    header: bool = False
    other_header: bool = False


@dataclass
class Twin:
    """The twin of a file and the books of the lines that are not in it."""

    source: Source
    layout: CsvLayout
    aside: list[SetAside] = field(default_factory=list)
    headers_repeated: int = 0


Judge = Callable[[str], Sequence[str] | NotARow]
"""Cells of one line (without newline), or why it is no row."""


def write_twin(
    source: Source,
    scratch: Path,
    header: Sequence[str],
    header_line: int,
    judge: Judge,
    aligned: bool = False,
) -> Twin:
    """Write every line under `header_line` as tab-separated cells, others blank; lines keep their number.

    `aligned`: columns end at fixed places, so a last line without an end is whole where it is long enough.
    Raises UnreadableFileError when most lines are no rows.
    """
    path = scratch / "table.tsv"
    twin = Twin(source, CsvLayout(TAB, tuple(header), header_line, header_line + 1))
    rows, astray, lengths = 0, False, set[int]()
    ended = source.ends_with_newline
    with path.open("w", encoding="utf-8", newline="") as out:
        for line, text in _lines(source):
            if line > 1:
                out.write("\n")
            if line <= header_line:
                continue
            found = judge(text)
            if isinstance(found, NotARow):
                twin.headers_repeated += found.header
                astray = found.other_header or (astray and not found.header)
            reason = _reason(found, astray)
            if reason:
                twin.aside.append(SetAside(line, reason, text[:TEXT_LIMIT]))
                _hopeless(twin, rows, source)
            if reason or isinstance(found, NotARow):
                continue
            rows += 1
            if line == source.physical_lines and _is_cut(source, text, lengths):
                found = found[:-1]
            elif line == source.physical_lines:
                ended = ended or (aligned and lengths == {len(text.rstrip())})
            lengths.add(len(text.rstrip()))
            out.write(TAB.join(cell.replace(TAB, " ").replace('"', "'") for cell in found))
        if ended:
            out.write("\n")
    twin.source = replace(source, path=path, ends_with_newline=ended)
    return twin


def _is_cut(source: Source, text: str, lengths: set[int]) -> bool:
    """True for a last line without a newline that is shorter than every row before it: columns are padded."""
    return not source.ends_with_newline and len(text.rstrip()) < min(lengths, default=0)


def _reason(found: Sequence[str] | NotARow, astray: bool) -> str:
    if isinstance(found, NotARow):
        return found.reason
    return UNDER_ANOTHER if astray else ""


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    with closing(open_lines(source)) as lines:
        for number, line in enumerate(lines, 1):
            yield number, line.rstrip("\n")


def _hopeless(twin: Twin, rows: int, source: Source) -> None:
    if len(twin.aside) > HOPELESS_ROWS and len(twin.aside) > rows:
        first = twin.aside[0]
        raise UnreadableFileError(
            f"Most lines are no rows of this table: {first.reason}, first",
            f"{source.name}, line {first.line}",
            "Load the output of one command, without other text around it.",
        )


def head_lines(source: Source) -> list[str]:
    """The lines of the head without the last, which may be cut in the middle."""
    lines = source.head.split("\n")
    whole = len(lines) == 1 or source.size_bytes <= len(source.head.encode())
    return lines if whole else lines[:-1]
