"""The spool pass: bytes in, an honest description and a UTF-8 LF twin out."""

import hashlib
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.arrival import spool as module
from data.arrival.spool import spool, spool_bytes
from data.errors import UnreadableFileError


class Trickle(io.RawIOBase):
    """A stream that hands out a few bytes at a time, as a socket does."""

    def __init__(self, data: bytes, step: int) -> None:
        self.data, self.step, self.at = data, step, 0

    def read(self, size: int = -1) -> bytes:
        piece = self.data[self.at : self.at + self.step]
        self.at += len(piece)
        return piece


def test_clean_utf8_is_not_rewritten(tmp_path: Path) -> None:
    data = "a,b\n1,é\n".encode()
    source = spool_bytes(data, "clean.csv", tmp_path)
    assert source.original == source.path
    assert source.path.read_bytes() == data
    assert source.sha256 == hashlib.sha256(data).hexdigest()
    assert (source.encoding, source.line_ending, source.physical_lines) == ("utf-8", "lf", 2)
    assert source.ends_with_newline and source.head == "a,b\n1,é\n"


@pytest.mark.parametrize(
    ("raw", "encoding", "text"),
    [
        (b"\xef\xbb\xbfa\nb\n", "utf-8-bom", "a\nb\n"),
        (b"\xff\xfe" + "a;é\r\nb\r\n".encode("utf-16-le"), "utf-16le-bom", "a;é\nb\n"),
        (b"\xfe\xff" + "a;é\nb".encode("utf-16-be"), "utf-16be-bom", "a;é\nb"),
        ("Währung\nCafé\n".encode("latin-1"), "latin-1", "Währung\nCafé\n"),
        (b"\xef\xbb\xbf" + "a\né\n".encode("latin-1"), "utf-8-bom", "a\né\n"),
    ],
)
def test_encodings(tmp_path: Path, raw: bytes, encoding: str, text: str) -> None:
    source = spool_bytes(raw, "f.csv", tmp_path)
    assert source.encoding == encoding
    assert source.path.read_bytes().decode() == text
    assert source.original.read_bytes() == raw
    assert source.sha256 == hashlib.sha256(raw).hexdigest()
    assert source.size_bytes == len(raw)
    assert source.head == text


@pytest.mark.parametrize(
    ("raw", "ending", "lines", "text"),
    [
        (b"a\nb\n", "lf", 2, b"a\nb\n"),
        (b"a\nb", "lf", 2, b"a\nb"),
        (b"a\r\nb\r\n", "crlf", 2, b"a\nb\n"),
        (b"a\r\nb", "crlf", 2, b"a\nb"),
        (b"a\r\nb\nc\r\n", "mixed", 3, b"a\nb\nc\n"),
        (b"a\rb\rc", "cr", 3, b"a\nb\nc"),
        (b"a\rb\r", "cr", 2, b"a\nb\n"),
        (b" 10%\r 20%\r100%\ndone\n", "lf", 2, b" 10%\r 20%\r100%\ndone\n"),
        (b"one line", "lf", 1, b"one line"),
    ],
)
def test_line_endings(tmp_path: Path, raw: bytes, ending: str, lines: int, text: bytes) -> None:
    source = spool_bytes(raw, "f.csv", tmp_path)
    assert (source.line_ending, source.physical_lines) == (ending, lines)
    assert source.path.read_bytes() == text


@given(
    parts=st.lists(
        st.tuples(
            st.text(st.characters(exclude_characters="\r\n\0", codec="utf-8"), max_size=6), st.booleans()
        ),
        min_size=1,
    ),
    step=st.integers(1, 7),
    chunk=st.integers(1, 5),
)
def test_any_chunking_gives_the_same_description(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[str, bool]], step: int, chunk: int
) -> None:
    text = "x" + "".join(line + ("\r\n" if crlf else "\n") for line, crlf in parts)
    raw = text.encode()
    folder = tmp_path_factory.mktemp("spool")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK_BYTES", chunk)
        source = spool(Trickle(raw, step), "f", folder)
    assert source.path.read_bytes() == raw.replace(b"\r\n", b"\n")
    assert source.physical_lines == len(parts)
    crlfs = sum(crlf for _, crlf in parts)
    assert source.line_ending == ("lf" if not crlfs else "crlf" if crlfs == len(parts) else "mixed")
    assert source.encoding == "utf-8"
    assert not list(folder.glob("*.part"))


def test_character_cut_at_the_end_stays_utf8(tmp_path: Path) -> None:
    source = spool_bytes("schön\nstep é".encode()[:-1], "cut.log", tmp_path)
    assert source.encoding == "utf-8"
    assert source.path.read_text(encoding="utf-8") == "schön\nstep \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b"", "empty"),
        (b"\n \r\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\xff\xfe", "empty"),
        (b"\x1f\x8b\x08rest", "gzip"),
        (b"PK\x03\x04rest", "zip"),
        (b"a.log".ljust(257, b"\0") + b"ustar\x0000rest", "tar"),
        (b"a\nb\nc\0d\n", "line 3"),
        ("a\nb\n".encode("utf-16-le"), "line 1"),
        (b"\xff\xfe" + "a\nb\0\n".encode("utf-16-le"), "line 2"),
    ],
)
def test_refusals_name_what_and_where_and_leave_nothing(tmp_path: Path, raw: bytes, word: str) -> None:
    with pytest.raises(UnreadableFileError, match=word) as caught:
        spool_bytes(raw, "bad.bin", tmp_path)
    assert "bad.bin" in str(caught.value) and caught.value.remedy
    assert list(tmp_path.iterdir()) == []


EVENTS = (
    b"\x18" + b"\0" * 7 + b"\xa3\x7f\x4b\x22" + b"\x09" + b"\0" * 8 + b"\x1a\x0dbrain.Event:2" + b"\0" * 4
)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"PAR1\0\x15rest", "parquet"),
        (EVENTS, "tfevents"),
        (b".ipd-bundle-1".ljust(257, b"\0") + b"ustar\x0000rest", "folder"),
    ],
)
def test_binary_kinds_are_kept_as_they_are(tmp_path: Path, raw: bytes, kind: str) -> None:
    source = spool_bytes(raw, "some.bin", tmp_path)
    assert (source.kind, source.head, source.physical_lines) == (kind, "", 0)
    assert source.path == source.original and source.path.read_bytes() == raw
    assert (source.sha256, source.size_bytes) == (hashlib.sha256(raw).hexdigest(), len(raw))


def test_an_event_file_is_known_by_its_checksum_and_version(tmp_path: Path) -> None:
    for broken in (EVENTS.replace(b"\xa3\x7f", b"\xa3\x7e"), EVENTS.replace(b"Event:2", b"Event:1")):
        with pytest.raises(UnreadableFileError, match="NUL"):
            spool_bytes(broken, "some.bin", tmp_path)


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no such file"):
        spool(tmp_path / "none.csv", "none.csv", tmp_path / "spool")


def test_progress_may_cancel_and_nothing_is_left(tmp_path: Path) -> None:
    def cancel(stage: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spool(io.BytesIO(b"a\nb\n"), "f", tmp_path, cancel)
    assert list(tmp_path.iterdir()) == []


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    big = tmp_path / "big.csv"
    with big.open("wb") as out:
        for _ in range(16):
            out.write(b"2026/01/01 00:00:00.000, 1, 34 %\r\n" * 125_000)
    tracemalloc.start()
    source = spool(big, "big.csv", tmp_path / "spool")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert source.physical_lines == 2_000_000
    assert peak < 60 << 20 < big.stat().st_size
