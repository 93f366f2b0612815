import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute

from reports.middleware import (
    OPEN_FLAG,
    OPEN_WORDS,
    OpenAddressError,
    SecurityHeaders,
    TrustedHosts,
    check_address,
    host_name,
    open_to_all,
    trusted_hosts,
)
from tests.reports.live import ask, served


async def page(request):
    return PlainTextResponse("page", headers={"Referrer-Policy": "own"} if request.url.path == "/own" else {})


async def talk(socket):
    await socket.accept()
    await socket.close()


def app(**trust):
    return Starlette(
        routes=[Route("/{rest:path}", page), WebSocketRoute("/ws", talk)],
        middleware=[Middleware(SecurityHeaders), Middleware(TrustedHosts, **trust)],
    )


@pytest.fixture(scope="module")
def site():
    with served(app(hosts=["localhost", "127.0.0.1", "[::1]", "ipd.example.org"])) as address:
        yield address


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8501", "127.0.0.1:1", "[::1]:8501", "[::1]", "ipd.example.org"]
)
def test_our_own_names_are_served(site, host):
    assert ask("GET", site, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "evil.example:80", "user@localhost", "localhost/x", "[::2]",
     "127.0.0.2", "localhost:port", "", "127.0.0.1.evil.example"],
)  # fmt: skip
def test_other_names_get_400_on_pages_and_websocket(site, host):
    assert ask("GET", site, headers={"Host": host}).status_code == 400
    upgrade = {
        "Host": host,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    assert ask("GET", site + "/ws", headers=upgrade).status_code == 400


def test_refusals_carry_the_headers_too(site):
    assert ask("GET", site, headers={"Host": "evil.example"}).headers["X-Content-Type-Options"] == "nosniff"


def test_headers_of_pages_api_and_reports(site):
    pages, api, report = (ask("GET", site + p).headers for p in ("/", "/api/x", "/r/x"))
    assert pages["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert pages["Referrer-Policy"] == "same-origin"
    assert "Cache-Control" not in pages
    assert api["Cache-Control"] == "no-store"
    assert report["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert report["Referrer-Policy"] == "no-referrer"
    assert report["X-Robots-Tag"] == "noindex, nofollow"
    assert ask("GET", site + "/own").headers["Referrer-Policy"] == "own"


async def answer_of(middleware, local, host=b"localhost"):
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": "/", "method": "GET", "headers": [(b"host", host)], "server": local}
    await middleware(scope, None, send)
    return sent[0]["status"] if sent else None


@pytest.mark.parametrize(
    ("local", "open_to_all_", "host", "status"),
    [
        (("127.0.0.1", 1), False, b"localhost", None),
        (("::1", 1), False, b"localhost", None),
        (("10.0.0.7", 1), False, b"localhost", 403),
        (("10.0.0.7", 1), True, b"localhost", None),
        (("10.0.0.7", 1), True, b"10.0.0.7:8501", None),
        (("10.0.0.7", 1), True, b"10.0.0.8", 400),
        (("10.0.0.7", 1), True, b"evil.example", 400),
        (("/run/app.sock", None), False, b"localhost", None),
    ],
)
def test_the_address_a_connection_came_in_on_decides(local, open_to_all_, host, status):
    async def inner(scope, receive, send):
        pass

    middleware = TrustedHosts(inner, hosts=["localhost"], open_to_all=open_to_all_)
    with ThreadPoolExecutor(1) as aside:  # a browser test on this thread may have left its loop running
        found = aside.submit(asyncio.run, answer_of(middleware, local, host)).result()
    assert found == status


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_loopback_may_be_listened_on(address):
    check_address(address, allowed=False)


@pytest.mark.parametrize("address", [None, "", "0.0.0.0", "::", "10.0.0.7", "ipd.example.org"])
def test_other_addresses_need_sign_in_or_the_words(address):
    with pytest.raises(OpenAddressError) as caught:
        check_address(address, allowed=False)
    assert OPEN_WORDS in caught.value.remedy
    assert "--links-only" in caught.value.remedy
    check_address(address, allowed=True)


def test_the_flag_must_say_it_in_words(monkeypatch):
    monkeypatch.delenv(OPEN_FLAG, raising=False)
    assert not open_to_all(signs_in=False)
    assert open_to_all(signs_in=True)
    monkeypatch.setenv(OPEN_FLAG, OPEN_WORDS.capitalize() + ".")
    assert open_to_all(signs_in=False)
    for lazy in ("1", "true", "yes"):
        monkeypatch.setenv(OPEN_FLAG, lazy)
        with pytest.raises(OpenAddressError):
            open_to_all(signs_in=False)


def test_trusted_hosts_follow_the_environment(monkeypatch):
    monkeypatch.setenv("IPD_BASE_URL", "https://IPD.example.org:8443/x")
    monkeypatch.setenv("IPD_ALLOWED_HOSTS", "lab, Proxy.example.org")
    assert set(trusted_hosts()) == {
        "localhost",
        "127.0.0.1",
        "[::1]",
        "ipd.example.org",
        "lab",
        "proxy.example.org",
    }


def test_malformed_hosts_have_no_name():
    assert host_name("[::1") is None
    assert host_name("a:b:c") is None
    assert host_name("a?b") is None
