"""CSV with a time column and one column a series: rows into long form, and the facts of rows and stamps."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice, pairwise
from pathlib import Path
from statistics import median

from data.facts_base import source_facts
from data.gpu.long import EPOCH, LongTable, microseconds
from data.gpu.rollup import connect
from data.parse.csvio import TEXT_LIMIT, CsvCounts, CsvLayout, CsvRow, CsvRows, no_rows
from data.parse.timezones import Stamp, parse_stamp, to_utc, zone_of
from data.parse.values import DOUBTFUL, column_decimal, is_missing
from data.readers.base import Batch, Choices, Progress, SetAside, Source, no_progress

SAMPLE_ROWS = 200
REMEMBERED = 100_000
Parse = Callable[[str | None], Stamp | None]
SeriesOfRow = Callable[[CsvRow], Sequence[int | None]]
"""Numbers of the series of a row's cells, None where a cell belongs to no series."""


@dataclass
class WideRows:
    """What was read: books, missing cells by column, time of each usable row, offset of the stamps."""

    counts: CsvCounts
    missing: Counter[int] = field(default_factory=Counter)
    stamps: list[int] = field(default_factory=list)
    offset: str | None = None
    set_aside: list[SetAside] = field(default_factory=list)


def decimal_mark(source: Source, layout: CsvLayout) -> str | None:
    """Decimal mark of the values; DOUBTFUL where the delimiter leaves a comma free and no cell tells."""
    if layout.delimiter == ",":
        return None
    rows = islice(CsvRows(source, layout), SAMPLE_ROWS)
    cells = [cell for row in rows for cell in row.cells if parse_stamp(cell) is None]
    return column_decimal(cells) or DOUBTFUL


@contextmanager
def long_table(scratch: Path, decimal: str | None = None) -> Iterator[LongTable]:
    """An empty long table in a database of its own, which is closed with the block."""
    con = connect(scratch)
    try:
        yield LongTable(con, decimal)
    finally:
        con.close()


def load_wide(
    source: Source,
    layout: CsvLayout,
    table: LongTable,
    time: int,
    series_of: SeriesOfRow,
    progress: Progress = no_progress,
    parse: Parse = parse_stamp,
) -> WideRows:
    """Every cell of a series into `table`; rows without a readable time are set aside.

    Raises UnreadableFileError when there is no row. The first stamp decides whether stamps have a zone.
    """
    rows = CsvRows(source, layout, progress)
    found = WideRows(rows.counts)
    kind: bool | None = None
    absent: dict[str, bool] = {}
    for row in rows:
        text = row.cells[time] if time < len(row.cells) else None
        stamp = parse(text)
        cells = [None if _absent(cell, absent) else cell for cell in row.cells]
        if None in cells:
            found.missing.update(i for i, cell in enumerate(cells) if cell is None and layout.header[i])
        if stamp is not None and kind is None:
            kind, found.offset = stamp.offset is None, stamp.offset
        if stamp is None or (stamp.offset is None) != kind:
            found.set_aside.append(_timeless(row, text, layout))
            continue
        at = microseconds(stamp.at)
        found.stamps.append(at)
        pairs = [(one, cell) for one, cell in zip(series_of(row), cells, strict=False) if one is not None]
        if pairs:
            table.add_cells(row.line, at, *zip(*pairs, strict=True))
    if not rows.counts.records:
        raise no_rows(source, layout, rows.counts)
    table.naive = bool(kind)
    table.offset = found.offset
    found.set_aside[:0] = rows.counts.set_aside
    return found


def _absent(cell: str, known: dict[str, bool]) -> bool:
    """`is_missing`, remembered: the same few texts fill whole columns."""
    if (answer := known.get(cell)) is None:
        if len(known) > REMEMBERED:
            known.clear()
        answer = known[cell] = is_missing(cell)
    return answer


def _timeless(row: CsvRow, text: str | None, layout: CsvLayout) -> SetAside:
    reason = "no time stamp" if is_missing(text) else "the time stamp cannot be read"
    return SetAside(row.line, reason, layout.delimiter.join(row.cells)[:TEXT_LIMIT])


def wide_batch(name: str, source: Source, layout: CsvLayout, found: WideRows) -> Batch:
    """A batch with the facts of rows and cells."""
    counts = found.counts
    facts = source_facts(source) | {
        "format": name,
        "records": counts.records,
        "columns": layout.columns,
        "header_repeated": counts.header_repeated,
        "partial_last_line": counts.partial_last_line,
        "ragged_rows": counts.ragged_rows,
        "missing_cells": sum(found.missing.values()),
    }
    facts |= {f"missing_cells[{head}]": found.missing[i] for i, head in enumerate(layout.header) if head}
    batch = Batch(name, counts.records, set_aside=found.set_aside, facts=facts)
    batch.warnings += counts.said()
    return batch


def time_facts(batch: Batch, found: WideRows, choices: Choices) -> None:
    """First stamp, span and gaps of the rows, for a file none of whose series is a GPU's."""
    stamps = sorted(set(found.stamps))
    if not stamps:
        return
    if found.offset is not None:
        batch.timezone = found.offset or "UTC"
    elif zone := zone_of(choices.timezone):
        batch.timezone = choices.timezone
        stamps = [microseconds(to_utc(EPOCH + timedelta(microseconds=at), zone)) for at in stamps]
    else:
        batch.timezone, batch.timezone_assumed = "UTC", True
    gaps = [b - a for a, b in pairwise(stamps)]
    batch.facts |= {
        "span_s": (stamps[-1] - stamps[0]) / 1e6,
        "time_zone": found.offset or None,
        "gap_max_s": max(gaps) / 1e6 if gaps else None,
        "gap_median_s": median(gaps) / 1e6 if gaps else None,
    }
    if not batch.timezone_assumed:
        batch.facts["time_first_epoch_s"] = stamps[0] / 1e6


def drop_absent(table: LongTable) -> None:
    """Set aside the GPU columns that never hold a number on a machine: it has no such GPU."""
    table.flush()
    there = {row[0] for row in table.con.execute(
        "select distinct series from long where raw is not null or text is not null"
    ).fetchall()}  # fmt: skip
    for i, one in enumerate(table.series):
        if i not in there:
            table.series[i] = replace(one, gpu=None, aside="no such GPU")
