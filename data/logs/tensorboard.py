"""TensorBoard event files -> rows of raw keys: points by tag, restarts, one record a step."""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from data.gpu.keys import add_gpus, gpu_from_keys, gpu_key
from data.logs.flat import FlatFile, FlatRun, Row, make_batch
from data.logs.json_rows import EARLIEST_S, LATEST_S
from data.logs.tensorboard_proto import Event, ProtoError, decode
from data.logs.tfrecord import Records
from data.readers.base import Batch, Choices, Progress, SetAside, Source

FILE_VERSION = "file version"
NO_SCALAR = "no number: picture, histogram, text, graph or session mark"
OWN_AXIS = "sample"
LOOKED_AT = 5_000
RESTART_SHARE = 0.5
"""Of the tags that go on after a point, so many must go back there: a late evaluation is no restart."""
LONG_PAUSE_S = 600.0

OwnAxis = Callable[[str], bool]
"""Whether a tag counts steps of its own, as monitors do."""


@dataclass
class Points:
    """Scalars of one or several event files in the order in which they were written."""

    tags: dict[str, int] = field(default_factory=dict)
    tag: "array[int]" = field(default_factory=lambda: array("l"))
    step: "array[int]" = field(default_factory=lambda: array("q"))
    wall_s: "array[float]" = field(default_factory=lambda: array("d"))
    value: "array[float]" = field(default_factory=lambda: array("d"))
    line: "array[int]" = field(default_factory=lambda: array("q"))
    starts: list[tuple[int, float | None]] = field(default_factory=list)
    """(index of the first point of a file, epoch seconds at which its writer was opened)."""
    records: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    set_aside: list[SetAside] = field(default_factory=list)
    cut: int = 0
    warnings: list[str] = field(default_factory=list)

    def add(self, event: Event, line: int, prefix: str = "") -> None:
        """Take the scalars of one event."""
        for tag, value in event.scalars:
            self.put(prefix + tag, event.step, event.wall_s, value, line)

    def put(self, tag: str, step: int, wall_s: float, value: float, line: int) -> None:
        """Append one point."""
        self.tag.append(self.tags.setdefault(tag, len(self.tags)))
        self.step.append(step)
        self.wall_s.append(wall_s)
        self.value.append(value)
        self.line.append(line)

    def own_axis(self, is_own: OwnAxis) -> set[int]:
        """Tags that count steps of their own."""
        return {number for tag, number in self.tags.items() if is_own(tag)}


@dataclass(frozen=True)
class EventFile:
    """An event file: on disk, or a part of a larger file."""

    name: str
    path: Path
    start: int
    size: int
    prefix: str = ""
    """Put in front of its tags."""

    def records(self) -> Records:
        """Its records."""
        return Records(self.path, self.start, self.size)


def has_scalars(file: EventFile) -> bool:
    """True when one of the first records holds a scalar."""
    for number, data in file.records():
        try:
            if decode(data).scalars:
                return True
        except ProtoError:
            continue
        if number > LOOKED_AT:
            break
    return False


def opened_at(file: EventFile) -> float:
    """Epoch seconds of the first event of a file: when its writer was opened."""
    _, data = next(iter(file.records()))
    return decode(data).wall_s


def read_points(files: Sequence[EventFile], progress: Progress) -> Points:
    """All scalars of event files, given in the order in which they were opened."""
    points = Points()
    total, before = sum(file.size for file in files), 0
    for file in files:
        _read_file(file, points, progress, before, total)
        before += file.size
    return points


def _read_file(file: EventFile, points: Points, progress: Progress, before: int, total: int) -> None:
    records, first = file.records(), points.records
    opened: float | None = None
    start = len(points.value)
    for number, data in records:
        if number % 1_000 == 0:
            progress("read", before + records.at - file.start, total)
        try:
            event = decode(data)
        except ProtoError as error:
            points.set_aside.append(SetAside(first + number, f"no TensorBoard event ({error})", ""))
            continue
        if event.version and opened is None:
            opened = epoch_time(event.wall_s)
        if event.scalars:
            points.add(event, first + number, file.prefix)
        else:
            points.ignored[FILE_VERSION if event.version else NO_SCALAR] += 1
    points.starts.append((start, opened))
    points.records += records.count
    points.set_aside += [
        SetAside(first + number, "its checksum does not match, so the record is damaged", "")
        for number in records.damaged
    ]
    if records.cut:
        points.cut += 1
        points.warnings.append(
            f"{file.name}: {records.cut}; {records.left_bytes:,} bytes at the end were dropped."
        )


def epoch_time(wall_s: float) -> float | None:
    """Epoch seconds, None when they are no time of a training run."""
    return wall_s if EARLIEST_S <= wall_s <= LATEST_S else None


def utc(wall_s: float | None) -> datetime | None:
    """UTC time without zone."""
    return None if wall_s is None else datetime.fromtimestamp(wall_s, UTC).replace(tzinfo=None)


def is_gpu_tag(tag: str) -> bool:
    """True for the tags of a GPU monitor, which counts its own samples."""
    return gpu_key(tag) is not None


def restarts(points: Points, is_own: OwnAxis = is_gpu_tag) -> list[int]:
    """Indices at which an attempt begins, the first one included.

    One begins where a tag goes back to an earlier step, and with it at least half of the tags that have
    points on both sides.
    """
    places: dict[int, list[int]] = {}
    for index, tag in enumerate(points.tag):
        places.setdefault(tag, []).append(index)
    for tag in points.own_axis(is_own):
        places.pop(tag, None)
    back = sorted(
        index
        for listed in places.values()
        for earlier, index in pairwise(listed)
        if points.step[index] < points.step[earlier]
    )
    found = [0]
    for index in back:
        listed = places[points.tag[index]]
        if listed[bisect_left(listed, index) - 1] >= found[-1] and _all_go_back(
            points, places, found[-1], index
        ):
            found.append(index)
    return found


def _all_go_back(points: Points, places: dict[int, list[int]], begin: int, index: int) -> bool:
    both = over = 0
    for listed in places.values():
        at = bisect_left(listed, index)
        if 0 < at < len(listed) and listed[at - 1] >= begin:
            both += 1
            over += points.step[listed[at]] <= points.step[listed[at - 1]]
    return over >= max(1, RESTART_SHARE * both)


def rows(points: Points, begins: list[int], is_own: OwnAxis = is_gpu_tag) -> list[Row]:
    """One record a step and attempt (more where a tag comes several times), attempts in order."""
    names = list(points.tags)
    own_axis = points.own_axis(is_own)
    out: list[Row] = []
    for begin, end in zip(begins, [*begins[1:], len(points.value)], strict=True):
        by_step: dict[int, list[int]] = {}
        aside: dict[int, list[int]] = {}
        for index in range(begin, end):
            kind = aside if points.tag[index] in own_axis else by_step
            kind.setdefault(points.step[index], []).append(index)
        out += _step_rows(points, names, by_step, _opened(points, begin))
        for step, indices in sorted(aside.items()):
            values = {names[points.tag[i]]: _finite(points.value[i]) for i in indices}
            out.append(
                Row(
                    None,
                    values,
                    points.line[indices[0]],
                    utc(epoch_time(points.wall_s[indices[0]])),
                    x_name=OWN_AXIS,
                    x=step,
                )
            )
    return out


def _opened(points: Points, begin: int) -> float | None:
    """When the writer of an attempt was opened: known when the attempt begins with a file."""
    return next((opened for first, opened in points.starts if first == begin), None)


def _step_rows(
    points: Points, names: list[str], by_step: dict[int, list[int]], opened: float | None
) -> list[Row]:
    out: list[Row] = []
    steps = sorted(by_step)
    walls = [
        _step_wall(points, by_step[step], by_step[following] if following is not None else [])
        for step, following in zip(steps, [*steps[1:], None], strict=True)
    ]
    kept = forward(walls)
    for place, step in enumerate(steps):
        wall = walls[place] if place in kept else None
        if wall is not None and opened is None:
            opened = wall
        elapsed = None if wall is None or opened is None else max(0.0, wall - opened)
        indices = by_step[step]
        records: list[dict[str, float]] = [{}]
        for index in indices:
            name = names[points.tag[index]]
            if name in records[-1]:
                records.append({})
            records[-1][name] = _finite(points.value[index])
        out += [Row(step, values, points.line[indices[0]], utc(wall), elapsed) for values in records]
    return out


def forward(walls: Sequence[float | None]) -> set[int]:
    """Places of the longest run of times that never goes back: the others were written out of order."""
    tails: list[float] = []
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for place, wall in enumerate(walls):
        if wall is None:
            continue
        at = bisect_right(tails, wall)
        before[place] = ends[at - 1] if at else None
        tails[at : at + 1], ends[at : at + 1] = [wall], [place]
    kept: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        kept.add(last)
        last = before[last]
    return kept


def _step_wall(points: Points, indices: list[int], following: list[int]) -> float | None:
    """When a step was over: its last point before the next step's first (a late evaluation comes after)."""
    walls = [w for i in indices if (w := epoch_time(points.wall_s[i])) is not None]
    after = min((w for i in following if (w := epoch_time(points.wall_s[i])) is not None), default=math.inf)
    return max((w for w in walls if w < after), default=min(walls, default=None))


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def pauses(points: Points, begins: list[int]) -> list[str]:
    """What is odd between files that make one attempt: long pauses, and times that overlap."""
    notes = []
    for number, (first, opened) in enumerate(points.starts[1:], 1):
        before = points.starts[number - 1][0]
        walls = [w for w in points.wall_s[before:first] if epoch_time(w) is not None]
        if not walls or opened is None or first >= len(points.value):
            continue
        gap = opened - max(walls)
        if gap > LONG_PAUSE_S and first not in begins:
            notes.append(
                f"Event file {number + 1} was opened {gap / 3600:.1f} h after the last record of the one "
                "before and goes on with its steps: one attempt, which that pause counts into."
            )
        if gap < 0 and first in begins:
            notes.append(
                f"Event file {number + 1} was opened before the one before it ended and repeats its "
                "steps: they are taken as two attempts. If they are two runs, load each file by itself."
            )
    return notes


def batch_of(format: str, run: str, points: Points, source: Source, choices: Choices, scratch: Path) -> Batch:
    """The batch of one run's event files."""
    begins = restarts(points)
    file = FlatFile(
        format=format,
        source_name=format,
        records=points.records,
        ignored=points.ignored,
        set_aside=points.set_aside,
        partial_last_line=points.cut,
        warnings=[*points.warnings, *pauses(points, begins)],
        facts={"physical_lines": None, "encoding": None, "line_ending": None},
    )
    found = rows(points, begins)
    started = utc(points.starts[0][1])
    flat = FlatRun(run, found, started_at=started, elapsed_basis="clock")
    batch = make_batch(file, [flat], source)
    batch.timezone = "UTC"
    moments = [row for row in found if row.x_name == OWN_AXIS]
    if moments:
        keys = dict.fromkeys(key for row in moments for key in row.values)
        columns = {key: [row.values.get(key) for row in moments] for key in keys}
        gpus = gpu_from_keys(columns, [row.ts for row in moments], [row.line for row in moments])
        if gpus is not None:
            add_gpus(batch, gpus, source, choices, scratch, run)
    return batch
