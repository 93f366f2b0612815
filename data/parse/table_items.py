"""Records of a small table, whether CSV, JSON lines or a JSON list: fields by name, with their books."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from data.errors import UnreadableFileError
from data.eval_batch import as_text, read_json
from data.parse.csvio import TEXT_LIMIT, CsvRows, no_rows, read_layout
from data.parse.decimals import PlainCells
from data.parse.last_line import cut_inside
from data.parse.values import is_missing
from data.readers.base import Progress, SetAside, Source
from data.readers.verl_jsonl import JsonObjects

LISTS = ("results", "tasks", "instances", "samples", "events", "data")
"""Keys of a JSON object that hold the list of records."""
LIFTED = ("result", "results", "metrics", "scores", "info", "metadata", "timing", "timings", "resources")
"""Objects inside a record whose fields are lifted where their names are free."""
_LIST_OF = re.compile(r"\[\s*|\{[^{}\[\]]*?\"(?:" + "|".join(LISTS) + r")\"\s*:\s*\[\s*")

Item = tuple[int, str, dict[str, object]]
"""Line (or number in a JSON list), text for the quarantine, fields."""


@dataclass
class Items:
    """Iterate once; `records` = items handed out + `set_aside`. `ask`: refuse numbers that may be two."""

    source: Source
    records: int = 0
    set_aside: list[SetAside] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    ask: bool = True
    warnings: list[str] = field(default_factory=list)

    def read(self, progress: Progress) -> Iterator[Item]:
        """All records in file order. Raises UnreadableFileError for a header without rows or broken JSON."""
        if is_csv(self.source):
            yield from self._csv(progress)
        elif _LIST_OF.match(self.source.head.lstrip()):
            yield from self._document()
        else:
            yield from self._lines(progress)

    def _csv(self, progress: Progress) -> Iterator[Item]:
        layout = read_layout(self.source)
        rows = CsvRows(self.source, layout, progress)
        missing = 0
        for row in PlainCells(self.source, layout, self.ask).rows(rows):
            missing += sum(1 for cell in row.cells if is_missing(cell))
            self.records += 1
            named = zip(layout.header, row.cells, strict=False)
            yield (
                row.line,
                layout.delimiter.join(row.cells)[:TEXT_LIMIT],
                {n: c.strip() for n, c in named if n},
            )
        counts = rows.counts
        if not counts.records:
            raise no_rows(self.source, layout, counts)
        self.records += len(counts.set_aside)
        self.set_aside += counts.set_aside
        self.warnings += counts.said()
        self.facts |= {
            "columns": layout.columns,
            "missing_cells": missing,
            "header_repeated": counts.header_repeated,
            "partial_last_line": counts.partial_last_line,
            "ragged_rows": counts.ragged_rows,
        }

    def _lines(self, progress: Progress) -> Iterator[Item]:
        objects = JsonObjects()
        for line, text, value in objects.read(self.source, progress):
            if isinstance(value, dict):
                self.records += 1
                yield line, text[:TEXT_LIMIT], flat(value)
        self.records += len(objects.damaged)
        self.set_aside += objects.damaged
        self.facts["partial_last_line"] = int(objects.cut_line is not None)
        if objects.cut_line is not None:
            self.warnings.append(cut_inside(objects.cut_line, "object"))

    def _document(self) -> Iterator[Item]:
        data = read_json(self.source)
        items, shared = data, {}
        if isinstance(data, Mapping):
            items = next((data[key] for key in LISTS if isinstance(data.get(key), list)), [])
            shared = {key: item for key, item in data.items() if as_text(item) is not None}
            self.unread = [key for key, item in data.items() if item is not items and key not in shared]
        for number, value in enumerate(items if isinstance(items, list) else [], 1):
            self.records += 1
            if isinstance(value, dict):
                yield number, json.dumps(value)[:TEXT_LIMIT], shared | flat(value)
            else:
                self.set_aside.append(SetAside(number, "not an object", repr(value)[:TEXT_LIMIT]))


def is_csv(source: Source) -> bool:
    """Whether the text is no JSON."""
    return source.head.lstrip()[:1] not in ("{", "[")


def names_of(source: Source) -> list[str]:
    """Names of the first record: the header of a CSV, or the keys of the first complete JSON object."""
    if is_csv(source):
        try:
            layout = read_layout(source, unique=False)
        except UnreadableFileError:
            return []
        return [name for name in layout.header if name] if len(layout.header) > 1 else []
    head = source.head.lstrip()
    start = _LIST_OF.match(head)
    head = head[start.end() :] if start else head
    if not head.startswith("{"):
        return []
    try:
        value, _ = json.JSONDecoder().raw_decode(head)
    except (ValueError, RecursionError):
        return []
    return list(flat(value)) if isinstance(value, dict) else []


def flat(value: Mapping[str, object]) -> dict[str, object]:
    """Fields of an object with those of the objects in LIFTED."""
    out = dict(value)
    for name in LIFTED:
        inner = value.get(name)
        if isinstance(inner, dict):
            out |= {key: item for key, item in inner.items() if key not in value}
            out.pop(name)
    return out
