"""What guards every request: who may be addressed, from where, and with which headers the answer leaves."""

import ipaddress
import os
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from data.errors import UserError
from reports.addresses import base_url, is_loopback

OPEN_FLAG = "IPD_OPEN_TO_ALL"
OPEN_WORDS = "everyone who reaches this address may change everything"
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
_EVERYWHERE = {"X-Content-Type-Options": "nosniff"}
_APP = {"Content-Security-Policy": "frame-ancestors 'self'", "Referrer-Policy": "same-origin"}
_REPORT = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-store",
}
_API = {"Cache-Control": "no-store"}


class OpenAddressError(UserError):
    """The app was asked to listen where others reach it, without sign-in and without saying so."""


class SecurityHeaders:
    """Add the headers that an answer does not carry yet; reports are stricter than the app."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        wanted = _EVERYWHERE | _for_path(scope["path"])

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in wanted.items():
                    if name not in headers:
                        headers[name] = value
            await send(message)

        await self.app(scope, receive, dressed)


class TrustedHosts:
    """Answer 400 to any `Host` but ours (DNS rebinding), and 403 on an address others reach unless allowed.

    The second check looks at the address that the connection came in on, so it holds however the server was
    started.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = (), open_to_all: bool = False) -> None:
        self.app = app
        self.hosts = frozenset(h.lower() for h in hosts) or LOCAL_HOSTS
        self.open_to_all = open_to_all

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        local = _local_address(scope)
        if local and not self.open_to_all and not is_loopback(local):
            await _refuse(403, "This app answers on localhost only.", scope, receive, send)
            return
        names = Headers(scope=scope).getlist("host")
        if len(names) != 1 or not self._trusts(names[0], local):
            await _refuse(400, "Unknown host name.", scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _trusts(self, header: str, local: str) -> bool:
        name = host_name(header)
        if name is None:
            return False
        if name in self.hosts:
            return True
        return self.open_to_all and bool(local) and name.strip("[]") == local


def host_name(header: str) -> str | None:
    """Return the name in a Host header, brackets kept, lower case; None when it is malformed."""
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port
    except ValueError:
        return None
    name = parts.hostname or ""
    if not name or parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    return f"[{name}]" if ":" in name else name


def trusted_hosts() -> list[str]:
    """Return localhost by its three names, the host of IPD_BASE_URL and those in IPD_ALLOWED_HOSTS."""
    hosts = set(LOCAL_HOSTS)
    base = base_url()
    if base:
        name = urlsplit(base).hostname or ""
        hosts.add(f"[{name}]" if ":" in name else name)
    more = os.environ.get("IPD_ALLOWED_HOSTS", "")
    hosts.update(h.strip().lower() for h in more.split(",") if h.strip())
    return sorted(hosts)


def open_to_all(signs_in: bool) -> bool:
    """Return whether others may reach the app: sign-in is configured, or the flag says so in words."""
    said = os.environ.get(OPEN_FLAG, "").strip().strip(".").lower()
    if said and said != OPEN_WORDS:
        raise OpenAddressError(
            f"{OPEN_FLAG} does not hold the agreed words",
            OPEN_FLAG,
            f"Set it to '{OPEN_WORDS}', or unset it.",
        )
    return signs_in or bool(said)


def check_address(address: str | None, allowed: bool) -> None:
    """Raise OpenAddressError when `address` (None: all interfaces) is not loopback and may not be."""
    if allowed or (address and is_loopback(address)):
        return
    place = f"--server.address {address}" if address else "--server.address is not set: all interfaces"
    raise OpenAddressError(
        "The app has no sign-in, so it listens on this machine only",
        place,
        "Use --server.address localhost. To share reports, run `cli.py serve --links-only --host H`. "
        "To open the whole app, configure sign-in ([auth] in secrets.toml) or set "
        f"{OPEN_FLAG}='{OPEN_WORDS}'.",
    )


def _for_path(path: str) -> dict[str, str]:
    if path.startswith("/r/") or path == "/r":
        return _REPORT
    return _APP | _API if path.startswith("/api/") else _APP


def _local_address(scope: Scope) -> str:
    """Return the local IP of the connection, '' for a Unix socket or a test client."""
    server = scope.get("server")
    if not server or server[1] is None:
        return ""
    try:
        ipaddress.ip_address(str(server[0]))
    except ValueError:
        return ""
    return str(server[0])


async def _refuse(status: int, text: str, scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(text + "\n", status)(scope, receive, send)
