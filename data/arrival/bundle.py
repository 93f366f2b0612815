"""A run folder as one upload: a tar whose bytes depend on nothing but the names and bytes of its files."""

import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from data.arrival.careful_tar import CarefulTarInfo
from data.arrival.kinds import BUNDLE_MARK
from data.arrival.spool import CHUNK_BYTES, spool
from data.errors import UnreadableFileError
from data.readers.base import Source

LISTING = "ipd-listing"
"""`Source.encoding` of a folder that is not packed yet: `path` lists its files (only ever sniffed)."""
_END_BYTES = 2 * tarfile.BLOCKSIZE


@dataclass(frozen=True)
class Members:
    """The files of a bundle, sorted by name; names are relative to the folder and use slashes.

    Every method raises KeyError for a name that is not in `names`.
    """

    names: tuple[str, ...]
    where: str
    _places: Mapping[str, tuple[Path, int, int]]

    def size(self, name: str) -> int:
        """Bytes of one file."""
        return self._places[name][2]

    def place(self, name: str) -> tuple[Path, int, int]:
        """Where the bytes of one file are: a file on disk, the first byte in it, and how many."""
        return self._places[name]

    def read_bytes(self, name: str, limit: int | None = None) -> bytes:
        """Bytes of one file, at most `limit` of them."""
        path, start, size = self._places[name]
        with path.open("rb") as handle:
            handle.seek(start)
            return handle.read(size if limit is None else min(size, limit))

    def read_text(self, name: str, limit: int | None = None) -> str:
        """Text of one small file (UTF-8 with or without mark; wrong bytes become the replacement sign)."""
        text = self.read_bytes(name, limit).decode("utf-8-sig", errors="replace")
        return text.replace("\r\n", "\n")

    def extract(self, name: str, scratch: Path) -> Path:
        """Copy one file into the scratch folder under a neutral name; returns its path."""
        path, start, left = self._places[name]
        scratch.mkdir(parents=True, exist_ok=True)
        target = scratch / f"member-{self.names.index(name)}"
        with path.open("rb") as handle, target.open("wb") as out:
            handle.seek(start)
            while left and (chunk := handle.read(min(left, CHUNK_BYTES))):
                out.write(chunk)
                left -= len(chunk)
        return target

    def source(self, name: str, scratch: Path) -> Source:
        """One file as a spooled source of its own, for a reader of single files.

        Raises UnreadableFileError for an empty or binary file.
        """
        copy = self.extract(name, scratch)
        try:
            return spool(copy, name, scratch / f"{copy.name}-spool")
        finally:
            copy.unlink()


def write_bundle(files: Mapping[str, Path], out: Path) -> None:
    """Pack files (name in the folder -> path) into a tar: sorted, without times, owners and modes."""
    with tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(_neutral(BUNDLE_MARK, 0), io.BytesIO())
        for name in sorted(files):
            with files[name].open("rb") as handle:
                tar.addfile(_neutral(name, files[name].stat().st_size), handle)


def _neutral(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info


def open_bundle(source: Source) -> Members:
    """The files of a source of kind `folder`; UnreadableFileError when the tar is damaged."""
    if source.encoding == LISTING:
        paths = {name: Path(path) for name, path in json.loads(source.path.read_text("utf-8")).items()}
        places = {name: (path, 0, path.stat().st_size) for name, path in paths.items()}
        return Members(tuple(sorted(places)), source.name, places)
    places = {}
    try:
        _check_end(source.path)
        with tarfile.open(source.path, "r:", tarinfo=CarefulTarInfo) as tar:
            for member in tar:
                if member.type == tarfile.REGTYPE and member.name != BUNDLE_MARK:
                    places[member.name] = (source.path, member.offset_data, member.size)
    except tarfile.TarError as error:
        raise UnreadableFileError(
            f"The packed folder is damaged ({error})", source.name, "Load the folder itself again."
        ) from error
    return Members(tuple(sorted(places)), source.name, places)


def _check_end(path: Path) -> None:
    """tarfile takes an archive that was cut inside a header for a whole one."""
    with path.open("rb") as handle:
        end = handle.seek(0, io.SEEK_END)
        handle.seek(max(0, end - _END_BYTES))
        if end % tarfile.BLOCKSIZE or any(handle.read()):
            raise tarfile.ReadError("its end is missing")


def listing(files: Mapping[str, Path], name: str, scratch: Path) -> Source:
    """A folder that a reader may judge (`sniff`) before anything is packed. `name` ends with a slash."""
    path = scratch / "listing.json"
    path.write_text(json.dumps({k: str(v) for k, v in files.items()}), encoding="utf-8")
    return Source(
        name=name,
        original=path,
        path=path,
        sha256="",
        size_bytes=0,
        encoding=LISTING,
        line_ending="none",
        physical_lines=0,
        ends_with_newline=True,
        head="",
        kind="folder",
    )


def pack(files: Mapping[str, Path], name: str, scratch: Path) -> Source:
    """Pack a folder and spool it; `name` ends with a slash, as names of folders do."""
    packed = scratch / "bundle.tar"
    try:
        write_bundle(files, packed)
        return spool(packed, name, scratch)
    finally:
        packed.unlink(missing_ok=True)
