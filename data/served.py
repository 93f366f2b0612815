"""Which home, and who holds it: the note that a running server leaves there, and how to ask that server."""

import contextlib
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError

if TYPE_CHECKING:
    import requests

ROOT = Path(__file__).resolve().parents[1]
NOTE = "server.json"
CONNECT_SECONDS = 5.0
FAILED = 500
_WILDCARDS = {"", "0.0.0.0", "::"}  # noqa: S104 - compared with, never bound


@dataclass(frozen=True)
class ServerNote:
    """`server.json` of a served home; `secret` lets the command line of the same user in."""

    pid: int
    url: str
    secret: str


class ServerFailedError(UserError):
    """The server broke on the work it was asked for."""


class NoServerError(Exception):
    """No server answers for this home."""


def home_path(given: str | None = None) -> Path:
    """Return `given`, else IPD_HOME, else `var/` beside the code."""
    return Path(given or os.environ.get("IPD_HOME") or ROOT / "var").expanduser().resolve()


def write_note(home: Path, address: str | None, port: int, scheme: str = "http") -> ServerNote:
    """Leave the note, readable by this user only."""
    host = "127.0.0.1" if (address or "") in _WILDCARDS else str(address)
    host = f"[{host}]" if ":" in host else host
    note = ServerNote(os.getpid(), f"{scheme}://{host}:{port}", secrets.token_urlsafe(32))
    part = home / f"{NOTE}.{note.pid}.part"
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(asdict(note), out)
    part.replace(home / NOTE)
    return note


def remove_note(home: Path, note: ServerNote) -> None:
    """Take the note away, unless another server has left its own since."""
    if read_note(home) == note:
        (home / NOTE).unlink(missing_ok=True)


def read_note(home: Path) -> ServerNote | None:
    """Return the note, None when there is none or it is damaged."""
    try:
        raw = json.loads((home / NOTE).read_text())
        return ServerNote(int(raw["pid"]), str(raw["url"]), str(raw["secret"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def ask_server(home: Path, command: str, arguments: Mapping[str, Any], job: str) -> dict[str, Any]:
    """Let the server that holds the home do it; returns its reply {"answer": …} or {"error": …}.

    Raises NoServerError when none answers (no note, or a note left behind by a crash), ServerFailedError when
    it breaks on the work.
    """
    note = read_note(home)
    if note is None or not _is_running(note.pid):
        raise NoServerError
    import requests  # a third of a second of every command, and most homes have no server

    body = {"command": command, "arguments": dict(arguments), "job": job}
    try:
        with _session(note) as session:
            reply = session.post(f"{note.url}/api/cli", json=body, timeout=(CONNECT_SECONDS, None))
    except requests.ConnectionError as error:
        raise NoServerError from error
    if reply.status_code in {401, 404, 405}:
        raise NoServerError
    if reply.status_code >= FAILED:
        raise ServerFailedError(
            "The server that holds this home failed on this; nothing was changed",
            note.url,
            "Its log names the cause.",
        )
    return dict(reply.json())


def ask_progress(home: Path, job: str) -> dict[str, Any] | None:
    """Return how far the server is with a job, None when it does not say."""
    note = read_note(home)
    if note is None:
        return None
    import requests

    try:
        with _session(note) as session:
            reply = session.get(
                f"{note.url}/api/telemetry/progress", params={"job": job}, timeout=CONNECT_SECONDS
            )
        return dict(reply.json()) if reply.ok else None
    except (requests.RequestException, ValueError):
        return None


def ask_cancel(home: Path, job: str) -> None:
    """Ask the server to stop a job; nothing happens when none answers."""
    note = read_note(home)
    if note is None:
        return
    import requests

    with contextlib.suppress(requests.RequestException), _session(note) as session:
        session.post(f"{note.url}/api/telemetry/cancel", params={"job": job}, timeout=CONNECT_SECONDS)


def _session(note: ServerNote) -> "requests.Session":
    import requests

    session = requests.Session()
    session.trust_env = False
    session.verify = not note.url.startswith(("https://127.", "https://localhost", "https://[::1]"))
    session.headers["Authorization"] = f"Bearer {note.secret}"
    return session


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
