"""The notebook that a session has open: its document, undo, autosave, and what another tab did meanwhile.

A second click starts a run of the script while the first one still ends in another thread, so a change and
its save are one step under `Open.lock`; nothing in it asks Streamlit, which may end a run where it is asked.

A browser that has not yet put the widgets of the last drawing away sends their values once more; to Streamlit
that is a change. `again` tells such an echo from what a person did.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import streamlit as st

from data.errors import UserError
from data.notebooks import Conflict, Notebooks, Saved
from data.store import Store
from pages.parts.state import current
from reports.notebook.document import LONGEST_TITLE, AnyCell, Document, parse_document
from reports.notebook.edit import History

LAST = "_notebook_last"
MOST_GONE = 1_000
_OPEN, _TURN = "_notebook_open", "_notebook_turn"
Change = Callable[[Document], Document]


@dataclass
class Clash:
    """A save that came second: what the other tab saved, and what this one holds, put aside as a copy."""

    theirs: Saved
    kept: Saved


@dataclass
class Open:
    """An open notebook. `turn` counts what changed the document past its widgets, which then start anew.

    `gone`: what the widgets of earlier turns said last; `leaving` the same of those that the next drawing
    replaces.
    """

    id: int
    document: Document
    version: int
    saved_at: datetime
    history: History
    turn: int
    clash: Clash | None = None
    said: str = ""
    editing: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    refused: dict[str, UserError] = field(default_factory=dict)
    by_hand: bool = False
    leaving: dict[str, Any] = field(default_factory=dict)
    gone: dict[str, Any] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)

    def key(self, cell_id: str, name: str) -> str:
        """Return the key of a widget of a cell."""
        return f"nb_{cell_id}_{name}_{self.turn}"


def _turn() -> int:
    """The next number of the session: no widget of another turn or notebook has its key."""
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    return int(st.session_state[_TURN])


def _said() -> dict[str, Any]:
    """What every widget of a notebook says now."""
    return {str(k): v for k, v in st.session_state.to_dict().items() if str(k).startswith("nb_")}


def again(key: str) -> bool:
    """Whether a widget of an earlier drawing says once more what it said then: nobody did that."""
    now = held()
    return key in now.gone and now.gone[key] == st.session_state[key]


def _drawn(now: Open, said: dict[str, Any]) -> None:
    """From here on widgets that said this are those of an earlier drawing."""
    now.gone = dict([*now.gone.items(), *said.items()][-MOST_GONE:])


def book() -> Notebooks:
    """Return the notebooks of this home."""
    return Notebooks(current().store.workspace)


def opened(notebook: Saved) -> Open:
    """Return the session's open notebook; read anew when another one is asked for, or it changed."""
    held: Open | None = st.session_state.get(_OPEN)
    if held is None or held.id != notebook.id:
        held = _read(notebook, _turn())
        st.session_state[_OPEN] = held
    else:
        _drawn(held, held.leaving)
        held.leaving = {}
        _catch_up(held, notebook)
    st.session_state[LAST] = notebook.id
    return held


def _catch_up(held: Open, notebook: Saved) -> None:
    """Show what another tab saved; a run that read before this session's last save knows nothing newer."""
    if notebook.version <= held.version:
        return
    turn, said = _turn(), _said()
    with held.lock:
        if held.clash is None and notebook.version > held.version:
            _reread(held, notebook, turn)
            _drawn(held, said)
            held.said = "Changed in another tab or by another person: this is what it holds now."


def _read(notebook: Saved, turn: int) -> Open:
    document = parse_document(notebook.document)
    return Open(notebook.id, document, notebook.version, notebook.changed, History(document), turn)


def _reread(held: Open, notebook: Saved, turn: int) -> None:
    fresh = _read(notebook, turn)
    held.document, held.version, held.saved_at = fresh.document, fresh.version, fresh.saved_at
    held.history, held.clash, held.said = fresh.history, None, ""
    held.refused.clear()
    held.turn = turn


def held() -> Open:
    """Return the open notebook; RuntimeError when none is open."""
    found: Open | None = st.session_state.get(_OPEN)
    if found is None:
        raise RuntimeError("a notebook's part was drawn without a notebook")
    return found


def close() -> None:
    """Forget the open notebook: its page shows the list."""
    st.session_state.pop(_OPEN, None)


def change(make: Change, *, cell: str = "", said: str = "", typed: bool = False, step: str = "") -> bool:
    """Change the document and save it; returns whether that was done.

    What the document refuses is kept as the reason beside `cell`. `typed`: the change came from a widget
    that shows it already, so widgets need not start anew. Changes in a row of one `step` are undone as one.
    """
    now, kept, turn, widgets = held(), book(), _turn(), _said()
    with now.lock:
        try:
            document = make(now.document)
        except UserError as error:
            now.refused[cell], now.turn, now.leaving = error, turn, widgets
            return False
        now.refused.pop(cell, None)
        if document == now.document:
            return False
        now.document, now.said = document, said
        now.history = now.history.do(document, step)
        if not typed:
            now.turn, now.leaving = turn, widgets
        return _save(now, kept)


def _save(now: Open, kept: Notebooks) -> bool:
    try:
        saved = kept.save(now.id, now.document.to_json(), now.document.title, now.version)
    except Conflict as conflict:
        mine = now.document.model_copy(update={"title": f"{now.document.title[: LONGEST_TITLE - 7]} (mine)"})
        now.clash = Clash(conflict.newer or kept.get(now.id), kept.create(mine.to_json()))
        return False
    now.version, now.saved_at = saved.version, saved.changed
    return True


def undo() -> None:
    """Button callback: take back the last change, and save."""
    _step(History.undo)


def redo() -> None:
    """Button callback: do again what was taken back, and save."""
    _step(History.redo)


def _step(move: Callable[[History], History]) -> None:
    now, kept, turn, widgets = held(), book(), _turn(), _said()
    with now.lock:
        history = move(now.history)
        if now.clash is not None or history == now.history:
            return
        now.history, now.document, now.said = history, history.present, ""
        now.turn, now.leaving = turn, widgets
        now.refused.clear()
        _save(now, kept)


def take_theirs() -> None:
    """Button callback: show what the other tab saved; this tab's stays among the deleted notebooks."""
    now = held()
    if now.clash is not None:
        kept, now.leaving = now.clash.kept, _said()
        _reread(now, book().get(now.id), _turn())
        book().delete(kept.id)
        now.said = f"Theirs is shown; yours is under Deleted as '{kept.title}'."


def cells_that_differ(mine: Document, theirs: Document) -> list[tuple[str, AnyCell | None, AnyCell | None]]:
    """Return (cell id, mine, theirs) of each cell that is not the same in both; None where there is none."""
    ours, others = ({c.id: c for c in d.cells} for d in (mine, theirs))
    ids = [*ours, *(i for i in others if i not in ours)]
    return [(i, ours.get(i), others.get(i)) for i in ids if ours.get(i) != others.get(i)]


def store() -> Store:
    """Return the store of this session."""
    return current().store
