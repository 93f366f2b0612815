import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from reports import links
from reports.links import LinkBook, LinkError, absolute, expiry, is_local_only, is_loopback

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
    assert links.token_hash(token) in dump
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
