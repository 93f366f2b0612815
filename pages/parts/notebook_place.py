"""Where a cell stands, and what it can use there: handed to whatever draws or edits it."""

from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.parts import notebook_session as session
from pages.parts.notebook_form import Offered
from pages.parts.notebook_run import Answers
from pages.parts.state import PageState
from reports.notebook import edit
from reports.notebook.document import LONGEST_TITLE, AnyCell, Document, MetricCell, ParameterCell, name_of
from reports.notebook.run import Output

TYPED = ("markdown", "sql")
"""Fields that are saved while a person types: one step of undo."""


@dataclass(frozen=True)
class Place:
    """A cell's surroundings: page, notebook, its position, all answers, and what the home offers."""

    state: PageState
    now: session.Open
    place: int
    answers: Answers
    offered: Offered

    def above(self, *kinds: str) -> list[AnyCell]:
        """Return the cells of these kinds above this one."""
        return [cell for cell in self.now.document.cells[: self.place] if cell.kind in kinds]

    def output(self, cell: AnyCell) -> Output | None:
        """Return the last output of a cell."""
        return self.answers.outputs.get(cell.id)

    def source(self, name: str) -> tuple[AnyCell | None, Output | None]:
        """Return the cell of a name above this one, and its last output."""
        for cell in self.now.document.cells[: self.place]:
            if name and name_of(cell) == name:
                return cell, self.output(cell)
        return None, None


def rename_field(cell: AnyCell, width: int = 300) -> None:
    """Draw the field of a cell's name; cells that use it follow."""
    key = session.held().key(cell.id, "name")
    st.text_input(
        "Name",
        name_of(cell),
        key=key,
        max_chars=40,
        width=width,
        on_change=partial(_rename, cell.id, key),
        help="By this name later cells use it: small letters, digits and _.",
    )


def label_and_unit(cell: MetricCell | ParameterCell, width: int) -> None:
    """Draw the fields of a cell's label, `width` pixels wide, and unit."""
    for field, label, pixels in (("label", "Label", width), ("unit", "Unit", 120)):
        key = session.held().key(cell.id, field)
        st.text_input(
            label,
            getattr(cell, field),
            key=key,
            width=pixels,
            max_chars=LONGEST_TITLE,
            on_change=partial(put, cell.id, key, field, ""),
        )


def _rename(cell_id: str, key: str) -> None:
    if session.again(key):
        return
    name = str(st.session_state[key]).strip()
    session.change(lambda document: edit.rename(document, cell_id, name), cell=cell_id)


def put(cell_id: str, key: str, field: str, empty: object = None) -> None:
    """Widget callback: give a field of a cell what its widget says, `empty` where that says nothing."""
    if session.again(key):
        return
    value = st.session_state[key]
    step = f"{cell_id} {field}" if field in TYPED else ""
    set_fields(cell_id, typed=True, step=step, **{field: empty if value is None else value})


def set_fields(cell_id: str, *, typed: bool = False, step: str = "", **fields: object) -> None:
    """Give fields of a cell other values; what the cell refuses is said beside it."""

    def make(document: Document) -> Document:
        return edit.replace(document, edit.changed(document.cell(cell_id), fields))

    session.change(make, cell=cell_id, typed=typed, step=step)
