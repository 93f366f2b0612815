"""The header of a W&B chart export: x axis, then `{run} - {key}` with `__MIN` and `__MAX` beside it."""

from dataclasses import dataclass, field

from data.logs.keymap import rules_for

SEPARATOR = " - "
STEP_KEYS = ("training/global_step", "train/global_step", "trainer/global_step", "global_step", "_step")
_X_AXES = ("Step", "Relative Time (Process)", "Relative Time (Wall)", "Wall Time")


@dataclass(frozen=True)
class Series:
    """One value column; `low` and `high` are the columns of its band, -1 where there is none."""

    index: int
    run: str
    key: str
    low: int = -1
    high: int = -1

    @property
    def name(self) -> str:
        """`<run>|<key>`, as facts name it."""
        return f"{self.run}|{self.key}"


@dataclass
class ChartHeader:
    """Columns of one export: `x_index` is the place of the x axis, -1 where no column can be it.

    `other` are columns that belong to no run.
    """

    x_index: int
    x_name: str
    series: list[Series] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    @property
    def runs(self) -> list[str]:
        """Runs in file order."""
        return list(dict.fromkeys(series.run for series in self.series))

    @property
    def x_field(self) -> str:
        """What the x axis means: step, elapsed_s, ts or "" when it is some metric."""
        rule = rules_for("wandb").get(self.x_name)
        return rule.field if rule else ""

    def step_series(self, run: str) -> Series | None:
        """The column that holds a run's step; the trainer's own counter before W&B's log counter."""
        own = {series.key: series for series in self.series if series.run == run}
        return next((own[key] for key in STEP_KEYS if key in own), None)


def parse_header(names: tuple[str, ...]) -> ChartHeader:
    """Split each column on its LAST ` - `: run names may hold the separator, metric keys do not."""
    axis = _axis(names)
    header = ChartHeader(axis, names[axis] if axis >= 0 else "")
    places = {name: index for index, name in enumerate(names)}
    for index, name in enumerate(names):
        if index == axis:
            continue
        if name.endswith(("__MIN", "__MAX")) and name[:-5] in places:
            continue
        if not _is_series(name):
            header.other.append(name)
            continue
        run, _, key = name.rpartition(SEPARATOR)
        low, high = places.get(f"{name}__MIN", -1), places.get(f"{name}__MAX", -1)
        header.series.append(Series(index, run.strip(), key.strip(), low, high))
    return header


def _axis(names: tuple[str, ...]) -> int:
    """W&B writes the x axis first. In a table whose columns were moved only an axis of W&B's own is sure."""
    known = [index for index, name in enumerate(names) if _is_known_axis(name)]
    if known:
        return known[0]
    return 0 if names and not _is_series(names[0]) else -1


def _is_known_axis(name: str) -> bool:
    rule = rules_for("wandb").get(name)
    return name in _X_AXES or bool(rule and rule.field)


def _is_series(name: str) -> bool:
    run, separator, key = name.rpartition(SEPARATOR)
    return bool(separator and run.strip() and key.strip())


def judge_header(names: tuple[str, ...]) -> tuple[float, str]:
    """How sure (0..1) a header is that of a chart export, and why."""
    header = parse_header(names)
    if not header.series:
        return 0.0, "no column named '{run} - {key}'"
    share = len(header.series) / (len(header.series) + len(header.other))
    banded = sum(series.low >= 0 and series.high >= 0 for series in header.series)
    axis = _is_known_axis(header.x_name)
    x_axis = f"x axis {header.x_name!r}" if header.x_index >= 0 else "no x axis"
    why = f"{x_axis}, {len(header.series)} columns '{{run}} - {{key}}'"
    if banded:
        return (0.97 if axis else 0.85) * share, f"{why}, {banded} with __MIN and __MAX"
    if axis:
        return 0.75 * share, f"{why}, without __MIN and __MAX"
    return 0.3 * share, f"{why}, but neither a known x axis nor __MIN and __MAX"
