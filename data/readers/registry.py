"""All readers, and the choice between them: by content only, and only when there is no doubt."""

import re
import tempfile
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from data.errors import UnreadableFileError, UserError
from data.parse.parquet_rows import is_damaged
from data.parse.table_records import TableSample, table_sample
from data.readers.base import Choices, Reader, Sniff, Source
from data.readers.foreign import describe, recognise, repeated_column
from data.readers.template_specs import Template
from data.readers.templates import TemplateReader


def _discover() -> tuple[Reader, ...]:
    """The `READERS` of every module beside this one, in the order of module names."""
    package = Path(__file__).parent
    names = sorted(module.name for module in iter_modules([str(package)]))
    modules = [import_module(f"data.readers.{name}") for name in names if name != "registry"]
    return tuple(reader for module in modules for reader in getattr(module, "READERS", ()))


REGISTRY: tuple[Reader, ...] = _discover()

SURE_FROM = 0.5
CLOSE_WITHIN = 0.15
WORTH_ASKING_FROM = 0.2
OUTDONE = 0.3
_PREVIEW_LINES = 8
_PREVIEW_CHARACTERS = 200
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Candidate:
    """A format that a file may have: confidence 0..1 and the sentence that says why."""

    format: str
    title: str
    confidence: float
    why: str


@dataclass
class AmbiguousFormatError(UserError):
    """Several formats are likely, or none is sure: ask, showing `preview` (first lines of the file).

    `table`: its first rows, when it is a table whose columns a person may map.
    """

    candidates: list[Candidate] = field(default_factory=list)
    preview: list[str] = field(default_factory=list)
    table: TableSample | None = None


def sniff_all(source: Source) -> list[tuple[Reader, Sniff]]:
    """Every reader's judgement of a file, most confident first (registry order among equals).

    Readers see a file that ends with the head: 300 MB of noise on one line cost no more than 64 KiB.
    """
    with tempfile.TemporaryDirectory(prefix="ipd-head-") as folder:
        head = Path(folder) / "head"
        head.write_text(source.head, encoding="utf-8", newline="")
        text = source.kind == "text"
        short = replace(source, path=head, original=head, head_path=head) if text else source
        asked = [reader for reader in REGISTRY if source.kind in getattr(reader, "kinds", ("text",))]
        judged = _settled([(reader, reader.sniff(short)) for reader in asked], short)
    return sorted(judged, key=lambda pair: -pair[1].confidence)


def _settled(judged: list[tuple[Reader, Sniff]], source: Source) -> list[tuple[Reader, Sniff]]:
    """Of our own templates one gives way to another that knows more of the header, or as much with less.

    Templates share columns: those of *allocations* are all in *runs*, which alone knows a status.
    """
    known = {
        reader.format: (reader.template, reader.known_columns(source))
        for reader, sniff in judged
        if isinstance(reader, TemplateReader) and sniff.confidence >= WORTH_ASKING_FROM
    }
    sure = {reader.format for reader, sniff in judged if sniff.confidence >= SURE_FROM} & set(known)
    settled: list[tuple[Reader, Sniff]] = []
    for reader, sniff in judged:
        better = reader.format in known and next(
            (known[rival][0] for rival in sure if _outdoes(known[rival], known[reader.format])), None
        )
        if better:
            why = f"{sniff.why}; the template {better.name} fits better"
            settled.append((reader, Sniff(min(sniff.confidence, OUTDONE), why)))
        else:
            settled.append((reader, sniff))
    return settled


def _outdoes(one: tuple[Template, frozenset[int]], other: tuple[Template, frozenset[int]]) -> bool:
    if one[1] == other[1]:
        return len(one[0].names) < len(other[0].names)
    return one[1] > other[1]


def choose(source: Source, choices: Choices) -> Reader:
    """The reader of a file: the one a person named, else the one that is sure of it.

    Raises UserError for an unknown format name, UnreadableFileError when no reader can use the file (it says
    what the file looks like), AmbiguousFormatError when two are close or the best is not sure. The latter two
    carry the first rows of a table, unless it is a price list.
    """
    try:
        return _choose(source, choices)
    except (UnreadableFileError, AmbiguousFormatError) as error:
        if not getattr(error, "prices", False):
            error.table = table_sample(source)
        raise


def _choose(source: Source, choices: Choices) -> Reader:
    if choices.format is not None:
        return _fitting(_named(choices.format), source)
    judged = sniff_all(source)
    if not judged:
        raise _unknown(source)
    best, sniff = judged[0]
    if sniff.confidence >= SURE_FROM:
        rival = judged[1][1].confidence if len(judged) > 1 else 0.0
        if sniff.confidence - rival > CLOSE_WITHIN:
            return best
    else:
        _refuse_foreign(source)
    likely = [pair for pair in judged if pair[1].confidence >= WORTH_ASKING_FROM]
    if not likely:
        raise _unknown(source)
    raise AmbiguousFormatError(
        "The format of this file is not clear",
        source.name,
        "Say which format it is: on the page below the preview, on the command line with --format NAME.",
        candidates=[Candidate(r.format, r.title, s.confidence, s.why) for r, s in likely],
        preview=preview(source),
    )


_KINDS = {
    "parquet": "a Parquet file",
    "tfevents": "a TensorBoard event file",
    "folder": "a folder of files",
}


_NO_USE = frozenset({"html_page", "http_metrics_jsonl", "http_access_log", "dcgm_exporter_counters"})
"""Foreign formats in which there is neither a training, a GPU, an evaluation nor a cost."""


def _unknown(source: Source) -> UnreadableFileError:
    if source.kind == "parquet" and is_damaged(source):
        return UnreadableFileError(
            "This is a Parquet file that is damaged or cut: the table of contents at its end cannot be read",
            source.name,
            "Wait until its writer has closed it, or copy or export it again and compare the sizes.",
        )
    looks = _KINDS.get(source.kind) or describe(source.head)
    twice = repeated_column(source.head) if source.kind == "text" else None
    if twice:
        return UnreadableFileError(
            f"This looks like {looks}, which no reader knows; its column {twice!r} appears more than once",
            source.name,
            "Rename the columns so that each has a name of its own and load it again: then they can be "
            "mapped ('Map its columns' on the page, --map FILE on the command line).",
        )
    return UnreadableFileError(
        f"This looks like {looks}, which no reader knows", source.name, what_can_be_read()
    )


def _fitting(reader: Reader, source: Source) -> Reader:
    """The reader a person named, unless it reads another kind of file altogether."""
    if source.kind not in getattr(reader, "kinds", ("text",)):
        looks = _KINDS.get(source.kind, "a text file")
        raise UnreadableFileError(
            f"This is {looks}, which cannot be read as {reader.format}", source.name, "Leave the format open."
        )
    return reader


def _named(name: str) -> Reader:
    found = next((reader for reader in REGISTRY if reader.format == name), None)
    if found is None:
        known = ", ".join(reader.format for reader in REGISTRY)
        raise UserError(f"There is no format {name!r}", "format", f"Use one of: {known}.")
    return found


def _refuse_foreign(source: Source) -> None:
    foreign = recognise(source.head)
    if foreign is None:
        return
    if foreign.remedy:
        remedy = foreign.remedy
    elif foreign.template:
        remedy = f"Fill in the template {foreign.template} with its numbers and load that."
    else:
        remedy = what_can_be_read()
    words = "this app does not read as it is"
    if foreign.format in _NO_USE:
        words = "holds nothing this app can use"
    elif foreign.holds_prices:
        words = "belongs into the price book"
    raise UnreadableFileError(
        f"Recognised {foreign.title} ({foreign.format}), which {words}",
        source.name,
        remedy,
        prices=foreign.holds_prices,
    )


def what_can_be_read() -> str:
    """The families of readable formats in one sentence, and what to do with any other table."""
    return (
        "Readable are training logs (verl, NeMo RL, TRL, W&B, TensorBoard, MLflow and more), GPU samples "
        "(nvidia-smi, DCGM, Prometheus), evaluations, Slurm jobs, sandbox events, cost exports (FOCUS, "
        "Azure) and the app's templates: docs/formats.md lists them. Any other table can be read once its "
        "columns are mapped: 'Map its columns' on the page, --map FILE on the command line."
    )


def preview(source: Source) -> list[str]:
    """First lines of a file without control characters, cut to a readable width."""
    lines = [line for line in source.head.split("\n") if line.strip()][:_PREVIEW_LINES]
    return [_CONTROL.sub("", line)[:_PREVIEW_CHARACTERS] for line in lines]
