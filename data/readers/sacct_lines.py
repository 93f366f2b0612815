"""Lines of `sacct -P` and `-p`: bars between fields, no quoting, with or without a header."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from data.parse.csvio import TEXT_LIMIT, open_lines
from data.parse.last_line import cut_inside, left_out
from data.parse.timezones import parse_stamp
from data.readers.base import SetAside, Source
from data.slurm_fields import elapsed_seconds

DEFAULT = ("JobID", "JobName", "Partition", "Account", "AllocCPUS", "State", "ExitCode")
"""What sacct prints when no --format is given."""
MOST_JOINED = 50
FREE_TEXT = frozenset({"SubmitLine", "Comment", "AdminComment", "SystemComment", "WorkDir"})
"""Fields that may hold any text, bars too."""
JOB_ID = re.compile(r"^\d+(?:_(?:\d+|\[[^\]]*\]))?(?:\+\d+)?(?:\.[\w-]+)?$")
STATES = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING", "CONFIGURING", "DEADLINE", "FAILED", "NODE_FAIL",
     "OUT_OF_MEMORY", "PENDING", "PREEMPTED", "REQUEUED", "RESIZING", "REVOKED", "RUNNING", "SUSPENDED",
     "TIMEOUT"}
)  # fmt: skip
_EXIT = re.compile(r"^\d+:\d+$")


class Line(NamedTuple):
    """One record: its line, and its fields as written."""

    line: int
    cells: tuple[str, ...]


@dataclass
class Layout:
    """Names by position ("" where unknown), fields of a line, and the line of the header (0: none)."""

    names: tuple[str, ...]
    width: int
    header_line: int
    guessed: str = ""

    def at(self, *names: str) -> int | None:
        """Position of the first of these fields that the file has."""
        return next((self.names.index(name) for name in names if name in self.names), None)


@dataclass
class Counts:
    """The books: `records` = lines handed out + `set_aside`."""

    records: int = 0
    header_repeated: int = 0
    ragged_rows: int = 0
    partial_last_line: int = 0
    last_line: str = ""
    field_counts: Counter[int] = field(default_factory=Counter)
    set_aside: list[SetAside] = field(default_factory=list)


def state_of(text: str) -> str:
    """`CANCELLED by 1001` -> `CANCELLED`; `CANCELLED+` (cut) -> `CANCELLED`."""
    return (text.split() or [""])[0].rstrip("+")


def find_header(lines: Sequence[str]) -> Layout | None:
    """The first line that names a JobID among other fields; a bar at its end (-p) makes no field."""
    for number, text in enumerate(lines, 1):
        cells = [cell.strip() for cell in text.split("|")]
        if len(cells) > 1 and {"JobID", "JobIDRaw"} & set(cells):
            return Layout(tuple(re.sub(r"%-?\d+$", "", cell) for cell in cells), len(cells), number)
    return None


def guess_columns(lines: Sequence[str], chosen: Mapping[str, str]) -> Layout | None:
    """A layout for lines without a header (-n): what a person chose by position ("1": "JobID"), the default
    fields of sacct, or what the cells themselves prove (end - start = elapsed). None when nothing is sure.
    """
    rows = [text.split("|") for text in lines if JOB_ID.match(text.split("|")[0].strip())]
    if not rows:
        return None
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    rows = [[cell.strip() for cell in row] for row in rows if len(row) == width]
    if width < 2:
        return None
    if any(key.isdigit() for key in chosen):
        names = tuple(chosen.get(str(i + 1), "") for i in range(width))
        return Layout(names, width, 0, "as chosen") if {"JobID", "JobIDRaw"} & set(names) else None
    bare = width - (1 if all(row[-1] == "" for row in rows) else 0)
    if bare == len(DEFAULT) and all(state_of(r[5]) in STATES and _EXIT.match(r[6]) for r in rows):
        return Layout((*DEFAULT, *[""] * (width - bare)), width, 0, "the default fields of sacct")
    return _proven(rows, width)


def _proven(rows: list[list[str]], width: int) -> Layout | None:
    columns = list(zip(*rows, strict=True))
    names = [""] * width
    names[0] = "JobID"
    state = [i for i, cells in enumerate(columns) if all(state_of(c) in STATES for c in cells)]
    tres = [i for i, cells in enumerate(columns) if _all(cells, lambda c: "cpu=" in c or "gres/" in c)]
    spans = [i for i, cells in enumerate(columns) if _all(cells, lambda c: elapsed_seconds(c) is not None)]
    stamps = [i for i, cells in enumerate(columns) if _all(cells, _is_stamp)]
    same = len({tuple(columns[i]) for i in tres}) == 1
    if len(state) != 1 or not same:
        return None
    for start in stamps:
        for end in stamps:
            for span in spans:
                if start < end and _agree(columns[start], columns[end], columns[span]):
                    names[start], names[end], names[span] = "Start", "End", "Elapsed"
                    names[state[0]], names[tres[0]] = "State", "AllocTRES"
                    return Layout(tuple(names), width, 0, "proven by end - start = elapsed")
    return None


def _all(cells: Sequence[str], test: Callable[[str], bool]) -> bool:
    there = [cell for cell in cells if cell and cell not in ("Unknown", "None", "NA", "N/A")]
    return bool(there) and all(test(cell) for cell in there)


def _is_stamp(text: str) -> bool:
    return len(text) > 13 and parse_stamp(text) is not None


def _agree(starts: Sequence[str], ends: Sequence[str], spans: Sequence[str]) -> bool:
    compared = 0
    for start, end, span in zip(starts, ends, spans, strict=True):
        first, last, seconds = parse_stamp(start), parse_stamp(end), elapsed_seconds(span)
        if first is None or last is None or seconds is None:
            continue
        if abs((last.at - first.at).total_seconds() - seconds) > 1 or seconds <= 0:
            return False
        compared += 1
    return compared > 0


def read_lines(source: Source, layout: Layout, counts: Counts) -> Iterator[Line]:
    """Records in file order. A field may hold a line break: lines are joined while fields are lacking."""
    with closing(open_lines(source)) as lines:
        held: list[str] = []
        start = 0
        for number, raw in enumerate(lines, 1):
            text = raw.rstrip("\n")
            if number <= layout.header_line:
                continue
            if held and _goes_on(held, text, layout.width):
                held.append(text)
                continue
            if held:
                yield from _judged(source, layout, counts, Line(start, _cells(held)), last=False)
            held, start = ([text], number) if _begins(text) else ([], 0)
            if _begins(text) and _is_header(text, layout):
                counts.header_repeated += 1
                held = []
        if held:
            yield from _judged(source, layout, counts, Line(start, _cells(held)), last=True)


def _begins(text: str) -> bool:
    return "|" in text


def _is_header(text: str, layout: Layout) -> bool:
    names = tuple(re.sub(r"%-?\d+$", "", cell.strip()) for cell in text.split("|"))
    return bool(layout.header_line) and names == layout.names


def _cells(held: Sequence[str]) -> tuple[str, ...]:
    return tuple("\n".join(held).split("|"))


def _goes_on(held: Sequence[str], text: str, width: int) -> bool:
    """Whether a line continues the record: fields are lacking, and the line is no record of its own."""
    have = sum(piece.count("|") for piece in held) + 1
    if have >= width or len(held) >= MOST_JOINED:
        return False
    own = text.count("|") + 1
    return have + own - 1 <= width and not JOB_ID.match(text.split("|")[0].strip())


def _with_free_end(record: Line, layout: Layout) -> Line:
    """Bars in a command line at the end of the record are its own; a bar before it would move the state."""
    named = [i for i, name in enumerate(layout.names) if name]
    last, state = named[-1] if named else 0, layout.at("State")
    surplus = len(record.cells) - layout.width
    if surplus <= 0 or layout.names[last] not in FREE_TEXT or state is None:
        return record
    if state_of(record.cells[state]) not in STATES:
        return record
    cells = record.cells
    return Line(
        record.line, (*cells[:last], "|".join(cells[last : last + surplus + 1]), *cells[last + surplus + 1 :])
    )


def _open_end(record: Line, layout: Layout) -> str:
    """The sentence on a last line without an end, which sacct always writes; "" where it does no harm."""
    fields = len(record.cells)
    if fields < layout.width:
        return cut_inside(record.line, "record")
    read = fields > layout.width or bool(layout.names[-1])
    return left_out(record.line, record.cells[-1], "job") if read else ""


def _judged(source: Source, layout: Layout, counts: Counts, record: Line, *, last: bool) -> Iterator[Line]:
    fields = len(record.cells)
    if last and not source.ends_with_newline and (said := _open_end(record, layout)):
        counts.partial_last_line, counts.last_line = 1, said
        return
    counts.records += 1
    if fields != layout.width:
        counts.ragged_rows += 1
    record = _with_free_end(record, layout)
    surplus = record.cells[layout.width :]
    if surplus and (not layout.names[-1] or any(cell.strip() for cell in surplus)):
        reason = f"{fields} fields where the header has {layout.width} (a name may hold a bar)"
        counts.set_aside.append(SetAside(record.line, reason, "|".join(record.cells)[:TEXT_LIMIT]))
        return
    yield Line(record.line, record.cells[: layout.width])
