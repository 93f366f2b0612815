"""Bearer tokens with which a training loop pushes telemetry: shown once, only their hash kept."""

import secrets
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from data.errors import UserError
from data.workspace import Workspace
from reports.link_terms import TOKEN_BYTES, token_hash
from reports.links import WORKSPACE

PREFIX = "ipd_"
SCOPE = "push"
LONGEST_DAYS = 366
NAME_LIMIT = 80


class PushTokenError(UserError):
    """A push token cannot be made or found as asked."""


@dataclass(frozen=True)
class PushToken:
    """A token as kept: times are UTC, `expires_at` None means that it lasts until it is revoked."""

    id: int
    name: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def state(self, now: datetime | None = None) -> str:
        """Return live, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= (now or datetime.now(UTC)):
            return "expired"
        return "live"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; neither the token nor its hash is in it."""
        times = {
            name: getattr(self, name) for name in ("created_at", "expires_at", "revoked_at", "last_used_at")
        }
        texts = {
            name: value.isoformat(timespec="seconds") if value else None for name, value in times.items()
        }
        return {"id": self.id, "name": self.name, "state": self.state(), **texts}


class PushTokens:
    """The push tokens of one home."""

    def __init__(self, home: Path) -> None:
        self._workspace = Workspace(home / WORKSPACE)

    def create(self, name: str, days: int | None = 90, now: datetime | None = None) -> tuple[PushToken, str]:
        """Return a new token and its secret, which is not kept; `days` None: until revoked.

        Raises PushTokenError for an empty or long name, or a span outside 1..366 days.
        """
        wanted = name.strip()
        if not wanted or len(wanted) > NAME_LIMIT:
            raise PushTokenError(
                f"A token needs a name of 1 to {NAME_LIMIT} characters", "name", "Name the job that pushes."
            )
        if days is not None and not 1 <= days <= LONGEST_DAYS:
            raise PushTokenError(
                f"A token lasts 1 to {LONGEST_DAYS} days, or until it is revoked", "days", "Choose 90."
            )
        secret = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        made = (now or datetime.now(UTC)).replace(microsecond=0)
        until = (made + timedelta(days=days)).isoformat() if days else None
        with self._workspace.connect() as db:
            number = db.execute(
                "INSERT INTO tokens (name, token_sha256, scope, created_at, expires_at) "
                "VALUES (?, ?, ?, ?, ?)",
                (wanted, token_hash(secret), SCOPE, made.isoformat(), until),
            ).lastrowid
            row = db.execute("SELECT * FROM tokens WHERE id = ?", (number,)).fetchone()
        return _token(row), secret

    def check(self, secret: str, now: datetime | None = None) -> PushToken | None:
        """Return the live token of a secret and note its use; None when unknown, expired or revoked."""
        if not secret.startswith(PREFIX):
            return None
        moment = now or datetime.now(UTC)
        with self._workspace.reading() as db:
            row = db.execute(
                "SELECT * FROM tokens WHERE token_sha256 = ? AND scope = ?", (token_hash(secret), SCOPE)
            ).fetchone()
        found = _token(row) if row else None
        if found is None or found.state(moment) != "live":
            return None
        with self._workspace.connect() as db:
            db.execute(
                "UPDATE tokens SET last_used_at = ? WHERE id = ?",
                (moment.isoformat(timespec="seconds"), found.id),
            )
        return found

    def all(self) -> list[PushToken]:
        """Return every token, newest first."""
        with self._workspace.reading() as db:
            rows = db.execute("SELECT * FROM tokens WHERE scope = ? ORDER BY id DESC", (SCOPE,)).fetchall()
        return [_token(row) for row in rows]

    def revoke(self, number: int, now: datetime | None = None) -> PushToken:
        """Revoke for good; again without harm. Raises PushTokenError for an unknown number."""
        moment = (now or datetime.now(UTC)).isoformat(timespec="seconds")
        with self._workspace.connect() as db:
            db.execute(
                "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? AND scope = ?",
                (moment, number, SCOPE),
            )
            row = db.execute("SELECT * FROM tokens WHERE id = ? AND scope = ?", (number, SCOPE)).fetchone()
        if row is None:
            raise PushTokenError(f"There is no push token {number}", "id", "See the list on Telemetry.")
        return _token(row)


def _token(row: sqlite3.Row) -> PushToken:
    def time(name: str) -> datetime | None:
        return datetime.fromisoformat(row[name]) if row[name] else None

    return PushToken(
        id=row["id"],
        name=row["name"],
        created_at=time("created_at") or datetime.min.replace(tzinfo=UTC),
        expires_at=time("expires_at"),
        revoked_at=time("revoked_at"),
        last_used_at=time("last_used_at"),
    )
