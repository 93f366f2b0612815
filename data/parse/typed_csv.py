"""Columns of a clean CSV by Arrow, a stretch of whole lines at a time on all cores; anything odd is refused.

Arrow reads a typed column several times as fast as text and a cast. It must not guess, so whatever is not a
plain row of the header's width ends the attempt, and the exact path reads the file from its start.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.csv as pacsv

from data.parse.csvio import CsvLayout
from data.parse.values import MISSING_WORDS
from data.readers.base import Progress, Source

STRETCH_BYTES = 8 << 20
WORKERS = max(1, min(4, os.cpu_count() or 1))
T = TypeVar("T")
WORDS = pa.dictionary(pa.int32(), pa.string())
"""Type of a column of few texts: every stretch has its own dictionary."""


class NotCleanError(Exception):
    """The file holds something that only the exact path can judge."""


def missing_cells(extra: Sequence[str] = ()) -> list[str]:
    """Cells as written that say there is no value: the known words as loggers write them, and `extra`."""
    cased = {form for word in MISSING_WORDS for form in (word, word.upper(), word.capitalize(), word.title())}
    wrapped = cased | {f"[{word}]" for word in cased if word}
    return sorted({pad + word for word in wrapped for pad in ("", " ")} | set(extra))


def each_stretch(
    source: Source,
    layout: CsvLayout,
    types: Mapping[int, pa.DataType],
    nulls: Sequence[str],
    work: Callable[[pa.Table], T],
    progress: Progress,
) -> Iterator[T]:
    """Results of `work` on tables with columns `c<i>` of `types`, in file order; `work` runs in threads.

    `nulls`: cells of number columns that are NULL. Raises NotCleanError.
    """
    if not types:
        raise NotCleanError("no column is wanted")
    read = _reader(layout, types, nulls)

    def job(text: memoryview) -> tuple[int, T]:
        table = read(text)
        return table.num_rows, work(table)

    jobs = (partial(job, text) for text in _stretches(source.path, layout.first_data_line))
    yield from in_order(source, layout, jobs, progress)


def in_order(
    source: Source, layout: CsvLayout, jobs: Iterator[Callable[[], tuple[int, T]]], progress: Progress
) -> Iterator[T]:
    """Results of jobs in their order; they run in threads, a few ahead, and tell how many lines they read.

    Raises NotCleanError when the lines do not add up to those of the file, or when its last line has no end.
    """
    if not source.ends_with_newline:
        raise NotCleanError("the last line has no end")
    waiting, line = deque[Future[tuple[int, T]]](), layout.first_data_line - 1
    with ThreadPoolExecutor(WORKERS) as pool:
        try:
            while True:
                waiting.extend(pool.submit(job) for job in islice(jobs, 1 + WORKERS - len(waiting)))
                if not waiting:
                    break
                rows, found = waiting.popleft().result()
                line += rows
                progress("read", line, source.physical_lines)
                yield found
        finally:
            for future in waiting:
                future.cancel()
    if line != source.physical_lines:
        raise NotCleanError("a line that is no row")


def _stretches(path: Path, first_data_line: int) -> Iterator[memoryview]:
    with path.open("rb") as handle:
        for _ in range(first_data_line - 1):
            handle.readline()
        while text := handle.read(STRETCH_BYTES):
            if b'"' in text or b"\r" in text:
                raise NotCleanError("a quote or a carriage return")
            end = text.rfind(b"\n") + 1
            if not end:
                raise NotCleanError("a very long line")
            handle.seek(end - len(text), os.SEEK_CUR)
            yield memoryview(text)[:end]


def _reader(
    layout: CsvLayout, types: Mapping[int, pa.DataType], nulls: Sequence[str]
) -> Callable[[memoryview], pa.Table]:
    names = [f"c{i}" for i in range(len(layout.header))]
    parse = pacsv.ParseOptions(delimiter=layout.delimiter, quote_char=False, ignore_empty_lines=False)
    convert = pacsv.ConvertOptions(
        column_types={f"c{i}": kind for i, kind in types.items()},
        include_columns=[f"c{i}" for i in types],
        null_values=list(nulls),
        strings_can_be_null=False,
        check_utf8=False,
    )

    def read(text: memoryview) -> pa.Table:
        options = pacsv.ReadOptions(column_names=names, use_threads=False, block_size=len(text) + 1)
        try:
            return pacsv.read_csv(
                pa.BufferReader(pa.py_buffer(text)),
                read_options=options,
                parse_options=parse,
                convert_options=convert,
            )
        except pa.ArrowInvalid as error:
            raise NotCleanError(str(error)[:200]) from error

    return read
