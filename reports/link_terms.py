"""The terms of a link: how long it opens, who may frame it, and what is kept of its token."""

import hashlib
import re
from collections.abc import Iterable
from datetime import timedelta
from urllib.parse import urlsplit

from data.errors import UserError

TOKEN_BYTES = 32
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
DEFAULT_EXPIRY = timedelta(days=7)
SHORTEST = timedelta(hours=1)
LONGEST = timedelta(days=90)
_SPAN = re.compile(r"(\d+)\s*(h|d)")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")
_MOST_ORIGINS = 10


class LinkError(UserError):
    """A link cannot be made, changed or found as asked."""


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
    check_span(span)
    return span


def check_span(span: timedelta | None) -> None:
    """Raise LinkError unless a link may last this long: 1 hour to 90 days, or without end (None)."""
    if span is not None and not SHORTEST <= span <= LONGEST:
        raise LinkError("A link lasts from 1 hour to 90 days, or has no expiry", "expires", "Choose 7d.")


def origins(given: Iterable[str]) -> tuple[str, ...]:
    """Return the pages that may frame a link as `scheme://host[:port]`; LinkError names one that is none."""
    found = tuple(dict.fromkeys(_origin(one) for one in given if one.strip()))
    if len(found) > _MOST_ORIGINS:
        raise LinkError(f"{len(found)} origins may not frame one link", "embed", f"Up to {_MOST_ORIGINS}.")
    return found


def _origin(text: str) -> str:
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError as error:
        raise _no_origin(text) from error
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    rest = parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None
    if parts.scheme not in {"http", "https"} or rest or not _HOST.fullmatch(host):
        raise _no_origin(text)
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")


def _no_origin(text: str) -> LinkError:
    return LinkError(
        f"'{text.strip()[:80]}' is not an origin that may frame a link",
        "embed",
        "Write scheme and host, like https://wiki.example.org; a path or * is not taken.",
    )
