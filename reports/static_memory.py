"""Streamlit's own static files, answered from memory: a first visit asks for about 120 of them."""

import mimetypes
from functools import cache
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

CACHE = b"public, immutable, max-age=31536000"
TYPES = {".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2"}


class StaticFromMemory:
    """Answer a GET for a hashed file of Streamlit's front end from memory; everything else passes.

    `folder` is the one that Streamlit serves at `/`; its hashed files are below `static`.
    The route behind it takes a worker thread and several file calls for each, which compete for the processor
    with the browser that waits for them.
    """

    def __init__(self, app: ASGIApp, folder: str) -> None:
        self.app = app
        self.known = _known(Path(folder))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        path = self.known.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if path is None or any(name == b"range" for name, _ in scope["headers"]):
            await self.app(scope, receive, send)
            return
        body, kind = _content(path)
        headers = [
            (b"content-type", kind),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", CACHE),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _known(folder: Path) -> dict[str, Path]:
    """Return the path in the address of every hashed file below `folder`/static."""
    return {
        f"/{path.relative_to(folder).as_posix()}": path
        for path in (folder / "static").rglob("*")
        if path.is_file()
    }


@cache
def _content(path: Path) -> tuple[bytes, bytes]:
    kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return path.read_bytes(), kind.encode()
