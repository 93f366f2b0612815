"""zip, tar and compressed files opened with caps on size, ratio, count and names; nothing is trusted."""

import bz2
import gzip
import lzma
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from data.arrival.careful_tar import CarefulTarInfo
from data.arrival.kinds import HEAD_BYTES, archive_kind, binary_kind, is_tar
from data.arrival.names import natural
from data.arrival.zip_directory import directory_bytes
from data.errors import UnreadableFileError
from data.readers.base import Progress, no_progress

CHUNK_BYTES = 1 << 20
DEFAULT_UNPACKED_MB = 8_590
"""8 GiB."""
_SUFFIX = re.compile(r"\.(?:zip|tar|tgz|tbz2?|txz|(?:tar\.)?(?:gz|bz2|xz))$", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_DIRECTORY_ENTRY_BYTES = 600
_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    NotImplementedError,
    ValueError,
    RecursionError,
)
"""What the standard library raises on archives that are damaged or forged."""
_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    "gzip": lambda handle: gzip.GzipFile(fileobj=handle),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}


@dataclass(frozen=True)
class Limits:
    """Caps of one archive with all that is nested in it. Ratio: bytes unpacked to bytes packed."""

    unpacked_bytes: int
    ratio: int = 200
    ratio_from_bytes: int = 16 << 20
    members: int = 100_000
    name_characters: int = 500


def limits() -> Limits:
    """The caps in force: IPD_MAX_UNPACKED_MB, default 8 GiB."""
    return Limits(int(os.environ.get("IPD_MAX_UNPACKED_MB") or DEFAULT_UNPACKED_MB) * 1_000_000)


@dataclass(frozen=True)
class Found:
    """A file that may be readable: its name (slashes, relative) and where its bytes are."""

    name: str
    path: Path


@dataclass(frozen=True)
class PassedOver:
    """A file that was not loaded, and why."""

    name: str
    why: str


HIDDEN = "a hidden file"
EMPTY = "empty"


@dataclass
class Unpacked:
    """What an archive held."""

    files: list[Found] = field(default_factory=list)
    passed_over: list[PassedOver] = field(default_factory=list)


class _Unpacker:
    """One archive on its way into a folder; names and budget are shared with archives nested in it."""

    def __init__(self, name: str, into: Path, caps: Limits, progress: Progress) -> None:
        self.name, self.into, self.caps, self.progress = name, into, caps, progress
        self.found = Unpacked()
        self.names: set[str] = set()
        self.unpacked_bytes = 0
        self.members = self.written = 0

    def refuse(self, what: str, member: str = "", remedy: str = "") -> UnreadableFileError:
        """The refusal of the whole archive, naming the member."""
        where = f"{self.name}: {printable(member)}" if member else self.name
        return UnreadableFileError(what, where, remedy or "Unpack it yourself and load the files you need.")

    def spend(self, count: int) -> None:
        """Take note of unpacked bytes; refuses above the cap."""
        self.unpacked_bytes += count
        self.progress("unpack", self.unpacked_bytes, None)
        if self.unpacked_bytes > self.caps.unpacked_bytes:
            size = f"{self.caps.unpacked_bytes / 1e9:.3g} GB"
            raise self.refuse(f"The archive unpacks to more than {size}", "", "Raise IPD_MAX_UNPACKED_MB.")

    def check_ratio(self, unpacked: int, packed: int, member: str) -> None:
        """Refuse what grows as only zip bombs do."""
        if unpacked > self.caps.ratio_from_bytes and unpacked > self.caps.ratio * max(packed, 1):
            raise self.refuse(
                f"This unpacks to more than {self.caps.ratio} times its size, as a zip bomb does", member
            )

    def count(self) -> None:
        """One more member, of any kind."""
        self.members += 1
        if self.members > self.caps.members:
            raise self.refuse(f"The archive holds more than {self.caps.members:,} members")

    def admit(self, raw: str, below: str) -> str | None:
        """The clean name of a member; None when it is to be left out. Refuses names that lead elsewhere."""
        if len(raw) > self.caps.name_characters:
            raise self.refuse(f"A name is longer than {self.caps.name_characters} characters", raw)
        name = raw.replace("\\", "/")
        if name.startswith("/") or _DRIVE.match(name):
            raise self.refuse("A member has an absolute path", raw)
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise self.refuse("A member leads out of the archive with '..'", raw)
        if not parts:
            raise self.refuse("A member has no name", raw)
        return self._fresh(parts, below, raw)

    def _fresh(self, parts: list[str], below: str, raw: str) -> str | None:
        name = printable(f"{below}{'/'.join(parts)}")
        if name in self.names:
            raise self.refuse("Two members have the same name", raw)
        self.names.add(name)
        if hidden(parts):
            self.leave(name, HIDDEN)
            return None
        return name

    def leave(self, name: str, why: str) -> None:
        """Remember that a member is not loaded."""
        self.found.passed_over.append(PassedOver(name, why))

    def keep(self, name: str, stream: IO[bytes], *, alone: bool = False) -> None:
        """Write a member under a neutral name, unless its first bytes show that no reader can use it."""
        head = _read(stream, HEAD_BYTES)
        if (why := useless(head, name)) and not alone:
            self.leave(name, why)
            return
        self.written += 1
        target = self.into / f"{self.written:06d}"
        with target.open("wb") as out:
            out.write(head)
            while chunk := stream.read(CHUNK_BYTES):
                out.write(chunk)
        self.found.files.append(Found(name, target))


class _Metered:
    """A stream of unpacked bytes that counts against the caps. `packed`: bytes it came from so far."""

    def __init__(
        self, stream: IO[bytes], work: _Unpacker, member: str, packed: Callable[[], int] | None
    ) -> None:
        self.stream, self.work, self.member, self.packed = stream, work, member, packed
        self.pushed_back = b""
        self.total = 0

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes."""
        if self.pushed_back:
            piece, self.pushed_back = self.pushed_back[:size], self.pushed_back[size:]
            return piece
        chunk = self.stream.read(size)
        self.total += len(chunk)
        self.work.spend(len(chunk))
        if self.packed is not None:
            self.work.check_ratio(self.total, self.packed(), self.member)
        return chunk


def is_archive(path: Path) -> bool:
    """True when a file is one that `unpack` opens, judged by its first bytes."""
    with path.open("rb") as handle:
        return archive_kind(handle.read(HEAD_BYTES)) is not None


def unpack(
    path: Path,
    name: str,
    into: Path,
    caps: Limits | None = None,
    progress: Progress = no_progress,
    *,
    nested: bool = False,
) -> Unpacked:
    """Unpack a zip, tar, gz, bz2 or xz file into the fresh folder `into`; memory stays flat.

    Archives inside it are opened once; those inside them are passed over. Files without a folder are put
    below one named after the archive; `nested`: all files are. Raises UnreadableFileError, naming the member,
    for an encrypted or damaged one, a link, a device, an absolute path, `..`, a name twice, or above a cap;
    then nothing is left behind.
    """
    into.mkdir(parents=True)
    work = _Unpacker(name, into, caps or limits(), progress)
    try:
        _open(path, name, work, nested=nested)
        for inner in [item for item in work.found.files if is_archive(item.path)]:
            work.found.files.remove(inner)
            _open(inner.path, inner.name, work, nested=True)
            inner.path.unlink()
        for item in [item for item in work.found.files if is_archive(item.path)]:
            work.found.files.remove(item)
            work.leave(item.name, "an archive inside an archive inside an archive")
            item.path.unlink()
    except BaseException:
        shutil.rmtree(into, ignore_errors=True)
        raise
    work.found.files.sort(key=lambda item: natural(item.name))
    return work.found


def folder_of(name: str) -> str:
    """What the files of an archive are put below: its name without the ending."""
    return _SUFFIX.sub("", name) or name


def useless(head: bytes, name: str) -> str | None:
    """Why a file cannot be read, from its first bytes; None when it may be."""
    if not head.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n"):
        return EMPTY
    kind = archive_kind(head)
    if kind == "workbook":
        return "an Office workbook: save the sheet as CSV"
    if kind is not None:
        return None if _SUFFIX.search(name) else f"a {kind} archive without the ending of one"
    return binary_kind(head)


def hidden(parts: list[str]) -> bool:
    """True for files that operating systems and tools keep out of sight."""
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def printable(name: str) -> str:
    """A name without control characters."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)


def _read(stream: Any, size: int) -> bytes:
    """Exactly `size` bytes, fewer only at the end."""
    pieces = []
    while size and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _open(path: Path, name: str, work: _Unpacker, *, nested: bool) -> None:
    with path.open("rb") as handle:
        kind = archive_kind(handle.read(HEAD_BYTES))
    if kind == "workbook":
        raise work.refuse("This is an Office workbook", "", "Save the sheet as CSV and load that.")
    try:
        if kind == "zip":
            _zip(path, work, folder_of(name), nested=nested)
        elif kind == "tar":
            with path.open("rb") as handle:
                _tar(handle, work, folder_of(name), nested=nested, metered=False)
        else:
            _compressed(path, str(kind), name, work, nested=nested)
    except _BROKEN as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise work.refuse(
            f"The archive cannot be unpacked, it is damaged or cut off ({error})",
            name if nested else "",
            "Pack it again, or load the files themselves.",
        ) from error


def _below(raw: str, folder: str, *, nested: bool) -> str:
    """Where a member is put: as it is, or below the archive's own name when it has no folder."""
    return f"{folder}/" if nested or "/" not in raw.replace("\\", "/").removeprefix("./") else ""


def _zip(path: Path, work: _Unpacker, folder: str, *, nested: bool) -> None:
    size = directory_bytes(path)
    if size is not None and size > _DIRECTORY_ENTRY_BYTES * work.caps.members:
        raise work.refuse(f"The archive holds more than {work.caps.members:,} members or very long names")
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            work.count()
            if info.is_dir():
                continue
            _check_zip_member(info, work)
            if not 0 <= info.header_offset < archive.start_dir:
                raise zipfile.BadZipFile("the directory points outside the file")
            name = work.admit(info.filename, _below(info.filename, folder, nested=nested))
            if name is None:
                continue
            with archive.open(info) as stream:
                work.keep(
                    name, cast("IO[bytes]", _Metered(stream, work, name, partial(int, info.compress_size)))
                )


def _check_zip_member(info: zipfile.ZipInfo, work: _Unpacker) -> None:
    if info.flag_bits & 1:
        raise work.refuse("A member is encrypted", info.filename, "Pack it again without a password.")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise work.refuse("A member is a link or device, not a plain file", info.filename)
    work.check_ratio(info.file_size, info.compress_size, info.filename)


def _tar(stream: Any, work: _Unpacker, folder: str, *, nested: bool, metered: bool) -> None:
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=CarefulTarInfo, bufsize=CHUNK_BYTES) as archive:
        for member in archive:
            work.count()
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                what = "link" if member.issym() or member.islnk() else "device or sparse file"
                raise work.refuse(f"A member is a {what}, not a plain file", member.name)
            name = work.admit(member.name, _below(member.name, folder, nested=nested))
            handle = archive.extractfile(member) if name else None
            if name and handle:
                counted = handle if metered else _Metered(handle, work, name, None)
                work.keep(name, cast("IO[bytes]", counted))


def _compressed(path: Path, kind: str, name: str, work: _Unpacker, *, nested: bool) -> None:
    """A gz, bz2 or xz file: a tar inside is opened as well, anything else is one file without the ending."""
    with path.open("rb") as raw, _OPENERS[kind](raw) as plain:
        stream = _Metered(plain, work, name if nested else "", raw.tell)
        stream.pushed_back = _read(stream, tarfile.BLOCKSIZE)
        if is_tar(stream.pushed_back):
            _tar(stream, work, folder_of(name), nested=nested, metered=True)
            return
        work.count()
        bare = _SUFFIX.sub("", name) or name
        work.names.discard(name)
        fresh = work.admit(name if bare in work.names else bare, "")
        if fresh:
            work.keep(fresh, cast("IO[bytes]", stream), alone=not nested)
