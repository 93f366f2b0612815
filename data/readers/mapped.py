"""Any table whose columns a person has mapped: each kind of row goes through the engine that knows it."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from data.errors import UnreadableFileError
from data.mapping.check import summarise
from data.mapping.gpus import gpu_batch
from data.mapping.language import FORMAT, Plan, make_plan
from data.mapping.rows import rows_batch
from data.mapping.steps import steps_batch
from data.mapping.tasks import tasks_batch
from data.parse.table_records import Records
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

LEARN_ROWS = 500


class MappedTableReader:
    """Reads a table by `Choices.columns`; it is never guessed."""

    format = FORMAT
    title = "table with mapped columns"
    kinds = ("text", "parquet")

    def sniff(self, source: Source) -> Sniff:  # noqa: ARG002
        """Never sure of a file: somebody has to say what its columns are."""
        return Sniff(0.0, "only when a person has mapped its columns")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows. Stamps without a zone are read in `choices.timezone`, else as UTC.

        Raises MappingError for a mapping that contradicts itself, UnreadableFileError when the file has no
        rows or lacks a mapped column.
        """
        if not choices.columns:
            raise UnreadableFileError(
                "Nobody has said yet what its columns are",
                source.name,
                "Map its columns on the page Telemetry.",
            )
        plan = make_plan(choices.columns)
        first = _first_rows(source)
        names = _need(plan, source, first)
        engine = {"steps": steps_batch, "gpu_samples": gpu_batch, "eval_tasks": tasks_batch}
        batch = engine.get(plan.target.name, rows_batch)(plan, source, choices, names, scratch, progress)
        batch.warnings = list(dict.fromkeys([*batch.warnings, *_doubts(plan, first, choices)]))
        batch.reconcile()
        return batch


def _first_rows(source: Source) -> list[dict[str, str]]:
    return [cells for _, _, cells in islice(Records(source).read(), LEARN_ROWS)]


def _doubts(plan: Plan, first: Sequence[Mapping[str, str]], choices: Choices) -> list[str]:
    """What the mapping screen doubts about the columns; readers speak of zones themselves."""
    return [
        f"Column {column}: {doubt}"
        for column, meaning in plan.columns.items()
        if meaning.field.unit != "UTC"
        for doubt in summarise([cells.get(column, "") for cells in first], meaning, choices.timezone).doubts
    ]


def _need(plan: Plan, source: Source, first: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Names of the columns in the first rows; refuses a file that lacks a mapped one."""
    names = tuple(dict.fromkeys(name for cells in first for name in cells if name))
    if not first:
        raise UnreadableFileError("The file holds no row", source.name, "Check the export and load it again.")
    lacking = [name for name in plan.columns if name not in names]
    if lacking:
        raise UnreadableFileError(
            f"There is no column '{lacking[0]}'",
            source.name,
            f"Map the columns anew: it has {', '.join(names)[:200]}.",
        )
    return names


READERS = (MappedTableReader(),)
