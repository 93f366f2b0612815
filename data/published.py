"""Published measurements and the pairs made of them: typed rows, each with the place it was read."""

import csv
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from data.catalogue import FOLDER, Catalogue
from data.catalogue_rows import Line, typed
from data.errors import CatalogueError, UserError

PUBLISHED = FOLDER / "published"
SETS = ("decode", "training_cross_generation", "training_within_generation", "rl_step")
METRICS = ("tpot_ms", "tokens_per_s_per_gpu", "time_to_train_min", "step_time_s")
LOWER_IS_FASTER = ("tpot_ms", "time_to_train_min", "step_time_s")


@dataclass(frozen=True)
class Point:
    """What every measurement has; `model_id` is empty when the catalogue lacks the model."""

    row_id: str
    model: str
    model_id: str
    platform_id: str
    source_repo: str
    source_path: str
    source_commit: str
    note: str

    @property
    def source(self) -> str:
        """Repository and path in one line."""
        return f"{self.source_repo} {self.source_path}".strip()


@dataclass(frozen=True)
class DecodePoint(Point):
    """A serving point: milliseconds per output token of one sequence under `concurrency` sequences."""

    precision: str
    engine: str
    engine_version: str
    mode: str
    load_kind: str
    isl: float | None
    osl: float | None
    concurrency: float | None
    n_gpus: float | None
    tp: float | None
    pp: float | None
    attn_dp: float | None
    tpot_ms: float | None


@dataclass(frozen=True)
class TrainingPoint(Point):
    """Training throughput (tokens a second a GPU) or minutes to train; `parallelism` as printed."""

    kind: str
    n_gpus: float | None
    precision: str
    global_batch: float | None
    seq_len: float | None
    parallelism: str
    release: str
    tokens_per_s_per_gpu: float | None
    time_to_train_min: float | None


@dataclass(frozen=True)
class RlPoint(Point):
    """A whole RL step and its phases in seconds; `exposed_gen_s` is a wait, not work."""

    framework: str
    framework_version: str
    sync_mode: str
    train_precision: str
    gen_precision: str
    n_gpus: float | None
    tokens_per_s_per_gpu: float | None
    step_time_s: float | None
    gen_s: float | None
    train_s: float | None
    logprob_s: float | None
    refit_s: float | None


@dataclass(frozen=True)
class SyncPoint(Point):
    """Seconds to carry new weights from the trainer to the engines; GB are 10^9 bytes."""

    n_gpus: float | None
    n_train_gpus: float | None
    n_infer_gpus: float | None
    method: str
    train_precision: str
    infer_precision: str
    sync_s: float | None
    payload_gb: float | None
    effective_gb_s: float | None


@dataclass(frozen=True)
class Pair:
    """Two rows that differ in the platform; `ratio` is the metric of b over that of a."""

    set: str
    row_a: str
    row_b: str
    model_id: str
    platform_a: str
    platform_b: str
    matched_on: str
    moe: bool
    metric: str
    ratio: float

    @property
    def matched(self) -> str:
        """node_matched or gpu_matched for a whole RL step, else empty."""
        head, sign, _ = self.matched_on.partition(":")
        return head if sign and self.set == "rl_step" else ""

    @property
    def lower_is_faster(self) -> bool:
        """True for times, False for throughputs."""
        return self.metric in LOWER_IS_FASTER


@dataclass(frozen=True)
class Tables:
    """Measurements by row id, and pairs in file order."""

    decode: dict[str, DecodePoint]
    training: dict[str, TrainingPoint]
    rl_steps: dict[str, RlPoint]
    weight_sync: dict[str, SyncPoint]
    pairs: tuple[Pair, ...]

    def points(self, pair_set: str) -> dict[str, Any]:
        """Rows that the pairs of a set name."""
        if pair_set == "decode":
            return dict(self.decode)
        return dict(self.rl_steps if pair_set == "rl_step" else self.training)


_P = TypeVar("_P", bound=Point)


def shipped(catalogue: Catalogue) -> Tables:
    """The measurements that come with the program; RL steps are those of the catalogue."""
    names = [f.name for f in fields(RlPoint)]
    steps = {run.row_id: RlPoint(**{n: getattr(run, n) for n in names}) for run in catalogue.rl_runs()}
    tables = _read(PUBLISHED)
    return Tables(tables.decode, tables.training, steps, tables.weight_sync, tables.pairs)


def read_tables(folder: Path) -> Tables:
    """Tables of a folder with the columns of data/catalog/published; a table that is absent has no rows.

    Raises UserError for a folder without pairs.csv, CatalogueError naming file and line for a bad row.
    """
    if not (folder / "pairs.csv").is_file():
        raise UserError(
            "There is no table of pairs", str(folder / "pairs.csv"), "Name a folder that holds pairs.csv."
        )
    return _load(folder)


@functools.cache
def _read(folder: Path) -> Tables:
    return _load(folder)


def _load(folder: Path) -> Tables:
    return Tables(
        decode=_points(folder / "decode.csv", DecodePoint),
        training=_points(folder / "training.csv", TrainingPoint),
        rl_steps=_points(folder / "rl_steps.csv", RlPoint),
        weight_sync=_points(folder / "weight_sync.csv", SyncPoint),
        pairs=tuple(_pair(line) for line in _lines(folder / "pairs.csv")),
    )


def _points(path: Path, kind: type[_P]) -> dict[str, _P]:
    """Rows by id; refuses one that names no source, and an id that comes twice."""
    found: dict[str, _P] = {}
    if not path.is_file():
        return found
    for line in _lines(path):
        for column in ("row_id", "model"):
            _cell(line, column)
        row = _typed(line, kind)
        if not row.source:
            raise line.refuse(f"row {row.row_id} names no source", "Fill in source_repo or source_path.")
        if row.row_id in found:
            raise line.refuse(f"row {row.row_id} comes twice", "Give every row its own id.")
        found[row.row_id] = row
    return found


def _pair(line: Line) -> Pair:
    """One pair; refuses an unknown set or metric and a ratio that is no positive number."""
    if _cell(line, "set") not in SETS:
        raise line.refuse(f"set {line.cells['set']!r} is unknown", f"Use one of {', '.join(SETS)}.")
    if _cell(line, "metric") not in METRICS:
        raise line.refuse(f"metric {line.cells['metric']!r} is unknown", f"Use one of {', '.join(METRICS)}.")
    _cell(line, "ratio_b_over_a")
    ratio = line.number("ratio_b_over_a")
    if ratio is None or ratio <= 0:
        raise line.refuse("a ratio must be above 0", "Divide the metric of b by that of a.")
    names = ("set", "row_a", "row_b", "model_id", "platform_a", "platform_b", "matched_on", "metric")
    cells = {name: _cell(line, name) for name in names}
    return Pair(**cells, moe=_cell(line, "class") == "moe", ratio=ratio)


def _cell(line: Line, column: str) -> str:
    if column not in line.cells:
        raise CatalogueError(f"column {column} is missing", line.where, "Keep the columns of the format.")
    return line.need(column)


def _typed(line: Line, kind: type[_P]) -> _P:
    missing = [f.name for f in fields(kind) if f.name not in line.cells]
    if missing:
        raise CatalogueError(
            f"columns are missing: {', '.join(missing)}", line.where, "Keep the columns of the format."
        )
    return typed(line, kind)


def _lines(path: Path) -> Iterator[Line]:
    with path.open(newline="", encoding="utf-8-sig") as handle:
        reader = csv.reader(handle, strict=True)
        header = next(reader, [])
        for row in reader:
            where = f"{path.name}, line {reader.line_num}"
            if len(row) != len(header):
                raise CatalogueError(
                    f"{len(row)} cells instead of {len(header)}", where, "Quote cells that hold commas."
                )
            yield Line(where, dict(zip(header, row, strict=True)))


def resolve(tables: Sequence[Tables], pair: Pair) -> tuple[Any, Any]:
    """Rows of a pair, looked up in the order of `tables`; None where no table has the row."""
    rows = [_first([t.points(pair.set).get for t in tables], name) for name in (pair.row_a, pair.row_b)]
    return rows[0], rows[1]


def _first(lookups: Sequence[Callable[[str], Any]], name: str) -> Any:
    return next((row for look in lookups if (row := look(name)) is not None), None)
