"""Serving reports by link: `/r/<token>`, its card and files, and `/healthz`, alone or inside the app.

Never opens the telemetry. The link is looked up at every request; only bytes that cannot change are kept.
"""

import html
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

from anyio import to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from reports import page_bytes, passphrase
from reports.addresses import base_url
from reports.html import CSP_CLOSED, TEMPLATES
from reports.link_terms import LinkError
from reports.links import Link, LinkBook
from reports.live_links import LiveError, asked_of_app
from reports.middleware import SecurityHeaders, host_name
from reports.served import CARD, Live, allows, card_of, file_of, is_there, page_of

NOT_FOUND = (TEMPLATES / "gone.html").read_text(encoding="utf-8")
PASSPHRASE = (TEMPLATES / "passphrase.html").read_text(encoding="utf-8")
LIVE_OFF = (TEMPLATES / "live_off.html").read_text(encoding="utf-8")
SAID = "<!--ipd:said-->"
CSP_FORM = CSP_CLOSED.replace("form-action 'none'", "form-action 'self'")
LONGEST_FORM_BYTES = 4_096
GONE = 404
GONE_S = 0.005
"""What a closed link takes more than an unknown one to look up, 0.1 ms, ends within this."""
ROBOTS = re.compile(
    r"bot\b|bot/|crawl|spider|preview|facebookexternalhit|slack-imgproxy|embedly|whatsapp/|snippet"
    r"|mattermost|zulip",
    re.IGNORECASE,
)
"""Programs that fetch a link for its preview, as they name themselves: looks that are no openings."""
_GZIP = re.compile(r"(?:^|[,\s])(?:gzip|\*)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """A request for what a link gives: `what` is '' for its page, `phrase` None unless one was sent."""

    token: str
    what: str
    phrase: str | None
    cookies: dict[str, str]
    site: str | None
    counts: bool
    takes_gzip: bool
    secure: bool


@cache
def book(home: Path) -> LinkBook:
    """Return the links of a home, set up once a process."""
    return LinkBook(home).stay()


def report_routes(home: Callable[[], Path], live: Live) -> list[BaseRoute]:
    """Return the two public routes; `home` is asked at each request, `live` computes a live report."""

    async def show(request: Request) -> Response:
        asked = await _asked(request)
        return await to_thread.run_sync(lambda: respond(home(), asked, live))

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    return [
        Route("/r/{path:path}", show, methods=["GET", "POST"]),
        Route("/healthz", health, methods=["GET"]),
    ]


def respond(home: Path, asked: Asked, live: Live) -> Response:
    """Answer one request. Whatever is unknown, closed, lost or not allowed gets the same bytes, as late."""
    ends = time.perf_counter() + GONE_S
    answer = _answer(home, asked, live)
    if answer.status_code == GONE:
        time.sleep(max(0.0, ends - time.perf_counter()))
    return answer


def _answer(home: Path, asked: Asked, live: Live) -> Response:
    link = book(home).open(asked.token, count=False)
    if link is None:
        return _gone()
    if asked.what == CARD:
        picture = card_of(home, link)
        return Response(picture, media_type="image/png") if picture is not None else _gone()
    if not allows(link, asked.what) or not is_there(home, link):
        return _gone()
    headers = {}
    if link.passphrase is not None and not _has_proof(link, asked):
        refusal = _try(home, link, asked)
        if refusal is not None:
            return refusal
        headers = {"Set-Cookie": _cookie(link, asked)}
    try:
        answer = _file(home, link, asked, live) if asked.what else _page(home, link, asked, live)
    except LiveError as error:
        answer = _form(LIVE_OFF, error.what, 503, _framed(CSP_CLOSED, link))
    answer.headers.update(headers)
    return answer


def links_only_app(home: Path) -> Starlette:
    """Return an app that serves reports by link and nothing else, to any host that reaches it."""
    book(home)
    page_bytes.warm()
    return Starlette(
        routes=report_routes(lambda: home, asked_of_app(home)),
        middleware=[Middleware(SecurityHeaders)],
    )


def _page(home: Path, link: Link, asked: Asked, live: Live) -> Response:
    page = page_of(home, link, asked.token, asked.site, live)
    if page is None:
        return _gone()
    if asked.counts:
        book(home).count(link)
    headers = {"Content-Security-Policy": _framed(page.policy, link), "Vary": "Accept-Encoding"}
    if not asked.takes_gzip:
        return HTMLResponse(page.plain(), headers=headers)
    return HTMLResponse(page.packed, headers=headers | {"Content-Encoding": "gzip"})


def _file(home: Path, link: Link, asked: Asked, live: Live) -> Response:
    found = file_of(home, link, asked.what, live)
    if found is None:
        return _gone()
    headers = {"Content-Disposition": f'attachment; filename="{found.name}"'}
    return Response(found.body, media_type=found.mime, headers=headers)


def _try(home: Path, link: Link, asked: Asked) -> Response | None:
    """The form of a passphrase with what is to be said; None when the right phrase came with this request."""
    policy = _framed(CSP_FORM, link)
    if asked.phrase is None:
        return _form(PASSPHRASE, "", 200, policy)
    try:
        if book(home).try_phrase(link, asked.phrase):
            return None
    except LinkError:
        return _form(PASSPHRASE, _waiting(book(home).get(str(link.id))), 429, policy)
    said = f"This is not the passphrase. {_waiting(book(home).get(str(link.id)))}"
    return _form(PASSPHRASE, said.strip(), 403, policy)


def _waiting(link: Link) -> str:
    if link.wait_until is None:
        return ""
    left = max(1, math.ceil((link.wait_until - datetime.now(UTC)).total_seconds() / 60))
    minutes = "a minute" if left == 1 else f"{left} minutes"
    return f"Too many wrong tries: wait {minutes}, until {link.wait_until:%H:%M:%S} UTC."


def _form(template: str, said: str, status: int, policy: str) -> Response:
    words = html.escape(said)
    if template is PASSPHRASE and said:
        words = f'<p class="said" role="alert">{words}</p>'
    return HTMLResponse(template.replace(SAID, words, 1), status, {"Content-Security-Policy": policy})


def _gone() -> Response:
    return HTMLResponse(NOT_FOUND, GONE, {"Content-Security-Policy": f"{CSP_CLOSED}; frame-ancestors 'none'"})


def _framed(policy: str, link: Link) -> str:
    return f"{policy}; frame-ancestors " + (" ".join(link.embed_origins) or "'none'")


def _cookie_name(link: Link) -> str:
    return f"ipd_{link.token_digest[:16]}"


def _has_proof(link: Link, asked: Asked) -> bool:
    given = asked.cookies.get(_cookie_name(link), "")
    return passphrase.proves(given, str(link.passphrase), link.token_digest, datetime.now(UTC))


def _cookie(link: Link, asked: Asked) -> str:
    """No Path: a browser takes the folder of the address, also behind a proxy with a path of its own."""
    value = passphrase.proof(str(link.passphrase), link.token_digest, datetime.now(UTC))
    age = int(passphrase.PROOF_LASTS.total_seconds())
    secure = "; Secure" if asked.secure else ""
    return f"{_cookie_name(link)}={value}; Max-Age={age}; HttpOnly; SameSite=Lax{secure}"


async def _asked(request: Request) -> Asked:
    token, _, what = request.path_params["path"].partition("/")
    robot = ROBOTS.search(request.headers.get("user-agent", "")) is not None
    return Asked(
        token=token,
        what=what,
        phrase=await _phrase(request) if request.method == "POST" else None,
        cookies=request.cookies,
        site=_site(request),
        counts=request.method != "HEAD" and not robot,
        takes_gzip=_GZIP.search(request.headers.get("accept-encoding", "")) is not None,
        secure=request.url.scheme == "https" or (base_url() or "").startswith("https:"),
    )


async def _phrase(request: Request) -> str:
    """The phrase of a form; what is too long to be one is cut, and so is wrong."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM_BYTES:
            return ""
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20)
    return fields.get("phrase", [""])[0]


def _site(request: Request) -> str | None:
    """Scheme and host as readers reach them; None when the request does not name a host."""
    base = base_url()
    if base is not None:
        return base
    host = request.headers.get("host", "")
    return f"{request.url.scheme}://{host}" if host_name(host) else None
