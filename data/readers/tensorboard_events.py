"""One TensorBoard event file."""

from pathlib import Path

from data.arrival.names import run_name_of
from data.errors import UnreadableFileError
from data.logs.tensorboard import EventFile, batch_of, has_scalars, read_points
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress


class TensorboardEventsReader:
    """Scalars of one event file: tags are the raw keys, wall times the clock."""

    format = "tensorboard_events"
    title = "TensorBoard event file"
    kinds = ("tfevents",)

    def sniff(self, source: Source) -> Sniff:
        """Any event file with a scalar is ours; one with pictures only holds no numbers."""
        if has_scalars(_file(source)):
            return Sniff(0.98, "event records with valid checksums, and scalars among them")
        return Sniff(0.0, "an event file without scalars")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all scalars; raises UnreadableFileError when there are none."""
        points = read_points([_file(source)], progress)
        if not points.value:
            raise UnreadableFileError(
                "No scalar in this event file", source.name, "Load the event file that holds the curves."
            )
        run = choices.run or run_name_of(source.name)
        return batch_of(self.format, run, points, source, choices, scratch)


def _file(source: Source) -> EventFile:
    return EventFile(source.name, source.path, 0, source.size_bytes)


READERS = (TensorboardEventsReader(),)
