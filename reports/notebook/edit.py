"""Changes of a notebook: from one document to the next, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from typing import Any

from pydantic import ValidationError

from reports.notebook.document import (
    NAME,
    REFERENCE,
    AnalysisCell,
    AnyCell,
    ChartCell,
    Document,
    DocumentError,
    MetricCell,
    ParameterCell,
    SqlCell,
    TextCell,
    name_of,
    new_id,
)
from reports.notebook.graph import reference, sources
from reports.notebook.names import with_names

MOST_STEPS = 200


def add(document: Document, cell: AnyCell, after: str | None = None) -> Document:
    """Return the document with one more cell: after that id, at the end for None, at the start for "".

    A name that is taken gets a number. Raises DocumentError where no further cell fits.
    """
    cells = list(document.cells)
    place = len(cells) if after is None else 0 if after == "" else _place(document, after) + 1
    cells.insert(place, _with_free_name(document, cell))
    return _built(document, cells)


def move(document: Document, cell_id: str, by: int) -> Document:
    """Return the document with a cell `by` places further down (negative: up), at most to the end."""
    cells = list(document.cells)
    place = _place(document, cell_id)
    cell = cells.pop(place)
    cells.insert(max(0, min(len(cells), place + by)), cell)
    return _built(document, cells)


def copy_cell(document: Document, cell_id: str) -> Document:
    """Return the document with a copy below a cell, under the next free name; it uses the same cells."""
    cell = document.cells[_place(document, cell_id)]
    return add(document, cell.model_copy(update={"id": new_id()}), cell_id)


def delete(document: Document, cell_id: str) -> Document:
    """Return the document without a cell; cells that used it say so from then on."""
    place = _place(document, cell_id)
    return _built(document, [*document.cells[:place], *document.cells[place + 1 :]])


def replace(document: Document, cell: AnyCell) -> Document:
    """Return the document with another content for the cell of the same id.

    A changed name is followed into the cells that use it, as `rename` does.
    """
    place = _place(document, cell.id)
    old, new = name_of(document.cells[place]), name_of(cell)
    if old and new and old != new:
        document = rename(document, cell.id, new)
    return _built(document, [*document.cells[:place], cell, *document.cells[place + 1 :]])


def rename(document: Document, cell_id: str, name: str) -> Document:
    """Return the document with another name of a cell, in the cells that use it too.

    Raises DocumentError for what is no name, a taken name, and a cell of words, which has none.
    """
    cell = document.cells[_place(document, cell_id)]
    old = name_of(cell)
    if isinstance(cell, TextCell):
        raise DocumentError("A text has no name", "name", "Write a heading in it.")
    if not NAME.fullmatch(name):
        raise DocumentError(
            f"'{name}' is no name", "name", "Begin with a small letter; then small letters, digits and _."
        )
    if any(name_of(one) == name for one in document.cells if one.id != cell_id):
        raise DocumentError(f"There is a cell '{name}' already", "name", "Use another name.")
    cells = []
    for one in document.cells:
        if one.id == cell_id:
            cells.append(one.model_copy(update={"name": name}))
            continue
        written = [used for used, source in sources(document, one.id).items() if source == cell_id]
        cells.append(_following(one, {used: name + used[len(old) :] for used in written}))
    return _built(document, cells)


def retitle(document: Document, title: str) -> Document:
    """Return the document under another title; DocumentError for an empty or overlong one."""
    return _built(document, document.cells, " ".join(title.split()))


def set_value(document: Document, cell_id: str, value: float | str) -> Document:
    """Return the document with another value of a parameter; DocumentError where it does not fit."""
    cell = document.cells[_place(document, cell_id)]
    if not isinstance(cell, ParameterCell):
        raise DocumentError("Only a parameter has a value to set", f"cell {name_of(cell)}", "Pick one.")
    return replace(document, _checked(cell, {"value": value}))


def changed(cell: AnyCell, values: Mapping[str, Any]) -> AnyCell:
    """Return a cell with some fields changed; DocumentError names the field that does not fit."""
    return _checked(cell, values)


def free_name(document: Document, wanted: str) -> str:
    """Return a name no cell has: the wanted one, made fit, else with the next free number."""
    base = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in wanted.lower())
    base = base.strip("_")[:40] or "cell"
    if not base[0].isalpha():
        base = f"cell_{base}"[:40]
    taken = {name_of(cell) for cell in document.cells}
    number, found = 1, base
    while found in taken:
        number += 1
        tail = f"_{number}"
        found = f"{base[: 40 - len(tail)]}{tail}"
    return found


@dataclass(frozen=True)
class History:
    """A document with what it was before and what was undone; every method returns another history."""

    present: Document
    past: tuple[Document, ...] = ()
    future: tuple[Document, ...] = ()
    key: str = ""

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to take back."""
        return bool(self.past)

    @property
    def can_redo(self) -> bool:
        """Whether a step that was taken back can be made again."""
        return bool(self.future)

    def do(self, document: Document, key: str = "") -> "History":
        """Make `document` the present one. Changes in a row of one `key` (typing in a cell) are one step."""
        if document == self.present:
            return self
        if key and key == self.key:
            return dataclass_replace(self, present=document, future=())
        past = (*self.past, self.present)[-MOST_STEPS:]
        return History(document, past, (), key)

    def undo(self) -> "History":
        """Go one step back; the same history when there is none."""
        if not self.past:
            return self
        return History(self.past[-1], self.past[:-1], (self.present, *self.future))

    def redo(self) -> "History":
        """Go one undone step forth again; the same history when there is none."""
        if not self.future:
            return self
        return History(self.future[0], (*self.past, self.present), self.future[1:])


def _following(cell: AnyCell, names: Mapping[str, str]) -> AnyCell:
    """The cell with other names for what it uses."""
    if not names:
        return cell
    if isinstance(cell, AnalysisCell):
        return cell.model_copy(update={"params": _renamed(cell.params, names)})
    if isinstance(cell, SqlCell):
        return cell.model_copy(update={"sql": with_names(cell.sql, names, names)})
    if isinstance(cell, ChartCell | MetricCell):
        return cell.model_copy(update={"source": names.get(cell.source, cell.source)})
    return cell


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    name = reference(value)
    if name is not None:
        return {REFERENCE: names.get(name, name)}
    if isinstance(value, Mapping):
        return {key: _renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(inner, names) for inner in value]
    return value


def _with_free_name(document: Document, cell: AnyCell) -> AnyCell:
    ids = {one.id for one in document.cells}
    update: dict[str, Any] = {"id": new_id()} if cell.id in ids else {}
    if not isinstance(cell, TextCell):
        update["name"] = free_name(document, cell.name)
    return cell.model_copy(update=update)


def _place(document: Document, cell_id: str) -> int:
    for place, cell in enumerate(document.cells):
        if cell.id == cell_id:
            return place
    raise DocumentError("This cell is no longer in the notebook", f"cell {cell_id}", "Reload the page.")


def _checked(cell: AnyCell, values: Mapping[str, Any]) -> AnyCell:
    try:
        return type(cell).model_validate({**cell.model_dump(), **values})
    except ValidationError as error:
        raise _refusal(error, f"cell {name_of(cell)}") from error


def _built(document: Document, cells: Sequence[AnyCell], title: str | None = None) -> Document:
    try:
        return Document(title=document.title if title is None else title, cells=tuple(cells))
    except ValidationError as error:
        raise _refusal(error, "notebook") from error


def _refusal(error: ValidationError, where: str) -> DocumentError:
    first = error.errors()[0]
    field = " · ".join(str(part) for part in first["loc"])
    said = first["msg"].removeprefix("Value error, ")
    place = f"{where}, {field}" if field else where
    return DocumentError(said[:1].upper() + said[1:], place, "Correct it.")
