"""What one cell takes from another: parameters into a question, results into SQL, rows into one number."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter, ValidationError

from analysis.params import Params
from analysis.registry import QUESTIONS, parse
from analysis.result import Figure, Result
from data.errors import UserError
from reports.notebook.document import AnalysisCell, AnyCell, Document, MetricCell, ParameterCell, name_of
from reports.notebook.graph import reference, references, sources

if TYPE_CHECKING:
    from reports.notebook.run import Output, SqlFacts

HEADLINE = "headline"
NO_INTERVAL = "none"


def parameter_values(document: Document) -> dict[str, float | str]:
    """Return the value of each parameter cell by its name."""
    return {cell.name: cell.value for cell in document.cells if isinstance(cell, ParameterCell)}


def asked_params(document: Document, cell: AnalysisCell) -> dict[str, Any]:
    """Return the saved parameters of an analysis cell with the values of the parameter cells they refer to.

    A value is converted to the type that the question wants (`8.0` to 8, a date to its month); raises
    UserError, naming the question's parameter and the parameter cell, where it does not fit.
    """
    values = parameter_values(document)
    kind = QUESTIONS[cell.question].params
    out = {name: _filled(value, values) for name, value in cell.params.items()}
    for name, value in cell.params.items():
        if reference(value) is not None:
            out[name] = _fitted(kind, name, out[name])
    try:
        parse(cell.question, out)
    except UserError as error:
        raise _named(error, cell) from error
    return out


def timeline_above(
    document: Document, cell: AnalysisCell, results: Mapping[str, Result]
) -> pd.DataFrame | None:
    """Return the timeline of utilisation nearest above a cell that lays phases over time, None without one.

    `results` are the answers of cells by id. The timeline counts where it shows some of the time of those
    phases: under it both read at one glance.
    """
    track = results[cell.id].tables.get("track") if cell.id in results else None
    if track is None or track.empty or "start" not in track:
        return None
    found = None
    for other in document.cells:
        if other.id == cell.id:
            break
        line = results[other.id].tables.get("timeline") if other.id in results else None
        if line is None or line.empty or results[other.id].analysis != "utilisation":
            continue
        ends = line["bin"].max() + pd.Timedelta(minutes=int(line["bin_minutes"].iloc[0]))
        if line["bin"].min() < track["end"].max() and track["start"].min() < ends:
            found = line
    return found


def _named(error: UserError, cell: AnalysisCell) -> UserError:
    """The refusal with the cell, and with the parameter cells from which the refused value came."""
    name = error.where.removeprefix("parameter ")
    told = sorted(set(references(cell.params.get(name))))
    place = f"cell {cell.name}, {error.where}"
    if told:
        place += f" from {', '.join(told)}"
    return UserError(error.what, place, error.remedy)


def _filled(value: Any, values: Mapping[str, float | str]) -> Any:
    name = reference(value)
    if name is not None:
        return values[name]
    if isinstance(value, Mapping):
        return {key: _filled(inner, values) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(inner, values) for inner in value]
    return value


def _fitted(kind: type[Params], name: str, value: float | str) -> Any:
    """The first form of a value that the question's parameter takes; the value itself when none fits."""
    info = kind.model_fields.get(name)
    if info is None:
        return value
    wanted: Any = info.annotation
    for rule in info.metadata:
        wanted = Annotated[wanted, rule]
    adapter = TypeAdapter[Any](wanted)
    for form in _forms(value):
        for one in (form, [form]):
            try:
                adapter.validate_python(one)
            except ValidationError:
                continue
            return one
    return value


def _forms(value: float | str) -> Iterable[float | int | str]:
    yield value
    if isinstance(value, float):
        if value.is_integer():
            yield int(value)
        yield f"{value:.15g}"
    elif len(value) == 10 and value[4] == "-":
        yield value[:7]


def tables_for_sql(name: str, result: Result) -> dict[str, pa.Table]:
    """Return the tables of an analysis cell `name` as SQL sees them: `name_table`, and `name_headline`.

    A column whose values no single type of Arrow holds comes as JSON text.
    """
    frames = {HEADLINE: headline_frame(result), **result.tables}
    return {f"{name}_{table}": arrow(frame) for table, frame in frames.items()}


def headline_frame(result: Result) -> pd.DataFrame:
    """Return the headline figures of a result, a row each, columns as the fields of `Figure`."""
    rows = [asdict(figure) for figure in result.headline]
    return pd.DataFrame(rows, columns=[field.name for field in fields(Figure)])


def arrow(frame: pd.DataFrame) -> pa.Table:
    """Return a table of a result as Arrow; a column of mixed values becomes JSON text."""
    columns = {str(name): _column(frame.iloc[:, place]) for place, name in enumerate(frame.columns)}
    return pa.table(columns)


def _column(values: pd.Series) -> pa.Array:
    try:
        found = pa.Array.from_pandas(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        texts = [None if _is_missing(value) else _as_text(value) for value in values]
        found = pa.array(texts, type=pa.string())
    if (not len(found) and values.dtype == object) or pa.types.is_null(found.type):
        return pa.nulls(len(values))  # of no type, so that SQL may use it as numbers or as text
    return found


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def metric_of_result(cell: MetricCell, result: Result) -> Figure:
    """Return the headline figure that a metric cell shows: value, interval, unit, n, boundary as they are."""
    where = f"cell {cell.name}"
    names = [figure.name for figure in result.headline]
    if cell.figure not in names:
        if not names:
            raise UserError(f"'{cell.source}' has no figures yet", where, result.answer)
        what = f"'{cell.source}' has no figure '{cell.figure}'" if cell.figure else "No figure is picked yet"
        raise UserError(what, where, f"Pick one of {', '.join(names)}.")
    found = result.figure(cell.figure)
    if cell.unit and cell.unit != found.unit:
        raise UserError(
            f"'{cell.figure}' is in {found.unit or 'no unit'} and not in {cell.unit}",
            where,
            "Leave the unit empty: it is that of the figure.",
        )
    return replace(found, label=cell.label or found.label)


def cut_above(document: Document, cell: AnyCell, outputs: Mapping[str, "Output"]) -> tuple[str, ...]:
    """Return the names of the SQL cells whose rows were cut and that a cell rests on, alphabetically."""
    found = set[str]()
    for one in sources(document, cell.id).values():
        facts = outputs[one].sql if one in outputs else None
        if facts is not None:
            found |= {*facts.partial, *([name_of(document.cell(one))] if facts.cut else [])}
    return tuple(sorted(found))


def lacking(cut: Sequence[str]) -> str:
    """Return the sentence about numbers made of rows that were cut."""
    names = ", ".join(f"'{name}'" for name in cut)
    return f"The rows of {names} were cut at the limit, so what lies beyond is not counted: aggregate there."


def metric_of_rows(cell: MetricCell, rows: pa.Table, facts: "SqlFacts | None" = None) -> Figure:
    """Return one number of a column of an SQL cell's rows, without interval: rows do not tell theirs.

    `n` is the number of rows that count. `first` and `last` are those of the rows as the SQL orders them. Of
    rows that were cut only the first is known.
    """
    if facts is not None and (facts.partial or (facts.cut and cell.summary != "first")):
        label = cell.label or cell.name.replace("_", " ")
        why = lacking(facts.partial or (cell.source,))
        return Figure(cell.name, label, None, cell.unit, interval=NO_INTERVAL, missing=why)
    where = f"cell {cell.name}"
    label = cell.label or cell.name.replace("_", " ")
    made = Figure(cell.name, label, None, cell.unit, interval=NO_INTERVAL)
    if cell.summary == "count" and not cell.column:
        return replace(made, value=float(rows.num_rows), n=rows.num_rows)
    if cell.column not in rows.column_names:
        what = f"'{cell.source}' has no column '{cell.column}'" if cell.column else "No column is picked yet"
        raise UserError(what, where, f"Pick one of {', '.join(rows.column_names)}.")
    values = rows.column(cell.column)
    if cell.summary == "count":
        counted = len(values) - values.null_count
        return replace(made, value=float(counted), n=counted)
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise UserError(
            f"Column '{cell.column}' holds {kind} and no numbers", where, "Pick a column of numbers."
        )
    return _summed(made, cell, pc.cast(values, pa.float64()))


def _summed(made: Figure, cell: MetricCell, values: pa.ChunkedArray) -> Figure:
    known = [value for value in values.to_pylist() if value is not None and not math.isnan(value)]
    if not len(values):
        return replace(made, n=0, missing=f"'{cell.source}' has no rows. Widen its SELECT.")
    if not known:
        return replace(made, n=0, missing=f"Column '{cell.column}' is empty in every row of '{cell.source}'.")
    if cell.summary in ("first", "last"):
        one = values[0 if cell.summary == "first" else -1].as_py()
        if one is None or math.isnan(one):
            return replace(
                made,
                n=0,
                missing=f"Column '{cell.column}' is empty in the {cell.summary} row. Order the rows.",
            )
        return replace(made, value=one, n=1)
    summed = {
        "sum": math.fsum(known),
        "mean": math.fsum(known) / len(known),
        "min": min(known),
        "max": max(known),
    }[cell.summary]
    return replace(made, value=summed, n=len(known))
