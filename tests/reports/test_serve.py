from datetime import UTC, datetime, timedelta

import pytest

from reports import passphrase
from reports.freeze import folder, save
from reports.html import render
from reports.links import LinkBook
from reports.serve import links_only_app
from tests.reports.live import ask, served
from tests.reports.samples import sample_report

PAST = datetime.now(UTC) - timedelta(days=30)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("home")
    save(sample_report(), place, render)
    return place


@pytest.fixture(scope="module")
def site(home):
    with served(links_only_app(home)) as address:
        yield address


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """The cost of scrypt is tested with the links."""
    monkeypatch.setattr(passphrase, "LOG2_N", 4)
    monkeypatch.setattr(passphrase, "PARALLEL", 1)


@pytest.fixture
def new(home):
    return LinkBook(home).create(sample_report().hash, "t")


def test_an_open_link_shows_the_report_with_strict_headers(site, home, new):
    reply = ask("GET", site + new.path)
    assert reply.status_code == 200
    assert sample_report().hash in reply.text
    assert f"This link opens until {new.link.expires_at:%Y-%m-%d %H:%M} UTC." in reply.text
    policy = reply.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith("frame-ancestors 'none'")
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert reply.headers["X-Robots-Tag"].startswith("noindex")
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Cache-Control"] == "no-store"
    assert reply.headers["Content-Encoding"] == "gzip"
    assert "Set-Cookie" not in reply.headers
    assert LinkBook(home).all()[0].opens == 1


def test_head_answers_alike_and_does_not_count(site, home, new):
    reply = ask("HEAD", site + new.path)
    assert (reply.status_code, reply.content) == (200, b"")
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert LinkBook(home).all()[0].opens == 0


def shape(reply):
    return reply.status_code, reply.content, {k: v for k, v in reply.headers.items() if k.lower() != "date"}


def test_unknown_expired_revoked_and_lost_reports_answer_alike(site, home):
    book = LinkBook(home)
    expired = book.create(sample_report().hash, "t", now=PAST)
    revoked = book.create(sample_report().hash, "t")
    assert ask("GET", site + revoked.path).status_code == 200
    book.revoke(str(revoked.link.id))
    lost = book.create("f" * 64, "t")
    traversal = book.create("../workspace.sqlite", "t")
    paused = book.create(sample_report().hash, "t")
    book.pause(str(paused.link.id))
    rotated = book.create(sample_report().hash, "t")
    book.rotate(str(rotated.link.id))
    closed = book.create(sample_report().hash, "t", passphrase="correct horse", now=PAST)
    secret = book.create("e" * 64, "t", passphrase="correct horse")
    paths = [expired.path, revoked.path, lost.path, traversal.path, paused.path, rotated.path, closed.path]
    paths += [secret.path, paused.path + "/card.png", closed.path + "/tables.zip"]
    paths += ["/r/" + "A" * 43, "/r/x", "/r/", "/r/a/b", "/r/%2e%2e%2fworkspace.sqlite"]
    replies = {method: [shape(ask(method, site + p)) for p in paths] for method in ("GET", "HEAD")}
    for seen in replies.values():
        assert seen[0][0] == 404
        assert all(s == seen[0] for s in seen)


def test_nothing_else_is_served(site):
    assert ask("GET", site + "/healthz").text == "ok\n"
    for path in ("/", "/overview", "/api/cli", "/api/telemetry", "/_stcore/health", "/server.json"):
        assert ask("GET", site + path).status_code == 404
    assert ask("POST", site + "/api/telemetry").status_code == 404
    assert shape(ask("POST", site + "/r/x")) == shape(ask("GET", site + "/r/x"))
    assert ask("PUT", site + "/r/x").status_code == 405


def test_any_host_may_be_named(site):
    assert ask("GET", site + "/healthz", headers={"Host": "reports.example.org"}).status_code == 200


def test_the_page_is_the_frozen_file_whatever_happened_since(site, home, new):
    before = ask("GET", site + new.path).text
    (folder(home) / f"{sample_report().hash}.json").unlink()
    assert ask("GET", site + new.path).text == before


def test_a_changed_or_lost_page_is_not_served_and_not_counted(tmp_path):
    page = save(sample_report(), tmp_path, render)
    book = LinkBook(tmp_path)
    link = book.create(sample_report().hash, "t")
    whole = page.read_bytes()
    with served(links_only_app(tmp_path)) as address:
        for spoil in (
            lambda: page.write_bytes(whole.replace(b"</body>", b"<p>Buy now</p></body>")),
            page.unlink,
        ):
            spoil()
            assert ask("GET", address + link.path).status_code == 404
            assert book.all()[0].opens == 0
            assert save(sample_report(), tmp_path, render).read_bytes() == whole
        page.with_suffix(".html.sha256").unlink()
        assert ask("GET", address + link.path).status_code == 404
        save(sample_report(), tmp_path, render)
        assert ask("GET", address + link.path).status_code == 200
        assert book.all()[0].opens == 1
