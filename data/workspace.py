"""The workspace: decisions and things people made, in SQLite. Telemetry = originals + decisions."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from data.errors import UserError

Kind = Literal[
    "upload",
    "undo_upload",
    "run_details",
    "remove_example",
    "join",
    "undo_join",
    "price",
    "currency_rate",
    "sharing_rule",
]
MONEY_KINDS = ("price", "currency_rate", "sharing_rule")
"""Decisions that no upload needs: a view pins them, and the newest of its subject counts."""

_TABLES = """
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    upload_sha256 TEXT,
    run TEXT,
    payload TEXT NOT NULL,
    undone_by INTEGER REFERENCES decisions (id)
);
CREATE TRIGGER IF NOT EXISTS decisions_append_only BEFORE DELETE ON decisions
BEGIN SELECT RAISE(ABORT, 'decisions are append-only'); END;
CREATE TRIGGER IF NOT EXISTS decisions_fixed
BEFORE UPDATE OF id, at, kind, upload_sha256, run, payload ON decisions
BEGIN SELECT RAISE(ABORT, 'decisions are append-only'); END;
CREATE TABLE IF NOT EXISTS links (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token_sha256 TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    question TEXT,
    params TEXT,
    report_sha256 TEXT NOT NULL,
    report_file TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT,
    last_opened_at TEXT,
    opened INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS notebooks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    document TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    updated_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS scenarios (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    document TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    updated_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS scenario_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scenario INTEGER NOT NULL,
    at TEXT NOT NULL,
    change TEXT NOT NULL,
    name TEXT NOT NULL,
    document TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS scenario_history_by_scenario ON scenario_history (scenario, id);
CREATE TRIGGER IF NOT EXISTS scenario_history_append_only BEFORE DELETE ON scenario_history
BEGIN SELECT RAISE(ABORT, 'scenarios are append-only'); END;
CREATE TRIGGER IF NOT EXISTS scenario_history_fixed BEFORE UPDATE ON scenario_history
BEGIN SELECT RAISE(ABORT, 'scenarios are append-only'); END;
CREATE TABLE IF NOT EXISTS price_overrides (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    price_id TEXT NOT NULL,
    value REAL NOT NULL CHECK (value > 0),
    unit TEXT NOT NULL,
    source TEXT NOT NULL,
    date TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    token_sha256 TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT
);
"""
_UPGRADES = (
    """
ALTER TABLE tokens ADD COLUMN last_used_at TEXT;
CREATE TABLE mappings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    header_sha256 TEXT NOT NULL,
    document TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX mappings_by_header ON mappings (header_sha256);
""",
    """
CREATE TABLE forecasts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    made_at TEXT NOT NULL,
    note TEXT NOT NULL,
    params TEXT NOT NULL,
    document TEXT NOT NULL
);
CREATE TRIGGER forecasts_append_only BEFORE DELETE ON forecasts
BEGIN SELECT RAISE(ABORT, 'forecasts are append-only'); END;
CREATE TRIGGER forecasts_fixed BEFORE UPDATE ON forecasts
BEGIN SELECT RAISE(ABORT, 'forecasts are append-only'); END;
""",
    """
CREATE TABLE notebook_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    notebook INTEGER NOT NULL,
    version INTEGER NOT NULL,
    at TEXT NOT NULL,
    change TEXT NOT NULL,
    title TEXT NOT NULL,
    document TEXT NOT NULL,
    UNIQUE (notebook, version)
);
CREATE TRIGGER notebook_history_append_only BEFORE DELETE ON notebook_history
BEGIN SELECT RAISE(ABORT, 'notebooks are append-only'); END;
CREATE TRIGGER notebook_history_fixed BEFORE UPDATE ON notebook_history
BEGIN SELECT RAISE(ABORT, 'notebooks are append-only'); END;
""",
    """
ALTER TABLE links ADD COLUMN kind TEXT NOT NULL DEFAULT 'frozen' CHECK (kind IN ('frozen', 'live'));
ALTER TABLE links ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN paused_at TEXT;
ALTER TABLE links ADD COLUMN rotated_at TEXT;
ALTER TABLE links ADD COLUMN passphrase TEXT;
ALTER TABLE links ADD COLUMN wrong_tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN wait_until TEXT;
ALTER TABLE links ADD COLUMN embed_origins TEXT NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN exportable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN hidden TEXT;
ALTER TABLE links ADD COLUMN recipe TEXT;
ALTER TABLE links ADD COLUMN card TEXT;
""",
    """
DROP TRIGGER notebook_history_append_only;
CREATE TRIGGER notebook_history_kept BEFORE DELETE ON notebook_history
WHEN OLD.change <> 'saved' OR OLD.version = 1
    OR OLD.version = (SELECT max(version) FROM notebook_history WHERE notebook = OLD.notebook)
BEGIN SELECT RAISE(ABORT, 'notebooks are append-only'); END;
""",
)
"""What each version above 1 adds to the tables; an entry that has been released is never edited."""
_VERSION = 1 + len(_UPGRADES)


@dataclass(frozen=True)
class Decision:
    """One thing a person decided. `at` is UTC without zone; `undone_by` is the id of a later decision."""

    id: int
    at: datetime
    kind: str
    upload_sha256: str | None
    run: str | None
    payload: dict[str, Any]
    undone_by: int | None


def _statements(text: str) -> Iterator[str]:
    """Each whole statement; a trigger holds semicolons of its own."""
    piece = ""
    for line in text.splitlines(keepends=True):
        piece += line
        if sqlite3.complete_statement(piece):
            yield piece
            piece = ""
    if piece.strip():
        raise ValueError(f"no whole statement: {piece}")


def utc_now() -> datetime:
    """Now in UTC, without zone, as all stored times are."""
    return datetime.now(UTC).replace(tzinfo=None)


class Workspace:
    """`workspace.sqlite` of a home. Safe from any thread: every call opens its own short connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.connect() as con:
            (version,) = con.execute("PRAGMA user_version").fetchone()
            if version > _VERSION:
                raise UserError(
                    f"The workspace has version {version}, this app knows {_VERSION}",
                    str(path),
                    "Update the app.",
                )
        with self._raw() as con:
            con.execute("PRAGMA journal_mode = WAL")
            con.executescript(_TABLES)
        self._upgrade()

    def _upgrade(self) -> None:
        with self.connect() as con:
            (version,) = con.execute("PRAGMA user_version").fetchone()
            for statements in _UPGRADES[max(version, 1) - 1 :]:
                for statement in _statements(statements):
                    con.execute(statement)
            con.execute(f"PRAGMA user_version = {_VERSION}")

    @contextmanager
    def connect(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A connection in one write transaction: committed at the end, rolled back when the block raises.

        Not `durable`: a power cut may take the transaction back, and nothing waits for the disk.
        """
        with self._raw() as con:
            if not durable:
                con.execute("PRAGMA synchronous = NORMAL")
            con.execute("BEGIN IMMEDIATE")
            try:
                yield con
            except BaseException:
                con.execute("ROLLBACK")
                raise
            con.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for SELECTs, which never waits for a writer."""
        with self._raw() as con:
            con.execute("PRAGMA query_only = ON")
            yield con

    def held(self) -> sqlite3.Connection:
        """An idle connection for as long as it is kept.

        The last connection that closes writes the log into the file and waits for the disk: while one is
        held, the others do not. It holds no lock.
        """
        con = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        con.execute("SELECT 1 FROM sqlite_master").fetchone()
        return con

    @contextmanager
    def _raw(self) -> Iterator[sqlite3.Connection]:
        con = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        con.row_factory = sqlite3.Row
        try:
            con.execute("PRAGMA foreign_keys = ON")
            con.execute("PRAGMA synchronous = FULL")
            yield con
        finally:
            con.close()

    def decide(
        self,
        kind: Kind,
        payload: Mapping[str, Any],
        *,
        upload_sha256: str | None = None,
        run: str | None = None,
        at: datetime | None = None,
    ) -> Decision:
        """Append a decision. An undo marks the live upload decisions, or the last join, it takes back."""
        if kind not in get_args(Kind):
            raise ValueError(f"unknown kind of decision: {kind}")
        stamp = at or utc_now()
        text = json.dumps(dict(payload), sort_keys=True, default=str)
        with self.connect() as con:
            cursor = con.execute(
                "INSERT INTO decisions (at, kind, upload_sha256, run, payload) VALUES (?, ?, ?, ?, ?)",
                (stamp.isoformat(), kind, upload_sha256, run, text),
            )
            number = int(cursor.lastrowid or 0)
            if kind == "undo_upload":
                con.execute(
                    "UPDATE decisions SET undone_by = ? WHERE kind = 'upload' AND upload_sha256 = ? "
                    "AND undone_by IS NULL",
                    (number, upload_sha256),
                )
            if kind == "undo_join":
                con.execute(
                    "UPDATE decisions SET undone_by = ? WHERE id = (SELECT max(id) FROM decisions "
                    "WHERE kind = 'join' AND upload_sha256 = ? AND undone_by IS NULL)",
                    (number, upload_sha256),
                )
            if kind == "remove_example":
                con.execute(
                    "UPDATE decisions SET undone_by = ? WHERE kind = 'upload' AND undone_by IS NULL "
                    "AND json_extract(payload, '$.choices.synthetic')",
                    (number,),
                )
        return Decision(number, stamp, kind, upload_sha256, run, json.loads(text), None)

    def decisions(self, *, live_only: bool = False, kinds: Sequence[str] = ()) -> list[Decision]:
        """Decisions of `kinds` (all when empty), oldest first; `live_only` leaves undone ones out."""
        terms = ["undone_by IS NULL"] if live_only else []
        if kinds:
            terms.append(f"kind IN ({', '.join('?' * len(kinds))})")
        where = f"WHERE {' AND '.join(terms)}" if terms else ""
        with self.reading() as con:
            rows = con.execute(f"SELECT * FROM decisions {where} ORDER BY id", tuple(kinds)).fetchall()
        return [
            Decision(
                id=r["id"],
                at=datetime.fromisoformat(r["at"]),
                kind=r["kind"],
                upload_sha256=r["upload_sha256"],
                run=r["run"],
                payload=json.loads(r["payload"]),
                undone_by=r["undone_by"],
            )
            for r in rows
        ]

    def last_decision_id(self) -> int:
        """Id of the newest decision, 0 when there is none."""
        with self.reading() as con:
            (number,) = con.execute("SELECT coalesce(max(id), 0) FROM decisions").fetchone()
        return int(number)
