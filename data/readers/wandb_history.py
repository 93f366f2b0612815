"""W&B run histories from the API: CSV, JSON lines or one JSON document."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.keys import with_gpus
from data.logs.flat import FlatFile
from data.logs.flat_rows import LOG_COUNTER
from data.logs.framework import framework_of
from data.logs.wandb_header import judge_header
from data.logs.wandb_rows import CLOCKS, INDEX_COLUMNS, RUN_COLUMNS, History, history_batch
from data.parse.csvio import CsvLayout, CsvRows, no_rows, read_layout, split_line
from data.parse.decimals import PlainCells
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.verl_jsonl import JsonObjects

SOURCE = "wandb_history"
_KEY = re.compile(r'"([^"\\]{1,200})"\s*:')
_CSV_WHY = "raw metric names as columns with W&B's"


def judge_history(names: tuple[str, ...]) -> tuple[float, str]:
    """How sure (0..1) column names are those of a run history, and why."""
    clocks = [name for name in CLOCKS if name in names]
    others = [n for n in names if n not in (LOG_COUNTER, *CLOCKS, *RUN_COLUMNS, *INDEX_COLUMNS)]
    if not others or all(name.startswith(("system.", "system/")) for name in others):
        return 0.0, "no metrics beside W&B's own columns"
    if LOG_COUNTER in names and clocks:
        return 0.97, f"{_CSV_WHY} _step and {clocks[0]}"
    if (LOG_COUNTER in names or clocks) and framework_of(others)[0] is not None:
        return 0.8, f"{_CSV_WHY} {LOG_COUNTER if LOG_COUNTER in names else clocks[0]}"
    return 0.0, "no _step with _runtime or _timestamp"


def history_of(
    records: Iterable[tuple[int, Mapping[str, object]]], source: Source, choices: Choices
) -> History:
    """All records, with their lines; those that name no run belong to the chosen one, else to the file's."""
    history = History()
    own = choices.run or Path(source.name).stem or "run"
    for line, record in records:
        history.take(line, record, own)
    return history


def finished(file: FlatFile, history: History, source: Source, choices: Choices, scratch: Path) -> Batch:
    """The batch of a history, with the GPU samples among its keys."""
    batch = history_batch(file, history, source, choices)
    return with_gpus(batch, history.rows, source, choices, scratch)


class WandbHistoryCsvReader:
    """CSV of `run.history()` or `run.scan_history()`."""

    format = "wandb_history_csv"
    title = "W&B run history (CSV)"
    source_name = SOURCE

    def sniff(self, source: Source) -> Sniff:
        """Judge the header: columns may come in any order."""
        first = next((line for line in source.head.split("\n") if line.strip()), "")
        if first.lstrip().startswith(("{", "[")):
            return Sniff(0.0, "JSON, no header")
        delimiter = max(",;\t", key=first.count)
        names = tuple(cell.strip() for cell in split_line(first.rstrip("\r"), delimiter))
        if judge_header(names)[0] >= 0.5:
            return Sniff(0.0, "columns of a chart export")
        return Sniff(*judge_history(names))

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all rows; raises UnreadableFileError for a column named twice or no row with a number."""
        layout = read_layout(source)
        rows = CsvRows(source, layout, progress)
        plain = PlainCells(source, layout).rows(rows)
        records = ((row.line, dict(zip(layout.header, row.cells, strict=False))) for row in plain)
        history = history_of(records, source, choices)
        counts = rows.counts
        if not counts.records:
            raise no_rows(source, layout, rows.counts)
        file = FlatFile(self.format, self.source_name, counts.records, set_aside=counts.set_aside)
        file.partial_last_line = counts.partial_last_line
        file.warnings += counts.said()
        _table_facts(file, layout, counts.header_repeated, counts.ragged_rows)
        return finished(file, history, source, choices, scratch)


def _table_facts(file: FlatFile, layout: CsvLayout, repeated: int, ragged: int) -> None:
    file.facts |= {"columns": layout.columns, "header_repeated": repeated, "ragged_rows": ragged}


class WandbHistoryJsonReader:
    """JSON of a run history: one object a line, a list of objects, or pandas' columns."""

    format = "wandb_history_json"
    title = "W&B run history (JSON or JSON lines)"

    def sniff(self, source: Source) -> Sniff:
        """`_step` with `_runtime` or `_timestamp` beside metrics, more than once in the head."""
        head = source.head
        if not head.lstrip().startswith(("{", "[")):
            return Sniff(0.0, "no JSON at the start")
        found = _KEY.findall(head)
        if "_wandb" in found or any(key.startswith("system.") for key in found):
            return Sniff(0.0, "a W&B summary or system events")
        confidence, why = judge_history(tuple(dict.fromkeys(found)))
        lines = [line for line in head.split("\n") if line.strip()]
        single = found.count(LOG_COUNTER) < 2 and not any(line.lstrip().startswith("{") for line in lines[1:])
        if confidence and single and not re.match(r'\s*(?:\[|\{\s*"[^"]+"\s*:\s*[\[{])', head):
            return Sniff(0.4, f"{why}, but one record only: perhaps a summary")
        return Sniff(confidence, why)

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all records; raises UnreadableFileError when there is none with a number."""
        file = FlatFile(self.format, SOURCE, 0)
        document = _document(source)
        records = _lines(source, file, progress) if document is None else _items(document, file)
        history = history_of(records, source, choices)
        file.records = history.records + sum(1 for item in file.set_aside if item.column is None)
        return finished(file, history, source, choices, scratch)


def _document(source: Source) -> Iterator[object] | None:
    """Records of a file that is one JSON value; None when it holds one object a line."""
    first = source.head.lstrip()
    columns = re.match(r'\{\s*"[^"]+"\s*:\s*[\[{]', first)
    if not first.startswith("[") and not columns:
        return None
    try:
        value = json.loads(source.path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        if not first.startswith("["):
            return None
        raise UnreadableFileError(
            f"The JSON list is damaged: {problem}", source.name, "Export the history again."
        ) from problem
    if isinstance(value, list):
        return iter(value)
    return _records(value) if isinstance(value, dict) and LOG_COUNTER in value else None


def _records(columns: dict[str, object]) -> Iterator[dict[str, object]]:
    """Rows of a document of columns: lists, or objects by row label, as pandas writes them."""
    tables = {
        key: dict(enumerate(column)) if isinstance(column, list) else column
        for key, column in columns.items()
        if isinstance(column, list | dict)
    }
    for label in dict.fromkeys(label for column in tables.values() for label in column):
        yield {key: column.get(label) for key, column in tables.items()}


def _items(document: Iterator[object], file: FlatFile) -> Iterator[tuple[int, dict[str, object]]]:
    for number, record in enumerate(document, start=1):
        if isinstance(record, dict):
            yield number, record
        else:
            file.set_aside.append(SetAside(number, "not an object", repr(record)[:200]))


def _lines(source: Source, file: FlatFile, progress: Progress) -> Iterator[tuple[int, dict[str, object]]]:
    objects = JsonObjects()
    for line, text, value in objects.read(source, progress):
        if isinstance(value, dict):
            yield line, value
        else:
            file.set_aside.append(SetAside(line, "not an object", text[:200]))
    file.set_aside += objects.damaged
    if objects.cut_line is not None:
        file.partial_last_line = 1
        file.warnings.append(f"Line {objects.cut_line} is cut in the middle of an object and was dropped.")


READERS = (WandbHistoryCsvReader(), WandbHistoryJsonReader())
