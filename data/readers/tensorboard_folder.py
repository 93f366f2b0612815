"""A folder with several TensorBoard event files of one run."""

import re
from pathlib import Path

from data.arrival.bundle import Members, open_bundle
from data.arrival.kinds import HEAD_BYTES
from data.arrival.names import run_name_of
from data.errors import UnreadableFileError
from data.logs.tensorboard import EventFile, batch_of, has_scalars, opened_at, read_points
from data.logs.tfrecord import is_event_file
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

_NAME = re.compile(r"^events\.out\.tfevents\.(?P<time>\d+)\.(?P<host>.+?)(?:\.(?P<pid>\d+)\.\d+)?(?:\.v2)?$")
_STAMP = re.compile(r"^\d+(?:\.\d+)?$")
"""The folder that add_hparams opens is named by the time."""


class TensorboardFolderReader:
    """Event files that lie side by side: a resumed run, or several writers of one run."""

    format = "tensorboard_folder"
    title = "folder of TensorBoard event files"
    kinds = ("folder",)

    def sniff(self, source: Source) -> Sniff:
        """An event file in the folder itself, and another beside it or of the same process below it."""
        members = open_bundle(source)
        found = [name for name in self.wanted(members) if has_scalars(_file(members, name))]
        if len(found) >= 2 and any("/" not in name for name in found):
            return Sniff(0.95, f"{len(found)} event files with scalars of one run")
        return Sniff(0.0, "fewer than two event files with scalars of one run")

    def wanted(self, members: Members) -> list[str]:
        """The event files of the folder itself, and those that the same processes wrote below it.

        `add_scalars` and `add_hparams` open writers in folders of their own; other folders are other runs.
        """
        likely = [n for n in members.names if "/" not in n or _writer(n)]
        direct = [n for n in likely if "/" not in n and _is_events(members, n)]
        writers = {writer for name in direct if (writer := _writer(name))}
        below = [n for n in likely if "/" in n and _writer(n) in writers and _is_events(members, n)]
        return sorted([*direct, *below])

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read the scalars of all files; raises UnreadableFileError when there are none."""
        members = open_bundle(source)
        files = [_file(members, name) for name in self.wanted(members)]
        told = sorted((file for file in files if has_scalars(file)), key=opened_at)
        points = read_points(told, progress)
        if not points.value:
            raise UnreadableFileError(
                "No scalar in these event files", source.name, "Load the event files that hold the curves."
            )
        run = choices.run or run_name_of(source.name)
        batch = batch_of(self.format, run, points, source, choices, scratch)
        if len(told) < len(files):
            batch.warnings.append(f"{len(files) - len(told)} of {len(files)} event files hold no scalar.")
        return batch


def _is_events(members: Members, name: str) -> bool:
    return is_event_file(members.read_bytes(name, HEAD_BYTES))


def _writer(name: str) -> str | None:
    """Host and process of a writer, from the name of its file; the time where no process stands."""
    match = _NAME.match(name.rpartition("/")[2])
    if match is None:
        return None
    return f"{match['host']} {match['pid']}" if match["pid"] else f"{match['host']} at {match['time']}"


def _file(members: Members, name: str) -> EventFile:
    folder = name.rpartition("/")[0]
    prefix = f"{folder}/" if folder and not _STAMP.match(folder) else ""
    return EventFile(name, *members.place(name), prefix)


READERS = (TensorboardFolderReader(),)
