import logging
import re
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import urljoin

import pytest
from starlette.applications import Starlette

from reports import passphrase, serve
from reports.freeze import folder, save
from reports.html import render
from reports.links import LinkBook
from reports.live_links import LiveError
from reports.serve import links_only_app, report_routes
from reports.sharing import Terms, frozen_link
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


def test_an_answer_that_nothing_is_there_is_never_quick_enough_to_tell_why(home):
    book = LinkBook(home)
    closed = book.create("0" * 64, "t")
    book.revoke(str(closed.link.id))
    for token in (closed.token, "x" * 43, "abc"):
        asked = serve.Asked(token, "", None, {}, None, True, True, False)
        began = time.perf_counter()
        assert serve.respond(home, asked, None).status_code == 404
        assert time.perf_counter() - began >= serve.GONE_S


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
    frozen = folder(home) / f"{sample_report().hash}.json"
    data = frozen.read_bytes()
    frozen.unlink()
    assert ask("GET", site + new.path).text == before
    frozen.write_bytes(data)


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


def framed(reply):
    return reply.headers["Content-Security-Policy"].rpartition("frame-ancestors ")[2]


def test_a_passphrase_shows_nothing_before_it_and_the_report_after(site, home):
    new = frozen_link(home, sample_report(), Terms(passphrase="correct horse", exportable=True))
    for method, data in (
        ("GET", None),
        ("POST", {"phrase": "wrong guess"}),
        ("POST", {"phrase": "x" * 9_000}),
    ):
        reply = ask(method, site + new.path, data=data)
        assert reply.status_code == (200 if method == "GET" else 403)
        assert "Weekly" not in reply.text
        assert sample_report().hash not in reply.text
        assert 'property="og:' not in reply.text
        assert "form-action 'self'" in reply.headers["Content-Security-Policy"]
        assert "Set-Cookie" not in reply.headers
    assert ask("GET", site + new.path + "/card.png").status_code == 404
    assert "name=" in ask("GET", site + new.path + "/tables.zip").text
    assert LinkBook(home).get(new.path).opens == 0
    right = ask("POST", site + new.path, data={"phrase": "correct horse"})
    assert sample_report().hash in right.text
    assert 'property="og:' not in right.text
    cookie = right.headers["Set-Cookie"]
    assert new.token not in cookie
    assert "HttpOnly; SameSite=Lax" in cookie
    proof = {"Cookie": cookie.partition(";")[0]}
    assert sample_report().hash in ask("GET", site + new.path, headers=proof).text
    assert ask("GET", site + new.path + "/tables.zip", headers=proof).content[:2] == b"PK"
    assert LinkBook(home).get(new.path).opens == 2
    LinkBook(home).set_passphrase(new.path, "another phrase")
    assert "Passphrase needed" in ask("GET", site + new.path, headers=proof).text


def test_too_many_wrong_phrases_say_how_long_to_wait(site, home):
    new = frozen_link(home, sample_report(), Terms(passphrase="correct horse"))
    replies = [ask("POST", site + new.path, data={"phrase": "wrong guess"}) for _ in range(6)]
    assert [r.status_code for r in replies] == [403] * 5 + [429]
    assert "wait a minute, until" in replies[4].text
    assert ask("POST", site + new.path, data={"phrase": "correct horse"}).status_code == 429


def test_only_the_sites_of_a_link_may_frame_it(site, home):
    new = frozen_link(home, sample_report(), Terms(embed_origins=("https://wiki.example.org",)))
    assert framed(ask("GET", site + new.path)) == "https://wiki.example.org"
    LinkBook(home).set_access(new.path, embed_origins=(), exportable=False)
    assert framed(ask("GET", site + new.path)) == "'none'"
    assert framed(ask("GET", site + "/r/x")) == "'none'"


def test_tables_leave_only_where_the_author_lets_them(site, home):
    new = frozen_link(home, sample_report(), Terms())
    closed = shape(ask("GET", site + "/r/x"))
    files = [new.path + "/tables.zip", new.path + "/chart-1.csv"]
    assert [shape(ask("GET", site + f)) for f in files] == [closed] * 2
    assert "It offers no download" in ask("GET", site + new.path).text
    LinkBook(home).set_access(new.path, embed_origins=(), exportable=True)
    page = ask("GET", site + new.path).text
    for address in re.findall(r'href="([^"]+\.(?:zip|csv))"', page):
        reply = ask("GET", urljoin(site + new.path, address))
        assert reply.status_code == 200
        assert reply.headers["Content-Disposition"].startswith("attachment; filename=")
        assert reply.headers["Cache-Control"] == "no-store"
    assert f"{new.token}/chart-2.csv" in page
    assert "node-17.corp,1,3" in ask("GET", site + new.path + "/chart-2.csv").text.replace(".0", "")
    assert [shape(ask("GET", site + new.path + f)) for f in ("/chart-3.csv", "/x", "/tables.zip/")] == [
        closed
    ] * 3
    assert LinkBook(home).get(new.path).opens == 2


def test_the_preview_is_fixed_with_the_link_and_older_links_stay_as_they_were(site, home, new):
    before = ask("GET", site + new.path).content
    shown = frozen_link(home, sample_report(), Terms())
    page = ask("GET", site + shown.path)
    assert f'<meta property="og:image" content="{site}{shown.path}/card.png">' in page.text
    picture = ask("GET", site + shown.path + "/card.png")
    assert picture.headers["Content-Type"] == "image/png"
    assert picture.headers["X-Robots-Tag"].startswith("noindex")
    assert ask("GET", site + new.path).content == before
    assert 'property="og:' not in before.decode()
    assert ask("GET", site + new.path + "/card.png").status_code == 404


@pytest.mark.parametrize(
    ("agent", "opens"),
    [
        ("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", 0),
        ("facebookexternalhit/1.1", 0),
        ("Mozilla/5.0 (Windows NT 10.0) SkypeUriPreview Preview/0.5", 0),
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/150.0.0.0 Safari/537.36", 1),
    ],
)
def test_programs_that_draw_previews_do_not_count(site, home, new, agent, opens):
    assert ask("GET", site + new.path, headers={"User-Agent": agent}).status_code == 200
    assert LinkBook(home).get(new.path).opens == opens


def test_readers_without_gzip_get_the_same_page_and_no_answer_has_an_etag(site, new):
    packed = ask("GET", site + new.path)
    for refusal in ("identity", "gzip;q=0"):
        plain = ask("GET", site + new.path, headers={"Accept-Encoding": refusal})
        assert "Content-Encoding" not in plain.headers
        assert plain.content == packed.content
    assert packed.headers["Vary"] == "Accept-Encoding"
    assert "ETag" not in packed.headers
    assert "Last-Modified" not in packed.headers


def test_a_path_is_short_enough_for_a_chat(new):
    assert len(new.path) < 80


def test_a_live_link_is_computed_when_it_is_opened_and_says_so(tmp_path):
    book = LinkBook(tmp_path)
    new = book.create("", "t", kind="live", recipe={"questions": []}, exportable=True)
    answers = []

    def live(link):
        if not answers:
            raise LiveError("There is no run <b>x</b>")
        return answers[-1]

    with served(Starlette(routes=report_routes(lambda: tmp_path, live))) as address:
        off = ask("GET", address + new.path)
        assert off.status_code == 503
        assert "There is no run &lt;b&gt;x" in off.text
        assert book.all()[0].opens == 0
        answers.append(sample_report())
        on = ask("GET", address + new.path).text
        assert "Computed 2026-11-30 12:00 UTC from data up to 2026-11-29; not frozen." in on
        assert "Frozen at" not in on
        assert ask("GET", address + new.path + "/tables.zip").content[:2] == b"PK"
        book.pause(new.path)
        assert ask("GET", address + new.path).status_code == 404


def test_a_failure_leaves_no_token_in_any_log(tmp_path, caplog, capfd):
    new = LinkBook(tmp_path).create("", "t", kind="live", recipe={"questions": []})

    def live(link):
        raise RuntimeError("broken")

    with (
        caplog.at_level(logging.DEBUG),
        served(Starlette(routes=report_routes(lambda: tmp_path, live))) as address,
    ):
        assert ask("GET", address + new.path).status_code == 500
    said = caplog.text + "".join(capfd.readouterr())
    assert "broken" in said
    assert new.token not in "\n".join(
        line for line in said.splitlines() if "urllib3" not in line and "HTTP/1.1" not in line
    )
