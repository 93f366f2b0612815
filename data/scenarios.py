"""Scenarios a person saved: named questions with their parameters, kept with all that they ever were.

Nothing is overwritten: each change is a row of `scenario_history` in the workspace, the last row of a
scenario is what it is now, and a deleted one comes back by one more row.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from data.errors import UserError
from data.kept_documents import Change, Kept
from data.workspace import Workspace, utc_now

LONGEST_NAME = 80


@dataclass(frozen=True)
class Asked:
    """One question with all its parameters as JSON values, and the version of the parameters' meaning."""

    question: str
    params: Mapping[str, Any]
    version: int = 1


@dataclass(frozen=True)
class Content:
    """What a scenario is: its questions, the page it was made on and that page's address.

    `answer` is the answer line of the day it was saved: a later one may differ, since prices and data move.
    """

    asked: tuple[Asked, ...]
    page: str = ""
    address: Mapping[str, Sequence[str]] = field(default_factory=dict)
    answer: str = ""


@dataclass(frozen=True)
class Scenario:
    """A scenario as one of its rows had it; `created`, `changed` are UTC without zone."""

    id: int
    entry: int
    name: str
    content: Content
    created: datetime
    changed: datetime
    change: Change

    @property
    def deleted(self) -> bool:
        """Whether its last change took it from the list."""
        return self.change == "deleted"


_SELECT = """
SELECT h.id AS entry, h.scenario, h.at, h.change, h.name, h.document,
       (SELECT min(f.at) FROM scenario_history f WHERE f.scenario = h.scenario) AS created
FROM scenario_history h
"""
_LAST = "h.id = (SELECT max(l.id) FROM scenario_history l WHERE l.scenario = h.scenario)"
_KEPT = Kept("scenario", "name", LONGEST_NAME, _SELECT, _LAST)


class Scenarios:
    """The scenarios of a workspace. Every method is one transaction; names of live ones differ."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def all(self, *, deleted: bool = False) -> list[Scenario]:
        """Return the live ones, newest change first; with `deleted` those that were deleted instead."""
        with self._workspace.reading() as con:
            return [_scenario(row) for row in _KEPT.rows(con, deleted=deleted)]

    def get(self, scenario: int) -> Scenario:
        """Return a scenario, deleted or not; raises UserError when there never was one of this number."""
        with self._workspace.reading() as con:
            return _last(con, scenario)

    def history(self, scenario: int) -> list[Scenario]:
        """Return all that a scenario ever was, oldest first; raises UserError for an unknown one."""
        with self._workspace.reading() as con:
            rows = con.execute(f"{_SELECT} WHERE h.scenario = ? ORDER BY h.id", (scenario,)).fetchall()
        if not rows:
            raise _KEPT.unknown(scenario)
        return [_scenario(row) for row in rows]

    def save(self, name: str, content: Content, *, at: datetime | None = None) -> Scenario:
        """Keep a new scenario; raises UserError for an empty, overlong or taken name, or no question."""
        with self._workspace.connect() as con:
            clean = _free_name(con, name)
            return _append(con, None, "saved", clean, content, at)

    def replace(self, scenario: int, content: Content, *, at: datetime | None = None) -> Scenario:
        """Give a live scenario other content under its name; what it was stays in its history."""
        with self._workspace.connect() as con:
            held = _live(con, scenario)
            return _append(con, held.id, "saved", held.name, content, at)

    def rename(self, scenario: int, name: str, *, at: datetime | None = None) -> Scenario:
        """Give a live scenario another name; raises UserError where `save` would."""
        with self._workspace.connect() as con:
            held = _live(con, scenario)
            clean = _free_name(con, name, but=held.id)
            return _append(con, held.id, "renamed", clean, held.content, at)

    def copy(self, scenario: int, *, at: datetime | None = None) -> Scenario:
        """Keep the content of a scenario once more, named '… (copy)' or with the next free number."""
        with self._workspace.connect() as con:
            held = _last(con, scenario)
            return _append(con, None, "saved", _KEPT.copy_name(held.name, _KEPT.names(con)), held.content, at)

    def delete(self, scenario: int, *, at: datetime | None = None) -> Scenario:
        """Take a live scenario from the list; `restore` brings it back."""
        with self._workspace.connect() as con:
            held = _live(con, scenario)
            return _append(con, held.id, "deleted", held.name, held.content, at)

    def restore(self, scenario: int, entry: int | None = None, *, at: datetime | None = None) -> Scenario:
        """Bring a deleted scenario back, or a live one to what it was at an `entry` of its history.

        A name that another one took meanwhile gets a number. Raises UserError for an entry of another one.
        """
        with self._workspace.connect() as con:
            held = _last(con, scenario)
            row = con.execute(
                f"{_SELECT} WHERE h.scenario = ? AND h.id = ?", (scenario, entry or held.entry)
            ).fetchone()
            if row is None:
                raise UserError(
                    f"Scenario {scenario} has no version {entry}", "entry", "Pick one of its history."
                )
            was = _scenario(row)
            taken = was.name.casefold() in _KEPT.names(con, but=held.id)
            name = _KEPT.copy_name(was.name, _KEPT.names(con)) if taken else was.name
            return _append(con, held.id, "restored", name, was.content, at)


def _append(
    con: sqlite3.Connection,
    scenario: int | None,
    change: Change,
    name: str,
    content: Content,
    at: datetime | None,
) -> Scenario:
    """Add a row; a scenario without one gets the next number."""
    if not content.asked:
        raise UserError("A scenario needs at least one question", "scenario", "Save it from a page.")
    number = scenario
    if number is None:
        number = _KEPT.next_number(con)
    stamp = (at or utc_now()).isoformat()
    con.execute(
        "INSERT INTO scenario_history (scenario, at, change, name, document) VALUES (?, ?, ?, ?, ?)",
        (number, stamp, change, name, _document(content)),
    )
    return _last(con, int(number))


def _last(con: sqlite3.Connection, scenario: int) -> Scenario:
    return _scenario(_KEPT.last_row(con, scenario))


def _live(con: sqlite3.Connection, scenario: int) -> Scenario:
    held = _last(con, scenario)
    if held.deleted:
        raise _KEPT.is_deleted(held.name)
    return held


def _free_name(con: sqlite3.Connection, name: str, but: int | None = None) -> str:
    clean = _KEPT.clean(name)
    if clean.casefold() in _KEPT.names(con, but):
        raise UserError(f"There is a scenario '{clean}' already", "name", "Use another name.")
    return clean


def _document(content: Content) -> str:
    raw = {
        "asked": [
            {"question": one.question, "params": dict(one.params), "version": one.version}
            for one in content.asked
        ],
        "page": content.page,
        "address": {name: list(values) for name, values in content.address.items()},
        "answer": content.answer,
    }
    return json.dumps(raw, sort_keys=True, allow_nan=False)


def _scenario(row: sqlite3.Row) -> Scenario:
    raw = json.loads(row["document"])
    return Scenario(
        id=row["scenario"],
        entry=row["entry"],
        name=row["name"],
        content=Content(
            tuple(Asked(one["question"], one["params"], one["version"]) for one in raw["asked"]),
            raw["page"],
            raw["address"],
            raw["answer"],
        ),
        created=datetime.fromisoformat(row["created"]),
        changed=datetime.fromisoformat(row["at"]),
        change=_KEPT.change(row["change"]),
    )
