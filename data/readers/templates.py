"""Our own CSV templates: what they look like, how they are recognised, and how they are read."""

import csv
import io
from itertools import islice
from pathlib import Path

import pandas as pd

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.gpu.batch import GpuFile, build, missing_facts
from data.gpu.csv_rows import GpuColumns, GpuRows, load_gpu_rows
from data.gpu.rollup import MEASURES, connect
from data.logs.verl_facts import step_facts
from data.parse.csvio import HOPELESS_ROWS, TEXT_LIMIT, CsvCounts, CsvLayout, CsvRows, no_rows, read_layout
from data.parse.timezones import zone_of
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.template_rows import Fields, Row, RowParser, match_header
from data.readers.template_specs import CHOICES, Template, templates
from data.readers.template_tables import Collector

LEARN_ROWS = 500
UTC_NAME = "UTC"


def template_csv(name: str) -> str:
    """The template to download: a header with every column, and made-up example rows."""
    template = templates()[name]
    out = io.StringIO()
    writer = csv.DictWriter(out, template.names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(template.examples)
    return out.getvalue()


def template_docs(name: str) -> list[dict[str, str]]:
    """One row a column: column, type, unit, required, other names, description (with the allowed words)."""
    docs = []
    for column in templates()[name].columns().values():
        words = CHOICES.get(column.name)
        docs.append(
            {
                "column": column.name,
                "type": column.type.lower(),
                "unit": column.unit,
                "required": "yes" if column.required else "",
                "other names": ", ".join(column.aliases),
                "description": column.description
                + (f" ({', '.join(words)})" if words and words[-1] not in column.description else ""),
            }
        )
    return docs


class TemplateReader:
    """Reads one of our templates."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.format = template.format
        self.title = f"our template: {template.title}"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: the columns that make this template, and how many of the others it knows."""
        try:
            layout = read_layout(source, unique=False)
        except UnreadableFileError:
            return Sniff(0.0, "no header line")
        fields = match_header(self.template, layout.header, {})
        names = {column.name for column in fields.by_index.values()}
        lacking = [group for group in self.template.signature if not names & set(group)]
        if lacking:
            return Sniff(0.0, f"no column {' or '.join(lacking[0][:4])}")
        exact = sum(layout.header[i].casefold() == c.name for i, c in fields.by_index.items())
        share = (exact + 0.4 * (len(names) - exact)) / max(layout.columns, 1)
        why = f"{len(names)} of {layout.columns} columns are those of the template {self.template.name}"
        if exact < 2 or share < 0.5:
            return Sniff(0.9 * share if exact > 2 else 0.3 * share, why)
        return Sniff(0.3 + 0.69 * share if exact < 3 else 0.55 + 0.44 * share, why)

    def known_columns(self, source: Source) -> frozenset[int]:
        """Which columns of the header (from 0) this template knows; none when there is no header."""
        try:
            layout = read_layout(source, unique=False)
        except UnreadableFileError:
            return frozenset()
        return frozenset(match_header(self.template, layout.header, {}).by_index)

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows. Times without an offset are UTC unless `choices.timezone` names a zone.

        Raises UnreadableFileError when a required column is lacking, a column is named twice, or no row is
        there.
        """
        layout = read_layout(source)
        fields = match_header(self.template, layout.header, choices.columns)
        self._need(layout, fields, source)
        return self._rows(source, choices, layout, fields, scratch, progress)

    def _need(self, layout: CsvLayout, fields: Fields, source: Source) -> None:
        for name in self.template.required:
            if not fields.has(name) and name != "run":
                raise UnreadableFileError(
                    f"The template {self.template.name} needs a column '{name}'",
                    f"{source.name}, line {layout.header_line}",
                    f"Add it, or say which column it is. The header has: {', '.join(layout.header)[:200]}.",
                )

    def _rows(
        self,
        source: Source,
        choices: Choices,
        layout: CsvLayout,
        fields: Fields,
        scratch: Path,  # noqa: ARG002 - readers with bulk data use it
        progress: Progress,
    ) -> Batch:
        parser = RowParser(layout, fields, zone_of(choices.timezone))
        parser.learn(list(islice(CsvRows(source, layout), LEARN_ROWS)))
        collector = Collector(self.template, source.name)
        raw = _RawMetrics(layout, fields, parser) if self.template.name == "steps" else None
        rows = CsvRows(source, layout, progress)
        _collect(source, rows, parser, collector, raw)
        counts = rows.counts
        if not counts.records:
            raise no_rows(source, layout, counts)
        batch = Batch(self.format, records=counts.records, stored=collector.stored, ignored=collector.ignored)
        batch.set_aside = [*counts.set_aside, *collector.set_aside, *parser.bad]
        batch.names_runs = fields.has("run")
        batch.tables = collector.frames()
        kept = raw.finish(batch) if raw is not None else set()
        self._describe(batch, layout, fields, kept)
        batch.warnings += [
            f"{text}." if n == 1 else f"{text} ({n} rows)." for text, n in collector.warnings.items()
        ]
        if any(c.type == "TIMESTAMP" for c in fields.by_index.values()):
            batch.timezone = choices.timezone or UTC_NAME
        batch.facts = self._file_facts(source, layout, counts) | {"missing_cells": parser.missing}
        batch.facts |= _facts(batch.tables)
        batch.warnings += counts.said()
        batch.reconcile()
        return batch

    def _file_facts(self, source: Source, layout: CsvLayout, counts: CsvCounts) -> dict[str, object]:
        return source_facts(source) | {
            "format": self.format,
            "records": counts.records,
            "columns": layout.columns,
            "header_repeated": counts.header_repeated,
            "partial_last_line": counts.partial_last_line,
            "ragged_rows": counts.ragged_rows,
        }

    def _describe(self, batch: Batch, layout: CsvLayout, fields: Fields, kept: set[int]) -> None:
        for i, column in fields.by_index.items():
            batch.mapped[layout.header[i]] = f"{self.template.table_of(column.name)}.{column.name}"
        for i in fields.other:
            if i in kept:
                batch.mapped[layout.header[i]] = "metric_raw"
            else:
                batch.unmapped.append(layout.header[i])


def _collect(
    source: Source, rows: CsvRows, parser: RowParser, collector: Collector, raw: "_RawMetrics | None"
) -> None:
    for row in rows:
        parsed = parser.parse(row)
        if isinstance(parsed, SetAside):
            collector.set_aside.append(parsed)
            _hopeless(source, collector)
            continue
        text = parser.layout.delimiter.join(row.cells)[:TEXT_LIMIT]
        taken = collector.add(row.line, text, parsed)
        if taken is not None and raw is not None:
            raw.add(row.line, row.cells, taken)


def _hopeless(source: Source, collector: Collector) -> None:
    """Refuse a file of noise under a good header before millions of rows are set aside one by one."""
    aside = collector.set_aside
    if len(aside) > HOPELESS_ROWS and len(aside) > collector.stored:
        raise UnreadableFileError(
            f"Most rows hold nothing that fits their columns: {aside[0].reason}, first",
            f"{source.name}, line {aside[0].line}",
            "Check that the header belongs to this data.",
        )


class _RawMetrics:
    """Number columns of a steps file that the schema does not know: kept as raw metrics."""

    def __init__(self, layout: CsvLayout, fields: Fields, parser: RowParser) -> None:
        self._layout, self._fields, self._parser = layout, fields, parser
        self._rows: list[tuple[object, object, object, str, float]] = []
        self._bad: dict[int, list[SetAside]] = {i: [] for i in fields.other}
        self._columns: set[int] = set()

    def add(self, line: int, cells: tuple[str, ...], row: Row) -> None:
        """Take the unknown columns of one stored row."""
        for i in self._fields.other:
            if i >= len(cells):
                continue
            number, reason = self._parser.number(i, cells[i])
            name = self._layout.header[i]
            if number is not None:
                self._columns.add(i)
                self._rows.append((row["run"], row["attempt"], row["step"], name, number))
            elif reason:
                self._bad[i].append(SetAside(line, reason, cells[i][:TEXT_LIMIT], name))

    def finish(self, batch: Batch) -> set[int]:
        """Add the table; which columns hold a number. Text in those is set aside, columns of text are not."""
        for i in self._columns:
            batch.set_aside += self._bad[i]
        if self._rows:
            frame = pd.DataFrame(self._rows, columns=["run", "attempt", "step", "key", "value"])
            frame = frame.astype({"attempt": "Int64", "step": "Int64"})
            batch.tables["metric_raw"] = frame.assign(x_name="step", x=frame["step"].astype("float64"))
        return self._columns


def _facts(tables: dict[str, pd.DataFrame]) -> dict[str, object]:
    steps = tables.get("steps", pd.DataFrame(columns=["run", "attempt", "step", "step_s"]))
    empty = pd.DataFrame(columns=["run", "attempt", "step", "phase", "seconds", "kind"])
    phases = tables.get("step_phases", empty)
    found: dict[str, object] = {}
    runs: dict[str, None] = {}
    for frame in tables.values():
        if "run" in frame:
            runs |= dict.fromkeys(str(run) for run in frame["run"].dropna())
    if runs:
        found["runs"], found["run_names"] = len(runs), ";".join(runs)
    numbered = next((tables[name] for name in ("steps", "step_phases") if name in tables), None)
    if numbered is not None and numbered["step"].notna().any():
        found["steps_count"] = int(numbered["step"].nunique())
        found["step_first"], found["step_last"] = int(numbered["step"].min()), int(numbered["step"].max())
    if len(steps) or len(phases):
        found |= step_facts(steps, phases)
    for name, column in (("tokens_generated", "tok_gen"), ("tokens_prompt", "tok_prompt")):
        if column in steps and steps[column].notna().any():
            found[name] = float(steps[column].sum())
    return found | (_eval_facts(tables["evals"]) if "evals" in tables else {})


def _eval_facts(evals: pd.DataFrame) -> dict[str, object]:
    """`eval_score[benchmark]`, or `[benchmark|run]` in a file of several runs: the highest step's score."""
    runs = evals["run"].dropna().nunique() if "run" in evals else 0
    order = evals.sort_values("step", kind="stable", na_position="first") if "step" in evals else evals
    found: dict[str, object] = {}
    for row in order.to_dict("records"):
        name = f"{row['benchmark']}|{row['run']}" if runs > 1 and row["run"] is not None else row["benchmark"]
        found[f"eval_score[{name}]"] = row["score"]
    return found


class GpuSamplesReader(TemplateReader):
    """Our GPU sample table, read by the bulk path because it may be large."""

    def _rows(
        self,
        source: Source,
        choices: Choices,
        layout: CsvLayout,
        fields: Fields,
        scratch: Path,
        progress: Progress,
    ) -> Batch:
        con = connect(scratch)
        try:
            rows = load_gpu_rows(con, source, layout, _gpu_columns(fields), progress)
            return self._gpu_batch(rows, source, choices, layout, fields, scratch)
        finally:
            con.close()

    def _gpu_batch(
        self,
        rows: GpuRows,
        source: Source,
        choices: Choices,
        layout: CsvLayout,
        fields: Fields,
        scratch: Path,
    ) -> Batch:
        counts = rows.counts
        batch = Batch(self.format, records=counts.records, set_aside=rows.set_aside)
        batch.facts = self._file_facts(source, layout, counts)
        batch.warnings += rows.warnings
        measures = {c.name: i for i, c in fields.by_index.items() if c.name in MEASURES}
        file = GpuFile(rows, measures, fields.has("ts"))
        missing_facts(file, layout.header, batch.facts)
        self._describe(batch, layout, fields, set())
        build(file, batch, source, choices, scratch, UTC_NAME)
        batch.reconcile()
        return batch


def _gpu_columns(fields: Fields) -> GpuColumns:
    time = next((i for i, c in fields.by_index.items() if c.name == "ts"), None)
    names = {"gpu_index": "index"}
    identity = {
        names.get(c.name, c.name): i
        for i, c in fields.by_index.items()
        if c.name != "ts" and c.name not in MEASURES and c.name != "dt_s"
    }
    units = {i: fields.units[i] for i, c in fields.by_index.items() if c.name in MEASURES}
    return GpuColumns(time, identity, units, binary_mb=False)


def _reader(template: Template) -> TemplateReader:
    return GpuSamplesReader(template) if template.name == "gpu_samples" else TemplateReader(template)


READERS: tuple[TemplateReader, ...] = tuple(_reader(t) for t in templates().values())
"""One reader a template."""

__all__ = [
    "READERS",
    "GpuSamplesReader",
    "TemplateReader",
    "template_csv",
    "template_docs",
    "templates",
]
