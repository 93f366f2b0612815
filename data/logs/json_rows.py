"""JSON-lines logs of trainers: one object a record, its numbers by raw key."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from data.logs.flat import FlatFile, Row
from data.logs.verl_lines import Record
from data.parse.last_line import cut_inside
from data.readers.base import Progress, SetAside, Source, no_progress
from data.readers.verl_jsonl import JsonObjects, fill_values, whole_step

EARLIEST_S, LATEST_S = 946_684_800.0, 4_102_444_800.0
"""Epoch seconds of 2000 and 2100: other numbers are no time of a training run."""

Take = Callable[[int, dict[str, object]], Row | SetAside | str]
"""(line, object) -> its row, why it was set aside, or the reason for which it is ignored."""


@dataclass
class JsonLog:
    """Rows of a JSON-lines file and the books: objects = rows + set aside + ignored."""

    rows: list[Row] = field(default_factory=list)
    objects: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    set_aside: list[SetAside] = field(default_factory=list)
    cut_line: int | None = None

    def file(self, format: str, source_name: str) -> FlatFile:
        """What a reader hands to the engine besides its runs."""
        warnings = []
        if self.cut_line is not None:
            warnings.append(cut_inside(self.cut_line, "object"))
        return FlatFile(
            format=format,
            source_name=source_name,
            records=self.objects,
            ignored=self.ignored,
            set_aside=self.set_aside,
            partial_last_line=int(self.cut_line is not None),
            warnings=warnings,
        )


def read_json_log(source: Source, take: Take, progress: Progress = no_progress) -> JsonLog:
    """Read all objects of a file; what is not JSON is set aside and counts as a record."""
    objects, log = JsonObjects(), JsonLog()
    for line, text, value in objects.read(source, progress):
        log.objects += 1
        outcome = (
            take(line, value) if isinstance(value, dict) else SetAside(line, "not an object", text[:200])
        )
        if isinstance(outcome, Row):
            log.rows.append(outcome)
        elif isinstance(outcome, str):
            log.ignored[outcome] += 1
        else:
            log.set_aside.append(outcome)
    log.objects += len(objects.damaged)
    log.set_aside += objects.damaged
    log.cut_line = objects.cut_line
    return log


@dataclass
class NumberRow:
    """The numbers of one object; texts among them are `bad`."""

    values: dict[str, float]
    bad: list[SetAside]


def numbers(line: int, value: Mapping[str, object], leave: frozenset[str] = frozenset()) -> NumberRow:
    """All numbers of an object but those of the keys in `leave`; NaN for a key without a finite number."""
    record = Record(line, 0, {})
    fill_values(record, {key: item for key, item in value.items() if key not in leave})
    return NumberRow(record.values, record.bad_cells)


def step_of(value: Mapping[str, object], *keys: str) -> int | None:
    """The first of `keys` that holds a whole step number."""
    return next((step for key in keys if (step := whole_step(value.get(key))) is not None), None)


def epoch_of(value: object) -> datetime | None:
    """UTC time of epoch seconds; None for anything that is no time of a training run."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not EARLIEST_S <= value <= LATEST_S:
        return None
    return datetime.fromtimestamp(value, UTC).replace(tzinfo=None)


def shown(value: Mapping[str, object]) -> str:
    """An object as it stands in a quarantine row."""
    return repr(value)[:200]
