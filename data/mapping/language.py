"""Column mappings: what each column of somebody's own table becomes, in which unit, and how that is written.

A mapping is `Choices.columns`: column of the file -> `table.field|unit=ms|basis=cumulative`. Two kinds of
keys are no columns: `#row` numbers the rows as steps, and `=text` gives a field the same text in every row.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as default
from functools import cache

from data.errors import UserError
from data.facts_base import PHASES
from data.tables import tables

FORMAT = "mapped_table"
ROW_NUMBER = "#row"
FIXED = "="
UNITS: dict[str, tuple[str, ...]] = {
    "s": ("s", "ms", "us", "ns", "min", "h", "d-hh:mm:ss"),
    "ratio": ("ratio", "%"),
    "B": ("bytes", "KiB", "MiB", "GiB", "kB", "MB", "GB", "TB"),
    "W": ("W", "mW", "kW"),
    "J": ("J", "mJ", "kJ", "Wh", "kWh"),
    "MHz": ("MHz", "kHz", "GHz", "Hz"),
    "UTC": (
        "ISO or epoch", "epoch s", "epoch ms", "epoch us", "epoch ns", "day/month/year", "month/day/year",
    ),
    "tokens": ("tokens", "K", "M", "G"),
    "rollouts": ("rollouts", "K", "M"),
    "score": ("fraction", "%", "points"),
}  # fmt: skip
"""Base unit -> units a column may have; the first is the base unit itself."""
CUMULATIVE = "cumulative"
PER_STEP = "step"
ADDS_UP = frozenset(
    {"step_s", "tok_prompt", "tok_gen", "tok_cached", "tok_trained", "tok_total", "rollouts", "groups",
     "groups_all_right", "groups_all_wrong", "correct", "dropped"}
)  # fmt: skip
"""Columns of `steps` that a log may count from the start."""
RATES = ("per_gpu", "cluster")
BENCHMARK = "benchmark"
_OPTIONS = ("unit", "basis", BENCHMARK)
_EVALS = (
    "score", "benchmark", "checkpoint", "run", "step", "n_tasks", "k", "seed", "split", "harness", "effort",
    "metric", "stderr", "tokens", "usd", "at",
)  # fmt: skip


class MappingError(UserError):
    """A column mapping says something that does not exist or contradicts itself."""


@dataclass(frozen=True)
class Field:
    """Something a column can become: `unit` is a key of UNITS, or "" for plain numbers and texts.

    `bases`: what an amount may be counted per; `text`: it holds words, not numbers.
    """

    table: str
    name: str
    what: str
    unit: str = ""
    bases: tuple[str, ...] = ()
    text: bool = False

    @property
    def id(self) -> str:
        """`table.name`, as mappings write it."""
        return f"{self.table}.{self.name}"

    @property
    def units(self) -> tuple[str, ...]:
        """Units to choose from; empty where there is nothing to choose."""
        return UNITS.get(self.unit, ())


@dataclass(frozen=True)
class Target:
    """What one row of a table is: `needs` are groups of fields, of each of which at least one must be given.

    `fixed`: fields that may be typed once for all rows.
    """

    name: str
    title: str
    fields: tuple[Field, ...]
    needs: tuple[tuple[str, ...], ...]
    fixed: tuple[str, ...] = ()

    def field_of(self, identifier: str) -> Field | None:
        """The field called `table.name`; None when this target has none of that name."""
        return next((one for one in self.fields if one.id == identifier), None)


@dataclass(frozen=True)
class Meaning:
    """One column's place: its field, unit (None: the base unit) and options."""

    field: Field
    unit: str | None = None
    options: Mapping[str, str] = default(default_factory=dict)

    @property
    def basis(self) -> str:
        """What the amount is counted per; "" when nothing was said."""
        return self.options.get("basis", "")

    def text(self) -> str:
        """As it stands in `Choices.columns`."""
        parts = [self.field.id]
        if self.unit and self.unit != next(iter(self.field.units), None):
            parts.append(f"unit={self.unit}")
        parts += [f"{name}={value}" for name, value in self.options.items() if value]
        return "|".join(parts)


@dataclass(frozen=True)
class Plan:
    """A checked mapping: columns, fields with one text for all rows, and whether rows count steps."""

    target: Target
    columns: Mapping[str, Meaning]
    fixed: Mapping[str, str]
    count_rows: bool = False

    def column_of(self, name: str) -> str | None:
        """The column that became a field of the target's own table, None when none did."""
        wanted = f"{self.target.name}.{name}"
        return next((column for column, one in self.columns.items() if one.field.id == wanted), None)


@cache
def targets() -> dict[str, Target]:
    """All targets by name (the table that their rows fill)."""
    steps = (
        *_fields("steps", leave=("attempt", "source", "throughput_basis")),
        *(Field("step_phases", name, f"seconds of {name.replace('_', ' ')}", "s") for name in PHASES),
        Field("evals", "score", "score of an evaluation of this step", "score"),
    )
    gpu = tuple(Field("gpu_samples", c.name, c.description) for c in tables()["gpus"] if c.name in _GPU_NAMES)
    found = (
        Target("steps", "a training step", steps, (("step",),)),
        Target(
            "step_phases",
            "a phase of a step",
            _fields("step_phases", only=("run", "step", "phase", "seconds", "kind", "pool")),
            (("step",), ("phase",), ("seconds",)),
        ),
        Target(
            "gpu_samples",
            "a GPU sample",
            (*gpu, *_fields("gpu_samples", leave=("gpu_id", "dt_s"))),
            (("ts",), _measures()),
        ),
        *_outcomes(),
    )
    return {target.name: target for target in found}


def _outcomes() -> tuple[Target, ...]:
    """Targets beside the training and its GPUs."""
    return (
        Target(
            "evals",
            "an evaluation",
            _fields("evals", only=_EVALS),
            (("benchmark",), ("score",), ("checkpoint", "step")),
            ("benchmark", "checkpoint"),
        ),
        Target("eval_tasks", "a task's result", _task_fields(), (("task",), ("passed",)), ("benchmark",)),
        Target(
            "costs",
            "a cost",
            _fields("costs", leave=("tags",)),
            (("billed_cost",), ("day", "charge_start")),
            ("currency", "bucket", "campaign"),
        ),
        Target(
            "scheduler_jobs",
            "a scheduler job",
            _fields("scheduler_jobs", leave=("run_by",)),
            (("job_id",),),
            ("cluster",),
        ),
        Target(
            "env_events",
            "a sandbox call",
            _fields("env_events"),
            (("busy_s", "queued_s", "cold_s"),),
            ("env",),
        ),
    )


_GPU_NAMES = ("gpu_id", "host", "uuid", "gpu_index", "model", "run", "pool", "role")
_TASKS = {
    "task": "Task", "passed": "Result: solved or not, or 0..1", "benchmark": "Benchmark",
    "model": "Model or checkpoint", "repeat": "Repeat, from 0", "cluster": "Tasks that share a source",
    "tokens": "Tokens used", "usd": "Cost in USD", "split": "Split", "harness": "Harness",
    "effort": "Reasoning effort",
}  # fmt: skip


def _measures() -> tuple[str, ...]:
    return tuple(c.name for c in tables()["gpu_samples"] if c.type == "DOUBLE" and c.name != "dt_s")


def _task_fields() -> tuple[Field, ...]:
    numbers = {"passed": "ratio", "tokens": "tokens"}
    words = frozenset(_TASKS) - {"passed", "repeat", "tokens", "usd"}
    return tuple(
        Field("eval_tasks", name, what, numbers.get(name, ""), (), name in words)
        for name, what in _TASKS.items()
    )


def _fields(table: str, *, only: Iterable[str] = (), leave: Iterable[str] = ()) -> tuple[Field, ...]:
    wanted, hidden = set(only), {"upload_id", *leave}
    out = []
    for column in tables()[table]:
        if column.name in hidden or (wanted and column.name not in wanted):
            continue
        unit = "score" if column.name in ("score", "stderr") else _unit(column.unit)
        unit = "UTC" if column.type == "TIMESTAMP" else "" if column.type == "DATE" else unit
        bases = _bases(table, column.name)
        text = column.type in ("VARCHAR", "BOOLEAN", "DATE")
        out.append(Field(table, column.name, column.description, unit, bases, text))
    return tuple(out)


def _unit(unit: str) -> str:
    return "rollouts" if unit == "groups" else unit if unit in UNITS else ""


def _bases(table: str, name: str) -> tuple[str, ...]:
    if table != "steps":
        return ()
    return (PER_STEP, CUMULATIVE) if name in ADDS_UP else RATES if name == "throughput" else ()


def parse_meaning(text: str, column: str = "") -> Meaning:
    """`steps.step_s|unit=ms` as a meaning; MappingError names what is wrong with it."""
    identifier, *parts = text.split("|")
    found = next((one for t in targets().values() for one in t.fields if one.id == identifier), None)
    if found is None:
        raise MappingError(
            f"There is no field '{identifier[:80]}'", column, "Use table.field, as docs/files.md lists."
        )
    options = dict(part.partition("=")[::2] for part in parts)
    unit = options.pop("unit", None)
    if unit is not None and unit not in found.units:
        raise MappingError(
            f"'{unit}' is no unit of {found.id}", column, f"Use {', '.join(found.units) or 'no unit'}."
        )
    odd = [name for name in options if name not in _OPTIONS]
    basis = options.get("basis")
    if odd or (basis and basis not in found.bases):
        said = odd[0] if odd else f"basis={basis}"
        raise MappingError(f"'{said}' says nothing about {found.id}", column, "Leave it out.")
    return Meaning(found, unit, options)


def make_plan(columns: Mapping[str, str]) -> Plan:
    """Check a mapping as a whole.

    Raises MappingError for an unknown field or unit, rows that would be two things, a field that two columns
    want, and for a field that is lacking.
    """
    fixed: dict[str, str] = {}
    found: dict[str, Meaning] = {}
    count_rows = False
    for column, text in columns.items():
        meaning = parse_meaning(text, column)
        if column == ROW_NUMBER:
            count_rows = meaning.field.id == "steps.step"
        elif column.startswith(FIXED):
            fixed[meaning.field.id] = column[len(FIXED) :]
        else:
            found[column] = meaning
    ids = [*(one.field.id for one in found.values()), *fixed, *(["steps.step"] if count_rows else [])]
    target = _target_of(ids)
    _refuse_twice(found, fixed, count_rows)
    plan = Plan(target, found, {name.partition(".")[2]: text for name, text in fixed.items()}, count_rows)
    lacking = missing_fields(target, ids)
    if lacking:
        raise MappingError(
            f"A row as {target.title} needs {' or '.join(lacking[0][:3])}", "", "Say which column it is."
        )
    return plan


def missing_fields(target: Target, identifiers: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of fields of which none is among `table.name` identifiers."""
    names = {one.partition(".")[2] for one in identifiers if one.startswith(f"{target.name}.")}
    return [group for group in target.needs if not names & set(group)]


def _target_of(identifiers: list[str]) -> Target:
    found = list(dict.fromkeys(one.partition(".")[0] for one in identifiers))
    if not found:
        raise MappingError("No column was mapped", "columns", "Say what at least one column is.")
    name = "steps" if "steps" in found else found[0]
    odd = next((one for one in identifiers if targets()[name].field_of(one) is None), None)
    if odd is not None:
        raise MappingError(
            f"A row cannot be {targets()[name].title} and hold {odd}", odd, "Map fields of one kind of row."
        )
    return targets()[name]


def _refuse_twice(found: Mapping[str, Meaning], fixed: Mapping[str, str], count_rows: bool) -> None:
    seen: dict[str, str] = dict.fromkeys(fixed, "a fixed text")
    if count_rows:
        seen["steps.step"] = "the number of the row"
    for column, one in found.items():
        key = one.field.id
        if key.startswith("step_phases.") and one.field.name in PHASES:
            continue
        if key == "evals.score":
            key += f"|{one.options.get(BENCHMARK, column)}"
        if key in seen:
            raise MappingError(
                f"'{column}' and {seen[key]} are both mapped to {one.field.id}", column, "Keep one of them."
            )
        seen[key] = f"'{column}'"


def header_hash(header: Iterable[str]) -> str:
    """SHA-256 of the column names, in any order: tables with the same columns share a mapping."""
    return hashlib.sha256(json.dumps(sorted(name for name in header if name)).encode()).hexdigest()
