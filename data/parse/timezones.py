"""Time stamps of files -> UTC: what a text says, which zone a person named, and the SQL for both."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from data.errors import UserError

_STAMP = re.compile(
    r"^(\d{4})[-/](\d{1,2})[-/](\d{1,2})[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?$"
)
_EPOCH = re.compile(r"^\d{10}(?:\.\d+)?$|^\d{13}$")
_OFFSET = re.compile(r"^(?:UTC)?([+-])(\d{1,2}):?(\d{2})?$")


@dataclass(frozen=True)
class Stamp:
    """A time stamp: `at` without zone; UTC when `offset` is given (`+HH:MM`, or "" for epoch numbers)."""

    at: datetime
    offset: str | None


def parse_stamp(text: str | None) -> Stamp | None:
    """Read `YYYY/MM/DD HH:MM:SS.mmm`, ISO 8601 with or without offset, or an epoch in s or ms; else None.

    Day-first dates are refused: 03/04 means two days.
    """
    clean = (text or "").strip()
    if _EPOCH.match(clean):
        digits = clean if "." in clean or len(clean) == 10 else f"{clean[:10]}.{clean[10:]}"
        whole, _, part = digits.partition(".")
        at = datetime.fromtimestamp(int(whole), UTC) + timedelta(
            microseconds=int(part.ljust(6, "0")[:6] or 0)
        )
        return Stamp(at.replace(tzinfo=None), "")
    match = _STAMP.match(clean)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    micro = int((match[7] or "").ljust(6, "0")[:6] or 0)
    try:
        at = datetime(year, month, day, hour, minute, second, micro)
    except ValueError:
        return None
    if match[8] is None:
        return Stamp(at, None)
    offset = "+00:00" if match[8] in ("Z", "UTC", "GMT") else f"{match[8][:3]}:{match[8][-2:]}"
    sign = -1 if offset[0] == "-" else 1
    try:
        return Stamp(at - sign * timedelta(hours=int(offset[1:3]), minutes=int(offset[4:])), offset)
    except OverflowError:
        return None


def zone_of(name: str | None) -> tzinfo | None:
    """The zone called `name` (`Europe/Berlin`, `UTC`, `+02:00`); None stays None. Raises UserError."""
    if not name:
        return None
    if match := _OFFSET.match(name.strip()):
        delta = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        if delta < timedelta(hours=24):
            return timezone(delta if match[1] == "+" else -delta)
    try:
        return ZoneInfo(name.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UserError(
            f"There is no time zone called '{name}'",
            "--timezone",
            "Use a name such as Europe/Berlin or +02:00.",
        ) from error


def to_utc(at: datetime, zone: tzinfo) -> datetime:
    """Naive local time -> naive UTC; a time that occurs twice is taken as the first."""
    return at.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)


def same_wall_clock(one: datetime, other: datetime, zone: tzinfo) -> bool:
    """Whether two times in UTC (naive) show the same local time, as in an hour that occurs twice."""
    shown = [at.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None) for at in (one, other)]
    return shown[0] == shown[1]


@dataclass(frozen=True)
class Offsets:
    """UTC offsets of a zone over a span of local time: (from local time, offset in seconds), in order."""

    steps: tuple[tuple[datetime, int], ...]

    def sql(self, column: str) -> str:
        """SQL that turns local TIMESTAMP `column` into UTC."""
        if all(seconds == 0 for _, seconds in self.steps):
            return column
        *later, first = reversed(self.steps)
        cases = "".join(f" when {column} >= timestamp '{at}' then {seconds}" for at, seconds in later)
        offset = f"case{cases} else {first[1]} end" if later else str(first[1])
        return f"({column} - to_seconds({offset}))"

    @property
    def falls_back(self) -> list[datetime]:
        """Local times at which the clock was put back: the hour before each occurs twice."""
        pairs = zip(self.steps, self.steps[1:], strict=False)
        return [later[0] for earlier, later in pairs if later[1] < earlier[1]]


def offsets(zone: tzinfo, first: datetime, last: datetime) -> Offsets:
    """Offsets of `zone` between two local times, found to the minute."""

    def at(moment: datetime) -> int:
        delta = moment.replace(tzinfo=zone).utcoffset()
        return int(delta.total_seconds()) if delta is not None else 0

    steps = [(first, at(first))]
    low = first
    while low < last:
        high = min(low + timedelta(days=7), last)
        while at(high) != steps[-1][1]:
            steps.append(_change(at, low, high, steps[-1][1]))
            low = steps[-1][0]
        low = high
    return Offsets(tuple(steps))


def _change(
    at: Callable[[datetime], int], low: datetime, high: datetime, before: int
) -> tuple[datetime, int]:
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        low, high = (middle, high) if at(middle) == before else (low, middle)
    moment = (high + timedelta(seconds=30)).replace(second=0, microsecond=0)
    return moment, at(high)


def sql_stamp(column: str, sample: Sequence[str | None]) -> tuple[str, str | None]:
    """SQL of a TIMESTAMP for a VARCHAR column and the offset its cells state ("" for epoch numbers).

    The kind is chosen from `sample`. NULL for cells of another kind: the caller hands those to `parse_stamp`.
    With an offset the SQL gives UTC; without one (None) it gives the local time as written.
    """
    first = next((stamp for text in sample if (stamp := parse_stamp(text)) is not None), None)
    if first is None:
        return "null::timestamp", None
    if first.offset == "":
        number = f"try_cast({column} as double)"
        return (
            f"case when {number} between 1e9 and 9999999999 then make_timestamp(({number} * 1e6)::bigint) "
            f"when {number} between 1e12 and 9999999999999 then make_timestamp(({number} * 1e3)::bigint) end",
            "",
        )
    if first.offset is not None:
        plain = f"rtrim({column})"
        has_zone = f"(suffix({plain}, 'Z') or substr({plain}, -6, 1) in ('+', '-')) and length({plain}) >= 17"
        return f"case when {has_zone} then try_cast({column} as timestamptz)::timestamp end", first.offset
    naive = (
        f"length({column}) >= 16 and not suffix({column}, 'Z') and substr({column}, -6, 1) not in ('+', '-')"
    )
    return f"case when {naive} then try_cast({column} as timestamp) end", None
