"""One pass from an upload to a file on disk: hash, count, recognise the text encoding, decode when needed."""

import codecs
import hashlib
import io
import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol
from uuid import uuid4

import numpy as np

from data.arrival.kinds import HEAD_BYTES, kind_of, refuse_binary
from data.errors import UnreadableFileError
from data.gpu.plain_warm import PLAIN_FROM_BYTES, warm
from data.readers.base import Progress, Source, no_progress

CHUNK_BYTES = 4 << 20

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-bom", "utf-8"),
    (b"\xff\xfe", "utf-16le-bom", "utf-16-le"),
    (b"\xfe\xff", "utf-16be-bom", "utf-16-be"),
)


class ByteStream(Protocol):
    """Anything with a binary `read`."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes, b"" at the end."""
        ...


@dataclass
class _Counts:
    size_bytes: int = 0
    lf: int = 0
    cr: int = 0
    crlf: int = 0
    kind: str = "text"
    last_byte: int = -1
    nul_after_lines: int | None = None
    is_utf8: bool = True
    cut_character: bool = False


class _HashThread:
    """sha256 beside the reading thread; the short queue keeps memory constant."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._chunks: queue.Queue[bytes | None] = queue.Queue(maxsize=4)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (chunk := self._chunks.get()) is not None:
            self._digest.update(chunk)

    def update(self, chunk: bytes) -> None:
        self._chunks.put(chunk)

    def finish(self) -> str:
        self._chunks.put(None)
        self._thread.join()
        return self._digest.hexdigest()


def spool(
    stream_or_path: ByteStream | Path | str, name: str, folder: Path, progress: Progress = no_progress
) -> Source:
    """Write an upload into `folder` and describe it; nothing is left behind when this raises.

    The original is kept byte for byte as `<folder>/<sha256>`; `Source.path` is the same file when it is clean
    UTF-8 with LF, else `<sha256>.utf8`. A carriage return alone ends a line only in a file that has no LF.
    Parquet files, TensorBoard event files and bundles are binary: no head, no lines, `path` is the original.
    Raises UnreadableFileError for an empty file, NUL bytes, archives and other binary formats.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{uuid4().hex}.part"
    try:
        if isinstance(stream_or_path, Path | str):
            path = Path(stream_or_path)
            if not path.is_file():
                what = "This is no file but a folder or device" if path.exists() else "There is no such file"
                raise UnreadableFileError(what, str(path), "Check the path.")
            with _opened(path) as handle:
                return _spool(handle, path.stat().st_size, name, part, progress)
        return _spool(stream_or_path, None, name, part, progress)
    finally:
        part.unlink(missing_ok=True)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise UnreadableFileError(
            f"The file cannot be opened: {error.strerror}", str(path), "Check that it is there and readable."
        ) from error


def _spool(stream: ByteStream, total: int | None, name: str, part: Path, progress: Progress) -> Source:
    hasher = _HashThread()
    try:
        head, counts = _copy(stream, total, name, part, hasher, progress)
    finally:
        sha256 = hasher.finish()
    if counts.size_bytes == 0 or not head.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n"):
        raise UnreadableFileError(
            "The file is empty", name, "Check that the export finished, then load it again."
        )
    original = part.with_name(sha256)
    if counts.kind != "text":
        part.replace(original)
        return _binary(name, original, sha256, counts)
    encoding, codec, bom = _encoding_of(head, counts)
    if not codec.startswith("utf-16") and counts.nul_after_lines is not None:
        raise _nul_error(name, counts.nul_after_lines + 1)
    part.replace(original)
    if encoding == "utf-8" and counts.cr == 0 and not counts.cut_character:
        return _describe(name, original, original, sha256, counts, encoding)
    twin = original.with_name(f"{sha256}.utf8")
    try:
        decoded = _rewrite(original, twin, codec, bom, name, progress)
    except BaseException:
        twin.unlink(missing_ok=True)
        original.unlink(missing_ok=True)
        raise
    return _describe(name, original, twin, sha256, decoded, encoding, counts.size_bytes)


def _copy(
    stream: ByteStream, total: int | None, name: str, part: Path, hasher: _HashThread, progress: Progress
) -> tuple[bytes, _Counts]:
    counts = _Counts()
    head = b""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with part.open("wb") as out:
        for chunk in _chunks(stream):
            if not head:
                head = chunk[:HEAD_BYTES]
                counts.kind = kind_of(head)
                refuse_binary(head, name)
            hasher.update(chunk)
            out.write(chunk)
            if counts.kind == "text":
                _inspect(chunk, counts, decoder)
            if counts.size_bytes < PLAIN_FROM_BYTES <= counts.size_bytes + len(chunk):
                warm(head)
            counts.size_bytes += len(chunk)
            progress("spool", counts.size_bytes, total)
    if counts.is_utf8:
        counts.cut_character = bool(decoder.getstate()[0])
    return head, counts


def _chunks(stream: ByteStream) -> Iterator[bytes]:
    """Chunks of at least CHUNK_BYTES except the last: sockets hand out a few KiB at a time."""
    pieces: list[bytes] = []
    held = 0
    while piece := stream.read(CHUNK_BYTES):
        pieces.append(bytes(piece))
        held += len(piece)
        if held >= CHUNK_BYTES:
            yield b"".join(pieces)
            pieces, held = [], 0
    if pieces:
        yield b"".join(pieces)


def _inspect(chunk: bytes, counts: _Counts, decoder: codecs.IncrementalDecoder) -> None:
    if counts.nul_after_lines is None and (nul := chunk.find(b"\0")) >= 0:
        counts.nul_after_lines = counts.lf + chunk.count(b"\n", 0, nul)
    counts.lf += int(np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == 10))
    if b"\r" in chunk:
        counts.cr += chunk.count(b"\r")
        counts.crlf += chunk.count(b"\r\n")
    if counts.last_byte == 13 and chunk[0] == 10:
        counts.crlf += 1
    if counts.is_utf8 and not (chunk.isascii() and not decoder.getstate()[0]):
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError:
            counts.is_utf8 = False
            decoder.reset()
    counts.last_byte = chunk[-1]


def _binary(name: str, original: Path, sha256: str, counts: _Counts) -> Source:
    return Source(
        name=name,
        original=original,
        path=original,
        sha256=sha256,
        size_bytes=counts.size_bytes,
        encoding="binary",
        line_ending="none",
        physical_lines=0,
        ends_with_newline=True,
        head="",
        kind=counts.kind,
    )


def _nul_error(name: str, line: int) -> UnreadableFileError:
    return UnreadableFileError(
        "The file holds NUL bytes, so it is not plain text",
        f"{name}, line {line}",
        "If it is UTF-16 without a byte order mark, or was cut by a full disk, save it again as UTF-8 text.",
    )


def _encoding_of(head: bytes, counts: _Counts) -> tuple[str, str, bytes]:
    for bom, label, codec in _BOMS:
        if head.startswith(bom):
            if codec == "utf-8" and not counts.is_utf8:
                return label, "latin-1", bom
            return label, codec, bom
    return ("utf-8", "utf-8", b"") if counts.is_utf8 else ("latin-1", "latin-1", b"")


def _rewrite(original: Path, twin: Path, codec: str, bom: bytes, name: str, progress: Progress) -> _Counts:
    """Decode to UTF-8, LF; counts are those of the decoded text before newlines were made alike."""
    counts = _Counts()
    for text in _texts(original, codec, bom):
        if "\0" in text:
            raise _nul_error(name, counts.lf + text.count("\n", 0, text.index("\0")) + 1)
        _count_text(text, counts)
    old_mac = counts.lf == 0 and counts.cr > 0
    carry = ""
    with twin.open("wb") as out:
        for text in _texts(original, codec, bom):
            piece = carry + text
            carry = "\r" if piece.endswith("\r") else ""
            piece = piece[: len(piece) - len(carry)].replace("\r\n", "\n")
            out.write((piece.replace("\r", "\n") if old_mac else piece).encode())
            progress("decode", out.tell(), None)
        out.write(b"\n" if carry and old_mac else carry.encode())
    if counts.size_bytes == 0:
        raise UnreadableFileError(
            "The file is empty", name, "Check that the export finished, then load it again."
        )
    return counts


def _texts(path: Path, codec: str, bom: bytes) -> Iterator[str]:
    # A character cut at the very end of a killed log must not turn the whole file into Latin-1.
    decoder = codecs.getincrementaldecoder(codec)(errors="replace")
    with path.open("rb") as handle:
        handle.seek(len(bom))
        while chunk := handle.read(CHUNK_BYTES):
            if text := decoder.decode(chunk):
                yield text
    if text := decoder.decode(b"", final=True):
        yield text


def _count_text(text: str, counts: _Counts) -> None:
    counts.lf += text.count("\n")
    counts.cr += text.count("\r")
    counts.crlf += text.count("\r\n")
    if counts.last_byte == 13 and text[0] == "\n":
        counts.crlf += 1
    counts.last_byte = ord(text[-1])
    counts.size_bytes += len(text)


def _describe(
    name: str,
    original: Path,
    path: Path,
    sha256: str,
    counts: _Counts,
    encoding: str,
    size: int | None = None,
) -> Source:
    lines, ending = counts.lf, "lf"
    if counts.lf == 0 and counts.cr:
        lines, ending = counts.cr, "cr"
    elif counts.crlf:
        ending = "crlf" if counts.crlf == counts.lf else "mixed"
    closed = counts.last_byte == 10 or (ending == "cr" and counts.last_byte == 13)
    with path.open("rb") as handle:
        head = codecs.getincrementaldecoder("utf-8")().decode(handle.read(HEAD_BYTES))
    return Source(
        name=name,
        original=original,
        path=path,
        sha256=sha256,
        size_bytes=counts.size_bytes if size is None else size,
        encoding=encoding,
        line_ending=ending,
        physical_lines=lines + (0 if closed else 1),
        ends_with_newline=closed,
        head=head,
    )


def spool_bytes(data: bytes, name: str, folder: Path) -> Source:
    """Spool bytes already in memory (small uploads, tests)."""
    return spool(io.BytesIO(data), name, folder)


def discard(source: Source) -> None:
    """Delete the files of a spooled source."""
    for path in {source.original, source.path}:
        with suppress(FileNotFoundError):
            path.unlink()
