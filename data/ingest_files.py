"""Several uploads from one thing: a file, an archive or a folder."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from data import readers
from data.arrival.gather import Failed, Unit, spooled, units, walk
from data.arrival.names import archive_run, natural, says_nothing
from data.arrival.spool import CHUNK_BYTES, ByteStream
from data.arrival.unpack import EMPTY, PassedOver, is_archive, unpack
from data.errors import UnreadableFileError, UserError
from data.ingest import check_choices, check_space, ingest_file, ingest_source
from data.join import joins_a_run
from data.readers import AmbiguousFormatError
from data.readers.base import Choices, Progress, Source, no_progress
from data.receipt import Receipt
from data.store import Store

SHOWN = 5


@dataclass
class Intake:
    """What came of a file, an archive or a folder.

    `passed_over`: files that no reader knows. `failed`: files that a reader knows and that were refused.
    """

    name: str
    receipts: list[Receipt] = field(default_factory=list)
    passed_over: list[PassedOver] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)

    def one(self) -> Receipt | None:
        """The receipt, when there is nothing else to say."""
        alone = len(self.receipts) == 1 and not self.passed_over and not self.failed
        return self.receipts[0] if alone else None


def ingest_files(
    store: Store,
    path_or_stream: Path | str | ByteStream,
    name: str | None = None,
    choices: Choices | None = None,
    progress: Progress = no_progress,
) -> Intake:
    """Load a file, every readable file of an archive (zip, tar, gz, bz2, xz), or those of a folder.

    Logs come first, then files that may belong to one (GPU samples, jobs, sandbox calls). Each file is an
    upload of its own, committed by itself and named by its path; a folder that a reader of
    run folders is sure of is one upload. Files loaded before are duplicates as ever. Raises UserError when
    the archive is refused, or when nothing of it could be read; what raises from `progress` stops the rest.
    """
    decided = check_choices(choices or Choices())
    given = Path(path_or_stream) if isinstance(path_or_stream, Path | str) else None
    file_name = name or (given.resolve().name if given else "upload")
    work = store.spool / uuid4().hex
    try:
        work.mkdir(parents=True)
        path = given if given is not None else _on_disk(path_or_stream, work / "stream")
        if path.is_dir():
            found, failed = walk(path, file_name, work, progress)
        elif path.is_file() and is_archive(path):
            check_space(store.home, path)
            found, failed = unpack(path, file_name, work / "unpacked", progress=progress), []
        else:
            return Intake(file_name, [ingest_file(store, path, file_name, decided, progress)])
        grouped = units(found.files, work, decided.format)
        intake = Intake(file_name, [], _worth_saying(found.passed_over, grouped), failed)
        return _load_units(store, _placed(grouped, file_name), decided, work, intake, progress)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _load_units(
    store: Store, grouped: list[Unit], choices: Choices, work: Path, intake: Intake, progress: Progress
) -> Intake:
    unclear: list[UserError] = []
    later: list[Later] = []
    for unit, watched in _watched(grouped, progress):
        try:
            _take(store, unit, choices, work, watched, intake, unclear, later)
        except BaseException as error:
            error.add_note(f"{len(intake.receipts)} files before {unit.name} were stored")
            raise
    for one in later:
        _take_later(store, one, choices, intake)
    intake.receipts.sort(key=lambda receipt: natural(receipt.file))
    return _judged(intake, unclear)


def _placed(grouped: list[Unit], archive: str) -> list[Unit]:
    """Units whose own names tell no run lie in a folder named after their archive: so they stay one run."""
    run = archive_run(archive)
    if run is None:
        return grouped
    return [replace(u, name=f"{run}/{u.name}") if says_nothing(u.name) else u for u in grouped]


def _worth_saying(passed_over: list[PassedOver], grouped: list[Unit]) -> list[PassedOver]:
    """Without empty files inside run folders: there they are parameters and tags without a value."""
    folders = tuple(unit.name for unit in grouped if unit.is_folder)
    return [item for item in passed_over if not (item.why == EMPTY and item.name.startswith(folders))]


def _on_disk(stream: object, path: Path) -> Path:
    with path.open("wb") as out:
        while chunk := stream.read(CHUNK_BYTES):  # type: ignore[attr-defined]
            out.write(chunk)
    return path


def _watched(found: list[Unit], progress: Progress) -> Iterator[tuple[Unit, Progress]]:
    for number, unit in enumerate(found, 1):

        def told(stage: str, done: int, total: int | None, number: int = number) -> None:
            progress(f"file {number} of {len(found)}: {stage}", done, total)

        yield unit, told


def _take(
    store: Store,
    unit: Unit,
    choices: Choices,
    work: Path,
    progress: Progress,
    intake: Intake,
    unclear: list[UserError],
    later: list["Later"],
) -> None:
    place = work / uuid4().hex
    kept = False
    try:
        source = spooled(unit, place, progress)
        try:
            reader = readers.choose(source, choices)
        except UnreadableFileError as error:
            unclear.append(error)
            intake.passed_over.append(PassedOver(unit.name, error.what[:1].lower() + error.what[1:]))
            return
        kept = joins_a_run(reader.format)
        if kept:
            later.append(Later(source, place, progress))
            return
        intake.receipts.append(ingest_source(store, source, choices, place, progress))
    except AmbiguousFormatError as error:
        unclear.append(error)
        likely = " or ".join(c.title for c in error.candidates[:3])
        intake.passed_over.append(PassedOver(unit.name, f"perhaps {likely}: load it by itself to choose"))
    except UserError as error:
        intake.failed.append(Failed(unit.name, error))
    finally:
        if not kept:
            shutil.rmtree(place, ignore_errors=True)


@dataclass(frozen=True)
class Later:
    """A spooled file that may belong to a run of the logs beside it, which are loaded first."""

    source: Source
    place: Path
    progress: Progress


def _take_later(store: Store, one: Later, choices: Choices, intake: Intake) -> None:
    try:
        intake.receipts.append(ingest_source(store, one.source, choices, one.place, one.progress))
    except UserError as error:
        intake.failed.append(Failed(one.source.name, error))
    except BaseException as error:
        error.add_note(f"{len(intake.receipts)} files before {one.source.name} were stored")
        raise
    finally:
        shutil.rmtree(one.place, ignore_errors=True)


def _judged(intake: Intake, unclear: list[UserError]) -> Intake:
    """The intake, or the error of the one file it held, or one that says that nothing could be read."""
    if intake.receipts:
        return intake
    errors = [*unclear, *(item.error for item in intake.failed)]
    if len(errors) == 1 and len(intake.passed_over) + len(intake.failed) == 1:
        raise errors[0]
    if intake.failed:
        return intake
    seen = "; ".join(f"{item.name}: {item.why}" for item in intake.passed_over[:SHOWN])
    more = len(intake.passed_over) - SHOWN
    if more > 0:
        seen += f"; and {more:,} more"
    raise UnreadableFileError(
        f"No file in it can be read ({seen})" if seen else "It holds no file",
        intake.name,
        readers.what_can_be_read(),
    )
