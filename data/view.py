"""A pinned view of the telemetry: one snapshot, so that one analysis sees one version of the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd

from data.gpu.parts import empty_samples_sql, samples_sql
from data.memo import Memo
from data.sql import first
from data.trace import Trace, literal
from data.workspace import utc_now

if TYPE_CHECKING:
    from data.catalogue import Catalogue
    from data.forecasts import KeptForecast
    from data.workspace import Decision


@dataclass(frozen=True)
class View:
    """A read-only snapshot. Use it in the thread that opened it, inside `with store.view() as view`.

    `data_version` changes with every committed write. `data_cutoff` is the newest telemetry stamp (UTC), else
    the time of the last upload, else None. `home_is_synthetic`: there is data and all of it is example data.
    `money`: live decisions about prices, currencies and shared costs, oldest first. `day` (UTC): the day for
    which the price book is read. `forecasts()`: those that were kept, oldest first, also later than the view.
    `memo` holds what other views of the same store and version have read. `trace` notes what is read, when
    somebody wants to know (`traced`), whether or not the memo has the answer.
    """

    cursor: duckdb.DuckDBPyConnection
    parts: Path
    data_version: str
    data_cutoff: datetime | None
    home_is_synthetic: bool
    money: tuple["Decision", ...] = ()
    day: date = field(default_factory=lambda: utc_now().date())
    forecasts: Callable[[], tuple["KeptForecast", ...]] = tuple
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)
    trace: Trace | None = field(default=None, repr=False, compare=False)

    @property
    def money_version(self) -> int:
        """Id of the newest decision about money, 0 when there is none: it changes with every one."""
        return max((one.id for one in self.money), default=0)

    @property
    def catalogue(self) -> "Catalogue":
        """Hardware, prices, models and benchmarks with their sources; people's prices lie on top."""
        return self._book

    @cached_property
    def _book(self) -> "Catalogue":
        from data.catalogue import load_catalogue

        return load_catalogue().pinned(self.money, self.day)

    def traced(self) -> "View":
        """The same view with a `trace` of its own."""
        return replace(self, trace=Trace())

    def frame(self, sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> pd.DataFrame:
        """Rows of a SELECT; `params` are bound to `?` or `$name`."""
        self._note(sql, params)
        return self.memo.ask(
            self.data_version, sql, params, lambda: self.cursor.execute(sql, params or None).df()
        )

    def rows(self, sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a SELECT as tuples."""
        self._note(sql, params)
        return self.memo.ask(
            self.data_version,
            f"rows {sql}",
            params,
            lambda: self.cursor.execute(sql, params or None).fetchall(),
        )

    def arrays(self, sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> dict[str, Any]:
        """Columns of a SELECT as numpy arrays, masked where NULL; read anew each time."""
        self._note(sql, params)
        return dict(self.cursor.execute(sql, params or None).fetchnumpy())

    def gpu_parts_sql(self, gpu_ids: Sequence[str] | None = None) -> str:
        """A parenthesised SELECT over the samples of these GPUs (all when None), columns of `gpu_samples`."""
        text = gpu_parts_sql(self.cursor, self.parts, gpu_ids)
        if self.trace is not None:
            self.trace.note_samples(text, None if gpu_ids is None else list(gpu_ids))
        return text

    def _note(self, sql: str, params: Sequence[Any] | dict[str, Any]) -> None:
        if self.trace is not None:
            self.trace.note(sql, params)


def gpu_parts_sql(
    cursor: duckdb.DuckDBPyConnection, parts: Path, gpu_ids: Sequence[str] | None = None
) -> str:
    """SELECT over the Parquet parts that the cursor can see and that hold one of `gpu_ids`."""
    found = cursor.execute(
        "SELECT file FROM gpu_parts WHERE $ids IS NULL OR list_has_any(gpu_ids, $ids::VARCHAR[]) "
        "ORDER BY file",
        {"ids": None if gpu_ids is None else list(gpu_ids)},
    ).fetchall()
    if not found:
        return empty_samples_sql()
    wanted = "" if gpu_ids is None else f" WHERE gpu_id IN ({', '.join(map(literal, gpu_ids))})"
    return f"(SELECT * FROM {samples_sql([parts / name for (name,) in found])}{wanted})"


def open_view(
    cursor: duckdb.DuckDBPyConnection, parts: Path, money: Sequence["Decision"] = (), memo: Memo | None = None
) -> View:
    """Pin a snapshot on `cursor`; the caller ends its transaction."""
    cursor.execute("BEGIN TRANSACTION READ ONLY")
    row = first(
        cursor,
        """
        SELECT
            (SELECT max(value) FROM meta WHERE key = 'data_version'),
            coalesce((SELECT max(value)::TIMESTAMP FROM meta WHERE key = 'telemetry_end'), max(uploaded_at)),
            coalesce(bool_and(synthetic), false)
        FROM uploads
        """,
    )
    if row is None:
        raise RuntimeError("an aggregate returned no row")
    return View(cursor, parts, str(row[0]), row[1], bool(row[2]), tuple(money), memo=memo or Memo())
