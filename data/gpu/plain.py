"""GPU samples of a large clean CSV in one pass over its bytes: what `clean` finds, several times as fast.

The loops are compiled (`plain_kernels`); what they do not know ends the attempt with NotCleanError.
"""

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from data.gpu.clean import CleanPlan, CleanRows, Stamps, Stretch, missing_words
from data.parse.csvio import CsvLayout
from data.parse.typed_csv import NotCleanError, in_order, missing_cells
from data.parse.values import SENTINELS, NumberRule
from data.readers.base import Progress, Source

STRETCH_BYTES = 8 << 20
LONGEST_LINE = 1 << 16
FEW_WORDS = 1 << 11
MANY_WORDS = 1 << 16
BLOCK_ROWS = 1 << 17
_NO_DELIMITERS = b' "-.0123456789\r\n'


def read_plain(
    con: duckdb.DuckDBPyConnection, source: Source, layout: CsvLayout, plan: CleanPlan, progress: Progress
) -> CleanRows:
    """Read a file in which every row is plain; raises NotCleanError at the first thing that is not."""
    if not plan.numbers:
        raise NotCleanError("no number column")
    found = CleanRows(source.physical_lines - layout.first_data_line + 1)
    with source.path.open("rb") as handle:
        for _ in range(layout.first_data_line - 1):
            handle.readline()
        scan, times = _Scan(handle.fileno(), handle.tell(), layout, plan), _Times(found)
        stamps = Stamps(con, plan.stamp_sql)
        for room, words, stretch in in_order(source, layout, scan.jobs(source.path), progress):
            times.add(words, stretch, stamps)
            scan.give_back(room)
        times.settle(stamps)
    return found


class _Times:
    """Puts word numbers where stamps belong, and turns them into stamps many at a time: a query is dear."""

    def __init__(self, rows: CleanRows) -> None:
        self._rows = rows
        self._words: list[pa.Array] = []
        self._count = self._settled = 0

    def add(self, words: pa.Array, stretch: Stretch, stamps: Stamps) -> None:
        """Take a stretch whose stamps are numbers of `words`."""
        self._rows.add(stretch, self._count)
        self._words.append(words)
        self._count += len(words)
        if self._count >= MANY_WORDS:
            self.settle(stamps)

    def settle(self, stamps: Stamps) -> None:
        """Turn what waits into stamps; raises NotCleanError when one is of another form."""
        times = stamps(pa.chunked_array(self._words, pa.string()))
        for start in range(self._settled, self._rows.rows, BLOCK_ROWS):
            block = self._rows.stamps[start : min(start + BLOCK_ROWS, self._rows.rows)]
            block[:] = times[block]
        self._words, self._count, self._settled = [], 0, self._rows.rows


@dataclass
class _Room:
    """Memory of one stretch, used again for another once its rows are copied."""

    text: NDArray[np.uint8]
    time_of: NDArray[np.int32]
    combo_of: NDArray[np.int32]
    numbers: NDArray[np.float64]


_Found = tuple[_Room, pa.Array, Stretch]
"""A stretch whose columns lie in a room, and the words that its stamps are numbers of."""


class _Scan:
    """The stretches of one file; `words` is how many distinct words a column of a stretch may have so far."""

    def __init__(self, file: int, first: int, layout: CsvLayout, plan: CleanPlan) -> None:
        from data.gpu import plain_kernels

        self._loops, self._file, self._first = plain_kernels, file, first
        self._plan, self._words = plan, FEW_WORDS
        self._rooms = deque[_Room]()
        delimiter = layout.delimiter.encode()
        if len(delimiter) != 1 or delimiter in _NO_DELIMITERS:
            raise NotCleanError("a delimiter that is part of numbers")
        self._delimiter = delimiter[0]
        self._word_columns = [plan.time, *plan.others]
        self._rules = list(plan.numbers.values())
        self._columns = self._kinds(len(layout.header))
        longest = max(len(rule.suffix.encode()) for rule in self._rules) or 1
        self._suffixes = np.zeros((len(self._rules), longest), np.uint8)
        for k, rule in enumerate(self._rules):
            self._suffixes[k, : len(rule.suffix.encode())] = list(rule.suffix.encode())
        absent = [word.encode() for word in missing_cells()]
        self._absent = np.frombuffer(b"".join(absent), np.uint8).copy()
        self._absent_ends = np.cumsum([0, *map(len, absent)])

    def _kinds(self, width: int) -> NDArray[np.int64]:
        """Kind, place among its kind and bytes of the suffix, by column."""
        found = np.full((width, 3), -1, np.int64)
        for kind, columns in (
            (self._loops.WORD, self._word_columns),
            (self._loops.IDENTITY, self._plan.identity),
            (self._loops.NUMBER, list(self._plan.numbers)),
        ):
            for k, i in enumerate(columns):
                found[i] = kind, k, 0
        for i, rule in self._plan.numbers.items():
            found[i, 2] = len(rule.suffix.encode())
        if (found < 0).any():
            raise NotCleanError("a column that is nothing")
        return found

    def jobs(self, path: Path) -> Iterator[Any]:
        """A job for every stretch."""
        size = path.stat().st_size - self._first
        for begin in range(0, size, STRETCH_BYTES):
            yield partial(self._stretch, begin, min(begin + STRETCH_BYTES, size), size)

    def _room(self) -> _Room:
        try:
            return self._rooms.pop()
        except IndexError:
            rows = STRETCH_BYTES // len(self._columns) + 2
            return _Room(
                np.empty(STRETCH_BYTES + LONGEST_LINE + self._loops.PAD_BYTES + 1, np.uint8),
                np.empty(rows + LONGEST_LINE, np.int32),
                np.empty(rows + LONGEST_LINE, np.int32),
                np.empty((len(self._rules), rows + LONGEST_LINE), np.float64),
            )

    def give_back(self, room: _Room) -> None:
        """Take back the memory of a stretch whose rows are copied."""
        self._rooms.append(room)

    def _stretch(self, begin: int, end: int, size: int) -> tuple[int, _Found]:
        """Rows that begin in [begin, end) of the data, counted from the first data line."""
        room = self._room()
        before = 1 if begin else 0
        wanted = min(end + LONGEST_LINE, size) - begin + before
        _fill(self._file, room.text[:wanted], self._first + begin - before)
        start = _after_newline(room.text[:wanted], 0) if before else 0
        stop = _after_newline(room.text[:wanted], end - begin + before - 1)
        if start > stop:
            start = stop
        return self._rows(room, start, stop)

    def _rows(self, room: _Room, start: int, stop: int) -> tuple[int, _Found]:
        loops, many = self._loops, len(self._rules)
        while True:
            tables = _Tables(self._words, len(self._word_columns), len(self._plan.identity))
            ends = np.tile([np.inf, -np.inf, 0.0, 0.0], (many, 1))
            absent = np.zeros((many, 2), np.int64)
            status, rows, column = loops.scan(
                room.text, start, stop, self._delimiter,
                self._columns, self._suffixes, self._absent, self._absent_ends, loops.TENS,
                tables.slots, tables.words, tables.states,
                tables.combo_slots, tables.combo_cells, tables.combos, tables.combo_state,
                tables.cells, room.time_of, room.combo_of, room.numbers, ends, absent,
            )  # fmt: skip
            if status == loops.NOT_PLAIN:
                raise NotCleanError(f"column {column + 1}: a cell that only the value parser can judge")
            if status == loops.DONE:
                return rows, self._found(room, tables, rows, ends, absent)
            self._words = max(self._words, 8 * tables.room)

    def _found(self, room: _Room, tables: "_Tables", rows: int, ends: Any, absent: Any) -> _Found:
        missing, kinds = {}, {}
        for k, i in enumerate(self._word_columns[1:], 1):
            used = tables.states[k, 0]
            words = self._texts(room.text, tables.words[k, :used, :2])
            missing[i] = missing_words(words, tables.words[k, :used, 3], self._plan.other_missing)
        numbers = {}
        for k, (i, rule) in enumerate(self._plan.numbers.items()):
            values = room.numbers[k, :rows]
            if not _takes(rule, values, ends[k]):
                raise NotCleanError(f"column {i + 1}: a number that only the value parser can judge")
            missing[i] = int(absent[k, 0])
            numbers[i], kinds[i] = values, np.dtype(_narrow(ends[k], missing[i]))
        times = self._texts(room.text, tables.words[0, : tables.states[0, 0], :2])
        used = tables.combo_state[0]
        texts = [
            self._texts(room.text, tables.combo_cells[:used, k]).to_pylist()
            for k in range(tables.combo_cells.shape[1])
        ]
        named = list(zip(*texts, strict=True)) if texts else [()] * used
        combos = list(zip(named, tables.combos[:used, 1].tolist(), strict=True))
        time_of, combo_of = room.time_of[:rows], room.combo_of[:rows]
        return room, times, Stretch(time_of, combos, combo_of, numbers, missing, kinds)

    def _texts(self, text: NDArray[np.uint8], places: NDArray[np.int64]) -> pa.Array:
        """Words at places (start, size) of the text."""
        places = np.ascontiguousarray(places)
        out = np.empty(int(places[:, 1].sum()), np.uint8)
        offsets = np.empty(len(places) + 1, np.int32)
        self._loops.gather(text, places, out, offsets)
        return pa.StringArray.from_buffers(len(places), pa.py_buffer(offsets), pa.py_buffer(out))


class _Tables:
    """Empty hash tables of words and of combinations of identity cells for one stretch."""

    def __init__(self, room: int, words: int, identity: int) -> None:
        self.room = room
        self.slots = np.full((words, 2 * room), -1, np.int32)
        self.words = np.zeros((words, room, 4), np.int64)
        self.words[:, :, 2] = -1
        self.states = np.tile(np.array([0, -1]), (words, 1))
        self.combo_slots = np.full(2 * room, -1, np.int32)
        self.combo_cells = np.zeros((room, identity, 2), np.int64)
        self.combos = np.tile(np.array([-1, 0]), (room, 1))
        self.cells = np.zeros((identity, 2), np.int64)
        self.combo_state = np.zeros(1, np.int64)


def _fill(file: int, text: NDArray[np.uint8], at: int) -> None:
    view, done = text.data, 0
    while done < len(text):
        n = os.preadv(file, [view[done:]], at + done)
        if not n:
            raise NotCleanError("the file became shorter")
        done += n


def _after_newline(text: NDArray[np.uint8], at: int) -> int:
    """Behind the first newline at or after a place."""
    found = text[at : at + LONGEST_LINE].tobytes().find(b"\n")
    if found < 0:
        raise NotCleanError("a very long line")
    return at + found + 1


def _narrow(ends: NDArray[np.float64], missing: int) -> type[np.generic]:
    """The smallest type that holds every number of a stretch."""
    if ends[2]:
        return np.float64
    return np.float32 if missing or ends[3] or ends[1] >= 2**15 else np.int16


def _takes(rule: NumberRule, values: NDArray[np.float64], ends: NDArray[np.float64]) -> bool:
    """`rule.takes`, by the least and the largest number alone where no sentinel is near."""
    least, most = ends[0], ends[1]
    if least > most:
        return True
    return rule.takes(values if rule.guarded and most >= min(SENTINELS) else ends[:2])
