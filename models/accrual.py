"""Time of charges: half-open periods [start, end) in UTC, cut at midnights and at ends of months."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from models.cents import FULL, apportion


@dataclass(frozen=True)
class DayPart:
    """A part [start, end) of a period and the UTC day on which it starts."""

    day: date
    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """Length, s."""
        return (self.end - self.start).total_seconds()


def days(start: datetime, end: datetime) -> list[DayPart]:
    """The UTC days that [start, end) touches, in order; none when it is empty. The end is exclusive."""
    out, at = [], start
    while at < end:
        until = min(datetime.combine(at.date() + timedelta(days=1), time.min), end)
        out.append(DayPart(at.date(), at, until))
        at = until
    return out


def overlap_s(start: datetime, end: datetime, other_start: datetime, other_end: datetime) -> float:
    """Seconds that two periods share, 0 when they only touch."""
    return max(0.0, (min(end, other_end) - max(start, other_start)).total_seconds())


def month(name: str) -> tuple[datetime, datetime]:
    """[start, end) of a month "YYYY-MM". Raises ValueError for anything else."""
    first = datetime.strptime(name, "%Y-%m")
    if name != month_of(first):
        raise ValueError(f"'{name}' is no month: write it as 2026-03")
    return first, _next(first)


def month_of(at: date) -> str:
    """The month "YYYY-MM" of a day or stamp."""
    return f"{at.year:04}-{at.month:02}"


def months(start: datetime, end: datetime) -> list[DayPart]:
    """The UTC months that [start, end) touches, in order; `day` is the first day of each part."""
    out, at = [], start
    while at < end:
        until = min(_next(at), end)
        out.append(DayPart(at.date(), at, until))
        at = until
    return out


def by_month(total: Decimal, start: datetime, end: datetime) -> list[tuple[str, Decimal]]:
    """An amount over the months of [start, end) by seconds; the parts add up to it exactly.

    A period without length belongs to the month of its start.
    """
    parts = months(start, end)
    if not parts:
        return [(month_of(start), total)]
    amounts = apportion(total, [part.seconds for part in parts], FULL)
    return [(month_of(part.day), amount) for part, amount in zip(parts, amounts, strict=True)]


def by_day(total: Decimal, start: datetime, end: datetime) -> list[tuple[date, Decimal]]:
    """An amount over the UTC days of [start, end) by seconds; the parts add up to it exactly.

    A period without length belongs to the day of its start.
    """
    parts = days(start, end)
    if not parts:
        return [(start.date(), total)]
    amounts = apportion(total, [part.seconds for part in parts], FULL)
    return [(part.day, amount) for part, amount in zip(parts, amounts, strict=True)]


def _next(at: datetime) -> datetime:
    """The first moment of the month after that of `at`."""
    return datetime(at.year + at.month // 12, at.month % 12 + 1, 1)
