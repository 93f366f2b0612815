"""What depends on what in a notebook: a cell uses cells above it, by name, and nothing else."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from analysis.registry import QUESTIONS
from data.errors import UserError
from reports.notebook.document import (
    REFERENCE,
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
from reports.notebook.names import names_in
from reports.sql.schema import known_tables

KINDS = {
    "text": "a text",
    "analysis": "an analysis",
    "sql": "an SQL cell",
    "chart": "a chart",
    "metric": "a metric",
    "parameter": "a parameter",
}
_READ_FORECASTS = frozenset({"forecast", "forecast_score", "scenarios"})


@dataclass(frozen=True)
class Versions:
    """What answers depend on beside the document: data, catalogue with its prices, money, kept forecasts."""

    data: str = ""
    catalogue: str = ""
    money: int = 0
    forecasts: int = 0


@dataclass(frozen=True)
class _Use:
    """A name as a cell writes it; `cell` is the earlier cell it means, `fault` why it means none."""

    name: str
    cell: AnyCell | None = None
    fault: UserError | None = None


def uses(cell: AnyCell) -> frozenset[str]:
    """Return the names a cell uses as it writes them; of an SQL cell also those of the home's own tables."""
    if isinstance(cell, AnalysisCell):
        return frozenset(references(cell.params))
    if isinstance(cell, SqlCell):
        found = names_in(cell.sql)
        return found.tables | found.parameters
    if isinstance(cell, ChartCell | MetricCell):
        return frozenset({cell.source} - {""})
    return frozenset()


def references(value: Any) -> Iterator[str]:
    """Yield the names of parameter cells in saved parameters, each as often as it stands there."""
    name = reference(value)
    if name is not None:
        yield name
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from references(inner)


def reference(value: Any) -> str | None:
    """Return the name in `{"$parameter": name}`, None for any other value."""
    if isinstance(value, Mapping) and set(value) == {REFERENCE}:
        return str(value[REFERENCE])
    return None


def sources(document: Document, cell_id: str) -> dict[str, str]:
    """Return name as written -> id of the earlier cell it means; KeyError for an unknown id."""
    return {
        use.name: use.cell.id
        for use in _uses_of(document, document.cell(cell_id))
        if use.cell is not None and use.fault is None
    }


def needs(document: Document, cell_id: str) -> tuple[str, ...]:
    """Return the ids of all cells that a cell rests on, indirectly too, in the order of the document."""
    wanted, waiting = set[str](), [cell_id]
    while waiting:
        for found in sources(document, waiting.pop()).values():
            if found not in wanted:
                wanted.add(found)
                waiting.append(found)
    return tuple(cell.id for cell in document.cells if cell.id in wanted)


def dependents(document: Document, cell_id: str) -> tuple[str, ...]:
    """Return the ids of all cells that rest on a cell, indirectly too, in the order of the document."""
    reached = {document.cell(cell_id).id}
    for cell in document.cells:
        if reached & set(sources(document, cell.id).values()):
            reached.add(cell.id)
    return tuple(cell.id for cell in document.cells if cell.id in reached - {cell_id})


def problems(document: Document) -> dict[str, str]:
    """Return cell id -> sentence for each cell that cannot be run as it stands."""
    return {cell_id: str(fault) for cell_id, fault in faults(document).items()}


def faults(document: Document) -> dict[str, UserError]:
    """Return cell id -> the first refusal of each cell that cannot be run as it stands."""
    out = {}
    for cell in document.cells:
        found = _own_fault(cell)
        if found is None:
            found = next((use.fault for use in _uses_of(document, cell) if use.fault is not None), None)
        if found is not None:
            out[cell.id] = found
    return out


def fingerprints(document: Document, versions: Versions) -> dict[str, str]:
    """Return cell id -> hash of all that its answer depends on: equal hashes, equal answers.

    What only shows differently (name, order, label of a parameter, which charts) is left out.
    """
    broken, out = faults(document), dict[str, str]()
    for cell in document.cells:
        used = {name: out[found] for name, found in sources(document, cell.id).items()}
        content: dict[str, Any] = {"kind": cell.kind, "fault": str(broken.get(cell.id, ""))}
        content |= _content(cell, used)
        if isinstance(cell, AnalysisCell | SqlCell):
            content["versions"] = _versions(cell, versions)
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        out[cell.id] = sha256(text.encode()).hexdigest()[:32]
    return out


def _content(cell: AnyCell, used: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(cell, TextCell):
        return {"markdown": cell.markdown}
    if isinstance(cell, ParameterCell):
        return {"input": cell.input, "value": cell.value}
    if isinstance(cell, AnalysisCell):
        filled = _filled(cell.params, used)
        return {"question": cell.question, "params": filled, "version": cell.params_version}
    if isinstance(cell, SqlCell):
        return {"sql": cell.sql, "used": dict(used)}
    source = used.get(cell.source, "")
    if isinstance(cell, ChartCell):
        shown = cell.model_dump(include={"chart", "x", "y", "colour", "facet"}, mode="json")
    else:
        shown = cell.model_dump(include={"figure", "column", "summary", "label", "unit"}, mode="json")
        shown["label"] = cell.label or cell.name
    return {**shown, "source": source}


def _filled(value: Any, used: Mapping[str, str]) -> Any:
    name = reference(value)
    if name is not None:
        return {REFERENCE: used.get(name, "")}
    if isinstance(value, Mapping):
        return {key: _filled(inner, used) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(inner, used) for inner in value]
    return value


def _versions(cell: AnyCell, versions: Versions) -> dict[str, Any]:
    raw = asdict(versions)
    if not (isinstance(cell, AnalysisCell) and cell.question in _READ_FORECASTS):
        del raw["forecasts"]
    return raw


def _own_fault(cell: AnyCell) -> UserError | None:
    """What is wrong with a cell whatever the others are."""
    where = f"cell {name_of(cell)}"
    if isinstance(cell, AnalysisCell):
        if cell.question not in QUESTIONS:
            return UserError(f"There is no question '{cell.question}'", where, "Pick another question.")
        now = QUESTIONS[cell.question].params.version
        if now != cell.params_version:
            return UserError(
                f"The parameters of '{cell.question}' were saved with version {cell.params_version} of their "
                f"meaning; this app has version {now}",
                where,
                "Set them anew and save: they are not reinterpreted.",
            )
    elif isinstance(cell, SqlCell) and not cell.sql.strip():
        return UserError("This cell has no SQL yet", where, "Write a SELECT.")
    elif isinstance(cell, ChartCell) and not cell.source:
        return UserError("This chart has no source yet", where, "Pick an SQL cell above it.")
    elif isinstance(cell, MetricCell) and not cell.source:
        return UserError("This metric has no source yet", where, "Pick an analysis or an SQL cell above it.")
    return None


def _uses_of(document: Document, cell: AnyCell) -> list[_Use]:
    """Each name a cell writes with what it means there, in alphabetical order."""
    at = _Place(document, cell)
    if isinstance(cell, AnalysisCell):
        return [at.named(name, ParameterCell) for name in sorted(uses(cell))]
    if isinstance(cell, SqlCell):
        found = names_in(cell.sql)
        out = [at.named(name, ParameterCell) for name in sorted(found.parameters)]
        return out + [use for name in sorted(found.tables) if (use := at.table(name, found.read)) is not None]
    if isinstance(cell, ChartCell) and cell.source:
        return [at.named(cell.source, SqlCell)]
    if isinstance(cell, MetricCell) and cell.source:
        return [at.named(cell.source, AnalysisCell, SqlCell)]
    return []


class _Place:
    """The names in sight of one cell of a document."""

    def __init__(self, document: Document, cell: AnyCell) -> None:
        self._where = f"cell {name_of(cell)}"
        place = [one.id for one in document.cells].index(cell.id)
        self._above = {name_of(one): one for one in document.cells[:place] if name_of(one)}
        self._below = {name_of(one): one for one in document.cells[place:] if name_of(one)}

    def named(self, name: str, *kinds: type[AnyCell]) -> _Use:
        """What a name means where it must be a cell of one of these kinds."""
        found = self._above.get(name) or self._below.get(name)
        wanted = " or ".join(KINDS[kind.model_fields["kind"].default] for kind in kinds)
        if found is None:
            return self._fault(name, f"There is no cell '{name}'", f"Name {wanted} above this cell.")
        if not isinstance(found, kinds):
            return self._fault(
                name, f"'{name}' is {KINDS[found.kind]} and not {wanted}", f"Name {wanted} above this cell."
            )
        return self._seen(name, found)

    def table(self, name: str, read: bool) -> _Use | None:
        """What a table of SQL means; None for one of the home's own, and for a word of a text not `read`."""
        exact = self._above.get(name) or self._below.get(name)
        if name in known_tables():
            if not isinstance(exact, SqlCell):
                return None
            return self._fault(
                name, f"'{name}' is a table of the home and a cell as well", "Rename that cell."
            )
        if isinstance(exact, SqlCell):
            return self._seen(name, exact)
        giving = self._giving(self._above, name) or self._giving(self._below, name)
        if giving is not None:
            return self._seen(name, giving)
        if not read:
            return None
        if exact is None:
            return self._fault(
                name, f"There is no table '{name}' here", "Use a table of the list, or a cell above."
            )
        remedy = {
            "analysis": f"Name one of its tables, such as {name}_headline.",
            "parameter": f"Write ${name}.",
        }.get(exact.kind, "Name an SQL cell or a table of an analysis.")
        return self._fault(name, f"'{name}' is {KINDS[exact.kind]} and no table", remedy)

    @staticmethod
    def _giving(cells: Mapping[str, AnyCell], table: str) -> AnalysisCell | None:
        """The analysis whose name begins the name of the table; the longest of several."""
        found = [
            cell
            for name, cell in cells.items()
            if isinstance(cell, AnalysisCell) and table.startswith(f"{name}_")
        ]
        return max(found, key=lambda cell: len(cell.name), default=None)

    def _seen(self, name: str, cell: AnyCell) -> _Use:
        if name_of(cell) in self._above:
            return _Use(name, cell)
        if self._where == f"cell {name_of(cell)}":
            return self._fault(name, f"'{name}' is this cell itself", "Name a cell above it.")
        return self._fault(name, f"'{name_of(cell)}' stands below this cell", "Move it above.")

    def _fault(self, name: str, what: str, remedy: str) -> _Use:
        return _Use(name, fault=UserError(what, self._where, remedy))
