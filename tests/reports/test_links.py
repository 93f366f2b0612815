import base64
import hashlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from data import workspace
from reports import passphrase
from reports.addresses import absolute, is_local_only, is_loopback
from reports.link_terms import LinkError, expiry, token_hash
from reports.links import LinkBook

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def book(tmp_path):
    return LinkBook(tmp_path)


def test_token_is_256_bit_url_safe_and_new_each_time(book):
    tokens = {book.create("h", "t").token for _ in range(50)}
    assert len(tokens) == 50
    assert all(
        len(t) == 43 and set(t) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        for t in tokens
    )


def test_the_database_does_not_hold_the_token(book, tmp_path):
    token = book.create("h", "t").token
    dump = "\n".join(sqlite3.connect(tmp_path / "workspace.sqlite").iterdump())
    assert token not in dump
    assert token_hash(token) in dump
    assert not any(token.encode() in p.read_bytes() for p in tmp_path.iterdir())


def test_opening_counts_and_looking_does_not(book):
    new = book.create("h", "t", now=NOW)
    assert book.open(new.token, count=False, now=NOW).opens == 0
    assert book.open(new.token, now=NOW + timedelta(hours=2)) is not None
    (kept,) = book.all()
    assert (kept.opens, kept.last_opened_at) == (1, NOW + timedelta(hours=2))


def test_expiry_is_seven_days_by_default_and_to_the_second(book):
    new = book.create("h", "t", now=NOW)
    assert new.link.expires_at == NOW + timedelta(days=7)
    assert book.open(new.token, now=NOW + timedelta(days=7) - timedelta(seconds=1)) is not None
    assert book.open(new.token, now=NOW + timedelta(days=7)) is None


def test_no_expiry_stays_open(book):
    new = book.create("h", "t", expires_in=None, now=NOW)
    assert new.link.expires_at is None
    assert book.open(new.token, now=NOW + timedelta(days=4_000)) is not None


@pytest.mark.parametrize("how", ["id", "token", "path", "address"])
def test_revoking_is_immediate_whatever_names_the_link(book, how):
    new, other = book.create("h", "t"), book.create("h", "t")
    name = {
        "id": str(new.link.id),
        "token": new.token,
        "path": new.path,
        "address": f"https://ipd.example.org/base{new.path}",
    }[how]
    assert book.revoke(name).state() == "revoked"
    assert book.open(new.token) is None
    assert book.open(other.token) is not None


def test_revoking_twice_keeps_the_first_time(book):
    new = book.create("h", "t", now=NOW)
    book.revoke(str(new.link.id), NOW + timedelta(hours=1))
    assert book.revoke(str(new.link.id), NOW + timedelta(hours=9)).revoked_at == NOW + timedelta(hours=1)


@pytest.mark.parametrize("reference", ["99", "x", "", "/r/", "A" * 43, "9" * 40])
def test_revoking_an_unknown_link_is_refused(book, reference):
    with pytest.raises(LinkError, match="no such link"):
        book.revoke(reference)


@pytest.mark.parametrize(
    "token", ["", "x", "A" * 43, "../../etc/passwd", "é" * 43, "A" * 10_000, "' OR 1=1 --"]
)
def test_unknown_tokens_open_nothing(book, token):
    book.create("h", "t")
    assert book.open(token) is None


@pytest.mark.parametrize(
    ("text", "span"),
    [("1h", timedelta(hours=1)), ("90d", timedelta(days=90)), (" 7D ", timedelta(days=7)), ("none", None)],
)
def test_expiry_words(text, span):
    assert expiry(text) == span


@pytest.mark.parametrize("text", ["0h", "91d", "2161h", "", "7", "7w", "-1d", "1e9d", "9" * 30 + "d"])
def test_expiry_outside_the_limits_is_refused(text):
    with pytest.raises(LinkError):
        expiry(text)


@pytest.mark.parametrize("span", [timedelta(minutes=59), timedelta(days=90, seconds=1), timedelta(0)])
def test_a_link_outside_the_limits_is_refused(book, span):
    with pytest.raises(LinkError):
        book.create("h", "t", expires_in=span)
    assert book.all() == []


@pytest.mark.parametrize(
    ("base", "local"),
    [
        (None, True),
        ("http://localhost:8501", True),
        ("http://127.0.0.5", True),
        ("http://[::1]:80", True),
        ("http://[::ffff:127.0.0.1]", True),
        ("https://ipd.example.org/x/", False),
        ("http://10.0.0.7:8501", False),
        ("http://localhost.example.org", False),
    ],
)
def test_who_a_link_reaches(monkeypatch, base, local):
    monkeypatch.delenv("IPD_BASE_URL", raising=False)
    if base:
        monkeypatch.setenv("IPD_BASE_URL", base)
    assert is_local_only() is local


def test_base_url_builds_links(monkeypatch):
    monkeypatch.setenv("IPD_BASE_URL", "https://ipd.example.org/x/")
    assert absolute("/r/abc") == "https://ipd.example.org/x/r/abc"
    monkeypatch.setenv("IPD_BASE_URL", "ipd.example.org")
    with pytest.raises(LinkError, match="not an address"):
        absolute("/r/abc")
    monkeypatch.delenv("IPD_BASE_URL")
    assert absolute("/r/abc", 8501) == "http://localhost:8501/r/abc"


def test_loopback_words():
    assert is_loopback("LOCALHOST")
    assert is_loopback("app.localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("")


def test_a_home_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LinkError, match="no such home"):
        LinkBook(tmp_path / "nowhere")


def test_a_paused_link_opens_nothing_until_it_is_resumed_and_keeps_its_address(book):
    new = book.create("h", "t", now=NOW)
    assert book.pause(new.path, NOW).state(NOW) == "paused"
    assert book.pause(new.path, NOW + timedelta(hours=2)).paused_at == NOW
    assert book.open(new.token, now=NOW) is None
    assert book.resume(new.path).state(NOW) == "open"
    assert book.open(new.token, now=NOW) is not None


def test_a_rotated_link_keeps_everything_but_its_token(book):
    old = book.create("h", "t", label="for finance", exportable=True, now=NOW)
    book.open(old.token, now=NOW)
    new = book.rotate(str(old.link.id), NOW + timedelta(hours=1))
    assert new.token != old.token
    assert book.open(old.token, now=NOW) is None
    seen = book.open(new.token, count=False, now=NOW)
    assert (seen.id, seen.label, seen.exportable, seen.opens) == (old.link.id, "for finance", True, 1)
    assert seen.rotated_at == NOW + timedelta(hours=1)
    with pytest.raises(LinkError, match="no such link"):
        book.pause(old.token)


def test_a_new_expiry_counts_from_now_and_opens_an_expired_link_again(book):
    new = book.create("h", "t", now=NOW)
    later = NOW + timedelta(days=9)
    assert book.open(new.token, now=later) is None
    assert book.set_expiry(str(new.link.id), timedelta(hours=1), later).expires_at == later + timedelta(
        hours=1
    )
    assert book.open(new.token, now=later) is not None
    assert book.set_expiry(str(new.link.id), None).expires_at is None
    with pytest.raises(LinkError, match="1 hour to 90 days"):
        book.set_expiry(str(new.link.id), timedelta(days=91))


def test_nothing_brings_a_revoked_link_back(book):
    ref = str(book.create("h", "t").link.id)
    book.revoke(ref)
    for change in (
        book.pause,
        book.resume,
        book.rotate,
        lambda r: book.set_expiry(r, None),
        lambda r: book.set_label(r, "x"),
        lambda r: book.set_passphrase(r, None),
        lambda r: book.set_access(r, embed_origins=(), exportable=True),
    ):
        with pytest.raises(LinkError, match="for good"):
            change(ref)
    assert book.get(ref).state() == "revoked"


def test_the_label_is_one_short_line_and_the_title_stays(book):
    ref = str(book.create("h", "Title").link.id)
    link = book.set_label(ref, "  for\nthe   board " + "x" * 500)
    assert (link.name[:13], len(link.label), link.title) == ("for the board", 120, "Title")
    assert book.set_label(ref, " ").name == "Title"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["https://Wiki.example.org/"], ("https://wiki.example.org",)),
        (["http://localhost:8080", "", "http://localhost:8080"], ("http://localhost:8080",)),
        (["https://[2001:DB8::1]:444"], ("https://[2001:db8::1]:444",)),
    ],
)
def test_origins_that_may_frame(book, given, kept):
    assert book.create("h", "t", embed_origins=given).link.embed_origins == kept


@pytest.mark.parametrize(
    "given",
    ["*", "https://*.example.org", "wiki.example.org", "https://a.org/page", "https://a.org?x", "data:x",
     "https://u@a.org", "https://a.org; script-src *", "https://a.org 'self'", "https://", "https://a.org:99999"],
)  # fmt: skip
def test_what_is_no_origin_never_reaches_the_header(book, given):
    with pytest.raises(LinkError, match="not an origin"):
        book.create("h", "t", embed_origins=[given])
    assert book.all() == []


@pytest.fixture
def cheap(monkeypatch):
    """The cost of scrypt is what is not tested here."""
    monkeypatch.setattr(passphrase, "LOG2_N", 4)
    monkeypatch.setattr(passphrase, "PARALLEL", 1)


def test_the_cost_of_a_phrase_is_one_of_the_published_minimums():
    assert (2**passphrase.LOG2_N, passphrase.BLOCK, passphrase.PARALLEL) == (32_768, 8, 3)


def test_a_phrase_is_kept_as_salted_scrypt_and_nowhere_else(cheap, book, tmp_path):
    kept = [passphrase.keep("correct horse") for _ in range(2)]
    assert kept[0] != kept[1]
    log2_n, block, parallel, salt, digest = kept[0].split("$")
    raw = hashlib.scrypt(
        b"correct horse",
        salt=base64.b64decode(salt),
        n=2 ** int(log2_n),
        r=int(block),
        p=int(parallel),
        dklen=32,
    )
    assert base64.b64encode(raw).decode() == digest
    assert len(base64.b64decode(salt)) == 16
    book.create("h", "t", passphrase="correct horse")
    assert not any(b"correct horse" in p.read_bytes() for p in tmp_path.iterdir())
    assert "passphrase='" not in repr(book.all()[0])
    assert book.all()[0].to_dict()["passphrase"] is True


def test_phrases_forgive_spaces_at_the_ends_and_composed_letters_only(cheap):
    kept = passphrase.keep(" Zürich 2026 ")
    assert passphrase.fits("Zu\u0308rich 2026\n", kept)
    for wrong in ("zürich 2026", "Zürich2026", "", "Zürich 2026" * 1000, "\ud800"):
        assert not passphrase.fits(wrong, kept)
    for bad in ("short", "x" * 201, "       a"):
        with pytest.raises(LinkError, match="8 to 200 characters"):
            passphrase.keep(bad)


def test_wrong_phrases_make_everybody_wait_twice_as_long_each_time(cheap, book):
    link = book.create("h", "t", passphrase="correct horse", now=NOW).link
    assert [book.try_phrase(link, "wrong guess", NOW) for _ in range(5)] == [False] * 5
    with pytest.raises(LinkError, match="12:01:00 UTC"):
        book.try_phrase(link, "correct horse", NOW)
    later = NOW + timedelta(minutes=1)
    assert not book.try_phrase(link, "wrong guess", later)
    assert book.get(str(link.id)).wait_until == later + timedelta(minutes=2)
    assert book.try_phrase(link, "correct horse", later + timedelta(minutes=2))
    assert book.get(str(link.id)).wait_until is None
    assert [passphrase.wait_after(n) for n in (4, 5, 10, 11, 10_000)] == [
        None,
        timedelta(minutes=1),
        timedelta(minutes=32),
        timedelta(hours=1),
        timedelta(hours=1),
    ]


def test_many_guesses_at_once_are_no_way_around_the_wait(cheap, book):
    link = book.create("h", "t", passphrase="correct horse").link

    def guess(number):
        try:
            return book.try_phrase(link, f"wrong guess {number}")
        except LinkError:
            return None

    with ThreadPoolExecutor(12) as pool:
        tried = [answer for answer in pool.map(guess, range(24)) if answer is not None]
    assert tried == [False] * 5


def test_the_proof_of_a_browser_ends_with_time_phrase_and_token(cheap):
    kept, other = passphrase.keep("correct horse"), passphrase.keep("correct horse")
    given = passphrase.proof(kept, "a" * 64, NOW)
    assert passphrase.proves(given, kept, "a" * 64, NOW + timedelta(hours=11))
    assert not passphrase.proves(given, kept, "a" * 64, NOW + timedelta(hours=12))
    assert not passphrase.proves(given, other, "a" * 64, NOW)
    assert not passphrase.proves(given, kept, "b" * 64, NOW)
    until, seal = given.split(".")
    for forged in ("", ".", f"{int(until) + 9}.{seal}", f"{until}.", f"{until}.é", "9" * 30 + "." + seal):
        assert not passphrase.proves(forged, kept, "a" * 64, NOW)


def test_links_of_a_home_of_any_older_version_open_as_before(tmp_path, monkeypatch):
    upgrades = workspace._UPGRADES
    for version in range(len(upgrades)):
        home = tmp_path / str(version)
        home.mkdir()
        with monkeypatch.context() as then:
            then.setattr(workspace, "_UPGRADES", upgrades[:version])
            then.setattr(workspace, "_VERSION", 1 + version)
            old = workspace.Workspace(home / "workspace.sqlite")
        if "links ADD COLUMN kind" in "".join(upgrades[:version]):
            continue
        with old.connect() as db:
            db.execute(
                "INSERT INTO links (token_sha256, title, report_sha256, report_file, created_at, opened)"
                " VALUES (?, 'Old', 'h', 'h.html', '2026-01-01T00:00:00+00:00', 3)",
                (token_hash("A" * 43),),
            )
        link = LinkBook(home).open("A" * 43)
        assert (link.kind, link.name, link.opens, link.exportable) == ("frozen", "Old", 3, False)
        assert (link.passphrase, link.hidden, link.card) == (None, None, None)
