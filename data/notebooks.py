"""Notebooks of a home, kept with what they were.

Nothing is overwritten: each save is a row of `notebook_history` in the workspace, the last row of a notebook
is what it is now, and a deleted one comes back by one more row. Two windows that edit one notebook cannot
overwrite each other: a save names the version it started from.

Autosave makes a version every few seconds, so old ones are thinned: those of the last hour all stay, before
that the last of each hour, and before a day the last of each day (UTC). What a person did on purpose stays
for ever: the first version, each that gave another title, deleted and brought back; and the present one.
"""

import json
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from data.errors import UserError
from data.kept_documents import Change, Kept
from data.workspace import Workspace, utc_now

LONGEST_TITLE = 120
MOST_BYTES = 4_000_000


@dataclass(frozen=True)
class Entry:
    """One version of a notebook without its document; `changed` is UTC without zone."""

    version: int
    changed: datetime
    change: Change
    title: str


@dataclass(frozen=True)
class Saved:
    """A notebook as one of its versions had it; `document` is JSON text, its `title` is the one here.

    `version` counts from 1 and grows by one with every change; `created`, `changed` are UTC without zone.
    """

    id: int
    version: int
    title: str
    document: str
    created: datetime
    changed: datetime
    change: Change

    @property
    def deleted(self) -> bool:
        """Whether its last change took it from the list."""
        return self.change == "deleted"

    @property
    def saved_at(self) -> datetime:
        """When it last changed, UTC without zone."""
        return self.changed


@dataclass
class Conflict(UserError):  # noqa: N818 - the word on screen; its base is an Error
    """Another window saved first: `newer` is what it saved. The refused document is still the caller's."""

    newer: Saved | None = None


_SELECT = """
SELECT h.notebook, h.version, h.at, h.change, h.title, h.document,
       (SELECT min(f.at) FROM notebook_history f WHERE f.notebook = h.notebook AND f.version = 1) AS created
FROM notebook_history h
"""
_LAST = "h.version = (SELECT max(l.version) FROM notebook_history l WHERE l.notebook = h.notebook)"
_KEPT = Kept("notebook", "title", LONGEST_TITLE, _SELECT, _LAST)
_ALL_STAY, _HOURLY = timedelta(hours=1), timedelta(days=1)
_THIN = """
DELETE FROM notebook_history WHERE id IN (
    SELECT id FROM (
        SELECT id, version, at, change, title IS NOT lag(title) OVER (ORDER BY version) AS titled,
               max(version) OVER (PARTITION BY substr(at, 1, iif(at >= :day, 13, 10))) AS kept
        FROM notebook_history WHERE notebook = :notebook
    ) WHERE change = 'saved' AND at < :hour AND version < kept AND NOT titled
)
"""
"""Letters 1 to 10 of a time are its day, 1 to 13 its hour."""


class Notebooks:
    """The notebooks of a workspace. Every method is one transaction; two may share a title."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def all(self, *, deleted: bool = False) -> list[Saved]:
        """Return the live ones, newest change first; with `deleted` those that were deleted instead."""
        with self._workspace.reading() as con:
            return [_saved(row) for row in _KEPT.rows(con, deleted=deleted)]

    def get(self, notebook: int) -> Saved:
        """Return a notebook, deleted or not; raises UserError when there never was one of this number."""
        with self._workspace.reading() as con:
            return _last(con, notebook)

    def history(self, notebook: int) -> list[Entry]:
        """Return the kept versions of a notebook, oldest first; raises UserError for an unknown one."""
        with self._workspace.reading() as con:
            rows = con.execute(
                "SELECT version, at, change, title FROM notebook_history WHERE notebook = ? ORDER BY version",
                (notebook,),
            ).fetchall()
        if not rows:
            raise _KEPT.unknown(notebook)
        return [
            Entry(r["version"], datetime.fromisoformat(r["at"]), _KEPT.change(r["change"]), r["title"])
            for r in rows
        ]

    def version(self, notebook: int, version: int) -> Saved:
        """Return a notebook as it was; raises UserError for a version that is not kept."""
        with self._workspace.reading() as con:
            return _at(con, notebook, version)

    def create(self, document: str, *, at: datetime | None = None) -> Saved:
        """Keep a new notebook under the title in its document; raises UserError for no title or no JSON."""
        with self._workspace.connect() as con:
            return _append(con, None, "saved", document, _title_in(document), at)

    def save(
        self, notebook: int, document: str, title: str, version: int, *, at: datetime | None = None
    ) -> Saved:
        """Keep what a window made of `version`; an unchanged document makes no new version.

        Raises Conflict, with what was saved meanwhile, when `version` is not the last one.
        """
        with self._workspace.connect() as con:
            held = _last(con, notebook)
            if version != held.version:
                raise _conflict(held)
            _alive(held)
            if _titled(document, title) == held.document:
                return held
            saved = _append(con, notebook, "saved", document, title, at)
            _thin(con, saved)
            return saved

    def rename(self, notebook: int, title: str, *, at: datetime | None = None) -> Saved:
        """Give a live notebook another title."""
        with self._workspace.connect() as con:
            held = _alive(_last(con, notebook))
            return _append(con, notebook, "renamed", held.document, title, at)

    def copy(self, notebook: int, *, at: datetime | None = None) -> Saved:
        """Keep a notebook once more, titled '… (copy)' or with the next free number."""
        with self._workspace.connect() as con:
            held = _last(con, notebook)
            return _append(
                con, None, "saved", held.document, _KEPT.copy_name(held.title, _KEPT.names(con)), at
            )

    def delete(self, notebook: int, *, at: datetime | None = None) -> Saved:
        """Take a live notebook from the list; `restore` brings it back."""
        with self._workspace.connect() as con:
            held = _alive(_last(con, notebook))
            return _append(con, notebook, "deleted", held.document, held.title, at)

    def restore(self, notebook: int, *, at: datetime | None = None) -> Saved:
        """Bring a deleted notebook back; a live one stays as it is."""
        with self._workspace.connect() as con:
            held = _last(con, notebook)
            if not held.deleted:
                return held
            return _append(con, notebook, "restored", held.document, held.title, at)

    def restore_version(self, notebook: int, version: int, *, at: datetime | None = None) -> Saved:
        """Make an earlier version the newest one; all between stay in the history."""
        with self._workspace.connect() as con:
            was = _at(con, notebook, version)
            return _append(con, notebook, "restored", was.document, was.title, at)


def _append(
    con: sqlite3.Connection,
    notebook: int | None,
    change: Change,
    document: str,
    title: str,
    at: datetime | None,
) -> Saved:
    """Add a version; a notebook without a number gets the next one."""
    number, version = notebook, 1
    if number is None:
        number = _KEPT.next_number(con)
    else:
        version = _last(con, number).version + 1
    text = _titled(document, title)
    if len(text.encode()) > MOST_BYTES:
        raise UserError(
            f"The notebook has {len(text.encode()) / 1e6:.1f} MB of text", "notebook", "Split it in two."
        )
    con.execute(
        "INSERT INTO notebook_history (notebook, version, at, change, title, document) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (number, version, (at or utc_now()).isoformat(), change, _KEPT.clean(title), text),
    )
    return _last(con, int(number))


def _thin(con: sqlite3.Connection, now: Saved) -> None:
    """Drop autosaved versions that later ones of their hour or day stand for."""
    hour, day = (now.changed - age for age in (_ALL_STAY, _HOURLY))
    con.execute(_THIN, {"notebook": now.id, "hour": hour.isoformat(), "day": day.isoformat()})


def _at(con: sqlite3.Connection, notebook: int, version: int) -> Saved:
    _last(con, notebook)
    row = con.execute(f"{_SELECT} WHERE h.notebook = ? AND h.version = ?", (notebook, version)).fetchone()
    if row is None:
        raise UserError(
            f"Notebook {notebook} has no version {version}", "version", "Pick one of its history."
        )
    return _saved(row)


def _last(con: sqlite3.Connection, notebook: int) -> Saved:
    return _saved(_KEPT.last_row(con, notebook))


def _alive(held: Saved) -> Saved:
    if held.deleted:
        raise _KEPT.is_deleted(held.title)
    return held


def _conflict(held: Saved) -> Conflict:
    did = "deleted" if held.deleted else "saved"
    when = f"{held.changed:%Y-%m-%d %H:%M:%S} UTC"
    return Conflict(
        f"Another window {did} '{held.title}' at {when}, as version {held.version}",
        "notebook",
        "Reload what it saved, or keep yours as a copy; nothing is lost.",
        newer=held,
    )


def _loaded(document: str) -> dict[str, object]:
    try:
        raw = json.loads(document)
    except json.JSONDecodeError as error:
        raise UserError(f"This is no notebook: {error}", "document", "Save it from the page.") from error
    if not isinstance(raw, dict):
        raise UserError("This is no notebook: no JSON object", "document", "Save it from the page.")
    return raw


def _title_in(document: str) -> str:
    return str(_loaded(document).get("title", ""))


def _titled(document: str, title: str) -> str:
    """The stored form: the document with this title, equal for equal content."""
    raw = {**_loaded(document), "title": _KEPT.clean(title)}
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _saved(row: sqlite3.Row) -> Saved:
    return Saved(
        id=row["notebook"],
        version=row["version"],
        title=row["title"],
        document=row["document"],
        created=datetime.fromisoformat(row["created"]),
        changed=datetime.fromisoformat(row["at"]),
        change=_KEPT.change(row["change"]),
    )
