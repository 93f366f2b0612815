"""Time stamps that a log prints beside its records."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from data.parse.timezones import to_utc, zone_of

_STAMP = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)?")
_LOOK_AT = 200


@dataclass(frozen=True)
class LogClock:
    """Stamps (line, as printed) placed in time where a zone allows it.

    `zone`: the chosen zone that was applied, None when the stamps state their own or cannot be placed.
    """

    stamps: tuple[tuple[int, datetime], ...]
    chosen: tzinfo | None
    chosen_name: str | None

    @property
    def states_zone(self) -> bool:
        """Whether the file itself says where its stamps are."""
        return bool(self.stamps) and self.stamps[0][1].tzinfo is not None

    @property
    def zone(self) -> str | None:
        """Name of the zone that had to be assumed."""
        return self.chosen_name if self.chosen and self.stamps and not self.states_zone else None

    @property
    def unplaced(self) -> bool:
        """Stamps without any zone fix no instant."""
        return bool(self.stamps) and not self.states_zone and self.chosen is None

    def utc(self, moment: datetime) -> datetime | None:
        """UTC without tzinfo; None for a stamp without zone when none was chosen."""
        if moment.tzinfo is not None:
            return moment.astimezone(UTC).replace(tzinfo=None)
        return to_utc(moment, self.chosen) if self.chosen is not None else None

    def after(self, line: int) -> datetime | None:
        """First stamp at or after a line, UTC without tzinfo; None when there is none or no zone."""
        found = next((moment for at, moment in self.stamps if at >= line), None)
        return self.utc(found) if found is not None else None

    def facts(self) -> dict[str, object]:
        """time_first_epoch_s, time_zone and span_s as far as the stamps fix them."""
        if not self.stamps:
            return {}
        moments = [moment.replace(tzinfo=None) for _, moment in self.stamps]
        facts: dict[str, object] = {"span_s": (max(moments) - min(moments)).total_seconds()}
        first = self.utc(self.stamps[0][1])
        if first is not None:
            facts["time_first_epoch_s"] = first.replace(tzinfo=UTC).timestamp()
        if self.states_zone:
            offset = self.stamps[0][1].strftime("%z")
            facts["time_zone"] = f"{offset[:3]}:{offset[3:5]}"
        return facts


@dataclass
class StampKeeper:
    """Keeps the first stamp, the first after each start of an attempt, and the last."""

    _kept: list[tuple[int, str]] = field(default_factory=list)
    _last: tuple[int, str] | None = None
    _wanted: bool = True
    _records: dict[int, str] = field(default_factory=dict)

    def record(self, number: int, line: str) -> None:
        """Keep the stamp of a line that holds a record: it ends a step."""
        self.feed(number, line)
        if self._last is not None and self._last[0] == number:
            self._records[number] = self._last[1]

    def moments(self) -> dict[int, datetime]:
        """Stamps of record lines by line, as printed."""
        read = {number: parse_moment(text) for number, text in self._records.items()}
        return {number: moment for number, moment in read.items() if moment is not None}

    def feed(self, number: int, line: str) -> None:
        """Look at the front of one line."""
        match = _STAMP.search(line, 0, _LOOK_AT)
        if match is None:
            return
        self._last = (number, match[0])
        if self._wanted:
            self._kept.append(self._last)
            self._wanted = False

    def new_start(self) -> None:
        """The next stamp belongs to a new start."""
        self._wanted = True

    def clock(self, timezone: str | None) -> LogClock:
        """What the stamps say in the chosen zone; stamps that are no date are left out."""
        texts = [*self._kept, *([self._last] if self._last and self._last not in self._kept else [])]
        stamps = []
        for number, text in texts:
            moment = parse_moment(text)
            if moment is not None:
                stamps.append((number, moment))
        return LogClock(tuple(stamps), zone_of(timezone), timezone)


def parse_moment(text: str) -> datetime | None:
    """A stamp as printed, with tzinfo where it states one; None for what is no date."""
    try:
        return datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return None
