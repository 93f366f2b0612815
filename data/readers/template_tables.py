"""Typed rows of a template -> rows of the tables, with defaults, checks and keys."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePath

import pandas as pd

from data.readers.base import SetAside
from data.readers.template_rows import Cell, Row
from data.readers.template_specs import Template
from data.tables import keys, tables

PANDAS = {
    "DOUBLE": "float64", "BIGINT": "Int64", "INTEGER": "Int64", "BOOLEAN": "boolean",
    "TIMESTAMP": "datetime64[us]", "DATE": "object", "VARCHAR": "object",
}  # fmt: skip
_FILLED_BY_ROWS = ("runs", "attempts", "campaigns")
"""Tables that several rows tell about: empty cells are filled, and of different values the first counts."""
RUN_MAY_BE_MISSING = frozenset(
    {"checkpoints", "evals", "env_events", "gpu_samples", "costs", "scheduler_jobs"}
)
_SCORE_LIMIT = {"fraction": 1.0, "percent": 100.0}


@dataclass
class Collector:
    """Takes rows in file order; answers what became of each, and makes the frames at the end."""

    template: Template
    file_name: str
    set_aside: list[SetAside] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    stored: int = 0
    warnings: dict[str, int] = field(default_factory=dict)
    _rows: dict[str, dict[tuple[Cell, ...], tuple[int, Row]]] = field(default_factory=dict)
    _repeats: Counter[tuple[Cell, ...]] = field(default_factory=Counter)

    def add(self, line: int, text: str, row: Row) -> Row | None:
        """Take one row; None when it was set aside or repeats an earlier one."""
        reason = self._complete(row)
        placed = [] if reason else self._placed(row)
        fresh = False
        for table, key, values in placed:
            known = self._rows.setdefault(table, {}).get(key)
            if known is None or table in _FILLED_BY_ROWS:
                fresh = fresh or known is None
                continue
            if known[1] != values:
                named = ", ".join(str(part) for part in key if part is not None)
                reason = f"{table}: {named} has other values on line {known[0]}"
                break
        if reason:
            self.set_aside.append(SetAside(line, reason, text))
            return None
        if not fresh:
            fresh = self._adds_to_run(placed)
        if not fresh:
            self.ignored["duplicate row"] += 1
            self._contradictions(placed)
            return None
        for table, key, values in placed:
            self._keep(table, key, line, values)
        self.stored += 1
        return row

    def _keep(self, table: str, key: tuple[Cell, ...], line: int, values: Row) -> None:
        known = self._rows[table].get(key)
        if known is None:
            self._rows[table][key] = (line, values)
            return
        self._contradictions([(table, key, values)])
        for name, value in values.items():
            if known[1].get(name) is None:
                known[1][name] = value

    def _contradictions(self, placed: Sequence[tuple[str, tuple[Cell, ...], Row]]) -> None:
        for table, key, values in placed:
            known = self._rows[table][key][1]
            for name, value in values.items():
                if value is not None and known.get(name) not in (None, value):
                    self.warn(f"'{name}' of {key[0]} has several values; the first one was kept")

    def _adds_to_run(self, placed: Sequence[tuple[str, tuple[Cell, ...], Row]]) -> bool:
        """Whether a row fills a cell that an earlier row of the same run or attempt left empty."""
        for table, key, values in placed:
            known = self._rows[table][key][1]
            if any(value is not None and known.get(name) is None for name, value in values.items()):
                return True
        return False

    def warn(self, sentence: str) -> None:
        """Count a warning."""
        self.warnings[sentence] = self.warnings.get(sentence, 0) + 1

    def _complete(self, row: Row) -> str:
        """Fill defaults in place; the sentence that says why the row cannot be stored, else ''."""
        names = {c.name for t in self.template.tables for c in tables()[t]}
        baseline = self.template.name in RUN_MAY_BE_MISSING
        if "run" in names and row.get("run") is None and not baseline:
            row["run"] = PurePath(self.file_name).stem
        if "attempt" in names and row.get("attempt") is None and row.get("run") is not None:
            row["attempt"] = 1
        attempt = row.get("attempt")
        if isinstance(attempt, int) and attempt < 1:
            return "attempts are counted from 1"
        rule = {
            "runs": self._pool,
            "allocations": self._pool,
            "step_phases": self._phase,
            "evals": self._eval,
            "eval_tasks": self._task,
            "costs": self._cost,
        }.get(self.template.name)
        return rule(row) if rule else ""

    def _pool(self, row: Row) -> str:
        if row.get("team") is not None and row.get("campaign") is None:
            self.warn("A team is kept with its campaign: without a campaign it was left out")
        if self.template.name == "runs" and not any(
            row.get(n) is not None for n in ("platform", "gpus", "cores", "role")
        ):
            return ""
        if row.get("role") is None:
            row["role"] = "colocated"
            self.warn("No role was given: the pool was taken as colocated (it trains and rolls out)")
        if row.get("pool") is None:
            row["pool"] = "all" if row["role"] == "colocated" else row["role"]
        row["source"] = "file"
        start, end = row.get("started_at"), row.get("ended_at")
        late = isinstance(start, datetime) and isinstance(end, datetime) and end < start
        return "it ends before it starts" if late else ""

    def _phase(self, row: Row) -> str:
        row["kind"] = row.get("kind") or "wall"
        row["source_key"] = row.get("source_key") or f"{row['phase']}_s"
        return ""

    def _eval(self, row: Row) -> str:
        if row.get("checkpoint") is None:
            if row.get("run") is None or row.get("step") is None:
                return "neither a checkpoint nor a run and step are given"
            row["checkpoint"] = f"{row['run']}@{row['step']}"
        row["score_kind"] = row.get("score_kind") or "fraction"
        if row.get("eval_id") is None:
            parts = [
                row.get(n)
                for n in ("checkpoint", "benchmark", "benchmark_version", "split", "effort", "k", "seed")
            ]
            row["eval_id"] = ":".join(str(part) for part in parts if part is not None)
        limit, score = _SCORE_LIMIT.get(str(row["score_kind"])), row.get("score")
        if limit is not None and isinstance(score, float) and not 0 <= score <= limit:
            return f"the score {score:g} is outside 0..{limit:g}, but score_kind is {row['score_kind']}"
        return ""

    def _task(self, row: Row) -> str:
        if row.get("repeat") is None:
            key = (row["eval_id"], row["task"])
            row["repeat"] = self._repeats[key]
            self._repeats[key] += 1
        return ""

    def _cost(self, row: Row) -> str:
        if row.get("run") is None and row.get("campaign") is None:
            return "neither a run nor a campaign is given to book it to"
        start, end = row.get("charge_start"), row.get("charge_end")
        if row.get("day") is None and start is None:
            return "neither a day nor the start of a charge period is given"
        if isinstance(start, datetime) and isinstance(end, datetime) and end <= start:
            return "the charge period ends before it starts"
        if row.get("currency") is None:
            row["currency"] = "USD"
            self.warn("No currency was given: the amount was taken as USD")
        row["currency"] = str(row["currency"]).upper()
        if row.get("bucket") is None:
            row["bucket"] = "other"
            self.warn("No bucket was given: the cost was booked to 'other'")
        if isinstance(start, datetime) and row.get("day") is None:
            row["day"] = start.date()
        return ""

    def _placed(self, row: Row) -> list[tuple[str, tuple[Cell, ...], Row]]:
        placed = []
        for table in self.template.tables:
            values = {c.name: row[c.name] for c in tables()[table] if c.name in row}
            if table == "allocations" and row.get("role") is None:
                continue
            if table == "campaigns":
                if row.get("team") is None or row.get("campaign") is None:
                    continue
                values = {name: row[name] for name in ("campaign", "team")}
            if table == "allocations" and self.template.name == "runs":
                # One row says when the attempt ran; its pools are held for all of it.
                values = {k: v for k, v in values.items() if k not in ("started_at", "ended_at")}
            names = [name for name in keys(table) if name != "source"]
            key = tuple(values.get(name) for name in names) if names else (len(self._rows.get(table, ())),)
            placed.append((table, key, values))
        return placed

    def frames(self) -> dict[str, pd.DataFrame]:
        """Tables with at least one row; columns that the file or a default filled, in the schema's types."""
        return {
            table: frame_of(table, [row for _, row in rows.values()]) for table, rows in self._rows.items()
        }


def frame_of(table: str, rows: Sequence[Mapping[str, Cell]]) -> pd.DataFrame:
    """Rows as a typed frame of a table of the schema."""
    present = dict.fromkeys(name for row in rows for name in row)
    return pd.DataFrame(
        {
            c.name: pd.Series([row.get(c.name) for row in rows], dtype=PANDAS[c.type])
            for c in tables()[table]
            if c.name in present
        }
    )
