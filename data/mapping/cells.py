"""One cell of a mapped column -> a number in base units, a UTC time, or a text that the row parsers know."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from data.mapping.language import Meaning
from data.parse.timezones import parse_stamp, to_utc
from data.parse.values import is_missing, parse_number
from data.slurm_fields import elapsed_seconds

CLOCK = "d-hh:mm:ss"
_EPOCHS = {"epoch s": 1e6, "epoch ms": 1e3, "epoch us": 1.0, "epoch ns": 1e-3}
"""Unit -> microseconds."""
_DAY_FIRST, _MONTH_FIRST = "day/month/year", "month/day/year"
_LATEST_US = 4_102_444_800 * 1_000_000
NO_TIME = "not a time"


@dataclass(frozen=True)
class Amount:
    """A number in base units, or why there is none; neither: the cell is empty."""

    number: float | None
    reason: str = ""


def amount(text: str, meaning: Meaning, decimal: str | None = None) -> Amount:
    """A cell as a number in the field's base unit (scores as a share where the unit is %)."""
    if is_missing(text):
        return Amount(None)
    if meaning.unit == CLOCK:
        seconds = elapsed_seconds(text)
        return Amount(seconds, "" if seconds is not None else "not a duration such as 1-02:03:04")
    value = parse_number(text, number_unit(meaning), decimal)
    return Amount(value.number, value.reason)


def number_unit(meaning: Meaning) -> str | None:
    """The unit for `parse_number`; None for plain numbers."""
    unit = meaning.unit or next(iter(meaning.field.units), None)
    return None if unit in ("fraction", "points", CLOCK, None) else unit


def stamp(text: str, unit: str | None, zone: tzinfo | None) -> tuple[datetime | None, bool]:
    """(UTC time or None, whether the text names no zone: it is in `zone` then, without one in UTC)."""
    found = parse_stamp(plain_stamp(text, unit))
    if found is None:
        return None, False
    if found.offset is not None:
        return found.at, False
    return (to_utc(found.at, zone) if zone is not None else found.at), True


def plain_stamp(text: str, unit: str | None) -> str:
    """A time as `parse_stamp` knows it; a text of another shape stays as it is."""
    clean = text.strip()
    if unit in _EPOCHS:
        number = parse_number(clean).number
        micro = number * _EPOCHS[unit] if number is not None else -1.0
        if not 0 <= micro < _LATEST_US:
            return clean if number is None else f"not a time: {clean}"
        at = datetime.fromtimestamp(int(micro) // 1_000_000, UTC).replace(microsecond=int(micro) % 1_000_000)
        return at.strftime("%Y-%m-%d %H:%M:%S.%fZ")
    if unit in (_DAY_FIRST, _MONTH_FIRST):
        day, _, rest = clean.replace("T", " ").partition(" ")
        parts = day.replace(".", "/").replace("-", "/").split("/")
        if len(parts) == 3 and len(parts[2]) == 4:
            first, second, year = parts
            month, date = (second, first) if unit == _DAY_FIRST else (first, second)
            return f"{year}-{month}-{date} {rest.strip() or '00:00'}"
    return clean


def plain_cell(text: str, meaning: Meaning) -> str:
    """A cell as the parsers of our templates know it: odd times and durations are written out."""
    if is_missing(text):
        return ""
    if meaning.field.unit == "UTC":
        return plain_stamp(text, meaning.unit)
    if meaning.unit == CLOCK:
        seconds = elapsed_seconds(text)
        return text if seconds is None else repr(seconds)
    if meaning.field.name == "day" and meaning.field.table == "costs":
        found = parse_stamp(text)
        return found.at.date().isoformat() if found else text
    return text


def is_plain(meanings: Sequence[Meaning]) -> bool:
    """Whether all cells can be read as they stand."""
    return all(one.unit not in (*_EPOCHS, _DAY_FIRST, _MONTH_FIRST, CLOCK) for one in meanings)
