"""Rows of a mapped table whose target has a template (or is a scheduler job) -> typed rows and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from data.facts_base import source_facts
from data.mapping.cells import number_unit, plain_cell
from data.mapping.language import FORMAT, Meaning, Plan
from data.parse.csvio import TEXT_LIMIT, CsvLayout, CsvRow
from data.parse.table_records import Records
from data.parse.timezones import zone_of
from data.readers.base import Batch, Choices, Progress, SetAside, Source
from data.readers.template_rows import Fields, RowParser
from data.readers.template_specs import Template, templates
from data.readers.template_tables import Collector
from data.tables import Column, tables

LEARN_ROWS = 500
JOBS = Template(
    "scheduler_jobs", "Scheduler jobs", "One row a job.", ("scheduler_jobs",),
    tuple(c.name for c in tables()["scheduler_jobs"] if c.name not in ("upload_id", "run_by")),
    ("job_id",), (), (),
)  # fmt: skip


def template_of(plan: Plan) -> Template:
    """The template whose columns and rules the rows follow."""
    return JOBS if plan.target.name == "scheduler_jobs" else templates()[plan.target.name]


def fixed_texts(plan: Plan, choices: Choices, names: Sequence[str]) -> dict[str, str]:
    """Fields with one text for all rows: what was typed, and the run and campaign of the upload."""
    found = dict(plan.fixed)
    for name, value in (("run", choices.run), ("campaign", choices.campaign)):
        if value and name in names and plan.column_of(name) is None:
            found.setdefault(name, value)
    return found


def fields_of(
    plan: Plan, columns: Mapping[str, Column], header: Sequence[str], fixed: Mapping[str, str]
) -> Fields:
    """Which cell is which column: those of the file first, then one for each fixed text."""
    by_index: dict[int, Column] = {}
    units: dict[int, str | None] = {}
    for i, name in enumerate(header):
        if name in plan.columns:
            one = plan.columns[name]
            by_index[i], units[i] = columns[one.field.name], _unit(one)
    for i, name in enumerate(fixed, start=len(header)):
        by_index[i], units[i] = columns[name], None
    return Fields(by_index, units, ())


def _unit(meaning: Meaning) -> str | None:
    if meaning.field.unit == "UTC" or meaning.field.text:
        return None
    return number_unit(meaning) if meaning.field.unit != "score" or meaning.unit == "%" else None


def rows_batch(
    plan: Plan,
    source: Source,
    choices: Choices,
    names: tuple[str, ...],
    scratch: Path,  # noqa: ARG001 - engines share one signature
    progress: Progress,
) -> Batch:
    """Read rows by the rules of a template; defaults, checks and keys are those of the template."""
    template = template_of(plan)
    columns = template.columns()
    fixed = _fixed(plan, source, choices, template.names)
    header = (*names, *(f"fixed {name}" for name in fixed))
    layout = CsvLayout(",", header, 1, 2)
    fields = fields_of(plan, columns, names, fixed)
    parser = RowParser(layout, fields, zone_of(choices.timezone))
    tail = tuple(fixed.values())

    def cut(line: int, cells: Mapping[str, str]) -> CsvRow:
        return CsvRow(line, (*(_cell(plan, n, cells.get(n, "")) for n in names), *tail))

    parser.learn([cut(line, cells) for line, _, cells in islice(Records(source).read(), LEARN_ROWS)])
    collector, records = Collector(template, source.name), Records(source)
    for line, text, cells in records.read(progress):
        parsed = parser.parse(cut(line, cells))
        if isinstance(parsed, SetAside):
            collector.set_aside.append(replace(parsed, text=text[:TEXT_LIMIT] or parsed.text))
            continue
        if plan.target.name == "evals":
            parsed["score_kind"] = _score_kind(plan)
        collector.add(line, text or repr(cells)[:TEXT_LIMIT], parsed)
    batch = Batch(FORMAT, records=records.records, stored=collector.stored, ignored=collector.ignored)
    batch.set_aside = [*records.set_aside, *collector.set_aside, *parser.bad]
    batch.facts = source_facts(source) | records.facts | {"format": FORMAT, "records": records.records}
    batch.facts["missing_cells"] = parser.missing
    batch.warnings += records.warnings
    _finish(batch, plan, collector, choices, names)
    return batch


def _fixed(plan: Plan, source: Source, choices: Choices, names: Sequence[str]) -> dict[str, str]:
    """Texts that stand for whole columns; events without an environment are named after their file."""
    fixed = fixed_texts(plan, choices, names)
    if plan.target.name == "env_events" and "env" not in fixed and plan.column_of("env") is None:
        fixed["env"] = Path(source.name).stem
    return fixed


def _finish(batch: Batch, plan: Plan, collector: Collector, choices: Choices, names: Sequence[str]) -> None:
    batch.names_runs = plan.column_of("run") is not None
    batch.tables = collector.frames()
    describe(batch, plan, names)
    batch.warnings += [
        f"{text}." if n == 1 else f"{text} ({n} rows)." for text, n in collector.warnings.items()
    ]
    if any(one.field.unit == "UTC" for one in plan.columns.values()):
        batch.timezone = choices.timezone or "UTC"


def _cell(plan: Plan, name: str, text: str) -> str:
    one = plan.columns.get(name)
    return plain_cell(text, one) if one is not None else text


def _score_kind(plan: Plan) -> str:
    column = plan.column_of("score")
    unit = plan.columns[column].unit if column else None
    return "points" if unit == "points" else "fraction"


def describe(batch: Batch, plan: Plan, names: Sequence[str]) -> None:
    """What each column became; unmapped ones of these targets are kept in the original alone."""
    batch.mapped = {column: one.text() for column, one in plan.columns.items()}
    batch.unmapped = [name for name in names if name not in plan.columns]
