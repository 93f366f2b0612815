"""The receipt of an upload: what was read, kept, set aside, decided, and what a dollar figure lacks."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from data.readers.base import Batch, Choices, SetAside, Sniff, Source

SHOWN_SET_ASIDE = 100


@dataclass(frozen=True)
class Receipt:
    """One upload. `records` = `stored` + `quarantined` + sum of `ignored`; rows written are counted apart.

    `timezone`: zone in which stamps were read, `timezone_assumed` when neither file nor person named it.
    `steps` holds first, last and count of the file's steps (None, None, 0 without any). `missing_for_cost`:
    what each run still lacks, with `run`, `field`, `text` and a `proposal` where the files allow one.
    `equal_lines`: cost lines equal to stored ones, not stored again (`lines`, `money`, `first`, `last` day).
    `joins`: the runs and attempts it belongs to (`run`, `attempt`, `by`, `confidence`, `why`).
    `tied`: sentences on scheduler jobs that are tied to runs; `untied`: on those that are not.
    """

    upload_id: str
    file: str
    sha256: str
    size_bytes: int
    format: str
    confidence: float
    why: str
    encoding: str
    line_ending: str
    physical_lines: int
    records: int
    stored: int
    quarantined: int
    ignored: Mapping[str, int] = field(default_factory=dict)
    rows_written: Mapping[str, int] = field(default_factory=dict)
    set_aside: tuple[Mapping[str, Any], ...] = ()
    duplicate_of: str | None = None
    runs: tuple[str, ...] = ()
    steps: Mapping[str, int | None] = field(default_factory=dict)
    mapped: Mapping[str, str] = field(default_factory=dict)
    unmapped: tuple[str, ...] = ()
    timezone: str | None = None
    timezone_assumed: bool = False
    warnings: tuple[str, ...] = ()
    missing_for_cost: tuple[Mapping[str, Any], ...] = ()
    joins: tuple[Mapping[str, Any], ...] = ()
    equal_lines: Mapping[str, Any] = field(default_factory=dict)
    tied: tuple[str, ...] = ()
    untied: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, the same for the page, the command line and the database."""
        return {**asdict(self), **{k: list(getattr(self, k)) for k in _LISTS}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Receipt":
        """Inverse of `to_dict`."""
        return cls(**{**data, **{k: tuple(data.get(k, ())) for k in _LISTS}})

    def with_(self, **changes: Any) -> "Receipt":
        """A copy with some fields changed."""
        return replace(self, **changes)


_LISTS = ("set_aside", "runs", "unmapped", "warnings", "missing_for_cost", "joins", "tied", "untied")


def describe(source: Source, sniff: Sniff, batch: Batch, choices: Choices) -> Receipt:
    """What can be said before anything is stored; runs and steps by their names inside the file."""
    return Receipt(
        upload_id=source.sha256[:16],
        file=source.name,
        sha256=source.sha256,
        size_bytes=source.size_bytes,
        format=batch.format,
        confidence=round(sniff.confidence, 3),
        why=sniff.why,
        encoding=source.encoding,
        line_ending=source.line_ending,
        physical_lines=source.physical_lines,
        records=batch.records,
        stored=batch.stored,
        quarantined=sum(1 for s in batch.set_aside if s.column is None),
        ignored=dict(batch.ignored),
        set_aside=tuple(_shown(s) for s in batch.set_aside[:SHOWN_SET_ASIDE]),
        steps=_steps(batch),
        mapped=dict(batch.mapped),
        unmapped=tuple(batch.unmapped),
        timezone=batch.timezone or choices.timezone,
        timezone_assumed=batch.timezone_assumed,
        warnings=tuple(batch.warnings),
    )


def _shown(item: SetAside) -> Mapping[str, Any]:
    return {"line": item.line, "column": item.column, "reason": item.reason, "text": item.text[:500]}


def _steps(batch: Batch) -> dict[str, int | None]:
    numbers: set[int] = set()
    for table in ("steps", "step_phases", "metric_raw", "evals"):
        frame = batch.tables.get(table)
        if frame is not None and "step" in frame:
            numbers.update(int(s) for s in frame["step"].dropna().unique())
    if not numbers:
        return {"first": None, "last": None, "count": 0}
    return {"first": min(numbers), "last": max(numbers), "count": len(numbers)}
