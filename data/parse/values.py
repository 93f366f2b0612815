"""One parser for every number in a file: text in, base unit and status out. Missing is None, never 0."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Status = Literal["ok", "missing", "bad", "out_of_range"]

MISSING_WORDS = frozenset(
    {
        "", "n/a", "na", "null", "none", "-", "not supported", "unknown error", "err!", "undefined", "nan",
        "inf", "infinity", "no reading", "not readable",
        "insufficient permissions", "gpu requires reset", "gpu is lost",
    }
)  # fmt: skip
"""Whatever the case, with or without square brackets and sign."""

SENTINELS = frozenset(
    {
        *range(9223372036854775792, 9223372036854775809),
        *range(2147483632, 2147483636),
        *range(140737488355328, 140737488355332),
        4294967295,
        18446744073709551615,
    }
)
"""Integers by which NVML, DCGM and amd-smi say that there is no value."""
SENTINEL_FLOOR = 9.2e18
DOUBTFUL = "?"
"""Decimal mark of a column in which `1,234` may be either; see `data.parse.decimals`."""
LONGEST_WHOLE = 300
"""Digits; int() refuses texts of some thousand, and such numbers are far beyond the floor."""
CACHED_LENGTH = 64
"""Texts up to this length are judged once: the same few words fill whole columns."""

UNITS: dict[str, tuple[str, float]] = {
    "%": ("ratio", 0.01), "percent": ("ratio", 0.01), "pct": ("ratio", 0.01), "ratio": ("ratio", 1.0),
    "B": ("B", 1.0), "bytes": ("B", 1.0), "byte": ("B", 1.0),
    "kB": ("B", 1e3), "KB": ("B", 1e3), "MB": ("B", 1e6), "GB": ("B", 1e9), "TB": ("B", 1e12),
    "KiB": ("B", 2.0**10), "MiB": ("B", 2.0**20), "GiB": ("B", 2.0**30), "TiB": ("B", 2.0**40),
    "W": ("W", 1.0), "mW": ("W", 1e-3), "kW": ("W", 1e3), "KW": ("W", 1e3), "MW": ("W", 1e6),
    "watts": ("W", 1.0), "watt": ("W", 1.0),
    "J": ("J", 1.0), "mJ": ("J", 1e-3), "kJ": ("J", 1e3), "MJ": ("J", 1e6),
    "Wh": ("J", 3600.0), "kWh": ("J", 3.6e6),
    "s": ("s", 1.0), "sec": ("s", 1.0), "secs": ("s", 1.0), "second": ("s", 1.0), "seconds": ("s", 1.0),
    "ms": ("s", 1e-3), "us": ("s", 1e-6), "µs": ("s", 1e-6), "μs": ("s", 1e-6), "ns": ("s", 1e-9),
    "min": ("s", 60.0), "mins": ("s", 60.0), "minutes": ("s", 60.0), "h": ("s", 3600.0), "hr": ("s", 3600.0),
    "hour": ("s", 3600.0), "hours": ("s", 3600.0), "day": ("s", 86400.0), "days": ("s", 86400.0),
    "Hz": ("MHz", 1e-6), "kHz": ("MHz", 1e-3), "MHz": ("MHz", 1.0), "GHz": ("MHz", 1e3),
    "C": ("degC", 1.0), "°C": ("degC", 1.0), "degC": ("degC", 1.0),
    "K": ("", 1e3), "k": ("", 1e3), "M": ("", 1e6), "Mil": ("", 1e6), "G": ("", 1e9), "Bil": ("", 1e9),
    "T": ("", 1e12), "Tri": ("", 1e12),
    "tokens": ("", 1.0), "token": ("", 1.0), "tok": ("", 1.0), "rollouts": ("", 1.0), "steps": ("", 1.0),
    "tokens/s": ("", 1.0), "tok/s": ("", 1.0), "USD": ("", 1.0), "$": ("", 1.0),
    "GPUs": ("", 1.0), "cores": ("", 1.0),
}  # fmt: skip
"""Unit -> (base unit, factor). Bare words of counts keep the number as it is."""
_SCALES = frozenset(name for name, (base, factor) in UNITS.items() if not base and factor > 1)
# In small letters these say something else: milli (500m of a core), minutes, mil (Spanish: a thousand).
_CASE_COUNTS = frozenset({"mw", "mj", "mil", "m", "g", "t"})
_FOLDED = {name.casefold(): rule for name, rule in UNITS.items() if name.casefold() not in _CASE_COUNTS}
_PLAUSIBLE = {"ratio": 1.0, "W": 1e6, "MHz": 1e6, "degC": 1e4}
"""Above these, in base units, the SQL leaves the cell to `parse_number`."""
_SMALL_SENTINELS = sorted(n for n in SENTINELS if n < 1 << 60)
_NOT_NEGATIVE = frozenset({"B", "W", "MHz", "J"})
_SCALED = frozenset({"B", "W", "J", "MHz"})
"""Dimensions whose column may write `1.2 K`. Of times and temperatures, M and K are minutes and kelvin."""

_SPACES = re.compile(r"[\s\u00a0\u2009\u202f\u200b]+")
_WRAPPED = re.compile(r"^(?:[a-zA-Z_][\w.]*)\(\s*([^(),]+?)\s*(?:,[^()]*)?\)$")
_NUMBER = re.compile(r"^([+\-−]?)((?:\d[\d.,' ]*|[.,]\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s.,+\-].*)?$")
_AMBIGUOUS = re.compile(r"[1-9]\d{0,2},\d{3}")
_PLAIN = re.compile(r"^\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$|^\.\d+(?:[eE][+-]?\d+)?$")


@dataclass(frozen=True)
class Value:
    """A number in the base unit of its dimension (ratio, B, W, J, s, MHz, degC, "" of counts), or why not."""

    number: float | None
    status: Status
    unit: str = ""
    reason: str = ""


MISSING = Value(None, "missing")


def is_missing(text: str | None) -> bool:
    """Whether a cell says that there is no value: blank, a known word, infinity, or a vendor's sentinel."""
    if text is None:
        return True
    return _says_missing(text) if len(text) <= CACHED_LENGTH else _says_missing.__wrapped__(text)


@lru_cache(maxsize=1 << 16)
def _says_missing(text: str) -> bool:
    word = _SPACES.sub(" ", text).strip().lower()
    if word.startswith("[") and word.endswith("]"):
        word = word[1:-1].strip()
    if word in MISSING_WORDS or word.lstrip("+-") in ("nan", "inf", "infinity"):
        return True
    word = re.sub(r"(?<=\d)\.0+$", "", word)
    if len(word) < 10 or not word.isdecimal():
        return False
    return len(word) > LONGEST_WHOLE or int(word) in SENTINELS or int(word) > SENTINEL_FLOOR


def parse_number(
    text: str | None, unit_hint: str | None = None, decimal: str | None = None, binary_mb: bool = False
) -> Value:
    """Parse one cell.

    `unit_hint` is the unit of the column, used when the cell names none; a cell of another dimension is bad.
    `decimal` ("." or ",") is what `column_decimal` found; without it `1,024` is a thousand and `0,5` a half,
    and with DOUBTFUL `1,024` is bad.
    `binary_mb`: kB, MB and GB mean powers of 1024, as GPU utilities write them.
    """
    if is_missing(text):
        return MISSING
    clean = _SPACES.sub(" ", str(text)).strip()
    if wrapped := _WRAPPED.match(clean):
        return parse_number(wrapped[1], unit_hint, decimal, binary_mb)
    match = _NUMBER.match(clean)
    if match is None:
        return Value(None, "bad", reason="not a number")
    sign, digits, unit = match[1], match[2].strip(), (match[3] or "").strip()
    number = _to_float(digits, decimal)
    if isinstance(number, str):
        return Value(None, "bad", reason=number)
    if number >= SENTINEL_FLOOR:
        return MISSING
    return _in_base(-number if sign in ("-", "−") else number, unit, unit_hint, binary_mb)


def _to_float(digits: str, decimal: str | None) -> float | str:
    """The number, or the sentence that says why the digits are none."""
    if _PLAIN.match(digits) and not (decimal == "," and "." in digits):
        return float(digits)
    mantissa, e, exponent = digits.replace("E", "e").partition("e")
    if decimal == DOUBTFUL and _AMBIGUOUS.fullmatch(mantissa):
        return "nothing tells whether the comma is a decimal mark or groups thousands"
    mark = _decimal_mark(mantissa) if decimal in (None, DOUBTFUL) else decimal
    whole, _, fraction = mantissa.rpartition(mark) if mark and mark in mantissa else (mantissa, "", "")
    groups = re.split(r"[.,' ]", whole)
    grouped = all(len(g) == 3 for g in groups[1:]) and 1 <= len(groups[0]) <= 3 if len(groups) > 1 else True
    separators = set(re.findall(r"[.,' ]", whole))
    if not grouped or len(separators) > 1 or mark in separators or not (fraction.isdigit() or not fraction):
        return "digits and separators do not make one number"
    return float(f"{''.join(groups) or '0'}.{fraction or '0'}{e}{exponent}")


def _decimal_mark(mantissa: str) -> str | None:
    """Decimal mark of one number on its own; None when it only groups thousands."""
    comma, dot = mantissa.rfind(","), mantissa.rfind(".")
    if comma >= 0 and dot >= 0:
        return "," if comma > dot else "."
    mark = "," if comma >= 0 else "." if dot >= 0 else None
    if mark is None or mantissa.count(mark) > 1:
        return None
    if mark == "." or not _AMBIGUOUS.fullmatch(mantissa):
        return mark
    return None


def _in_base(number: float, unit: str, hint: str | None, binary_mb: bool) -> Value:
    rule = _rule(unit or hint or "", binary_mb)
    if rule is None:
        return Value(None, "bad", reason=f"unknown unit '{unit or hint}'")
    base, factor = rule
    if unit and hint:
        wanted = _rule(hint, binary_mb)
        if wanted is not None and unit in _SCALES and wanted[0] in _SCALED:
            base, factor = wanted[0], factor * wanted[1]
        elif wanted is not None and wanted[0] != base:
            return Value(None, "bad", base, f"unit '{unit}' where '{hint}' belongs")
    value = number / 100 if (base, factor) == ("ratio", 0.01) else number * factor
    if not math.isfinite(value):
        return MISSING
    if base == "ratio" and not 0 <= value <= 1:
        shown = "a percentage outside 0..100" if factor != 1 else "a ratio outside 0..1"
        return Value(None, "out_of_range", base, shown)
    if value < 0 and base in _NOT_NEGATIVE:
        return Value(None, "out_of_range", base, "a negative amount")
    return Value(value, "ok", base)


def _rule(unit: str, binary_mb: bool) -> tuple[str, float] | None:
    if not unit:
        return "", 1.0
    if binary_mb and unit in ("kB", "KB", "MB", "GB", "TB"):
        unit = unit[0].upper() + "iB"
    return UNITS.get(unit) or _FOLDED.get(unit.casefold())


def is_ambiguous(text: str) -> bool:
    """Whether a cell is a number such as `1,234`: a thousand or one and a bit."""
    match = _NUMBER.match(_SPACES.sub(" ", text).strip())
    return match is not None and _AMBIGUOUS.fullmatch(match[2].strip()) is not None


def column_decimal(sample: Iterable[str | None]) -> str | None:
    """Decimal mark of a column: "," or "." when some cell leaves no doubt, else None.

    Raises nothing: cells that contradict each other give None, and each is then judged on its own.
    """
    marks: set[str] = set()
    for text in set(sample):
        if text is None or not ("," in text or "." in text) or is_missing(text):
            continue
        match = _NUMBER.match(_SPACES.sub(" ", str(text)).strip())
        if match is None:
            continue
        mantissa = match[2].lower().partition("e")[0].strip()
        sure = "," in mantissa or mantissa.count(".") > 1
        if "." in mantissa and not re.fullmatch(r"\d{1,3}(?:\.\d{3})+", mantissa):
            sure = True
        if sure and (mark := _decimal_mark(mantissa)):
            marks.add(mark)
    return marks.pop() if len(marks) == 1 else None


def unit_of_header(name: str) -> str | None:
    """Unit in brackets at the end of a column name: `power.draw [W]` -> `W`; None when there is none."""
    text = name.rstrip()
    start = max(text.rfind("["), text.rfind("("))
    inner = text[start + 1 : -1].strip() if start >= 0 and text.endswith(("]", ")")) else ""
    return inner if inner and not {"]", ")"} & set(inner) else None


@dataclass(frozen=True)
class NumberRule:
    """How the cells of one column become numbers in base units.

    `suffix`: the unit as the cells write it, with its space. `low` and `high`: what is plausible in base
    units; what lies outside is for `parse_number`. `guarded`: some plausible number is a sentinel.
    """

    suffix: str
    factor: float
    low: float
    high: float
    guarded: bool

    def scaled_sql(self, raw: str) -> str:
        """SQL of the number in base units for the SQL of a number as written."""
        if self.factor == 0.01:
            return f"({raw}) / 100"
        return raw if self.factor == 1.0 else f"({raw}) * {self.factor!r}"

    def scaled(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for numbers."""
        if self.factor == 0.01:
            return raw / 100
        return raw if self.factor == 1.0 else raw * self.factor

    def sql(self, column: str) -> str:
        """SQL of the number in a VARCHAR column, NULL for what `parse_number` must judge.

        One failing TRY_CAST is dear, hence one fixed suffix instead of a general pattern.
        """
        raw = f"try_cast({column} as double)"
        if self.suffix:
            quoted, cut = self.suffix.replace("'", "''"), len(self.suffix)
            raw = (
                f"case when suffix({column}, '{quoted}') then try_cast(left({column}, -{cut}) as double) end"
            )
        value, guard = self.scaled_sql(raw), ""
        if self.guarded:
            # Sentinels are integers as written, before any factor.
            listed = ", ".join(map(str, _SMALL_SENTINELS))
            guard = f" and {raw} not in ({listed}) and {raw} < {SENTINEL_FLOOR!r}"
        return f"case when {value} between {self.low!r} and {self.high!r}{guard} then {value} end"

    def takes(self, raw: NDArray[np.float64]) -> bool:
        """Whether `sql` would take every one of these numbers; NaN stands for a missing cell."""
        if np.isnan(raw).all():
            return True
        ends = np.array([np.nanmin(raw), np.nanmax(raw)])
        least, most = self.scaled(ends)
        if least < self.low or most > self.high:
            return False
        if not self.guarded or ends[1] < _SMALL_SENTINELS[0]:
            return True
        return bool(ends[1] < SENTINEL_FLOOR and not np.isin(raw, _SMALL_SENTINELS).any())


def number_rule(
    sample: Sequence[str | None], unit_hint: str | None = None, binary_mb: bool = False
) -> NumberRule | None:
    """The rule of a column chosen for the cells in `sample`; None when their unit does not fit the hint."""
    unit = _common_suffix(sample)
    rule = _rule(unit.strip() or unit_hint or "", binary_mb)
    if rule is None or (unit and unit_hint and (_rule(unit_hint, binary_mb) or ("", 0))[0] != rule[0]):
        return None
    base, factor = rule
    high = _PLAUSIBLE.get(base, SENTINEL_FLOOR)
    low = 0.0 if base == "ratio" or base in _NOT_NEGATIVE else -high
    high = 1.0 if factor == 0.01 else high
    return NumberRule(unit, factor, low, high, high / factor >= _SMALL_SENTINELS[0])


def sql_number_expression(
    column: str, sample: Sequence[str | None], unit_hint: str | None = None, binary_mb: bool = False
) -> str:
    """SQL for the number in a VARCHAR column, in base units, chosen for the cells in `sample`.

    NULL for every cell it does not know: the caller hands those to `parse_number`, so both agree. Ranges are
    checked here as well.
    """
    rule = number_rule(sample, unit_hint, binary_mb)
    return "null::double" if rule is None else rule.sql(column)


def _common_suffix(sample: Sequence[str | None]) -> str:
    """Unit as written after the number (with its space) in the first cell that holds a number."""
    for text in sample:
        if text is not None and (match := re.match(r"^\s*[+-]?\d+(?:\.\d*)?( ?[^\d\s.,+\-][^\d]*)$", text)):
            return match[1]
        if not is_missing(text):
            return ""
    return ""
