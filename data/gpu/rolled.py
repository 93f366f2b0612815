"""What GPU samples add up to: found by the store in their Parquet parts, or by a reader on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from data.gpu.plain_rollup import Sums


@dataclass(frozen=True)
class Part:
    """Rows, GPUs in order of their name, first and last stamp; whether a GPU has unknown time.

    `measures`: those with a value; `full`: those with a value in every row.
    """

    rows: int
    gpu_ids: list[str]
    first: datetime
    last: datetime
    has_gaps: bool
    measures: tuple[str, ...]
    full: tuple[str, ...]


@dataclass(frozen=True)
class Rolled:
    """Parquet parts of one file: each by its path, and the `whole`. Good for exactly these parts."""

    parts: Mapping[Path, Part]
    whole: Part
    sums: Sums
    gpu_ids: Sequence[str]
