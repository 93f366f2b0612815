"""A notebook as a report: every cell becomes a section, also one that failed, waits or is out of date."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from analysis.common import versions as versions_of
from analysis.madeup import has_own
from analysis.registry import QUESTIONS
from analysis.result import Notice, Result
from charts.custom import draw_cell
from data.errors import UserError
from data.notebooks import Notebooks
from data.queries.bills import synthetic_uploads
from data.queries.known import runs_by_arrival
from data.view import View
from reports.figures import figures_of, freeze_figure
from reports.freeze import FreezeOptions, FrozenReport, options, report_of, result_section, section_defaults
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
    parse_document,
)
from reports.notebook.graph import needs
from reports.notebook.run import Output, SqlFacts, run_stale
from reports.notebook.run import stale as stale_cells
from reports.notebook.run import versions_of as state_of
from reports.notebook.values import lacking, timeline_above
from reports.redact import Redaction

if TYPE_CHECKING:
    from data.store import Store

NOT_RUN = "This cell was not run before the report was frozen."
STALE = "Out of date: computed before something that it uses was changed, and not run again."
MADE_UP = "The home holds generated example data and nothing else."
BESIDE = "The home also holds generated example data: unless this statement leaves it out, it counts it."


def freeze_notebook(
    document: Document,
    outputs: Mapping[str, Output],
    chosen: FreezeOptions | None = None,
    *,
    versions: Mapping[str, Any] | None = None,
    stale: Collection[str] = (),
    made_up: Notice | None = None,
    runs: Sequence[str] = (),
    now: datetime | None = None,
) -> FrozenReport:
    """Freeze a notebook as it stands: `outputs` by cell id; nothing is run.

    `stale` are ids of cells whose output is out of date; they are named so, as cells without an output and
    failed and blocked ones are. `versions` are those of the home (`analysis.common.versions`).
    `made_up` is said beside every statement of SQL; by `runs`, those of the home as they came, charts of
    rows colour runs. ValueError without cells.
    """
    if not document.cells:
        raise ValueError("a report needs at least one cell")
    wanted = chosen or FreezeOptions()
    results = {i: o.result for i, o in outputs.items() if o.result and o.state == "done"}
    cut = {name_of(c) for c in document.cells if (facts := _facts(outputs.get(c.id))) and facts.cut}
    seen = Seen(document, results, runs, cut)
    sections = [_section(document, c, outputs.get(c.id), c.id in stale, seen) for c in document.cells]
    for section in sections:
        if made_up and section["kind"] == "sql":
            section["warnings"] = [asdict(made_up)]
    return report_of(
        sections, wanted.title or document.title, wanted, kind="notebook", versions=versions, now=now
    )


def freeze_from_home(
    store: "Store",
    document: Document,
    outputs: Mapping[str, Output],
    redaction: Redaction | None = None,
    *,
    title: str = "",
    now: datetime | None = None,
) -> FrozenReport:
    """Freeze a notebook of this home as it stands: names, versions and what is stale are looked up.

    UserError for a notebook without cells.
    """
    if not document.cells:
        raise UserError("This notebook has no cells", document.title, "Add one before you share it.")
    stale = stale_cells(document, outputs, state_of(store))
    chosen = options(store, redaction or Redaction(), title)
    with store.view() as view:
        versions, made_up, runs = versions_of(view), _made_up(view), runs_by_arrival(view)
    return freeze_notebook(
        document, outputs, chosen, versions=versions, stale=stale, made_up=made_up, runs=runs, now=now
    )


def run_and_freeze(
    store: "Store", document: Document, redaction: Redaction | None = None, *, title: str = ""
) -> FrozenReport:
    """Run every cell anew and freeze what comes out; cells that fail are named in the report."""
    return freeze_from_home(store, document, run_stale(store, document, {}), redaction, title=title)


def sections_today(store: "Store", document: Document) -> list[dict[str, Any]]:
    """Run every cell on today's data and return the sections that a report would have, without figures."""
    outputs = run_stale(store, document, {})
    return [_section(document, c, outputs.get(c.id), False, None) for c in document.cells]


def live_report(store: "Store", notebook_id: int, title: str, redaction: Redaction) -> FrozenReport:
    """Run a kept notebook and freeze it; UserError when it is gone or can no longer be read."""
    kept = Notebooks(store.workspace).get(notebook_id)
    return run_and_freeze(store, parse_document(kept.document), redaction, title=title)


def document_of(report: FrozenReport) -> Document:
    """Return the notebook that was frozen; UserError for a report of a page, or one with hidden parts."""
    sections = report.private["sections"] if report.private else report.sections
    cells = [s.get("cell") for s in sections]
    if report.payload.get("kind") != "notebook":
        raise UserError("This report was not made from a notebook", report.title, "Open the page it shows.")
    if None in cells or (report.private is None and any(report.payload["redaction"].values())):
        raise UserError(
            "Parts of this report are hidden, so its notebook is not in it",
            report.title,
            "Open it in the home where it was frozen.",
        )
    return parse_document({"title": report.title, "cells": cells})


def _made_up(view: View) -> Notice | None:
    """What is to be said of a statement: it reads the example's rows beside one's own, or no others."""
    if not synthetic_uploads(view):
        return None
    return Notice("synthetic_beside", BESIDE) if has_own(view) else Notice("synthetic_example", MADE_UP)


def _facts(output: Output | None) -> SqlFacts | None:
    return output.sql if output is not None else None


@dataclass(frozen=True)
class Seen:
    """What figures take from beside their own cell: the answers of all cells, the runs of the home, and the
    names of the SQL cells whose rows were cut.
    """

    document: Document
    results: Mapping[str, Result]
    runs: Sequence[str] = ()
    cut: Collection[str] = ()


def _section(
    document: Document, cell: AnyCell, output: Output | None, stale: bool, seen: Seen | None
) -> dict[str, Any]:
    """One cell; without `seen` it has no figures."""
    section = _content(cell, output, seen)
    needed = [document.cell(one) for one in needs(document, cell.id)]
    section["parameters"] |= {one.name: one.value for one in needed if isinstance(one, ParameterCell)}
    section |= {"name": name_of(cell), "cell": cell.model_dump(mode="json")}
    if isinstance(cell, TextCell | ParameterCell):
        return section
    if output is None:
        return section | {"state": "not_run", "problem": NOT_RUN}
    if output.state != "done":
        return section | {"state": output.state, "problem": _said(output.error)}
    return section | ({"state": "stale", "problem": STALE} if stale else {})


def _content(cell: AnyCell, output: Output | None, seen: Seen | None) -> dict[str, Any]:
    """What a cell shows; nothing of an output that is not done."""
    done = output if output is not None and output.state == "done" else None
    section = section_defaults(cell.kind)
    if isinstance(cell, TextCell):
        return section | {"text": cell.markdown}
    if isinstance(cell, ParameterCell):
        return section | {"title": cell.label or cell.name, "parameters": {cell.name: cell.value}}
    if isinstance(cell, AnalysisCell):
        return _analysis(cell, done, seen)
    if isinstance(cell, SqlCell):
        return section | {"title": cell.name, "sql": cell.sql} | _sql(cell, done)
    if isinstance(cell, ChartCell):
        told = {"title": cell.title or cell.name, "source": cell.source}
        return section | told | _chart(cell, done, seen)
    return section | {"source": cell.source} | _metric(cell, done)


def _analysis(cell: AnalysisCell, done: Output | None, seen: Seen | None) -> dict[str, Any]:
    known = QUESTIONS.get(cell.question)
    title = known.title if known else cell.question
    if done is None or done.result is None:
        return section_defaults() | {"title": title, "analysis": cell.question, "show_tables": cell.tables}
    if seen is None:
        return result_section(done.result, ()) | {"title": title, "show_tables": cell.tables}
    under = timeline_above(seen.document, cell, seen.results)
    section = result_section(done.result, figures_of(done.result, cell.figures, under))
    return section | {"title": title, "show_tables": cell.tables}


def _sql(cell: SqlCell, done: Output | None) -> dict[str, Any]:
    if done is None or done.table is None:
        return {}
    facts = done.sql
    told: dict[str, Any] = {}
    if facts is not None:
        told = {"scanned": facts.rows_scanned, "returned": facts.rows_returned, "cut": facts.cut}
        notes = [*facts.notes, *([lacking(facts.partial)] if facts.partial else [])]
        if notes:  # absent otherwise, so that a report of before keeps its hash
            told["notes"] = notes
    return {
        "rows": told,
        "tables": {cell.name: rows_of(done.table)},
        "columns": {cell.name: list(done.table.column_names)},
    }


def _chart(cell: ChartCell, done: Output | None, seen: Seen | None) -> dict[str, Any]:
    if done is None or done.table is None:
        return {}
    used = [
        c for c in dict.fromkeys((cell.x, *cell.y, cell.colour, cell.facet)) if c in done.table.column_names
    ]
    told = {"tables": {cell.name: rows_of(done.table.select(used))}, "columns": {cell.name: used}}
    if seen is None:
        return told
    rows = done.table.to_pandas()
    cut = cell.source in seen.cut
    light, dark = (draw_cell(cell, rows, mode, seen.runs, cut=cut)[0] for mode in ("light", "dark"))
    return told | {"figures": [freeze_figure(cell.name, cell.title or cell.name, light, dark).to_dict()]}


def _metric(cell: MetricCell, done: Output | None) -> dict[str, Any]:
    title = cell.label or cell.figure or cell.column or cell.name
    if done is None or done.value is None:
        return {"title": title}
    value = done.value if not cell.label else replace(done.value, label=cell.label)
    return {"title": title, "headline": [_json(asdict(value))]}


def _said(error: UserError | None) -> str:
    if error is None:
        return "It did not run."
    return f"{error.what.rstrip('.')}. {error.remedy}".strip()


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return a table as rows of JSON: not-a-number is null, times are ISO text, decimals are numbers."""
    return [_json(row) for row in table.to_pylist()]


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_json(v) for v in value]
    if isinstance(value, Decimal):
        return _json(float(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, bool | int | str) else str(value)
