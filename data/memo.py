"""Answers of recent queries of one state of the data: questions and redraws that ask alike read once."""

import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, TypeVar

import pandas as pd

MOST_BYTES = 64 << 20
LARGEST_BYTES = 1 << 20
_T = TypeVar("_T", pd.DataFrame, list[tuple[Any, ...]])


class Memo:
    """Small answers by SELECT and bind values, all of the newest data version that was asked for.

    Every reader gets a copy. An answer above LARGEST_BYTES is read anew each time; the longest unused ones go
    when all together exceed MOST_BYTES.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._version = ""
        self._answers: OrderedDict[tuple[str, str, bytes], tuple[int, Any]] = OrderedDict()
        self._bytes = 0

    def ask(
        self, version: str, sql: str, params: Sequence[Any] | dict[str, Any], read: Callable[[], _T]
    ) -> _T:
        """The kept answer of a SELECT at a data version, else what `read` returns, kept for the next."""
        key = (version, sql, pickle.dumps(params))
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                found: _T = self._answers[key][1]
                return found.copy()
        answer = read()
        size = _size(answer)
        if size <= LARGEST_BYTES:
            self._keep(key, size, answer.copy())
        return answer

    def _keep(self, key: tuple[str, str, bytes], size: int, answer: _T) -> None:
        with self._lock:
            if key[0] != self._version:
                self._answers.clear()
                self._version, self._bytes = key[0], 0
            self._bytes += size - self._answers.pop(key, (0, None))[0]
            self._answers[key] = size, answer
            while self._bytes > MOST_BYTES:
                self._bytes -= self._answers.popitem(last=False)[1][0]


def _size(answer: pd.DataFrame | list[tuple[Any, ...]]) -> int:
    """Bytes of a frame; of rows, a rough figure."""
    if isinstance(answer, pd.DataFrame):
        return int(answer.memory_usage(deep=True).sum())
    return 100 * sum(map(len, answer))
