"""Ways in which real files get damaged on their way to us, and what must still hold for each.

Promises: `same` all rows and facts are those of the whole file. `more` all rows are; counts may grow.
`rows` every stored row has the values of the whole file under its own key, or is gone with a reason.
`values` every number stands somewhere in the same column of the whole file (rows may have changed place).
`safe` only UserError, and every record accounted for.
"""

import csv
import io
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from tests.faults.inputs import Sample

TEXTS = (
    "Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost.",
    "SIGTERM received, shutting down",
    "WARNING 01-05 08:00:00 [engine.py:12] slow tick",
    "Traceback (most recent call last):",
    "\x1b[31mConnection reset by peer\x1b[0m",
    "<<<<<<< HEAD",
)
_DECIMAL = re.compile(r"-?\d+\.\d+")


@dataclass(frozen=True)
class Damage:
    """A damaged file. `touched`: lines whose own bytes or neighbours changed.

    `may_be_refused`: formats that know a column by its place need not know the file any more.
    `cut_cell`: the file ends inside the last cell of a full row, which nothing tells from a whole one.
    """

    data: bytes
    promise: str
    touched: int = 0
    cut_cell: bool = False
    may_be_refused: bool = False


Mutation = Callable[[Sample, random.Random], Damage | None]


def _lines(sample: Sample) -> tuple[list[str], list[str]]:
    """Heading and the rest, each line with its end."""
    lines = _split(sample.data.decode())
    return lines[: sample.heading], lines[sample.heading :]


def _split(text: str) -> list[str]:
    """Lines with their LF; other separators (form feed, U+2028) do not end a line."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _joined(lines: list[str], promise: str, touched: int = 0) -> Damage:
    return Damage("".join(lines).encode(), promise, touched)


def _encoded(codec: str, mark: bytes) -> Mutation:
    def encode(sample: Sample, rng: random.Random) -> Damage:
        return Damage(mark + sample.data.decode().encode(codec), "same")

    return encode


def _ends(end: str) -> Mutation:
    def change(sample: Sample, rng: random.Random) -> Damage | None:
        text = sample.data.decode()
        return None if "\r" in text else Damage(text.replace("\n", end).encode(), "same")

    return change


def latin1(sample: Sample, rng: random.Random) -> Damage | None:
    """A letter beyond ASCII in a foreign line, in Latin-1."""
    try:
        heading, lines = _lines(sample)
        at = len(lines) if sample.shape in ("document", "blocks") else rng.randint(1, len(lines))
        if sample.shape == "document":
            return None
        lines.insert(at, "Gerät nicht verfügbar\n")
        return Damage("".join([*heading, *lines]).encode("latin-1"), "more", 1)
    except UnicodeEncodeError:
        return None


def truncate(sample: Sample, rng: random.Random) -> Damage:
    """Cut anywhere, half of the times in the last record."""
    size = len(sample.data)
    last = sample.data.rstrip().rfind(b"\n") + 1
    at = rng.randint(1, size - 1) if rng.random() < 0.5 or last in (0, size) else rng.randrange(last, size)
    left = sample.data[:at]
    if sample.shape != "table":
        return Damage(left, "rows", 1)
    tail = left.decode().rpartition("\n")[2]
    full = len(next(csv.reader([tail], delimiter=sample.separator), [])) == len(_table(sample)[0])
    return Damage(left, "rows", 1, cut_cell=full)


def _by_row(sample: Sample) -> str:
    """A result of a task that comes again is another repeat: there the place in the file counts."""
    return "rows" if sample.shape in ("table", "lines") and not sample.loose else "values"


def duplicate(sample: Sample, rng: random.Random) -> Damage:
    """One to three records twice, one after the other."""
    heading, lines = _lines(sample)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(lines))
        lines.insert(at, lines[at])
    return _joined([*heading, *lines], _by_row(sample), 6)


def reorder(sample: Sample, rng: random.Random) -> Damage:
    """Two neighbours swapped, or all records shuffled."""
    heading, lines = _lines(sample)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    if rng.random() < 0.5 and len(lines) > 1:
        at = rng.randrange(len(lines) - 1)
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
        touched = 4
    else:
        rng.shuffle(lines)
        touched = len(lines)
    return _joined([*heading, *lines], _by_row(sample), touched)


def text_lines(sample: Sample, rng: random.Random) -> Damage:
    """Lines of somebody else between the records."""
    heading, lines = _lines(sample)
    for _ in range(rng.randint(1, 3)):
        lines.insert(rng.randint(1, len(lines)), rng.choice(TEXTS) + "\n")
    return _joined([*heading, *lines], "more" if sample.shape in ("table", "lines") else "values", 3)


def blank_lines(sample: Sample, rng: random.Random) -> Damage:
    """Empty lines between the records."""
    heading, lines = _lines(sample)
    for _ in range(rng.randint(1, 4)):
        lines.insert(rng.randint(1, len(lines)), rng.choice(["\n", "\n", "  \n"]))
    return _joined([*heading, *lines], "more" if sample.shape in ("table", "lines") else "values", 4)


def long_line(sample: Sample, rng: random.Random) -> Damage:
    """A line of 300 kB between the records."""
    heading, lines = _lines(sample)
    lines.insert(rng.randint(1, len(lines)), rng.choice("x7{\"'= ") * 300_000 + "\n")
    return _joined([*heading, *lines], "rows" if sample.shape in ("table", "lines") else "values", 1)


def nul(sample: Sample, rng: random.Random) -> Damage:
    """A NUL byte anywhere, as a full disk leaves it."""
    at = rng.randrange(len(sample.data))
    return Damage(sample.data[:at] + b"\0" * rng.randint(1, 9) + sample.data[at:], "refused")


def quotes(sample: Sample, rng: random.Random) -> Damage:
    """A quotation mark too many, or one too few, in a record."""
    heading, lines = _lines(sample)
    at = rng.randrange(len(lines))
    line = lines[at]
    marks = [i for i, sign in enumerate(line) if sign in "\"'"]
    if marks and rng.random() < 0.5:
        place = rng.choice(marks)
        line = line[:place] + line[place + 1 :]
    else:
        place = rng.randrange(len(line))
        inside_json = sample.data[:1] in b"{["
        line = line[:place] + ('"' if inside_json else rng.choice("\"'")) + line[place:]
    lines[at] = line
    return _joined([*heading, *lines], "values", 2)


def _table(sample: Sample) -> list[list[str]]:
    return list(csv.reader(io.StringIO(sample.data.decode()), delimiter=sample.separator))


def _written(rows: list[list[str]], separator: str) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _records(sample: Sample) -> list[dict[str, object]] | None:
    """Objects of a JSON lines file."""
    try:
        found = [json.loads(line) for line in sample.data.decode().splitlines() if line.strip()]
    except ValueError:
        return None
    return found if all(isinstance(one, dict) for one in found) else None


def _objects(found: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in found).encode()


def drop_column(sample: Sample, rng: random.Random) -> Damage | None:
    """One column, or one key of all objects, is not there."""
    if sample.shape == "table":
        rows = _table(sample)
        at = rng.randrange(len(rows[0]))
        return Damage(_written([row[:at] + row[at + 1 :] for row in rows], sample.separator), "values")
    found = _records(sample) if sample.shape == "lines" else None
    if found is None:
        return None
    key = rng.choice(sorted({key for one in found for key in one}))
    return Damage(_objects([{k: v for k, v in one.items() if k != key} for one in found]), "values")


def double_column(sample: Sample, rng: random.Random) -> Damage | None:
    """One column stands there twice."""
    if sample.shape != "table":
        return None
    rows = _table(sample)
    at, to = rng.randrange(len(rows[0])), rng.randint(0, len(rows[0]))
    doubled = [[*row[:to], row[at], *row[to:]] if len(row) > at else row for row in rows]
    return Damage(_written(doubled, sample.separator), "rows")


def swap_columns(sample: Sample, rng: random.Random) -> Damage | None:
    """Columns, or keys, in another order."""
    if sample.shape == "table":
        rows = _table(sample)
        order = list(range(len(rows[0])))
        rng.shuffle(order)
        moved = [[row[i] for i in order] if len(row) == len(order) else row for row in rows]
        return Damage(_written(moved, sample.separator), "same", may_be_refused=True)
    found = _records(sample) if sample.shape == "lines" else None
    if found is None or "header" in str(found[0]):
        return None
    return Damage(_objects([dict(rng.sample(list(one.items()), len(one))) for one in found]), "same")


def decimal_comma(sample: Sample, rng: random.Random) -> Damage | None:
    """The same table as a program of another country saves it: semicolons and decimal commas."""
    if sample.shape != "table" or sample.separator != ",":
        return None
    rows = [[_comma(cell) for cell in row] for row in _table(sample)]
    return Damage(_written(rows, ";"), "rows")


def _comma(cell: str) -> str:
    number = cell.strip().split(" ")[0]
    return cell.replace(".", ",") if _DECIMAL.fullmatch(number) else cell


def flip(sample: Sample, rng: random.Random) -> Damage:
    """One to four bits turned over."""
    data = bytearray(sample.data)
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    if sample.shape == "tfevents":
        return Damage(bytes(data), "rows", len(data))
    return Damage(bytes(data), "safe")


def arrow(sample: Sample, rng: random.Random) -> Damage | None:
    """The rows or columns of a Parquet file dropped, doubled or moved."""
    if sample.shape != "parquet":
        return None
    table = pq.read_table(io.BytesIO(sample.data))
    kind = rng.choice(["columns", "rows", "double", "drop"])
    promise = {"columns": "same", "drop": "values"}.get(kind, "rows")
    if kind == "columns":
        table = table.select(rng.sample(table.column_names, table.num_columns))
    elif kind == "drop":
        table = table.drop_columns([rng.choice(table.column_names)])
    elif kind == "rows":
        table = table.take(pa.array(rng.sample(range(table.num_rows), table.num_rows)))
    else:
        at = rng.randrange(table.num_rows)
        table = table.take(pa.array(sorted([*range(table.num_rows), at])))
    out = io.BytesIO()
    pq.write_table(table, out)
    return Damage(out.getvalue(), promise, table.num_rows)


_TEXT: dict[str, Mutation] = {
    "utf16le": _encoded("utf-16-le", b"\xff\xfe"),
    "utf16be": _encoded("utf-16-be", b"\xfe\xff"),
    "utf8_bom": _encoded("utf-8", b"\xef\xbb\xbf"),
    "crlf": _ends("\r\n"),
    "cr": _ends("\r"),
    "latin1": latin1,
    "truncate": truncate,
    "duplicate": duplicate,
    "reorder": reorder,
    "text_lines": text_lines,
    "blank_lines": blank_lines,
    "long_line": long_line,
    "nul": nul,
    "quotes": quotes,
    "drop_column": drop_column,
    "double_column": double_column,
    "swap_columns": swap_columns,
    "decimal_comma": decimal_comma,
}
_BINARY: dict[str, Mutation] = {"truncate": truncate, "flip": flip, "arrow": arrow}


def mutations(sample: Sample) -> dict[str, Mutation]:
    """The mutations that can hit a file of this shape, by name."""
    return _BINARY if sample.shape in ("parquet", "tfevents", "folder") else _TEXT
