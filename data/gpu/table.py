"""Any table of GPU samples -> batch: what the formats share once their columns are known."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.gpu.batch import GpuFile, build, missing_facts, plain_index
from data.gpu.csv_rows import GpuColumns, GpuRows, load_gpu_rows
from data.gpu.facts import UTIL_MEASURES
from data.gpu.metrics import default_unit
from data.gpu.rollup import MEASURES, connect
from data.parse.csvio import CsvLayout, split_line
from data.parse.values import unit_of_header
from data.readers.base import Batch, Choices, Progress, SetAside, Source, no_progress
from data.sql import number

IDENTITY_TARGET = {"index": "gpus.gpu_index", "bus": "gpus.gpu_id", "mig": "", "mig_mode": ""}
NAMELESS = (
    "The file names no host and no UUID: its GPUs are called after the file. "
    "Give the host to tell nodes apart."
)


@dataclass(frozen=True)
class Column:
    """What one column of a file is: `target` a measure of gpu_samples, `ts`, or a field of GpuIdentity.

    `unit`: of a measure whose cells name none. `rank`: of several columns for one measure the lowest with a
    number counts.
    """

    target: str
    unit: str | None = None
    rank: int = 0


@dataclass(frozen=True)
class Table:
    """One file as a table: its columns by position, and what was decided before its rows were read.

    `aside`, `ignored` and `headers_repeated` are of lines that are not rows of `layout`.
    """

    format: str
    layout: CsvLayout
    columns: Mapping[int, Column]
    aside: Sequence[SetAside] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    headers_repeated: int = 0
    warnings: Sequence[str] = ()
    binary_mb: bool = True
    facts: Mapping[str, object] = field(default_factory=dict)


TARGETS = {
    "ts": "ts", "gpu_id": "gpu_id", "host": "host", "uuid": "uuid", "gpu_index": "index", "index": "index",
    "bus": "bus", "model": "model", "platform": "platform", "run": "run", "pool": "pool",
}  # fmt: skip
"""Our names of what is no measure -> target of a column."""
IGNORE = ("ignore", "none", "-")
_CHOSEN = re.compile(r"^(?:gpu_samples\.|gpus\.)?(\w+)(?:\s*[\[(]\s*([^\])]+?)\s*[\])])?$")


def chosen(layout: CsvLayout, columns: Mapping[int, Column], choices: Choices) -> dict[int, Column]:
    """Columns with what a person said of them: `ts`, `gpu_index`, `power_w`, `gpu_util [%]`, or `ignore`.

    A column is meant by its name or its number (1..). What names none of our fields is left to the format.
    """
    found = dict(columns)
    for i, name in enumerate(layout.header):
        text = (choices.columns.get(name) or choices.columns.get(str(i + 1)) or "").strip()
        match = _CHOSEN.match(text)
        if text.lower() in IGNORE:
            found.pop(i, None)
        elif match and match[1] in TARGETS:
            _only(found, TARGETS[match[1]])
            found[i] = Column(TARGETS[match[1]])
        elif match and match[1] in MEASURES:
            before = found.get(i)
            unit = match[2] or unit_of_header(name) or (before.unit if before else None)
            _only(found, match[1])
            found[i] = Column(match[1], unit or default_unit(match[1]))
    return found


def _only(found: dict[int, Column], target: str) -> None:
    for i in [i for i, column in found.items() if column.target == target]:
        del found[i]


def named(layout: CsvLayout, choices: Choices) -> CsvLayout:
    """The layout with the format's own names that a person gave its columns, by name or number (1..).

    Our names are for `chosen`: a column keeps its name then.
    """
    header = []
    for i, name in enumerate(layout.header, start=1):
        text = (choices.columns.get(name) or choices.columns.get(str(i)) or "").strip()
        match = _CHOSEN.match(text)
        ours = match is not None and (match[1] in TARGETS or match[1] in MEASURES)
        header.append(name if not text or ours or text.lower() in IGNORE else text)
    return replace(layout, header=tuple(header))


def gpu_columns(table: Table) -> GpuColumns:
    """Positions for the bulk cast: the time, identity cells, and every column that may hold a measure."""
    time: int | None = None
    identity: dict[str, int] = {}
    units: dict[int, str | None] = {}
    for i, column in table.columns.items():
        if column.target == "ts":
            time = i if time is None else time
        elif _is_identity(column):
            identity.setdefault(column.target, i)
        else:
            units[i] = column.unit
    return GpuColumns(time, identity, units, table.binary_mb)


def _is_identity(column: Column) -> bool:
    return column.target in _IDENTITY


_IDENTITY = ("gpu_id", "host", "uuid", "index", "bus", "mig", "mig_mode", "model", "platform", "run", "pool")


def read_table(
    source: Source,
    table: Table,
    choices: Choices,
    scratch: Path,
    progress: Progress = no_progress,
    own_zone: str | None = None,
) -> Batch:
    """Read all rows of a table of GPU samples.

    Stamps without a zone are placed by `choices.timezone`, else by `own_zone`, else taken as UTC with a word.
    Raises UnreadableFileError when there is no row, or when most rows have no readable stamp.
    """
    table = replace(table, columns=chosen(table.layout, table.columns, choices))
    con = connect(scratch)
    try:
        rows = load_gpu_rows(con, source, table.layout, gpu_columns(table), progress)
        _one_header(source, rows, table.layout)
        notes = settle_scales(rows, table)
        measures = _measures(rows, table)
        unmeasured(rows, table, measures)
        rows.warnings += notes
        return _batch(rows, source, table, measures, choices, scratch, own_zone)
    finally:
        con.close()


def _one_header(source: Source, rows: GpuRows, layout: CsvLayout) -> None:
    """Refuse a file whose columns change on the way: rows under the second header would be misread."""
    names = {name for name in layout.header if name}
    for one in rows.set_aside:
        texts = [one.text] if one.column else split_line(one.text, layout.delimiter)
        shared = {text.strip() for text in texts} & names
        if len(shared) > (0 if one.column else 1):
            raise UnreadableFileError(
                "The columns change in the middle of the file: another header stands there",
                f"{source.name}, line {one.line}",
                "Cut the file above that line and load the two parts.",
            )


def _measures(rows: GpuRows, table: Table) -> dict[str, int]:
    """Column by measure: of several the first that holds a number, else the first."""
    wanted: dict[str, list[int]] = {}
    ranked = sorted(table.columns.items(), key=lambda pair: (pair[1].rank, pair[0]))
    for i, column in ranked:
        if column.target != "ts" and not _is_identity(column):
            wanted.setdefault(column.target, []).append(i)
    return {name: _holding(rows, found) for name, found in wanted.items()}


def _holding(rows: GpuRows, found: Sequence[int]) -> int:
    if len(found) > 1:
        for i in found:
            if number(rows.con, f"select count(v{i}) from raw"):
                return i
    return found[0]


def settle_scales(rows: GpuRows, table: Table) -> list[str]:
    """Decide between percentage and ratio where a name does not say, from what only one of them can be.

    A value above 1 is a percentage, a fraction below 1 a ratio; a column of zeros is zero in both. Nothing
    but 0 and 1 could be either: then nothing of the column is taken, and the sentence returned says so.
    """
    notes = []
    for i, column in table.columns.items():
        if column.unit is not None or column.target not in UTIL_MEASURES:
            continue
        name = table.layout.header[i]
        top, part = rows.con.execute(f"select max(v{i}), bool_or(v{i} > 0 and v{i} < 1) from raw").fetchall()[
            0
        ]
        if top is None or top == 0 or (top <= 1 and part):
            continue
        if top > 1:
            beyond = number(rows.con, f"select count(*) from raw where v{i} not between 0 and 100")
            rows.con.execute(f"update raw set v{i} = case when v{i} between 0 and 100 then v{i} / 100 end")
            notes.append(f"'{name}' was read as a percentage: it has values above 1.")
            if beyond:
                rows.missing[i] += beyond
                notes.append(f"{beyond:,} cells of '{name}' are outside 0..100 and were left out.")
            continue
        rows.missing[i] += number(rows.con, f"select count(v{i}) from raw")
        rows.con.execute(f"update raw set v{i} = null")
        notes.append(
            f"'{name}' holds only 0 and 1, which may be percentages or ratios: it was not read. "
            "Say which it is by naming the column with its unit, [%] or [ratio]."
        )
    return notes


def unmeasured(rows: GpuRows, table: Table, measures: Mapping[str, int]) -> None:
    """Take back the utilisation of GPUs in MIG mode: NVML does not measure it there, a 0 is none."""
    mode = next((i for i, c in table.columns.items() if c.target == "mig_mode"), None)
    if mode is None:
        return
    on = f"lower(trim(coalesce(e{mode}::varchar, x{mode}))) = 'enabled'"
    for name in ("gpu_util", "mem_util"):
        if name in measures:
            i = measures[name]
            rows.missing[i] += number(rows.con, f"select count(v{i}) from raw where {on}")
            rows.con.execute(f"update raw set v{i} = null where {on}")


def _batch(
    rows: GpuRows,
    source: Source,
    table: Table,
    measures: Mapping[str, int],
    choices: Choices,
    scratch: Path,
    own_zone: str | None,
) -> Batch:
    counts, facts = rows.counts, source_facts(source)
    others = sum(one.column is None for one in table.aside) + sum(table.ignored.values())
    records = counts.records + others
    has_time = any(column.target == "ts" for column in table.columns.values())
    file = GpuFile(rows, measures, has_time)
    facts |= {
        "format": table.format,
        "records": records,
        "columns": table.layout.columns,
        "header_repeated": counts.header_repeated + table.headers_repeated,
        "partial_last_line": counts.partial_last_line,
        "ragged_rows": counts.ragged_rows,
    }
    missing_facts(file, table.layout.header, facts)
    aside = rows.set_aside
    if table.aside:
        aside = sorted([*table.aside, *aside], key=lambda one: one.line)
    batch = Batch(table.format, records=records, set_aside=aside, facts=facts)
    batch.ignored.update(table.ignored)
    batch.warnings += [*table.warnings, *rows.warnings]
    _describe(batch, table, measures)
    build(file, batch, source, choices, scratch, own_zone)
    batch.facts |= table.facts
    _warn(batch, rows, choices)
    batch.reconcile()
    return batch


def _describe(batch: Batch, table: Table, measures: Mapping[str, int]) -> None:
    used = set(measures.values())
    for i, name in enumerate(table.layout.header):
        column = table.columns.get(i)
        target = ""
        if column is not None and column.target == "ts":
            target = "gpu_samples.ts"
        elif column is not None and _is_identity(column):
            target = IDENTITY_TARGET.get(column.target, f"gpus.{column.target}")
        elif column is not None and i in used:
            target = f"gpu_samples.{column.target}"
        if target:
            batch.mapped[name] = target
        elif name:
            batch.unmapped.append(name)


def _warn(batch: Batch, rows: GpuRows, choices: Choices) -> None:
    gpus = rows.gpus
    indices = {plain_index(one.index) or one.index for one in gpus if one.index}
    buses = {one.bus for one in gpus if one.bus}
    if indices and buses and len(indices) != len(buses) and not any(one.uuid for one in gpus):
        batch.warnings.append(
            f"The file names {len(indices)} GPUs by index but {len(buses)} by bus id: "
            "they were told apart by index."
        )
    if not any(one.uuid or one.host for one in gpus) and not choices.host:
        batch.warnings.append(NAMELESS)
    if any(one.mig for one in gpus):
        batch.warnings.append(
            "Rows of MIG instances were left out: an instance is not a GPU, and has no GPU-Util."
        )
    if any((one.mig_mode or "").lower() == "enabled" for one in gpus):
        batch.warnings.append(
            "MIG is on: GPU-Util and memory utilisation are not measured, a 0 there is none."
        )
