"""Links to frozen reports: 256-bit tokens shown once, only their hash kept, revoked for good at once."""

import hashlib
import ipaddress
import json
import os
import re
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from data.errors import UserError
from data.workspace import Workspace

TOKEN_BYTES = 32
WORKSPACE = "workspace.sqlite"
DEFAULT_EXPIRY = timedelta(days=7)
SHORTEST = timedelta(hours=1)
LONGEST = timedelta(days=90)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_NUMBER_DIGITS = 18
_SPAN = re.compile(r"(\d+)\s*(h|d)")
_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain"})


class LinkError(UserError):
    """A link cannot be made or found as asked."""


@dataclass(frozen=True)
class Link:
    """A link as kept: times are UTC, `expires_at` None means that it does not expire."""

    id: int
    title: str
    report_hash: str
    question: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_opened_at: datetime | None
    opens: int

    def state(self, now: datetime | None = None) -> str:
        """Return open, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= (now or datetime.now(UTC)):
            return "expired"
        return "open"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; no token and no token hash in it."""
        return {
            "id": self.id,
            "title": self.title,
            "state": self.state(),
            "question": self.question,
            "report": self.report_hash,
            "created_at": _text(self.created_at),
            "expires_at": _text(self.expires_at),
            "revoked_at": _text(self.revoked_at),
            "last_opened_at": _text(self.last_opened_at),
            "opens": self.opens,
        }


@dataclass(frozen=True)
class NewLink:
    """A link just made: the only moment at which its token is known."""

    link: Link
    token: str

    @property
    def path(self) -> str:
        """Path on the server, `/r/<token>`."""
        return f"/r/{self.token}"


class LinkBook:
    """The links of one home. Every call opens its own short SQLite transaction, so processes may share it."""

    def __init__(self, home: Path) -> None:
        if not home.is_dir():
            raise LinkError("There is no such home", str(home), "Start the app on it once, or check --home.")
        self._workspace = Workspace(home / WORKSPACE)

    def create(
        self,
        report_hash: str,
        title: str,
        *,
        expires_in: timedelta | None = DEFAULT_EXPIRY,
        question: str = "",
        params: Mapping[str, Any] | None = None,
        now: datetime | None = None,
    ) -> NewLink:
        """Make a link to a frozen report; LinkError unless it expires in 1 h to 90 d or never (None)."""
        if expires_in is not None and not SHORTEST <= expires_in <= LONGEST:
            raise LinkError("A link lasts from 1 hour to 90 days, or has no expiry", "expires", "Choose 7d.")
        token = secrets.token_urlsafe(TOKEN_BYTES)
        made = now or datetime.now(UTC)
        values = (
            token_hash(token),
            report_hash,
            f"{report_hash}.html",
            title,
            _text(made),
            _text(made + expires_in) if expires_in else None,
            question,
            json.dumps(dict(params or {}), sort_keys=True, default=str),
        )
        with self._workspace.connect() as db:
            number = db.execute(
                "INSERT INTO links (token_sha256, report_sha256, report_file, title, created_at, expires_at,"
                " question, params) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            ).lastrowid
            row = db.execute("SELECT * FROM links WHERE id = ?", (number,)).fetchone()
        return NewLink(_link(row), token)

    def open(self, token: str, *, count: bool = True, now: datetime | None = None) -> Link | None:
        """Return the open link of a token and count the opening; None if unknown, expired or revoked."""
        if not _TOKEN.fullmatch(token):
            return None
        moment = now or datetime.now(UTC)
        with self._workspace.reading() as db:
            row = db.execute("SELECT * FROM links WHERE token_sha256 = ?", (token_hash(token),)).fetchone()
        link = _link(row) if row else None
        if link is None or link.state(moment) != "open":
            return None
        if count:
            self.count(link, moment)
        return link

    def count(self, link: Link, now: datetime | None = None) -> None:
        """Count an opening."""
        with self._workspace.connect() as db:
            db.execute(
                "UPDATE links SET opened = opened + 1, last_opened_at = ? WHERE id = ?",
                (_text(now or datetime.now(UTC)), link.id),
            )

    def all(self) -> list[Link]:
        """Return every link, newest first."""
        with self._workspace.reading() as db:
            rows = db.execute("SELECT * FROM links ORDER BY id DESC").fetchall()
        return [_link(row) for row in rows]

    def revoke(self, reference: str, now: datetime | None = None) -> Link:
        """Revoke by number, token, path or whole address; for good, at once, and again without harm."""
        with self._workspace.connect() as db:
            number = _number(reference)
            if number is not None:
                row = db.execute("SELECT * FROM links WHERE id = ?", (number,)).fetchone()
            else:
                digest = token_hash(_token_of(reference))
                row = db.execute("SELECT * FROM links WHERE token_sha256 = ?", (digest,)).fetchone()
            if row is None:
                raise LinkError(
                    "There is no such link", reference[:12], "See the numbers in `cli.py link list`."
                )
            db.execute(
                "UPDATE links SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?",
                (_text(now or datetime.now(UTC)), row["id"]),
            )
            row = db.execute("SELECT * FROM links WHERE id = ?", (row["id"],)).fetchone()
        return _link(row)


def token_hash(token: str) -> str:
    """Return what is kept of a token: its SHA-256, 64 hex digits."""
    return hashlib.sha256(token.encode()).hexdigest()


def expiry(text: str) -> timedelta | None:
    """Parse `1h` to `90d`, or `none`; LinkError otherwise."""
    if text.strip().lower() == "none":
        return None
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise LinkError(f"'{text}' is not a time span", "expires", "Write 12h, 7d or none.")
    count = min(int(found.group(1)), 24 * LONGEST.days + 1)
    span = timedelta(hours=count) if found.group(2) == "h" else timedelta(days=count)
    if not SHORTEST <= span <= LONGEST:
        raise LinkError("A link lasts from 1 hour to 90 days, or has no expiry", "expires", "Choose 7d.")
    return span


def base_url() -> str | None:
    """Return IPD_BASE_URL without its last slash, None when not set; LinkError when it is no address."""
    raw = os.environ.get("IPD_BASE_URL", "").strip()
    if not raw:
        return None
    parts = urlsplit(raw)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise LinkError(
            f"'{raw}' is not an address", "IPD_BASE_URL", "Write it like https://ipd.example.org."
        )
    return raw.rstrip("/")


def absolute(path: str, port: int | None = None) -> str:
    """Return the whole address of a link: on IPD_BASE_URL, else on localhost at `port`."""
    base = base_url()
    if base is None:
        base = f"http://localhost:{port}" if port else "http://localhost"
    return base + path


def is_local_only() -> bool:
    """Return whether links reach nobody but the person at this machine."""
    base = base_url()
    return base is None or is_loopback(urlsplit(base).hostname or "")


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine itself."""
    name = host.strip("[]").lower().rstrip(".")
    if name in _LOCAL_NAMES or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _number(reference: str) -> int | None:
    return int(reference) if reference.isdecimal() and len(reference) < _NUMBER_DIGITS else None


def _token_of(reference: str) -> str:
    return urlsplit(reference).path.rstrip("/").rsplit("/", 1)[-1]


def _link(row: sqlite3.Row) -> Link:
    return Link(
        id=row["id"],
        title=row["title"],
        report_hash=row["report_sha256"],
        question=row["question"] or "",
        created_at=_time(row["created_at"]) or datetime.min.replace(tzinfo=UTC),
        expires_at=_time(row["expires_at"]),
        revoked_at=_time(row["revoked_at"]),
        last_opened_at=_time(row["last_opened_at"]),
        opens=row["opened"],
    )


def _text(value: datetime | None) -> str | None:
    return value.astimezone(UTC).isoformat(timespec="seconds") if value else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
