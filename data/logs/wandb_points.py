"""Points of a W&B chart export, collected row by row."""

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from data.logs.verl_lines import MAX_STEP, Record
from data.logs.wandb_header import ChartHeader, Series
from data.parse.csvio import CsvRow
from data.parse.values import is_missing, parse_number
from data.readers.base import SetAside

EMPTY = "no point in any run"


@dataclass
class Points:
    """Points of one series in file order; `step` is None where the file gives none."""

    x: list[float] = field(default_factory=list)
    step: list[int | None] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    missing: int = 0

    def add(self, x: float, step: int | None, value: float) -> None:
        """Append one point."""
        self.x.append(x)
        self.step.append(step)
        self.value.append(value)


@dataclass
class Chart:
    """Everything read from one export.

    `bands`: minima and maxima that differ from their point, by (column, ending); `elapsed` and `stamps`:
    seconds on the run's clock and epoch seconds by run and step; `elapsed_max` by run.
    """

    header: ChartHeader
    names: tuple[str, ...]
    points: dict[int, Points] = field(default_factory=dict)
    bands: dict[tuple[int, str], Points] = field(default_factory=dict)
    records: dict[str, dict[int, Record]] = field(default_factory=dict)
    elapsed: dict[str, dict[int, float]] = field(default_factory=dict)
    stamps: dict[str, dict[int, float]] = field(default_factory=dict)
    elapsed_max: dict[str, float] = field(default_factory=dict)
    all_stamps: list[float] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    stored: int = 0
    missing_cells: int = 0
    broken_steps: int = 0
    _by_run: dict[str, list[Series]] = field(default_factory=dict)
    _steps: dict[str, Series | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for series in self.header.series:
            self.points[series.index] = Points()
            self._by_run.setdefault(series.run, []).append(series)
        self._steps = {run: self.header.step_series(run) for run in self._by_run}

    def take(self, row: CsvRow) -> None:
        """File one row under each run that has a point in it."""
        cells = row.cells
        self.missing_cells += sum(1 for cell in cells if absent(cell))
        at = self.header.x_index
        x = x_value(cells[at], self.header.x_field) if at < len(cells) else None
        if x is None:
            reason = f"no number on the x axis {self.header.x_name!r}"
            self.set_aside.append(SetAside(row.line, reason, ",".join(cells)[:200]))
            return
        found = False
        for run, columns in self._by_run.items():
            present = [(series, self._cell(row, series)) for series in columns]
            values = [(series, value) for series, value in present if value is not None]
            if values:
                found = True
                self._file(row, run, values, x)
        if found:
            self.stored += 1
        else:
            self.ignored[EMPTY] += 1

    def _cell(self, row: CsvRow, series: Series) -> float | None:
        if series.index >= len(row.cells):
            return None
        text = row.cells[series.index]
        try:
            value: float | None = float(text)
        except ValueError:
            value = math.nan if is_missing(text) else parse_number(text).number
        if value is None:
            self.set_aside.append(SetAside(row.line, "not a number", text[:80], self.names[series.index]))
            return None
        if math.isfinite(value):
            return value
        self.points[series.index].missing += 1
        return None

    def _file(self, row: CsvRow, run: str, found: list[tuple[Series, float]], x: float) -> None:
        values = {series.key: value for series, value in found}
        step = self._step(run, values, x)
        self._clock(run, step, values, x)
        if step is not None:
            known = self.records.setdefault(run, {}).setdefault(step, Record(row.line, step, {}))
            known.values.update(values)
        for series, value in found:
            self.points[series.index].add(x, step, value)
            for index, ending in ((series.low, "__MIN"), (series.high, "__MAX")):
                if 0 <= index < len(row.cells) and row.cells[index] != row.cells[series.index]:
                    self._band(series, ending, row.cells[index], value, (x, step))

    def _band(
        self, series: Series, ending: str, text: str, value: float, place: tuple[float, int | None]
    ) -> None:
        """Keep a minimum or maximum where the export pooled several points into one row."""
        number = parse_number(text).number
        if number is not None and number != value:
            self.bands.setdefault((series.index, ending), Points()).add(*place, number)

    def _step(self, run: str, values: dict[str, float], x: float) -> int | None:
        series = self._steps[run]
        number = values.get(series.key) if series is not None else None
        if self.header.x_field == "step" and (series is None or series.key == "_step"):
            number = x
        if number is None:
            return None
        if number != int(number) or abs(number) > MAX_STEP:
            self.broken_steps += 1
            return None
        return int(number)

    def _clock(self, run: str, step: int | None, values: dict[str, float], x: float) -> None:
        elapsed = x if self.header.x_field == "elapsed_s" else values.get("_runtime")
        stamp = x if self.header.x_field == "ts" else values.get("_timestamp")
        if elapsed is not None:
            self.elapsed_max[run] = max(elapsed, self.elapsed_max.get(run, elapsed))
        if stamp is not None:
            self.all_stamps.append(epoch_seconds(stamp))
        if step is not None and elapsed is not None:
            self.elapsed.setdefault(run, {})[step] = elapsed
        if step is not None and stamp is not None:
            self.stamps.setdefault(run, {})[step] = epoch_seconds(stamp)


def absent(text: str) -> bool:
    """Whether a cell is missing; the quick way for plain numbers, the whole rule for everything else."""
    try:
        value = float(text)
    except ValueError:
        return is_missing(text)
    return not abs(value) < 1e15 and is_missing(text)


def epoch_seconds(stamp: float) -> float:
    """Thirteen-digit stamps are milliseconds."""
    return stamp / 1000 if abs(stamp) > 1e11 else stamp


def x_value(text: str, x_field: str) -> float | None:
    """The x axis of one row as a number; a stamp with a zone becomes epoch seconds."""
    number = parse_number(text).number
    if number is not None or x_field != "ts" or is_missing(text):
        return number
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None
