"""Serving frozen reports: `/r/<token>` and `/healthz`, alone or inside the app. Never opens the telemetry."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from anyio import to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from reports.freeze import read_page
from reports.html import CSP_CLOSED, TEMPLATES, policy_of, with_link_note
from reports.links import LinkBook
from reports.middleware import SecurityHeaders

NOT_FOUND = (TEMPLATES / "gone.html").read_text(encoding="utf-8")
GZIP_LEVEL = 5
GZIP_FROM_BYTES = 1_024


@cache
def book(home: Path) -> LinkBook:
    """Return the links of a home, set up once a process."""
    return LinkBook(home)


def report_routes(home: Callable[[], Path]) -> list[BaseRoute]:
    """Return the two public routes; `home` is asked at each request."""

    async def show(request: Request) -> Response:
        token = request.path_params["token"]
        count = request.method == "GET"
        page = await to_thread.run_sync(lambda: find_page(home(), token, count=count))
        if page is None:
            return HTMLResponse(NOT_FOUND, 404, {"Content-Security-Policy": _framed(CSP_CLOSED)})
        return HTMLResponse(page, headers={"Content-Security-Policy": _framed(policy_of(page))})

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    return [
        Route("/r/{token:path}", show, methods=["GET"]),
        Route("/healthz", health, methods=["GET"]),
    ]


def find_page(home: Path, token: str, *, count: bool = True) -> str | None:
    """Return the frozen page of an open link, None for another token or a file that is gone or changed."""
    link = book(home).open(token, count=False)
    page = read_page(home, link.report_hash) if link else None
    if link is None or page is None:
        return None
    if count:
        book(home).count(link)
    return with_link_note(page, link.expires_at)


def links_only_app(home: Path) -> Starlette:
    """Return an app that serves reports by link and nothing else, to any host that reaches it."""
    book(home)
    return Starlette(
        routes=report_routes(lambda: home),
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(GZipMiddleware, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL),
        ],
    )


def _framed(policy: str) -> str:
    return f"{policy}; frame-ancestors 'none'"
