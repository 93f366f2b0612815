"""GPU samples of a clean CSV as typed Arrow columns: what `gpu_csv` would find, or a refusal.

Numbers stay as written, in four bytes where that loses nothing; the view that scales them is made by the
caller. A cell that the bulk cast would hand to the value parser ends the attempt.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data.csvio import CsvLayout
from data.readers.base import Progress, Source
from data.typed_csv import WORDS, NotCleanError, each_stretch, missing_cells
from data.values import NumberRule, is_missing

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


@dataclass
class CleanRows:
    """All rows in file order, a list entry a stretch; `combos`: distinct identity cells and their rows.

    `stamps`: microseconds since 1970. `numbers`: as written, NaN where missing.
    """

    combos: dict[tuple[str, ...], int] = field(default_factory=dict)
    combo_rows: Counter[int] = field(default_factory=Counter)
    missing: Counter[int] = field(default_factory=Counter)
    stamps: list[NDArray[np.int64]] = field(default_factory=list)
    combo: list[NDArray[np.int32]] = field(default_factory=list)
    numbers: dict[int, list[NDArray[Any]]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(map(len, self.stamps))

    def table(self, gpu_of_combo: Sequence[int]) -> pa.Table:
        """Columns stamp, gpu and n<i>; the lists are emptied on the way, so nothing is held twice."""
        small = np.int16 if max(gpu_of_combo) < 1 << 15 else np.int32
        gpu = np.array(gpu_of_combo, small)
        columns = {"stamp": pa.chunked_array([pa.array(s.view("datetime64[us]")) for s in self.stamps])}
        columns["gpu"] = pa.chunked_array([pa.array(gpu[combo]) for combo in self.combo])
        self.combo.clear()
        for i, parts in self.numbers.items():
            kind = np.result_type(*{part.dtype for part in parts})
            columns[f"n{i}"] = pa.chunked_array(
                [pa.array(part.astype(kind, copy=False), from_pandas=True) for part in parts]
            )
            parts.clear()
        return pa.table(columns)


def read_clean(
    con: duckdb.DuckDBPyConnection, source: Source, layout: CsvLayout, plan: CleanPlan, progress: Progress
) -> CleanRows:
    """Read a file in which every row is plain; raises NotCleanError at the first thing that is not."""
    if not plan.numbers:
        raise NotCleanError("no number column")
    found = CleanRows(numbers={i: [] for i in plan.numbers})

    def work(table: pa.Table) -> _Stretch:
        return _Stretch(con, plan, table)

    for stretch in each_stretch(source, layout, plan.types(), missing_cells(), work, progress):
        found.stamps.append(stretch.stamps)
        for i, values in stretch.numbers.items():
            found.numbers[i].append(values)
        found.missing.update(stretch.missing)
        known = [found.combos.setdefault(texts, len(found.combos)) for texts, _ in stretch.combos]
        for number, (_, rows) in zip(known, stretch.combos, strict=True):
            found.combo_rows[number] += rows
        found.combo.append(np.array(known, np.int32)[stretch.combo])
    return found


class _Stretch:
    """One stretch of rows, converted and checked."""

    def __init__(self, con: duckdb.DuckDBPyConnection, plan: CleanPlan, table: pa.Table) -> None:
        self.missing: Counter[int] = Counter()
        self.stamps = _stamps(con, plan, _one(table, plan.time))
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


def _stamps(con: duckdb.DuckDBPyConnection, plan: CleanPlan, cells: pa.DictionaryArray) -> NDArray[np.int64]:
    with con.cursor() as cursor:
        cursor.execute("set TimeZone = 'UTC'")
        cursor.register("words", pa.table({"c0": cells.dictionary}))
        found = cursor.execute(f"select epoch_us({plan.stamp_sql}) as at from words").fetchnumpy()["at"]
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
    texts = [one.take(pa.array(first[used])).to_pylist() for one in columns]
    named = [tuple(map(str, row)) for row in zip(*texts, strict=True)] if texts else [()]
    return list(zip(named, counts, strict=True)), number[code]


def _missing_words(cells: pa.DictionaryArray, words: Sequence[str]) -> int:
    plain = pc.utf8_lower(pc.utf8_trim(cells.dictionary, " []"))
    empty = pc.is_in(plain, value_set=pa.array(words, pa.string())).to_numpy(zero_copy_only=False)
    return int(empty[cells.indices.to_numpy()].sum()) if empty.any() else 0
