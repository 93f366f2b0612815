"""Rows of a mapped table of results by task -> evaluations, whose score is the mean of their tasks."""

from pathlib import Path

from data.eval_batch import EvalRows, as_text, owner_of
from data.mapping.cells import amount
from data.mapping.language import FIXED, FORMAT, Plan
from data.mapping.rows import describe
from data.parse.csvio import TEXT_LIMIT
from data.parse.table_records import Records
from data.parse.task_rows import TaskGroup
from data.readers.base import Batch, Choices, Progress, SetAside, Source
from data.readers.task_results import take_result


def tasks_batch(
    plan: Plan,
    source: Source,
    choices: Choices,
    names: tuple[str, ...],
    scratch: Path,  # noqa: ARG001 - engines share one signature
    progress: Progress,
) -> Batch:
    """Read results by task; texts and marks such as `solved` are known, percentages are converted."""
    rows, records = EvalRows(FORMAT, source, choices), Records(source)
    groups: dict[tuple[object, ...], TaskGroup] = {}
    fields = {one.field.name: column for column, one in plan.columns.items()}
    fixed = {f"{FIXED}{name}": text for name, text in plan.fixed.items()}
    fields |= {name: f"{FIXED}{name}" for name in plan.fixed}
    for line, text, cells in records.read(progress):
        value: dict[str, object] = {name: cells.get(name, "") for name in plan.columns}
        bad = [_convert(plan, name, value, line) for name in (*plan.columns,)]
        rows.set_aside += [one for one in bad if one is not None]
        take_result(rows, groups, fields, (line, (text or repr(cells))[:TEXT_LIMIT], value | fixed))
    rows.records = records.records
    rows.set_aside = [*records.set_aside, *rows.set_aside]
    rows.facts |= records.facts
    rows.warnings += records.warnings
    for group in groups.values():
        model = as_text(group.key.pop("model", None))
        rows.add(owner_of(model, source, choices), group.values(), group.tasks)
    batch = rows.finish()
    describe(batch, plan, names)
    return batch


def _convert(plan: Plan, name: str, value: dict[str, object], line: int) -> SetAside | None:
    """Bring a percentage or an amount in thousands to its base unit, in place; why it is none, else None."""
    one = plan.columns[name]
    if not one.unit or one.unit == next(iter(one.field.units), None):
        return None
    text = str(value[name])
    found = amount(text, one)
    value[name] = found.number if found.number is not None else ""
    if not found.reason or one.field.name == "passed":
        return None
    return SetAside(line, found.reason, text[:TEXT_LIMIT], name)
