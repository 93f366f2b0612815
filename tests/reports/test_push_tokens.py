from datetime import UTC, datetime, timedelta

import pytest

from reports.push_tokens import PushTokenError, PushTokens

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def book(tmp_path):
    return PushTokens(tmp_path)


def test_a_token_works_until_it_expires_and_its_use_is_noted(book):
    token, secret = book.create("nightly", days=2, now=NOW)
    assert book.check(secret, NOW + timedelta(days=1)).id == token.id
    assert book.all()[0].last_used_at == NOW + timedelta(days=1)
    assert book.check(secret, NOW + timedelta(days=2)) is None
    assert book.all()[0].state(NOW + timedelta(days=2)) == "expired"


def test_a_revoked_token_is_dead_for_good(book):
    token, secret = book.create("nightly", days=None, now=NOW)
    assert book.check(secret, NOW + timedelta(days=4000)) is not None
    first = book.revoke(token.id, NOW)
    assert book.revoke(token.id, NOW + timedelta(days=1)).revoked_at == first.revoked_at == NOW
    assert book.check(secret, NOW) is None


def test_the_secret_is_kept_nowhere(book, tmp_path):
    _, secret = book.create("nightly")
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in kept
    assert len(secret) >= 43


@pytest.mark.parametrize("guess", ["", "ipd_", "nightly", "ipd_" + "A" * 43])
def test_a_guess_opens_nothing(book, guess):
    book.create("nightly")
    assert book.check(guess) is None


@pytest.mark.parametrize(("name", "days"), [("", 9), ("  ", 9), ("n" * 81, 9), ("n", 0), ("n", 367)])
def test_a_token_without_a_name_or_with_an_odd_span_is_refused(book, name, days):
    with pytest.raises(PushTokenError):
        book.create(name, days)
    assert book.all() == []


def test_revoking_an_unknown_token_says_so(book):
    with pytest.raises(PushTokenError, match="no push token 7"):
        book.revoke(7)
