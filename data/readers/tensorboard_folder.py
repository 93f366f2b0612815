"""A folder with several TensorBoard event files of one run."""

from pathlib import Path

from data.bundle import Members, open_bundle
from data.errors import UnreadableFileError
from data.kinds import HEAD_BYTES
from data.names import run_name_of
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.tensorboard import EventFile, batch_of, has_scalars, opened_at, read_points
from data.tfrecord import is_event_file


class TensorboardFolderReader:
    """Event files that lie side by side: a resumed run, or several writers of one run."""

    format = "tensorboard_folder"
    title = "folder of TensorBoard event files"
    kinds = ("folder",)

    def sniff(self, source: Source) -> Sniff:
        """Two event files or more in the folder itself; those in folders below it are other runs."""
        members = open_bundle(source)
        found = [name for name in self.wanted(members) if has_scalars(_file(members, name))]
        if len(found) >= 2:
            return Sniff(0.95, f"{len(found)} event files with scalars side by side")
        return Sniff(0.0, "fewer than two event files with scalars in the folder itself")

    def wanted(self, members: Members) -> list[str]:
        """The event files of the folder itself."""
        return [
            name
            for name in members.names
            if "/" not in name and is_event_file(members.read_bytes(name, HEAD_BYTES))
        ]

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


def _file(members: Members, name: str) -> EventFile:
    return EventFile(name, *members.place(name))


READERS = (TensorboardFolderReader(),)
