"""Cells of a report's tables: dollars to the cent, ratios in percent, one count of decimals a column.

A column whose cells had digits of their own could not be added up by its reader.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, TypeGuard

from charts.text import quantity
from reports.precision import is_dollars
from reports.words import value_words

NOTHING = "–"
FEWEST_PLACES, MOST_PLACES = 2, 6
CENT_HALF = 0.005
NOISE_USD = 1e-9
"""Below this a sum of dollars that cancel is 0."""
_ENDS = {"low", "high", "min", "max"}
_PERCENT = {"p_correct", "q_informative"}
_IDENTIFIERS = {"step", "attempt", "job", "seed", "version", "bin", "index", "line", "year", "k"}
_ROW_UNIT = {"value", "low", "high", "given", "default"}
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-4, 1e15
Row = Mapping[str, Any]


def column_cells(column: str, rows: Sequence[Row], units: Sequence[str] | None = None) -> list[str]:
    """Return the cells of one column as text; `units` of a table that names a unit a row."""
    values = [row.get(column) for row in rows]
    numbers = [v for v in values if _is_number(v)]
    if units is not None and _base(column) in _ROW_UNIT:
        return [
            _in_unit(v, unit) if _is_number(v) else plain(v) for v, unit in zip(values, units, strict=True)
        ]
    if is_percent(column):
        places = _places([100 * v for v in numbers])
        return [_decimals(100 * v, places) if _is_number(v) else plain(v) for v in values]
    if is_dollars(column):
        rates = [_is_rate(unit) for unit in units] if units is not None else [False] * len(values)
        return [(rate(v) if by else amount(v)) if _is_number(v) else plain(v)
                for v, by in zip(values, rates, strict=True)]  # fmt: skip
    if _is_dollar_rate(column):
        return [rate(v) if _is_number(v) else plain(v) for v in values]
    if is_identifier(column):
        return [plain(v) for v in values]
    places = _places(numbers)
    return [_decimals(v, places) if _is_number(v) else value_words(column, plain(v)) for v in values]


def amount(usd: float) -> str:
    """Return dollars to the cent: '-$1,234.50'; less than half a cent shows two significant digits.

    >>> amount(2610.74), amount(-0.5), amount(0.00012), amount(1e-13)
    ('$2,610.74', '-$0.50', '$0.00012', '$0.00')
    """
    if NOISE_USD <= abs(usd) < CENT_HALF:
        return f"{'-' if usd < 0 else ''}${abs(usd):.{1 - math.floor(math.log10(abs(usd)))}f}"
    return quantity(0.0 if abs(usd) < NOISE_USD else usd, "usd_exact")


def rate(usd: float) -> str:
    """Return dollars by something: four significant digits, the cents at least.

    >>> rate(2.125), rate(33.5), rate(0.0000123456)
    ('$2.125', '$33.50', '$0.00001235')
    """
    if usd == 0 or not math.isfinite(usd):
        return "$0.00" if usd == 0 else str(usd)
    places = max(FEWEST_PLACES, 3 - math.floor(math.log10(abs(usd))))
    return f"{'-' if usd < 0 else ''}${abs(usd):,.{places}f}"


def is_percent(column: str) -> bool:
    """Whether a column holds ratios that people read in percent."""
    base = _base(column)
    return base in _PERCENT or base == "frac" or base.endswith("_frac")


def measured(value: float) -> str:
    """Return four significant digits, for numbers that nobody adds up."""
    size = abs(value)
    if size != 0 and not _SMALLEST_PLAIN <= size < _LARGEST_PLAIN:
        return f"{value:.3e}"
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.{max(0, 3 - math.floor(math.log10(size)))}f}"


def plain(value: Any) -> str:
    """Return a value that is no measured number as text."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < _LARGEST_PLAIN else f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(plain(v) for v in value)
    return str(value)


def _in_unit(value: float, unit: str) -> str:
    low = unit.strip().lower()
    if _is_rate(low):
        return rate(value)
    if low in {"usd", "$"}:
        return amount(value)
    return quantity(value, low) if low in {"frac", "ratio", "fraction"} else measured(value)


def _is_rate(unit: str) -> bool:
    low = unit.strip().lower().replace("_", " ")
    return low.startswith("usd") and ("per " in low or "/" in low)


def _is_dollar_rate(column: str) -> bool:
    """`usd_per_point`, not `points_per_1000_usd`."""
    parts = column.split("_")
    return "usd" in parts and "per" in parts and parts.index("usd") < parts.index("per")


def is_identifier(column: str) -> bool:
    """Whether whole numbers of a column name a row, as a step or an attempt does, and measure nothing."""
    parts = set(column.split("_"))
    number_of = bool(parts & {"s", "per", "n"})
    return bool(parts & _IDENTIFIERS) and not number_of


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _base(column: str) -> str:
    head, _, tail = column.rpartition("_")
    return head if head and tail in _ENDS else column


def _places(numbers: Sequence[float]) -> int:
    """None for whole numbers, else four significant digits of a typical one, two decimals at least."""
    if all(v == int(v) for v in numbers):
        return 0
    typical = median(abs(v) for v in numbers if v)
    return min(MOST_PLACES, max(FEWEST_PLACES, 3 - math.floor(math.log10(typical))))


def _decimals(value: float, places: int) -> str:
    """A number that these decimals would show as 0 and that is none keeps two digits."""
    if value and (abs(value) < 0.5 * 10**-places or abs(value) >= _LARGEST_PLAIN):
        return f"{value:.2g}" if abs(value) < 1 else f"{value:.3e}"
    return f"{value:,.{places}f}"
