"""Cells that other pages put into a notebook: the one last opened, a chosen one, or a new one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from data.errors import UserError
from data.notebooks import Conflict, Notebooks
from data.store import Store
from pages.parts.notebook_session import LAST
from reports.notebook import edit
from reports.notebook.document import REFERENCE, AnyCell, Document, TextCell, new_id, parse_document

TRIES = 5


@dataclass(frozen=True)
class Target:
    """A notebook that cells can land in."""

    id: int
    title: str


@dataclass(frozen=True)
class Added:
    """Where cells landed; `created`: the notebook was made for them."""

    id: int
    title: str
    cell_ids: tuple[str, ...]
    created: bool


def choices(store: Store) -> list[Target]:
    """Return the notebooks, the one last opened in this session in front, then the last changed ones."""
    last = st.session_state.get(LAST)
    every = Notebooks(store.workspace).all()
    return [Target(one.id, one.title) for one in sorted(every, key=lambda one: one.id != last)]


def add_cells(store: Store, cells: Sequence[AnyCell], notebook: int | None = None, *, new: str = "") -> Added:
    """Put cells at the end of a notebook: the given one, a new one of the title `new`, else the first of
    `choices`, else a new one. A cell whose name is taken gets the next number; added cells that take it as
    their source or parameter follow.

    Raises UserError when the notebook is gone or full.
    """
    book = Notebooks(store.workspace)
    targets = choices(store)
    if new or (notebook is None and not targets):
        document, ids = _with(Document(title=new or "Untitled"), cells)
        made = book.create(document.to_json())
        return Added(made.id, made.title, ids, created=True)
    number = targets[0].id if notebook is None else notebook
    for _ in range(TRIES):
        held = book.get(number)
        document, ids = _with(parse_document(held.document), cells)
        try:
            saved = book.save(number, document.to_json(), held.title, held.version)
        except Conflict:
            continue
        return Added(saved.id, saved.title, ids, created=False)
    raise _busy()


def take_back(store: Store, added: Added) -> None:
    """Take added cells out again; a notebook that was made for them and holds nothing else is deleted."""
    book = Notebooks(store.workspace)
    for _ in range(TRIES):
        held = book.get(added.id)
        document = parse_document(held.document)
        left = [cell for cell in document.cells if cell.id not in added.cell_ids]
        try:
            if len(left) < len(document.cells):
                shorter = Document(title=document.title, cells=tuple(left))
                held = book.save(added.id, shorter.to_json(), held.title, held.version)
        except Conflict:
            continue
        if added.created and not left and not held.deleted:
            book.delete(added.id)
        return
    raise _busy()


def _busy() -> UserError:
    return UserError("Others keep saving this notebook", "notebook", "Try again in a moment.")


def _with(document: Document, cells: Sequence[AnyCell]) -> tuple[Document, tuple[str, ...]]:
    """Return the document with the cells, under ids of their own and free names, and those ids."""
    renamed: dict[str, str] = {}
    ids = []
    for cell in cells:
        fresh: dict[str, Any] = {"id": new_id()}
        if not isinstance(cell, TextCell):
            fresh["name"] = renamed[cell.name] = edit.free_name(document, cell.name)
        made = type(cell).model_validate({**_following(cell.model_dump(), renamed), **fresh})
        document = edit.add(document, made)
        ids.append(made.id)
    return document, tuple(ids)


def _following(fields: dict[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a cell with the names of added cells that it uses as they are now."""
    if fields.get("source") in renamed:
        fields["source"] = renamed[fields["source"]]
    if "params" in fields:
        fields["params"] = {name: _reference(value, renamed) for name, value in fields["params"].items()}
    return fields


def _reference(value: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(value, dict) and value.get(REFERENCE) in renamed:
        return {REFERENCE: renamed[value[REFERENCE]]}
    return value
