"""GPU samples of a clean CSV as typed Arrow columns: what `gpu_csv` would find, or a refusal.

Numbers stay as written, in four bytes where that loses nothing; the view that scales them is made by the
caller. A cell that the bulk cast would hand to the value parser ends the attempt.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
MOST_SHORT = 2**15 - 1


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

    def __init__(self, rows: int) -> None:
        self.combos: dict[tuple[str, ...], int] = {}
        self.combo_rows: Counter[int] = Counter()
        self.missing: Counter[int] = Counter()
        self.stamps = np.empty(rows, np.int64)
        self.combo: NDArray[Any] = np.empty(rows, np.int16)
        self.numbers: dict[int, NDArray[Any]] = {}
        self.rows = 0

    def add(self, stretch: "Stretch", first_stamp: int = 0) -> None:
        """Take a copy of the next rows; raises NotCleanError when the file has more rows than lines.

        `first_stamp` is added to every stamp.
        """
        at = slice(self.rows, self.rows + len(stretch.stamps))
        if at.stop > len(self.stamps):
            raise NotCleanError("more rows than lines")
        self.rows = at.stop
        np.add(stretch.stamps, first_stamp, out=self.stamps[at])
        for i, values in stretch.numbers.items():
            narrow = stretch.kinds.get(i, values.dtype)
            known_so_far = self.numbers.get(i)
            if known_so_far is None:
                known_so_far = np.empty(len(self.stamps), narrow)
            kind = np.result_type(known_so_far, narrow)
            self.numbers[i] = known_so_far.astype(kind, copy=False)
            self.numbers[i][at] = values
        self.missing.update(stretch.missing)
        known = [self.combos.setdefault(texts, len(self.combos)) for texts, _ in stretch.combos]
        for number, (_, rows) in zip(known, stretch.combos, strict=True):
            self.combo_rows[number] += rows
        if len(self.combos) > MOST_SHORT and self.combo.dtype == np.int16:
            self.combo = self.combo.astype(np.int32)
        np.array(known, self.combo.dtype).take(stretch.combo, out=self.combo[at], mode="clip")

    def table(self, gpu_of_combo: Sequence[int]) -> pa.Table:
        """Columns stamp, gpu and n<i> over the same memory."""
        small = np.dtype(np.int16 if max(gpu_of_combo) <= MOST_SHORT else np.int32)
        columns = {"stamp": pa.array(self.stamps.view("datetime64[us]"))}
        is_same = small == self.combo.dtype and list(gpu_of_combo) == list(range(len(gpu_of_combo)))
        columns["gpu"] = pa.array(self.combo if is_same else np.array(gpu_of_combo, small)[self.combo])
        for i, values in self.numbers.items():
            columns[f"n{i}"] = pa.array(values, from_pandas=self.missing[i] > 0)
        return pa.table(columns)


def read_clean(
    con: duckdb.DuckDBPyConnection, source: Source, layout: CsvLayout, plan: CleanPlan, progress: Progress
) -> CleanRows:
    """Read a file in which every row is plain; raises NotCleanError at the first thing that is not."""
    if not plan.numbers:
        raise NotCleanError("no number column")
    found = CleanRows(source.physical_lines - layout.first_data_line + 1)
    stamps = Stamps(con, plan.stamp_sql)

    def work(table: pa.Table) -> Stretch:
        return _stretch(stamps, plan, table)

    for stretch in each_stretch(source, layout, plan.types(), missing_cells(), work, progress):
        found.add(stretch)
    return found


@dataclass(frozen=True)
class Stretch:
    """Some rows, converted and checked; see CleanRows. `combos`: texts and rows of each combination.

    `kinds`: narrow types that hold every number of a column, where they are not those of its array.
    """

    stamps: NDArray[Any]
    combos: Sequence[tuple[tuple[str, ...], int]]
    combo: NDArray[Any]
    numbers: Mapping[int, NDArray[Any]]
    missing: Mapping[int, int]
    kinds: Mapping[int, np.dtype[Any]] = field(default_factory=dict)


def _stretch(stamps: "Stamps", plan: CleanPlan, table: pa.Table) -> Stretch:
    missing: dict[int, int] = {}
    time = _one(table, plan.time)
    at = stamps(time.dictionary)[time.indices.to_numpy()]
    combos, combo = _combos([_one(table, i) for i in plan.identity], table.num_rows)
    numbers = {i: _number(i, rule, _one(table, i), missing) for i, rule in plan.numbers.items()}
    for i in plan.others:
        cells = _one(table, i)
        rows = np.bincount(cells.indices.to_numpy(), minlength=len(cells.dictionary))
        missing[i] = missing_words(cells.dictionary, rows, plan.other_missing)
    return Stretch(at, combos, combo, numbers, missing)


def _number(column: int, rule: NumberRule, cells: pa.Array, missing: dict[int, int]) -> NDArray[Any]:
    if rule.suffix:
        cells = _without_suffix(cells, rule.suffix)
    missing[column] = cells.null_count
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


class Stamps:
    """Microseconds since 1970 of time cells, by the SQL of the plan: threads take turns on the connection."""

    def __init__(self, con: duckdb.DuckDBPyConnection, sql: str) -> None:
        self._con, self._sql, self._lock = con, f"select epoch_us({sql}) as at from words", Lock()

    def __call__(self, words: pa.Array) -> NDArray[np.int64]:
        """Raises NotCleanError when the SQL does not know one of them."""
        with self._lock:
            self._con.register("words", pa.table({"c0": words}))
            try:
                found = self._con.execute(self._sql).fetchnumpy()["at"]
            finally:
                self._con.unregister("words")
        if np.ma.is_masked(found):
            raise NotCleanError("a time stamp of another form")
        return np.asarray(found, np.int64)


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


def missing_words(words: pa.Array, rows: NDArray[Any], missing: Sequence[str]) -> int:
    """Rows whose word, in small letters without blanks and brackets, is one of `missing`."""
    plain = pc.utf8_lower(pc.utf8_trim(words, " []"))
    empty = pc.is_in(plain, value_set=pa.array(missing, pa.string())).to_numpy(zero_copy_only=False)
    return int(rows[empty].sum())
