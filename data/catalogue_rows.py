"""Read catalogue files and refuse rows that are incomplete or contradict each other."""

import csv
import functools
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

from data import catalogue_types as t
from data.errors import CatalogueError

_Row = TypeVar("_Row", bound="_Dataclass")


class _Dataclass(Protocol):
    __dataclass_fields__: typing.ClassVar[dict[str, Any]]


@dataclass(frozen=True)
class Line:
    """One row of a catalogue file with its place."""

    where: str
    cells: Mapping[str, str]

    def refuse(self, what: str, remedy: str = "") -> CatalogueError:
        """Build the error of this row."""
        return CatalogueError(what, self.where, remedy)

    def need(self, column: str) -> str:
        """Return the text of a column that must not be empty."""
        text = self.cells[column].strip()
        if not text:
            raise self.refuse(f"column {column} is empty", f"Fill in {column}.")
        return text

    def number(self, column: str) -> float | None:
        """Return the number of a column, None when the cell is empty."""
        text = self.cells[column].strip()
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            raise self.refuse(f"{column} holds {text!r}, not a number", "Write a plain number.") from None
        if value != value or value in (float("inf"), float("-inf")):
            raise self.refuse(f"{column} holds {text!r}, not a finite number", "Write a plain number.")
        return value


def lines(path: Path, columns: tuple[str, ...]) -> Iterator[Line]:
    """Yield the rows of a CSV file; raises CatalogueError on a wrong header or a ragged row."""
    if not path.is_file():
        raise CatalogueError(
            "a catalogue file is missing", path.name, "Restore data/catalog from the repository."
        )
    with path.open(newline="", encoding="utf-8") as handle:
        reader = csv.reader(handle, strict=True)
        header = next(reader, [])
        if tuple(header) != columns:
            odd = sorted(set(columns) ^ set(header)) or ["their order"]
            raise CatalogueError(
                f"the columns differ from the expected ones: {', '.join(odd)}",
                f"{path.name}, line 1",
                f"Use exactly: {', '.join(columns)}.",
            )
        start = reader.line_num + 1
        for row in reader:
            where = f"{path.name}, line {start}"
            start = reader.line_num + 1
            if len(row) != len(columns):
                raise CatalogueError(
                    f"{len(row)} cells instead of {len(columns)}", where, "Quote cells that hold commas."
                )
            yield Line(where, dict(zip(columns, row, strict=True)))


def columns_of(
    kind: type[Any], *, extra: tuple[str, ...] = (), renamed: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Column names of a row type, in the order of its fields, `extra` ones after them."""
    names = renamed or {}
    return tuple(names.get(f.name, f.name) for f in fields(kind)) + extra


def typed(line: Line, kind: type[_Row], renamed: Mapping[str, str] | None = None) -> _Row:
    """Build a dataclass from a row: numbers by annotation, lists split at `;`, optional numbers None."""
    names = renamed or {}
    return kind(**{name: _cell(line, names.get(name, name), hint) for name, hint in _hints(kind).items()})


@functools.lru_cache(maxsize=64)
def _hints(kind: type[Any]) -> dict[str, Any]:
    """Field -> annotation; found once a type, for thousands of rows share it."""
    hints = typing.get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind)}


def _cell(line: Line, column: str, hint: Any) -> Any:
    text = line.cells[column].strip()
    if hint == tuple[str, ...]:
        return tuple(part.strip() for part in text.split(";") if part.strip())
    if hint is bool:
        if text not in ("true", "false"):
            raise line.refuse(f"{column} holds {text!r}", "Write true or false.")
        return text == "true"
    optional = isinstance(hint, types.UnionType)
    if optional and str in typing.get_args(hint):
        return text or None
    if hint is float or hint is int or optional:
        value = line.number(column)
        if value is None and not optional:
            raise line.refuse(f"column {column} is empty", f"Fill in {column}.")
        whole = hint is int or (optional and int in typing.get_args(hint))
        if value is None or not whole:
            return value
        if value != int(value):
            raise line.refuse(f"{column} holds {text!r}, not a whole number", "Write a whole number.")
        return int(value)
    return text


def check_evidence(line: Line, *, value: str, allowed: frozenset[str], date: str) -> None:
    """Refuse a published value without source, unit or status; an empty one may be `unsourced`."""
    status = line.need("status")
    line.need("unit")
    if status == t.UNPUBLISHED:
        if line.cells[value].strip():
            raise line.refuse(
                "a value is given but its status is unsourced", "Name the source and its status."
            )
        return
    if status in t.CLAIM_STATUSES - allowed:
        raise line.refuse(
            f"status {status} belongs to a claim, not to a measurement or a price",
            "Move the row to claims.csv.",
        )
    if status not in allowed:
        raise line.refuse(f"status {status!r} is unknown", f"Use one of {', '.join(sorted(allowed))}.")
    line.need("source")
    if line.cells[date] and not _is_date(line.cells[date]):
        raise line.refuse(f"{date} holds {line.cells[date]!r}", "Write YYYY, YYYY-MM or YYYY-MM-DD.")


def _is_date(text: str) -> bool:
    parts = text.split("-")
    lengths = [len(p) for p in parts]
    if not all(p.isdigit() for p in parts) or lengths != [4, 2, 2][: len(parts)] or len(parts) > 3:
        return False
    month_ok = len(parts) < 2 or 1 <= int(parts[1]) <= 12
    return month_ok and (len(parts) < 3 or 1 <= int(parts[2]) <= 31)


def unique(where: dict[tuple[str, ...], str], key: tuple[str, ...], line: Line, what: str) -> None:
    """Refuse a key seen before, naming both rows."""
    if key in where:
        raise line.refuse(
            f"{what} {' / '.join(key)} is already given in {where[key]}", "Remove one of the two rows."
        )
    where[key] = line.where


def read_rows(
    path: Path,
    kind: type[_Row],
    check: Callable[[Line, _Row], None],
    extra: tuple[str, ...] = (),
    renamed: Mapping[str, str] | None = None,
) -> list[_Row]:
    """Read a file into typed rows, each passed to `check` with its place."""
    out = []
    for line in lines(path, columns_of(kind, extra=extra, renamed=renamed)):
        row = typed(line, kind, renamed)
        check(line, row)
        out.append(row)
    return out
