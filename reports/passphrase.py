"""The passphrase of a link: scrypt with a salt, compared in constant time, and the proof a browser keeps.

Cost N=2^15, r=8, p=3 (32 MB, about half a second): one of the equal minimums of OWASP's Password Storage
Cheat Sheet. After five wrong phrases a link makes everybody wait, a minute first, then twice as long each
time, an hour at most.
"""

import base64
import hashlib
import hmac
import secrets
import unicodedata
from datetime import UTC, datetime, timedelta

from reports.link_terms import LinkError

LOG2_N, BLOCK, PARALLEL = 15, 8, 3
SHORTEST, LONGEST = 8, 200
SALT_BYTES = 16
FREE_TRIES = 5
FIRST_WAIT, LONGEST_WAIT = timedelta(minutes=1), timedelta(hours=1)
PROOF_LASTS = timedelta(hours=12)
_MEMORY_BYTES = 256 * 2**20


def keep(phrase: str) -> str:
    """Return what is kept of a phrase; LinkError when it is too short or too long to be one."""
    text = check(phrase)
    salt = secrets.token_bytes(SALT_BYTES)
    digest = _scrypt(text, salt, LOG2_N, BLOCK, PARALLEL)
    return f"{LOG2_N}${BLOCK}${PARALLEL}${_encoded(salt)}${_encoded(digest)}"


def check(phrase: str) -> str:
    """Return a phrase as it is compared; LinkError when it is too short or too long to be one."""
    text = _plain(phrase)
    if not SHORTEST <= len(text) <= LONGEST:
        raise LinkError(
            f"A passphrase has {SHORTEST} to {LONGEST} characters, this one {len(text)}",
            "passphrase",
            "Three or four random words are easy to say and hard to guess.",
        )
    return text


def fits(phrase: str, kept: str) -> bool:
    """Return whether a phrase is the kept one; capital letters count, spaces at its ends do not."""
    log2_n, block, parallel, salt, digest = kept.split("$")
    text = _plain(phrase)[: LONGEST + 1]
    found = _scrypt(text, base64.b64decode(salt), int(log2_n), int(block), int(parallel))
    return hmac.compare_digest(found, base64.b64decode(digest))


def wait_after(wrong_tries: int) -> timedelta | None:
    """Return how long nobody may try after so many wrong phrases in a row; None for the first four."""
    over = wrong_tries - FREE_TRIES
    if over < 0:
        return None
    wait: timedelta = FIRST_WAIT * 2 ** min(over, 10)
    return min(wait, LONGEST_WAIT)


def proof(kept: str, token_digest: str, now: datetime) -> str:
    """Return what a browser shows in place of the phrase, for twelve hours.

    It dies with the phrase and with the token.
    """
    until = int((now + PROOF_LASTS).timestamp())
    return f"{until}.{_seal(kept, token_digest, until)}"


def proves(given: str, kept: str, token_digest: str, now: datetime) -> bool:
    """Return whether a browser's proof is ours, of this link and phrase, and not too old."""
    until, _, seal = given.partition(".")
    if not (until.isascii() and until.isdecimal() and len(until) < 12):
        return False
    true = hmac.compare_digest(seal.encode(), _seal(kept, token_digest, int(until)).encode())
    return true and datetime.fromtimestamp(int(until), UTC) > now


def _seal(kept: str, token_digest: str, until: int) -> str:
    return hmac.new(kept.encode(), f"{token_digest}.{until}".encode(), hashlib.sha256).hexdigest()


def _plain(phrase: str) -> str:
    return unicodedata.normalize("NFKC", phrase.encode("utf-8", "replace").decode()).strip()


def _scrypt(text: str, salt: bytes, log2_n: int, block: int, parallel: int) -> bytes:
    return hashlib.scrypt(
        text.encode(), salt=salt, n=2**log2_n, r=block, p=parallel, maxmem=_MEMORY_BYTES, dklen=32
    )


def _encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
