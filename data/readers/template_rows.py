"""Cells of our own templates -> typed values, or the sentence that says why not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo

from data.parse.csvio import TEXT_LIMIT, CsvLayout, CsvRow
from data.parse.decimals import table_decimals
from data.parse.timezones import parse_stamp, to_utc
from data.parse.values import is_missing, parse_number, unit_of_header
from data.readers.base import SetAside
from data.readers.template_specs import CHOICES, NEVER_NEGATIVE, Template
from data.tables import Column

Cell = str | float | int | bool | datetime | date | None
Row = dict[str, Cell]

_TRUE = frozenset({"true", "yes", "y", "t", "1", "1.0", "pass", "passed", "ok"})
_FALSE = frozenset({"false", "no", "n", "f", "0", "0.0", "fail", "failed"})
MAX_WHOLE = {"BIGINT": 10**15, "INTEGER": 2**31 - 1}
_BEYOND = "beyond the range of a whole number"
_NOT_NUMBERS = frozenset({"nan", "inf", "infinity"})
_LOST_WITHOUT = frozenset({"attempt", "repeat"})
"""Columns with a default: a cell that is there but unreadable must not get the default."""
MOST_GPUS = 1e7
FIRST_YEAR, LAST_YEAR = 2000, 2100
_LEAST = {"step": 0, "resumed_from_step": 0, "last_checkpoint_step": 0, "n_tasks": 1, "k": 1, "repeat": 0}
_MAY_BE_DAYS = frozenset({"charge_start", "charge_end", "billing_start", "billing_end"})
"""Invoices give periods in days."""
_UNITS = {"ratio": "ratio", "s": "s", "B": "B", "W": "W", "J": "J", "MHz": "MHz", "degC": "C"}


@dataclass(frozen=True)
class Fields:
    """Which column of the file (from 0) is which column of the template; the other columns stay unmapped."""

    by_index: Mapping[int, Column]
    units: Mapping[int, str | None]
    other: tuple[int, ...]

    def has(self, name: str) -> bool:
        """Whether the file has that column."""
        return any(column.name == name for column in self.by_index.values())


def match_header(template: Template, header: Sequence[str], choices: Mapping[str, str]) -> Fields:
    """Map a header: what a person chose, then exact names, then other names; the first column wins."""
    columns = template.columns()
    aliases = {a.casefold(): name for name, c in reversed(columns.items()) for a in c.aliases}
    found: dict[int, str] = {}
    rules: tuple[Callable[[str], str | None], ...] = (
        lambda text: choices.get(text),
        lambda text: _bare(text) if _bare(text) in columns else None,
        lambda text: aliases.get(text.casefold()) or aliases.get(_bare(text)),
    )
    for rule in rules:
        for i, text in enumerate(header):
            name = rule(text)
            if text and i not in found and name in columns and name not in found.values():
                found[i] = name
    by_index = {i: columns[name] for i, name in sorted(found.items())}
    units = {i: unit_of_header(header[i]) or _UNITS.get(c.unit) for i, c in by_index.items()}
    other = tuple(i for i, text in enumerate(header) if text and i not in found)
    return Fields(by_index, units, other)


def _bare(text: str) -> str:
    unit = unit_of_header(text)
    return (text[: text.rindex(unit) - 1] if unit else text).strip().casefold()


@dataclass
class RowParser:
    """Parse rows one by one; `bad` collects cells that were set aside while their row stays."""

    layout: CsvLayout
    fields: Fields
    zone: tzinfo | None
    bad: list[SetAside] = field(default_factory=list)
    missing: int = 0
    _decimals: dict[int, str | None] = field(default_factory=dict)
    _numbers: dict[tuple[int, str], tuple[float | None, str]] = field(default_factory=dict)

    def learn(self, sample: Sequence[CsvRow]) -> None:
        """Find the decimal mark of each column from the first rows of the table."""
        columns = [[r.cells[i] for r in sample if i < len(r.cells)] for i in range(len(self.layout.header))]
        self._decimals = dict(enumerate(table_decimals(columns, self.layout.delimiter)))

    def parse(self, row: CsvRow) -> Row | SetAside:
        """Values by column name (None: missing), or the whole record set aside."""
        values: Row = {}
        bad: list[SetAside] = []
        lacking = list(map(is_missing, row.cells))
        self.missing += sum(lacking)
        for i, column in self.fields.by_index.items():
            text = row.cells[i] if i < len(row.cells) else None
            if text is None or lacking[i]:
                value, reason = None, _odd_missing(column, str(text or "").strip())
            else:
                value, reason = self._cell(i, column, str(text).strip())
            values[column.name] = value
            if reason:
                bad.append(SetAside(row.line, reason, str(text)[:TEXT_LIMIT], self.layout.header[i]))
        reason = self._fatal(values, bad)
        if reason:
            return SetAside(row.line, reason, self.layout.delimiter.join(row.cells)[:TEXT_LIMIT])
        self.bad += bad
        return values

    def _fatal(self, values: Row, bad: Sequence[SetAside]) -> str:
        reasons = {one.column: one.reason for one in bad}
        for i, column in self.fields.by_index.items():
            why = reasons.get(self.layout.header[i])
            if why and column.name in _LOST_WITHOUT:
                return f"'{self.layout.header[i]}': {why}"
            if column.required and values[column.name] is None:
                return f"'{self.layout.header[i]}': {why}" if why else f"'{self.layout.header[i]}' is empty"
        return ""

    def _cell(self, i: int, column: Column, text: str) -> tuple[Cell, str]:
        if column.type == "VARCHAR":
            return _word(column.name, text)
        if column.type == "TIMESTAMP":
            whole_day = column.name in _MAY_BE_DAYS and _day(text)[0] is not None
            return _in_years(*self._stamp(f"{text} 00:00" if whole_day else text))
        if column.type == "DATE":
            return _in_years(*_day(text))
        if column.type == "BOOLEAN":
            return _boolean(text)
        if column.name == "passed" and text.casefold() in _TRUE | _FALSE:
            return (1.0 if text.casefold() in _TRUE else 0.0), ""
        number, reason = self.number(i, text, self.fields.units[i])
        if number is None:
            return None, reason or (_BEYOND if column.type in MAX_WHOLE else "out of range")
        return _judged(column, number)

    def number(self, i: int, text: str, unit: str | None = None) -> tuple[float | None, str]:
        """(number in base units, reason when it is none) of a cell; equal texts are parsed once."""
        key = (i, text)
        if key not in self._numbers:
            if len(self._numbers) > 200_000:
                self._numbers.clear()
            value = parse_number(text, unit, self._decimals.get(i))
            self._numbers[key] = (value.number, value.reason)
        return self._numbers[key]

    def _stamp(self, text: str) -> tuple[Cell, str]:
        stamp = parse_stamp(text)
        if stamp is None:
            return None, "not a time (write 2026-01-31T08:00:00Z)"
        if stamp.offset is None and self.zone is not None:
            return to_utc(stamp.at, self.zone), ""
        return stamp.at, ""


def _judged(column: Column, number: float) -> tuple[Cell, str]:
    """A number as its column holds it, or why it cannot be one."""
    if number < 0 and column.unit in NEVER_NEGATIVE:
        return None, "a negative amount"
    if column.unit == "GPUs" and number > MOST_GPUS:
        return None, f"more than {MOST_GPUS:,.0f} GPUs"
    if column.type not in MAX_WHOLE:
        return number, ""
    if abs(number) > MAX_WHOLE[column.type]:
        return None, _BEYOND
    if not number.is_integer():
        return None, "not a whole number"
    if number < _LEAST.get(column.name, number):
        return None, f"less than {_LEAST[column.name]}"
    return int(number), ""


def _odd_missing(column: Column, text: str) -> str:
    """Why a cell that holds no usable number is not simply empty; '' when it is."""
    word = text.casefold().lstrip("+-")
    if column.type in MAX_WHOLE and word.isdigit():
        return _BEYOND
    return "not a number" if column.required and word in _NOT_NUMBERS else ""


def _in_years(value: Cell, reason: str) -> tuple[Cell, str]:
    if isinstance(value, date) and not FIRST_YEAR <= value.year <= LAST_YEAR:
        return None, f"a year outside {FIRST_YEAR} to {LAST_YEAR}"
    return value, reason


def _day(text: str) -> tuple[Cell, str]:
    try:
        return date.fromisoformat(text), ""
    except ValueError:
        return None, "not a day (write 2026-01-31)"


def _word(name: str, text: str) -> tuple[Cell, str]:
    allowed = CHOICES.get(name)
    if allowed is None:
        return text, ""
    word = text.casefold().replace(" ", "_").replace("-", "_")
    return (word, "") if word in allowed else (None, f"not one of {', '.join(allowed)}")


def _boolean(text: str) -> tuple[Cell, str]:
    word = text.casefold()
    if word in _TRUE:
        return True, ""
    return (False, "") if word in _FALSE else (None, "neither true nor false")
