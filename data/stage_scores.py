"""Published scores of the stages of one model. Only scores of one comparable group may share an axis."""

import functools
from dataclasses import dataclass
from pathlib import Path

from data.catalogue import FOLDER
from data.catalogue_rows import Line, read_rows, unique
from data.errors import UserError

FILE = "nemotron3_scores.csv"


@dataclass(frozen=True)
class StageScore:
    """A score as its maker printed it. `comparable_group`: one table of the report, one harness and version.

    `n_tasks` None: neither printed nor known from the benchmark.
    """

    comparable_group: str
    stage: str
    benchmark_id: str
    benchmark_name: str
    benchmark_version: str
    score: float
    score_unit: str
    n_tasks: int | None
    harness: str
    model: str
    precision: str
    source: str
    source_date: str
    status: str
    note: str

    @property
    def share(self) -> float:
        """The score as a fraction, 0..1."""
        return self.score / 100


def stage_scores(group: str) -> tuple[StageScore, ...]:
    """Scores of one comparable group, in the order printed. Raises UserError for an unknown group."""
    rows = _scores(FOLDER)
    groups = tuple(dict.fromkeys(row.comparable_group for row in rows))
    if group not in groups:
        raise UserError(
            f"There is no group of comparable scores {group!r}",
            "parameter group",
            f"Use one of {', '.join(groups)}.",
        )
    return tuple(row for row in rows if row.comparable_group == group)


def all_scores() -> tuple[StageScore, ...]:
    """Scores of all groups, in the order printed; those of two groups are not comparable."""
    return _scores(FOLDER)


@functools.cache
def _scores(folder: Path) -> tuple[StageScore, ...]:
    seen: dict[tuple[str, ...], str] = {}

    def check(line: Line, row: StageScore) -> None:
        for column in ("comparable_group", "stage", "benchmark_id", "source", "status"):
            line.need(column)
        key = (row.comparable_group, row.stage, row.benchmark_id, row.benchmark_version, row.precision)
        unique(seen, key, line, "score")
        if row.score_unit != "percent" or not 0 <= row.score <= 100:
            raise line.refuse(
                f"{row.score:g} {row.score_unit} is no percent", "Give a score of 0 to 100 percent."
            )

    return tuple(read_rows(folder / FILE, StageScore, check))
