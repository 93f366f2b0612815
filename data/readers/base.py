"""What every reader gets and gives: a spooled source in, a reconciled batch out."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pandas as pd

if TYPE_CHECKING:
    from data.gpu.rolled import Rolled

Progress = Callable[[str, int, int | None], None]
"""Called with (stage, done, total or None); raises to cancel."""

PROCESS_MARK = ":"
"""In `steps.source` between a kind of log and the process of the run that wrote it (`format:trainer`)."""


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Source:
    """A spooled upload: the untouched original and its decoded UTF-8, LF twin (the same file when clean).

    `head` is the first 64 KiB of decoded text. `kind`: text, parquet, tfevents (one TensorBoard event file)
    or folder (a tar of the files of a run folder, see `data.arrival.bundle`); only text has a head and lines.
    `head_path`: a file that holds the head and nothing else, at `path` while readers judge the upload.
    """

    name: str
    original: Path
    path: Path
    sha256: str
    size_bytes: int
    encoding: str
    line_ending: str
    physical_lines: int
    ends_with_newline: bool
    head: str
    kind: str = "text"
    head_path: Path | None = None


@dataclass(frozen=True)
class Sniff:
    """How sure a reader is (0..1) that a file is its own, and the sentence that says why."""

    confidence: float
    why: str


@dataclass(frozen=True)
class Choices:
    """What a person has decided about one file. Empty means: take it from the file or leave it open.

    `step`: the step of `run` whose checkpoint an evaluation measured. `benchmark`: the one that results by
    task belong to where no column names it.
    """

    format: str | None = None
    timezone: str | None = None
    run: str | None = None
    campaign: str | None = None
    platform: str | None = None
    llm: str | None = None
    gpus: int | None = None
    gpus_train: int | None = None
    gpus_rollout: int | None = None
    host: str | None = None
    step: int | None = None
    benchmark: str | None = None
    synthetic: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SetAside:
    """One quarantined record, or one quarantined cell when `column` is given (its record stays stored)."""

    line: int
    reason: str
    text: str
    column: str | None = None


@dataclass
class Batch:
    """What a reader found.

    `records` = `stored` + quarantined records (`SetAside` without column) + `ignored` (reason -> count).
    `tables`: table name of data/schema -> rows; columns are a subset of that table's, run and attempt keys
    are the reader's *local* names: `attempt` counts 1.. inside the file. `gpu_parts`: Parquet files in the
    scratch folder with the columns of schema table `gpu_samples`; `gpu_rollup`: what they add up to, if the
    reader knows it. `facts`: canonical facts of the file.
    `proposals`: what the file lets us infer about run details, each with how it was inferred.
    `timezone`: zone in which its stamps were read; `timezone_assumed` when neither file nor person named it.
    `names_runs`: the run names stand in the file, even where one equals the name of the file.
    `clock_from_stamps`: elapsed seconds are the stamps of the rows since the first one in the file, so they
    begin again with every piece of a log that is sent in pieces.
    `resumed_assumed`: local run and attempt whose resumption the reader took from step numbers; the file does
    not say it.
    """

    format: str
    records: int = 0
    stored: int = 0
    set_aside: list[SetAside] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    gpu_parts: list[Path] = field(default_factory=list)
    gpu_rollup: "Rolled | None" = None
    facts: dict[str, object] = field(default_factory=dict)
    proposals: list["Proposal"] = field(default_factory=list)
    mapped: dict[str, str] = field(default_factory=dict)
    unmapped: list[str] = field(default_factory=list)
    timezone: str | None = None
    timezone_assumed: bool = False
    names_runs: bool = False
    warnings: list[str] = field(default_factory=list)
    clock_from_stamps: bool = False
    resumed_assumed: set[tuple[str, int]] = field(default_factory=set)

    def reconcile(self) -> None:
        """Raise RuntimeError unless every record is accounted for."""
        aside = sum(1 for s in self.set_aside if s.column is None)
        found = self.stored + aside + sum(self.ignored.values())
        if found != self.records:
            raise RuntimeError(
                f"{self.format}: {self.records} records read but {self.stored} stored + {aside} set aside "
                f"+ {sum(self.ignored.values())} ignored = {found}"
            )


@dataclass(frozen=True)
class Proposal:
    """A run detail inferred from a file: value, and the sentence that says how it was inferred."""

    run: str
    field: str
    value: object
    how: str


class Reader(Protocol):
    """One file format. A module in `data/readers` names its readers in `READERS`; the registry finds them.

    A reader of anything but text also has `kinds`, a tuple of the `Source.kind` it can judge.
    """

    format: str
    title: str

    def sniff(self, source: Source) -> Sniff:
        """Judge by content (keys, header), never by file name alone."""
        ...

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read the whole file; raises UnreadableFileError when it holds no record of this format."""
        ...
