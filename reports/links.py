"""Links to reports: 256-bit tokens shown once, only their hash kept; paused, rotated or revoked at once."""

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from data.workspace import Workspace
from reports import passphrase as phrases
from reports.link_terms import (
    DEFAULT_EXPIRY,
    TOKEN,
    TOKEN_BYTES,
    LinkError,
    check_span,
    origins,
    token_hash,
)

WORKSPACE = "workspace.sqlite"
Kind = Literal["frozen", "live"]
LONGEST_LABEL = 120
_NUMBER_DIGITS = 18


@dataclass(frozen=True)
class Link:
    """A link as kept: times are UTC, `expires_at` None means that it does not expire.

    `title` is the report's, `label` the author's own and never shown to a reader. `hidden` says in words what
    the report leaves out, None where that was not noted. `card` is the preview as fixed when the link was
    made. `recipe` is what a live link computes.
    """

    id: int
    title: str
    report_hash: str
    question: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_opened_at: datetime | None
    opens: int
    kind: str = "frozen"
    label: str = ""
    paused_at: datetime | None = None
    rotated_at: datetime | None = None
    embed_origins: tuple[str, ...] = ()
    exportable: bool = False
    hidden: str | None = None
    recipe: Mapping[str, Any] | None = None
    card: Mapping[str, str] | None = None
    wait_until: datetime | None = None
    passphrase: str | None = field(default=None, repr=False)
    token_digest: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """What its author calls it: the label, else the title of the report."""
        return self.label or self.title

    def state(self, now: datetime | None = None) -> str:
        """Return open, paused, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= (now or datetime.now(UTC)):
            return "expired"
        return "open" if self.paused_at is None else "paused"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; no token, no passphrase and no hash of either in it."""
        return {
            "id": self.id,
            "label": self.name,
            "title": self.title,
            "kind": self.kind,
            "state": self.state(),
            "question": self.question,
            "report": self.report_hash,
            "created_at": _text(self.created_at),
            "expires_at": _text(self.expires_at),
            "paused_at": _text(self.paused_at),
            "rotated_at": _text(self.rotated_at),
            "revoked_at": _text(self.revoked_at),
            "last_opened_at": _text(self.last_opened_at),
            "opens": self.opens,
            "passphrase": self.passphrase is not None,
            "embed_origins": list(self.embed_origins),
            "exportable": self.exportable,
            "hidden": self.hidden,
        }


@dataclass(frozen=True)
class NewLink:
    """A link just made or rotated: the only moment at which its token is known."""

    link: Link
    token: str

    @property
    def path(self) -> str:
        """Path on the server, `/r/<token>`: 46 characters."""
        return f"/r/{self.token}"


class LinkBook:
    """The links of one home. Every call opens its own short SQLite transaction, so processes may share it.

    `ref` is a link's number, token, path or whole address.
    """

    def __init__(self, home: Path) -> None:
        if not home.is_dir():
            raise LinkError("There is no such home", str(home), "Start the app on it once, or check --home.")
        self.home = home
        self._held: sqlite3.Connection | None = None
        self._workspace = Workspace(home / WORKSPACE)

    def stay(self) -> "LinkBook":
        """Return this book with its file held open: for a server, whose readers do not wait for the disk."""
        self._held = self._workspace.held()
        return self

    def create(
        self,
        report_hash: str,
        title: str,
        *,
        expires_in: timedelta | None = DEFAULT_EXPIRY,
        question: str = "",
        params: Mapping[str, Any] | None = None,
        kind: Kind = "frozen",
        recipe: Mapping[str, Any] | None = None,
        label: str = "",
        passphrase: str | None = None,
        embed_origins: Iterable[str] = (),
        exportable: bool = False,
        hidden: str = "",
        card: Mapping[str, str] | None = None,
        now: datetime | None = None,
    ) -> NewLink:
        """Make a link; LinkError when expiry, passphrase or origins are not what a link may have.

        A live link has a `recipe` and no report hash, a frozen one the other way round.
        """
        check_span(expires_in)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        made = now or datetime.now(UTC)
        values = {
            "token_sha256": token_hash(token),
            **_target(report_hash, kind, recipe),
            "title": title,
            "created_at": _text(made),
            "expires_at": _text(made + expires_in) if expires_in else None,
            "question": question,
            "params": _json(dict(params or {})),
            "exportable": int(exportable),
            "hidden": hidden,
            **_chosen(label, passphrase, embed_origins, card),
        }
        with self._workspace.connect() as db:
            return NewLink(_inserted(db, values), token)

    def open(self, token: str, *, count: bool = True, now: datetime | None = None) -> Link | None:
        """Return the open link of a token and count the opening; None if unknown or closed for any reason."""
        if not TOKEN.fullmatch(token):
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
        """Count an opening; the reader does not wait for the disk."""
        with self._workspace.connect(durable=False) as db:
            db.execute(
                "UPDATE links SET opened = opened + 1, last_opened_at = ? WHERE id = ?",
                (_text(now or datetime.now(UTC)), link.id),
            )

    def all(self) -> list[Link]:
        """Return every link, newest first."""
        with self._workspace.reading() as db:
            rows = db.execute("SELECT * FROM links ORDER BY id DESC").fetchall()
        return [_link(row) for row in rows]

    def get(self, ref: str) -> Link:
        """Return one link in whatever state; LinkError when there is none."""
        with self._workspace.reading() as db:
            return _link(_find(db, ref))

    def revoke(self, ref: str, now: datetime | None = None) -> Link:
        """Close for good, at once, and again without harm."""
        return self._change(ref, revoked=True, revoked_at=lambda old: old or _text(now or datetime.now(UTC)))

    def pause(self, ref: str, now: datetime | None = None) -> Link:
        """Let it open nothing until it is resumed; its address stays the same."""
        return self._change(ref, paused_at=lambda old: old or _text(now or datetime.now(UTC)))

    def resume(self, ref: str) -> Link:
        """Let a paused link open again."""
        return self._change(ref, paused_at=None)

    def rotate(self, ref: str, now: datetime | None = None) -> NewLink:
        """Give the link a new token; the old one opens nothing from this moment."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        stamp = _text(now or datetime.now(UTC))
        return NewLink(self._change(ref, token_sha256=token_hash(token), rotated_at=stamp), token)

    def set_label(self, ref: str, label: str) -> Link:
        """Name the link for its author; '' goes back to the report's title."""
        return self._change(ref, label=_label(label))

    def set_expiry(self, ref: str, span: timedelta | None, now: datetime | None = None) -> Link:
        """Let it open for `span` from now on, or without end; opens an expired link again."""
        check_span(span)
        until = _text((now or datetime.now(UTC)) + span) if span else None
        return self._change(ref, expires_at=until)

    def set_passphrase(self, ref: str, phrase: str | None) -> Link:
        """Ask readers for this phrase, or for none; whoever came in with the old one is asked again."""
        kept = phrases.keep(phrase) if phrase else None
        return self._change(ref, passphrase=kept, wrong_tries=0, wait_until=None)

    def set_access(self, ref: str, *, embed_origins: Iterable[str], exportable: bool) -> Link:
        """Say which pages may frame it and whether readers may download its tables."""
        return self._change(ref, embed_origins=" ".join(origins(embed_origins)), exportable=int(exportable))

    def try_phrase(self, link: Link, phrase: str, now: datetime | None = None) -> bool:
        """Return whether the phrase is right; the try counts before it is looked at, so none is free.

        LinkError while the link makes everybody wait; its `remedy` says until when.
        """
        if link.passphrase is None:
            return True
        moment = now or datetime.now(UTC)
        with self._workspace.connect() as db:
            row = _row(db, link.id)
            until = _time(row["wait_until"])
            if until is not None and until > moment:
                raise LinkError("Too many wrong passphrases", "", f"Try again after {until:%H:%M:%S} UTC.")
            tries = row["wrong_tries"] + 1
            wait = phrases.wait_after(tries)
            db.execute(
                "UPDATE links SET wrong_tries = ?, wait_until = ? WHERE id = ?",
                (tries, _text(moment + wait) if wait else None, link.id),
            )
        if not phrases.fits(phrase, link.passphrase):
            return False
        with self._workspace.connect() as db:
            db.execute("UPDATE links SET wrong_tries = 0, wait_until = NULL WHERE id = ?", (link.id,))
        return True

    def _change(self, ref: str, *, revoked: bool = False, **columns: Any) -> Link:
        """Set columns, to a value or to what a function makes of the old one; a revoked link stays."""
        with self._workspace.connect() as db:
            row = _find(db, ref)
            if row["revoked_at"] is not None and not revoked:
                raise LinkError(
                    "This link is revoked, which is for good", f"link {row['id']}", "Make a new link."
                )
            values = [v(row[k]) if isinstance(v, Callable) else v for k, v in columns.items()]  # type: ignore[arg-type]
            sets = ", ".join(f"{k} = ?" for k in columns)
            db.execute(f"UPDATE links SET {sets} WHERE id = ?", (*values, row["id"]))
            return _link(_row(db, row["id"]))


def _target(report_hash: str, kind: Kind, recipe: Mapping[str, Any] | None) -> dict[str, Any]:
    """Columns of what a link opens; ValueError for a live one without recipe or a frozen one with."""
    if kind not in get_args(Kind) or (kind == "live") != (recipe is not None):
        raise ValueError(f"a {kind} link with recipe {recipe}")
    return {
        "kind": kind,
        "report_sha256": report_hash,
        "report_file": f"{report_hash}.html" if report_hash else "",
        "recipe": _json(dict(recipe)) if recipe is not None else None,
    }


def _chosen(
    label: str, passphrase: str | None, embed_origins: Iterable[str], card: Mapping[str, str] | None
) -> dict[str, Any]:
    """Columns of what a person chose for a link; LinkError when it may not have that."""
    return {
        "label": _label(label),
        "passphrase": phrases.keep(passphrase) if passphrase else None,
        "embed_origins": " ".join(origins(embed_origins)),
        "card": _json(dict(card)) if card else None,
    }


def _inserted(db: sqlite3.Connection, values: Mapping[str, Any]) -> Link:
    """Add a row; its columns are named by our own code alone."""
    number = db.execute(
        f"INSERT INTO links ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
        tuple(values.values()),
    ).lastrowid
    return _link(_row(db, number))


def _find(db: sqlite3.Connection, ref: str) -> sqlite3.Row:
    if ref.isascii() and ref.isdecimal() and len(ref) < _NUMBER_DIGITS:
        row = db.execute("SELECT * FROM links WHERE id = ?", (int(ref),)).fetchone()
    else:
        token = urlsplit(ref).path.rstrip("/").rsplit("/", 1)[-1]
        row = db.execute("SELECT * FROM links WHERE token_sha256 = ?", (token_hash(token),)).fetchone()
    if row is None:
        raise LinkError("There is no such link", ref[:12], "See the numbers in `cli.py link list`.")
    found: sqlite3.Row = row
    return found


def _row(db: sqlite3.Connection, number: int | None) -> sqlite3.Row:
    row: sqlite3.Row = db.execute("SELECT * FROM links WHERE id = ?", (number,)).fetchone()
    return row


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
        kind=row["kind"],
        label=row["label"],
        paused_at=_time(row["paused_at"]),
        rotated_at=_time(row["rotated_at"]),
        embed_origins=tuple(row["embed_origins"].split()),
        exportable=bool(row["exportable"]),
        hidden=row["hidden"],
        recipe=json.loads(row["recipe"]) if row["recipe"] else None,
        card=json.loads(row["card"]) if row["card"] else None,
        wait_until=_time(row["wait_until"]),
        passphrase=row["passphrase"],
        token_digest=row["token_sha256"],
    )


def _label(text: str) -> str:
    return " ".join(text.split())[:LONGEST_LABEL]


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _text(value: datetime | None) -> str | None:
    return value.astimezone(UTC).isoformat(timespec="seconds") if value else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
