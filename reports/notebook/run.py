"""Running a notebook: a cell is run when what it depends on changed, and no other cell is."""

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol
from uuid import uuid4

import duckdb
import pyarrow as pa

from analysis import registry
from analysis.result import Figure, Result
from data.errors import UserError
from data.forecasts import newest_id
from data.view import View
from data.workspace import utc_now
from reports.notebook.document import (
    AnalysisCell,
    AnyCell,
    ChartCell,
    Document,
    MetricCell,
    ParameterCell,
    SqlCell,
    TextCell,
    name_of,
)
from reports.notebook.graph import Versions, faults, fingerprints, needs, sources
from reports.notebook.values import (
    asked_params,
    cut_above,
    metric_of_result,
    metric_of_rows,
    tables_for_sql,
)

if TYPE_CHECKING:
    from data.store import Store

LOG = logging.getLogger(__name__)
State = Literal["done", "failed", "blocked"]
WATCH_SECONDS = 0.1


class Cancelled(UserError):  # noqa: N818 - the word on screen; its base is an Error
    """The person stopped this cell."""


@dataclass(frozen=True)
class SqlFacts:
    """What an SQL cell read: rows scanned (None: not told), rows returned, whether cut off there, seconds.

    `notes` name columns that could not be kept as they were, and what they are now. `partial`: the cells
    above whose rows were cut, so that what is made of them lacks the rest.
    """

    rows_scanned: int | None
    rows_returned: int
    cut: bool
    seconds: float
    notes: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


@dataclass(frozen=True)
class Output:
    """What a cell answered last. `fingerprint` is that of the cell then: another one now means stale.

    An analysis has `result`; an SQL cell `table` and `sql`; a chart the `table` of its source; a metric
    `value`. `error` says why a cell is failed or blocked (a cell it uses has no answer). `ran_at` is UTC
    without zone. `used` are the tokens of the outputs it was made from, `names` those an `error` may name.
    """

    cell_id: str
    fingerprint: str
    state: State
    result: Result | None = None
    table: pa.Table | None = None
    sql: SqlFacts | None = None
    value: Figure | None = None
    error: UserError | None = None
    ran_at: datetime = field(default_factory=utc_now)
    token: str = field(default_factory=lambda: uuid4().hex)
    used: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] = ()


class Rows(Protocol):
    """What answers an SQL cell."""

    @property
    def table(self) -> pa.Table: ...
    @property
    def rows_scanned(self) -> int | None: ...
    @property
    def rows_returned(self) -> int: ...
    @property
    def cut(self) -> bool: ...
    @property
    def seconds(self) -> float: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


SqlValue = float | str | date
Ask = Callable[[View, str, Mapping[str, Any]], Result]
Cancel = threading.Event | None
OnCell = Callable[[str, Output], None]


@dataclass(frozen=True)
class Engine:
    """How cells are answered: versions of now, a question with parameters, SQL with parameters and tables."""

    versions: Callable[[], Versions]
    ask: Callable[[str, Mapping[str, Any], Cancel], Result]
    sql: Callable[[str, Mapping[str, SqlValue], Mapping[str, pa.Table], Cancel], Rows]

    @classmethod
    def of(cls, store: "Store", ask: Ask | None = None) -> "Engine":
        """Return the engine of a home; `ask` lets a page use the answers it keeps."""
        answer: Ask = ask or (lambda view, question, params: registry.run(question, view, params))

        def asked(question: str, params: Mapping[str, Any], cancel: Cancel) -> Result:
            with store.view() as view, _interrupting(view.cursor, cancel):
                return answer(view, question, params)

        def selected(
            sql: str, parameters: Mapping[str, SqlValue], tables: Mapping[str, pa.Table], cancel: Cancel
        ) -> Rows:
            from data.snapshot import snapshot
            from reports.sql.run import run_sql

            place = snapshot(store)
            return run_sql(place, sql, parameters=parameters, tables=tables, cancel=cancel)

        return cls(lambda: versions_of(store), asked, selected)


def versions_of(store: "Store") -> Versions:
    """Return what answers of a home depend on now."""
    with store.view() as view:
        return Versions(
            view.data_version, view.catalogue.version, view.money_version, newest_id(store.workspace)
        )


def stale(document: Document, outputs: Mapping[str, Output], versions: Versions) -> list[str]:
    """Return the ids of the cells to run, in order: never run, changed, or resting on one that is.

    Texts and parameters need no run. A cell that failed is not stale until what it depends on changes.
    """
    prints, found = fingerprints(document, versions), list[str]()
    for cell in document.cells:
        if not runs(cell):
            continue
        above = _direct(document, cell)
        told = outputs.get(cell.id)
        if (
            set(above) & set(found)
            or _outdated(told, prints[cell.id], above, outputs)
            or _misnamed(document, told)
        ):
            found.append(cell.id)
    return found


def runs(cell: AnyCell) -> bool:
    """Whether a cell has something to run."""
    return not isinstance(cell, TextCell | ParameterCell)


def run_cell(
    store: "Store | Engine",
    document: Document,
    cell_id: str,
    outputs: Mapping[str, Output],
    *,
    cancel: Cancel = None,
) -> Output:
    """Run one cell on the outputs of the cells it uses, whether it is stale or not.

    It is blocked when one of those has no answer or is stale itself. KeyError for an unknown id.
    """
    engine = _engine(store)
    versions = engine.versions()
    waiting = set(stale(document, outputs, versions)) - {cell_id}
    fresh = {key: output for key, output in outputs.items() if key not in waiting}
    return _Run(engine, document, versions, cancel).cell(document.cell(cell_id), fresh)


def run_stale(
    store: "Store | Engine",
    document: Document,
    outputs: Mapping[str, Output],
    *,
    cancel: Cancel = None,
    on_cell: OnCell | None = None,
    only: Collection[str] | None = None,
) -> dict[str, Output]:
    """Run what is stale, in order, and nothing else; return the outputs of all cells by id.

    `only`: these cells and what they rest on. `on_cell` is told each output as it comes. After a cancel the
    cell that was running is failed and those below stay as they were.
    """
    engine = _engine(store)
    run = _Run(engine, document, engine.versions(), cancel)
    kept = {cell.id: outputs[cell.id] for cell in document.cells if cell.id in outputs}
    wanted = {cell.id for cell in document.cells}
    if only is not None:
        wanted = {found for one in only for found in (one, *needs(document, one))}
    for cell in document.cells:
        if cancel is not None and cancel.is_set():
            break
        if runs(cell) and cell.id in wanted and run.is_outdated(cell, kept):
            kept[cell.id] = run.cell(cell, kept)
            if on_cell is not None:
                on_cell(cell.id, kept[cell.id])
    return kept


class _Run:
    """One pass over a document with the versions of its beginning."""

    def __init__(self, engine: Engine, document: Document, versions: Versions, cancel: Cancel) -> None:
        self._engine, self._document, self._cancel = engine, document, cancel
        self._prints, self._faults = fingerprints(document, versions), faults(document)

    def is_outdated(self, cell: AnyCell, outputs: Mapping[str, Output]) -> bool:
        above = _direct(self._document, cell)
        told = outputs.get(cell.id)
        return _outdated(told, self._prints[cell.id], above, outputs) or _misnamed(self._document, told)

    def cell(self, cell: AnyCell, outputs: Mapping[str, Output]) -> Output:
        """The output of one cell; whatever stops it is said in it."""
        above = _direct(self._document, cell)
        used = tuple((one, outputs[one].token) for one in above if one in outputs)
        made: dict[str, Any] = {}
        state: State = "failed"
        try:
            if self._cancel is not None and self._cancel.is_set():
                raise _stopped(cell)
            if cell.id in self._faults:
                raise self._faults[cell.id]
            blocked = self._blocked(cell, above, outputs)
            if blocked is None:
                made, state = self._answer(cell, outputs), "done"
            else:
                made, state = {"error": blocked}, "blocked"
        except duckdb.InterruptException:
            made = {"error": _stopped(cell)}
        except UserError as error:
            stopped = self._cancel is not None and self._cancel.is_set()
            made = {"error": _stopped(cell) if stopped else error}
        except Exception as error:
            LOG.exception("a cell of a notebook failed")
            made = {"error": _defect(cell, error)}
        names = _names(self._document, cell.id)
        return Output(cell.id, self._prints[cell.id], state, used=used, names=names, **made)

    def _blocked(
        self, cell: AnyCell, above: Collection[str], outputs: Mapping[str, Output]
    ) -> UserError | None:
        for one in above:
            name, found = name_of(self._document.cell(one)), outputs.get(one)
            if found is None:
                return UserError(
                    f"'{name}' has not been run since it changed", _place(cell), f"Run '{name}' first."
                )
            if found.state == "failed" and found.error is not None:
                return UserError(
                    f"'{name}', which this cell uses, failed: {found.error.what}",
                    _place(cell),
                    f"Mend '{name}'.",
                )
            if found.state == "blocked" and found.error is not None:
                return UserError(
                    f"'{name}', which this cell uses, waits: {found.error.what}",
                    _place(cell),
                    found.error.remedy,
                )
        return None

    def _answer(self, cell: AnyCell, outputs: Mapping[str, Output]) -> dict[str, Any]:
        if isinstance(cell, AnalysisCell):
            params = asked_params(self._document, cell)
            return {"result": self._engine.ask(cell.question, params, self._cancel)}
        if isinstance(cell, SqlCell):
            return self._selected(cell, outputs)
        if isinstance(cell, MetricCell | ChartCell):
            source = outputs[sources(self._document, cell.id)[cell.source]]
            if isinstance(cell, ChartCell):
                return {"table": source.table}
            if source.result is not None:
                return {"value": metric_of_result(cell, source.result)}
            return {"value": metric_of_rows(cell, source.table, source.sql)}
        return {}

    def _selected(self, cell: SqlCell, outputs: Mapping[str, Output]) -> dict[str, Any]:
        parameters, tables = dict[str, SqlValue](), dict[str, pa.Table]()
        for name, source in sources(self._document, cell.id).items():
            giving = self._document.cell(source)
            if isinstance(giving, ParameterCell):
                is_date = giving.input == "date"
                parameters[name] = date.fromisoformat(str(giving.value)) if is_date else giving.value
            else:
                tables[name] = _table(cell, name, giving, outputs[source])
        answer = self._engine.sql(cell.sql, parameters, tables, self._cancel)
        partial = cut_above(self._document, cell, outputs)
        facts = SqlFacts(
            answer.rows_scanned, answer.rows_returned, answer.cut, answer.seconds, answer.notes, partial
        )
        return {"table": answer.table, "sql": facts}


def _table(cell: SqlCell, name: str, giving: AnyCell, output: Output) -> pa.Table:
    """The rows that a name in SQL stands for."""
    if output.result is None:
        return output.table
    held = tables_for_sql(name_of(giving), output.result)
    if name not in held:
        raise UserError(
            f"'{name_of(giving)}' gives no table '{name}'",
            _place(cell),
            f"Use one of {', '.join(sorted(held))}.",
        )
    return held[name]


def _outdated(
    output: Output | None, fingerprint: str, above: Collection[str], outputs: Mapping[str, Output]
) -> bool:
    """Whether a cell has no output, one of another fingerprint, or one made from other outputs."""
    if output is None or output.fingerprint != fingerprint:
        return True
    now = tuple((one, outputs[one].token) for one in above if one in outputs)
    return output.used != now


def _misnamed(document: Document, output: Output | None) -> bool:
    """Whether a refusal may name a cell by a name it no longer has; an answer names none."""
    return output is not None and output.state != "done" and output.names != _names(document, output.cell_id)


def _names(document: Document, cell_id: str) -> tuple[str, ...]:
    return tuple(name_of(document.cell(one)) for one in (cell_id, *needs(document, cell_id)))


def _direct(document: Document, cell: AnyCell) -> list[str]:
    """Ids of the cells with outputs that a cell uses, in the order of the document."""
    found = set(sources(document, cell.id).values())
    return [one.id for one in document.cells if one.id in found and runs(one)]


def _engine(store: "Store | Engine") -> Engine:
    return store if isinstance(store, Engine) else Engine.of(store)


def _place(cell: AnyCell) -> str:
    return f"cell {name_of(cell)}"


def _stopped(cell: AnyCell) -> Cancelled:
    return Cancelled("Stopped before it was done", _place(cell), "Run it again.")


def _defect(cell: AnyCell, error: Exception) -> UserError:
    return UserError(
        f"This cell met a defect of the app: {type(error).__name__}: {error}",
        _place(cell),
        "Change its parameters, and report it with the log.",
    )


@contextmanager
def _interrupting(cursor: duckdb.DuckDBPyConnection, cancel: Cancel) -> Iterator[None]:
    """While it lasts, a cancel interrupts what the cursor reads."""
    if cancel is None:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        while not done.wait(WATCH_SECONDS):
            if cancel.is_set():
                cursor.interrupt()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
