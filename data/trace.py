"""What an analysis read: its SELECTs with the values that were bound to them, as text that runs elsewhere."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

SAMPLES = "gpu_samples"
"""The name under which a snapshot shows the samples of all parts."""
_LARGEST_INTEGER = 1 << 127
_TOKENS = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | (?P<mark>\?) | \$(?P<name>\w+)""",
    re.VERBOSE | re.DOTALL,
)


class Trace:
    """SELECTs in the order of their first run, each once. `name` differs from that of any other trace."""

    def __init__(self) -> None:
        """Begin with none."""
        self.name = uuid4().hex
        self._selects: dict[str, None] = {}
        self._samples: dict[str, str] = {}

    def note(self, sql: str, params: Sequence[Any] | dict[str, Any]) -> None:
        """Keep a SELECT that is run with these values."""
        self._selects[self.text(sql, params)] = None

    def text(self, sql: str, params: Sequence[Any] | dict[str, Any]) -> str:
        """The SELECT with its values as literals and with SAMPLES in the place of files."""
        for text, other in self._samples.items():
            sql = sql.replace(text, other)
        return with_literals(sql, params)

    def note_samples(self, text: str, gpu_ids: Sequence[str] | None) -> None:
        """Keep that `text` stands for the samples of these GPUs (None: of all)."""
        if gpu_ids is None:
            wanted = ""
        else:
            wanted = f" WHERE gpu_id IN ({', '.join(map(literal, gpu_ids))})" if gpu_ids else " WHERE false"
        self._samples[text] = f"(SELECT * FROM {SAMPLES}{wanted})"

    def selects(self) -> list[str]:
        """The SELECTs, values as literals; samples are read from SAMPLES."""
        return list(self._selects)


def with_literals(sql: str, params: Sequence[Any] | Mapping[str, Any]) -> str:
    """A SELECT with its values in the place of `?`, `$1` and `$name`; KeyError or IndexError when one lacks.

    >>> with_literals("SELECT '?' WHERE a = $a", {"a": "it's"})
    "SELECT '?' WHERE a = 'it''s'"
    """
    waiting = iter(() if isinstance(params, Mapping) else params)

    def value(found: re.Match[str]) -> str:
        if found["mark"]:
            try:
                return literal(next(waiting))
            except StopIteration:
                raise IndexError("there are more ? than values") from None
        name = found["name"]
        if name is None:
            return found[0]
        return literal(params[name] if isinstance(params, Mapping) else params[int(name) - 1])

    return _TOKENS.sub(value, sql)


def literal(value: Any) -> str:
    """SQL that is read as this value: text, numbers, dates, times, lists, structs, NULL.

    Raises TypeError for what has no literal.
    """
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(str(k))}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return "[" + ", ".join(map(literal, value)) + "]"
    return _typed(value)


def _number(value: int | float | Decimal) -> str:
    if isinstance(value, float):
        return f"({value!r})::DOUBLE" if math.isfinite(value) else f"'{value}'::DOUBLE"
    if not -_LARGEST_INTEGER < value < _LARGEST_INTEGER:
        raise TypeError(f"{value} is too large for a number of SQL")
    return str(value) if value >= 0 else f"({value})"


def _typed(value: Any) -> str:
    if isinstance(value, datetime):  # a date, too: first
        kind = "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"
        return f"{kind} '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, time):
        return f"TIME '{value.isoformat()}'"
    if isinstance(value, timedelta):
        return f"to_microseconds({value // timedelta(microseconds=1)})"
    if isinstance(value, UUID):
        return f"'{value}'::UUID"
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
    raise TypeError(f"a {type(value).__name__} has no literal in SQL")
