"""New cells: what each kind is for, and how it starts so that it works at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

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
from reports.notebook.run import Output

FIRST_QUESTION = "ledger"
FIRST_SQL = "select run, sum(step_s) as step_s, count(*) as steps\nfrom steps\ngroup by run\norder by run"


@dataclass(frozen=True)
class Kind:
    """A kind of cell as the menus show it."""

    title: str
    icon: str
    help: str


KINDS = {
    "text": Kind("Text", ":material/notes:", "Words in Markdown."),
    "analysis": Kind(
        "Analysis", ":material/query_stats:", "A question with its controls: answer, figures, charts."
    ),
    "sql": Kind("SQL", ":material/database:", "One SELECT over telemetry, catalogue and results above."),
    "chart": Kind("Chart", ":material/bar_chart:", "A chart of the rows of an SQL cell."),
    "metric": Kind("Metric", ":material/looks_one:", "One number of a result, large."),
    "parameter": Kind("Parameter", ":material/tune:", "A slider, choice or date that cells below use."),
}


def fresh(document: Document, kind: str, after: str | None, outputs: Mapping[str, Output]) -> AnyCell:
    """Return a new cell of a kind that is to stand behind the cell `after`, None: at the end.

    A chart and a metric start with the nearest cell above that they can show, and with columns or a figure
    of its last output.
    """
    if kind == "text":
        return TextCell()
    if kind == "analysis":
        return AnalysisCell(name=FIRST_QUESTION, question=FIRST_QUESTION)
    if kind == "sql":
        return SqlCell(name="rows", sql=FIRST_SQL)
    if kind == "chart":
        source = _nearest(document, after, "sql")
        return ChartCell(name="chart", **chart_of(source, outputs))
    if kind == "metric":
        source = _nearest(document, after, "sql", "analysis")
        return MetricCell(name="metric", **metric_of(source, outputs))
    return ParameterCell(name="parameter", value=50.0)


def _nearest(document: Document, after: str | None, *kinds: str) -> AnyCell | None:
    ids = [cell.id for cell in document.cells]
    upto = ids.index(after) + 1 if after in ids else len(ids)
    found = [cell for cell in document.cells[:upto] if cell.kind in kinds]
    return found[-1] if found else None


def chart_of(source: AnyCell | None, outputs: Mapping[str, Output]) -> dict[str, Any]:
    """Return the fields of a chart of a cell's rows: bars over its first words, else a line over numbers."""
    if source is None:
        return {}
    numbers, others = _columns(outputs.get(source.id))
    names = [*others, *numbers]
    told: dict[str, Any] = {"source": name_of(source), "colour": "", "facet": "", "x": "", "y": ()}
    if names and numbers:
        told |= {"x": names[0], "y": tuple(name for name in numbers if name != names[0])[:1]}
        told["chart"] = "bar" if others else "line"
    return told


def lost_columns(cell: ChartCell, columns: Sequence[str]) -> list[str]:
    """Return the columns that a chart names and its rows no longer have."""
    named = dict.fromkeys((cell.x, *cell.y, cell.colour, cell.facet))
    return [name for name in named if name and name not in columns]


def chart_of_what_is_left(cell: ChartCell, source: AnyCell | None, output: Output | None) -> dict[str, Any]:
    """Return the fields of a chart without the columns that its rows no longer have.

    Where x or the last y went, the ones take their place that a new chart would start with.
    """
    columns = output.table.column_names if output is not None and output.table is not None else []
    fresh = chart_of(source, {} if source is None or output is None else {source.id: output})
    y = tuple(name for name in cell.y if name in columns)
    told = {name: getattr(cell, name) for name in ("x", "colour", "facet")}
    told = {name: value if value in columns else "" for name, value in told.items()}
    told["x"] = told["x"] or (fresh.get("x", "") if cell.x else "")
    return {**told, "y": y or (fresh.get("y", ()) if cell.y else ())}


def metric_of(source: AnyCell | None, outputs: Mapping[str, Output]) -> dict[str, Any]:
    """Return the fields of a metric of a cell: its first figure that has a value, or its first number."""
    if source is None:
        return {}
    told = {"source": name_of(source), "figure": "", "column": ""}
    output = outputs.get(source.id)
    if output is not None and output.result is not None:
        told["figure"] = next((f.name for f in output.result.headline if f.value is not None), "")
    else:
        told["column"] = next(iter(_columns(output)[0]), "")
    return told


def _columns(output: Output | None) -> tuple[list[str], list[str]]:
    """Names of the columns of numbers, and of the others."""
    if output is None or output.table is None:
        return [], []
    numbers = [
        f.name for f in output.table.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)
    ]
    return numbers, [f.name for f in output.table.schema if f.name not in numbers]
