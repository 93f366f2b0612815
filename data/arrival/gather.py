"""The files of a folder or an archive, and which of them are one run's folder."""

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from data import readers
from data.arrival.bundle import Members, listing, open_bundle, pack
from data.arrival.kinds import HEAD_BYTES
from data.arrival.names import natural
from data.arrival.spool import spool
from data.arrival.unpack import (
    HIDDEN,
    Found,
    PassedOver,
    Unpacked,
    hidden,
    is_archive,
    limits,
    printable,
    unpack,
    useless,
)
from data.errors import UnreadableFileError, UserError
from data.readers.base import Progress, Reader, Source, no_progress

SURE_OF_FOLDER = 0.9
_AFTER_SLASH = chr(ord("/") + 1)


@dataclass(frozen=True)
class Failed:
    """A file that should have loaded and did not."""

    name: str
    error: UserError


@dataclass(frozen=True)
class Unit:
    """What becomes one upload: a file (`files` has one entry), or a run folder (`name` ends with a slash)."""

    name: str
    files: dict[str, Path]

    @property
    def is_folder(self) -> bool:
        """True for a run folder."""
        return self.name.endswith("/")


def spooled(unit: Unit, place: Path, progress: Progress = no_progress) -> Source:
    """A unit in the form that readers take, in the fresh folder `place`; a run folder is packed."""
    place.mkdir()
    if unit.is_folder:
        return pack(unit.files, unit.name, place)
    return spool(next(iter(unit.files.values())), unit.name, place, progress)


def walk(
    folder: Path, name: str, work: Path, progress: Progress = no_progress
) -> tuple[Unpacked, list[Failed]]:
    """All files below a folder that may be readable, archives among them unpacked into `work`.

    Names begin with `name`. Links and hidden files are passed over and said. Raises UnreadableFileError for
    more files than the cap.
    """
    found, most = Unpacked(), limits().members
    failed: list[Failed] = []
    for path, shown in _files(folder, name, found):
        if len(found.files) >= most:
            raise UnreadableFileError(
                f"The folder holds more than {most:,} files", str(folder), "Load the folders of single runs."
            )
        progress("look", len(found.files), None)
        if path.is_symlink() or not path.is_file():
            found.passed_over.append(PassedOver(shown, "a link or device"))
            continue
        with path.open("rb") as handle:
            why = useless(handle.read(HEAD_BYTES), shown)
        if why:
            found.passed_over.append(PassedOver(shown, why))
        elif is_archive(path):
            _unpacked(
                path, shown, work / f"archive-{len(found.files)}-{len(failed)}", found, failed, progress
            )
        else:
            found.files.append(Found(shown, path))
    found.files.sort(key=lambda item: natural(item.name))
    return found, failed


def _files(folder: Path, name: str, found: Unpacked) -> list[tuple[Path, str]]:
    out = []
    for here, folders, files in os.walk(folder):
        place = Path(here)
        for entry in sorted([*folders, *files]):
            shown = printable("/".join((name, *(place / entry).relative_to(folder).parts)))
            if hidden([entry]):
                found.passed_over.append(PassedOver(shown, HIDDEN))
            elif entry in files or (place / entry).is_symlink():
                out.append((place / entry, shown))
        folders[:] = sorted(f for f in folders if not hidden([f]))
    return out


def _unpacked(
    path: Path, name: str, into: Path, found: Unpacked, failed: list[Failed], progress: Progress
) -> None:
    try:
        inner = unpack(path, name, into, progress=progress, nested=True)
    except UserError as error:
        failed.append(Failed(name, error))
        return
    found.files += inner.files
    found.passed_over += inner.passed_over


def units(files: Sequence[Found], work: Path, format_name: str | None = None) -> list[Unit]:
    """Group files: each folder that a reader of folders is sure of is one upload, every other file its own.

    Outer folders are asked before inner ones. `format_name`: only that reader is asked.
    """
    left: dict[str, Path] = {}
    for item in files:
        left[item.name if item.name not in left else f"{item.name}~{len(left)}"] = item.path
    found, names = [], sorted(left)
    for folder in _folders(left):
        first, end = bisect_left(names, folder), bisect_left(names, folder[:-1] + _AFTER_SLASH)
        below = {name.removeprefix(folder): left[name] for name in names[first:end] if name in left}
        taken = _claimed(below, folder, work, format_name)
        if taken:
            found.append(Unit(folder, taken))
            for name in taken:
                del left[folder + name]
    found += [Unit(name, {name: path}) for name, path in left.items()]
    return sorted(found, key=lambda unit: natural(unit.name))


def _folders(names: dict[str, Path]) -> list[str]:
    folders = {name[: at + 1] for name in names for at, c in enumerate(name) if c == "/"}
    return sorted(folders, key=lambda f: (f.count("/"), f))


def _claimed(
    below: dict[str, Path], folder: str, work: Path, format_name: str | None
) -> dict[str, Path] | None:
    if len(below) < 2:
        return None
    source = listing(below, folder, work)
    judged = [pair for pair in readers.sniff_all(source) if format_name in (None, pair[0].format)]
    if not judged or judged[0][1].confidence < SURE_OF_FOLDER:
        return None
    wanted = _wanted(judged[0][0])
    names = open_bundle(source).names if wanted is None else wanted(open_bundle(source))
    return {name: below[name] for name in names}


def _wanted(reader: Reader) -> Callable[[Members], Sequence[str]] | None:
    """A reader of folders may name the files it uses (`wanted(members) -> names`); else it gets them all."""
    return getattr(reader, "wanted", None)
