"""GPU samples of a clean CSV as typed Arrow columns: what `gpu_csv` would find, or a refusal.

Numbers stay as written, in four bytes where that loses nothing; the view that scales them is made by the
caller. A cell that the bulk cast would hand to the value parser ends the attempt.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data.parse.csvio import CsvLayout
from data.parse.typed_csv import WORDS, NotCleanError, each_stretch, missing_cells
from data.parse.values import NumberRule, is_missing
from data.readers.base import Progress, Source

FEW_COMBINATIONS = 1 << 20


@dataclass(frozen=True)
class CleanPlan:
    """Columns by position: the time and its SQL for column `c0`, identity, numbers, and all others.

    `other_missing`: cells of other columns, in small letters without blanks and brackets, that are no value.
    """

    time: int
    stamp_sql: str
    identity: Sequence[int]
    numbers: Mapping[int, NumberRule]
    others: Sequence[int]
    other_missing: Sequence[str]

    def types(self) -> dict[int, pa.DataType]:
        """Arrow type of every column."""
        words = dict.fromkeys((self.time, *self.identity, *self.others), WORDS)
        return words | {i: pa.string() if r.suffix else pa.float64() for i, r in self.numbers.items()}


class CleanRows:
    """All rows in file order; `combos`: distinct identity cells, `combo_rows`: how many rows each has.

    `stamps`: microseconds since 1970. `numbers`: as written, NaN where missing. Every column is one block of
    memory from the start: thousands of small ones would leave holes as large as the data.
    """

    def __init__(self, columns: Sequence[int], rows: int) -> None:
        self.combos: dict[tuple[str, ...], int] = {}
        self.combo_rows: Counter[int] = Counter()
        self.missing: Counter[int] = Counter()
        self.stamps = np.empty(rows, np.int64)
        self.combo: NDArray[Any] = np.empty(rows, np.int32)
        self.numbers: dict[int, NDArray[Any]] = {i: np.empty(rows, np.float32) for i in columns}
        self.rows = 0

    def add(self, stretch: "_Stretch") -> None:
        """Take the next rows; raises NotCleanError when the file has more rows than lines."""
        at = slice(self.rows, self.rows + len(stretch.stamps))
        if at.stop > len(self.stamps):
            raise NotCleanError("more rows than lines")
        self.rows = at.stop
        self.stamps[at] = stretch.stamps
        for i, values in stretch.numbers.items():
            self.numbers[i] = self.numbers[i].astype(np.result_type(self.numbers[i], values), copy=False)
            self.numbers[i][at] = values
        self.missing.update(stretch.missing)
        known = [self.combos.setdefault(texts, len(self.combos)) for texts, _ in stretch.combos]
        for number, (_, rows) in zip(known, stretch.combos, strict=True):
            self.combo_rows[number] += rows
        self.combo[at] = np.array(known, np.int32)[stretch.combo]

    def table(self, gpu_of_combo: Sequence[int]) -> pa.Table:
        """Columns stamp, gpu and n<i> over the same memory."""
        small = np.int16 if max(gpu_of_combo) < 1 << 15 else np.int32
        columns = {"stamp": pa.array(self.stamps.view("datetime64[us]"))}
        columns["gpu"] = pa.array(np.array(gpu_of_combo, small)[self.combo])
        for i, values in self.numbers.items():
            columns[f"n{i}"] = pa.array(values, from_pandas=self.missing[i] > 0)
        return pa.table(columns)


def read_clean(
    con: duckdb.DuckDBPyConnection, source: Source, layout: CsvLayout, plan: CleanPlan, progress: Progress
) -> CleanRows:
    """Read a file in which every row is plain; raises NotCleanError at the first thing that is not."""
    if not plan.numbers:
        raise NotCleanError("no number column")
    found = CleanRows(list(plan.numbers), source.physical_lines - layout.first_data_line + 1)

    stamps = _Stamps(con, plan.stamp_sql)

    def work(table: pa.Table) -> _Stretch:
        return _Stretch(stamps, plan, table)

    for stretch in each_stretch(source, layout, plan.types(), missing_cells(), work, progress):
        found.add(stretch)
    return found


class _Stretch:
    """One stretch of rows, converted and checked."""

    def __init__(self, stamps: "_Stamps", plan: CleanPlan, table: pa.Table) -> None:
        self.missing: Counter[int] = Counter()
        self.stamps = stamps(_one(table, plan.time))
        self.combos, self.combo = _combos([_one(table, i) for i in plan.identity], table.num_rows)
        self.numbers = {i: self._number(i, rule, _one(table, i)) for i, rule in plan.numbers.items()}
        for i in plan.others:
            self.missing[i] = _missing_words(_one(table, i), plan.other_missing)

    def _number(self, column: int, rule: NumberRule, cells: pa.Array) -> NDArray[Any]:
        if rule.suffix:
            cells = _without_suffix(cells, rule.suffix)
        self.missing[column] = cells.null_count
        values: NDArray[np.float64] = cells.to_numpy(zero_copy_only=False)
        if cells.null_count != int(np.isnan(values).sum()) or not rule.takes(values):
            raise NotCleanError(f"column {column + 1}: a number that only the value parser can judge")
        narrow = values.astype(np.float32)
        same = np.array_equal(narrow, values, equal_nan=cells.null_count > 0)
        return narrow if same else values


def _one(table: pa.Table, column: int) -> pa.Array:
    return table.column(f"c{column}").combine_chunks()


def _without_suffix(cells: pa.Array, suffix: str) -> pa.Array:
    """Numbers of cells that end in `suffix`; NULL where a cell says that there is no value."""
    named = pc.ends_with(cells, suffix)
    if not pc.all(named).as_py():
        if not all(is_missing(word) for word in pc.unique(pc.filter(cells, pc.invert(named))).to_pylist()):
            raise NotCleanError(f"a cell without '{suffix}'")
        cells = pc.if_else(named, cells, pa.scalar(None, pa.string()))
    bare = pc.binary_slice(cells.cast(pa.binary()), 0, -len(suffix.encode())).cast(pa.string())
    try:
        return pc.cast(pc.ascii_trim_whitespace(bare), pa.float64())
    except pa.ArrowInvalid as error:
        raise NotCleanError(str(error)[:200]) from error


class _Stamps:
    """Microseconds since 1970 of time cells, by the SQL of the plan: threads take turns on the connection."""

    def __init__(self, con: duckdb.DuckDBPyConnection, sql: str) -> None:
        self._con, self._sql, self._lock = con, f"select epoch_us({sql}) as at from words", Lock()

    def __call__(self, cells: pa.DictionaryArray) -> NDArray[np.int64]:
        with self._lock:
            self._con.register("words", pa.table({"c0": cells.dictionary}))
            try:
                found = self._con.execute(self._sql).fetchnumpy()["at"]
            finally:
                self._con.unregister("words")
        if np.ma.is_masked(found):
            raise NotCleanError("a time stamp of another form")
        stamps: NDArray[np.int64] = np.asarray(found, np.int64)[cells.indices.to_numpy()]
        return stamps


def _combos(
    columns: Sequence[pa.DictionaryArray], rows: int
) -> tuple[list[tuple[tuple[str, ...], int]], NDArray[np.int64]]:
    """Distinct combinations of texts in order of their first row, with their rows; the number of each row."""
    code, total = np.zeros(rows, np.int64), 1
    for one in columns:
        code, total = code * len(one.dictionary) + one.indices.to_numpy(), total * len(one.dictionary)
        if total > FEW_COMBINATIONS:
            seen, code = np.unique(code, return_inverse=True)
            total = len(seen)
    first = np.full(total, rows)
    first[code[::-1]] = np.arange(rows)[::-1]
    used = np.flatnonzero(first < rows)
    used = used[np.argsort(first[used])]
    number = np.zeros(total, np.int64)
    number[used] = np.arange(len(used))
    counts = np.bincount(code, minlength=total)[used].tolist()
    rows_used = pa.array(first[used])
    texts = [one.dictionary.take(one.indices.take(rows_used)).to_pylist() for one in columns]
    named = list(zip(*texts, strict=True)) if texts else [()]
    return list(zip(named, counts, strict=True)), number[code]


def _missing_words(cells: pa.DictionaryArray, words: Sequence[str]) -> int:
    plain = pc.utf8_lower(pc.utf8_trim(cells.dictionary, " []"))
    empty = pc.is_in(plain, value_set=pa.array(words, pa.string())).to_numpy(zero_copy_only=False)
    return int(empty[cells.indices.to_numpy()].sum()) if empty.any() else 0
