"""What every analysis returns: answer, figures with intervals, tables, assumptions, notices, versions."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Figure:
    """One headline number.

    `low`, `high` are the ends of the interval named by `interval` (ci95, p10_p90, p10_p90_mean: of a
    mean and not of what it is taken over, quote_range, quote_range_least, bounds);
    `interval = "exact"` marks a count or a paid bill, which needs none. `value` None needs `missing`: the
    sentence that says what is lacking and what to do.
    """

    name: str
    label: str
    value: float | None
    unit: str
    low: float | None = None
    high: float | None = None
    interval: str = "exact"
    n: int | None = None
    boundary: str | None = None
    formula: str = ""
    missing: str | None = None


@dataclass(frozen=True)
class Assumption:
    """A number that was not measured in this run, with the badge (`status`) it carries on screen."""

    name: str
    value: object
    unit: str
    status: str
    source: str
    date: str


@dataclass(frozen=True)
class Notice:
    """A warning beside the number it touches: stable code, sentence, place."""

    code: str
    text: str
    where: str = ""


@dataclass(frozen=True)
class Result:
    """The outcome of one question.

    `answer` is the sentence a person could paste into a chat. `tables` hold exactly what charts draw.
    `versions` has: app, formulas, prices, catalogue, data_version, data_cutoff. `home_runs` names all runs of
    the home in the order in which they came, for colours alone: it leaves with no JSON and no report.
    """

    analysis: str
    params: Mapping[str, Any]
    answer: str
    headline: tuple[Figure, ...] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    warnings: tuple[Notice, ...] = ()
    versions: Mapping[str, Any] = field(default_factory=dict)
    home_runs: tuple[str, ...] = ()

    def figure(self, name: str) -> Figure:
        """Return the headline figure called `name`; KeyError when there is none."""
        for item in self.headline:
            if item.name == name:
                return item
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; not-a-number becomes null."""
        return {
            "analysis": self.analysis,
            "params": dict(self.params),
            "answer": self.answer,
            "headline": [_clean(asdict(f)) for f in self.headline],
            "tables": {name: _rows(frame) for name, frame in self.tables.items()},
            "assumptions": [_clean(asdict(a)) for a in self.assumptions],
            "warnings": [asdict(w) for w in self.warnings],
            "versions": _clean(dict(self.versions)),
        }

    def to_json(self) -> str:
        """Canonical JSON text: sorted keys, no spaces, so that equal results hash alike."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), default=str, allow_nan=False)


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return value


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [_clean(dict(zip(frame.columns, row, strict=True))) for row in frame.itertuples(index=False)]
