"""Where links lead: the address that people reach, and whether that is more than this machine."""

import ipaddress
import os
from urllib.parse import urlsplit

from reports.link_terms import LinkError

_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain"})


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
