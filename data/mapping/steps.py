"""Rows of a mapped training log -> the flat engine, with what a person said the columns are."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from itertools import islice, pairwise
from pathlib import Path

from data.logs.flat import FlatFile, FlatRun, Row, make_batch
from data.logs.keymap import EvalKey, KeyRule
from data.logs.verl_batch import run_name
from data.mapping.cells import NO_TIME, amount, stamp
from data.mapping.language import BENCHMARK, FORMAT, ROW_NUMBER, Meaning, Plan
from data.parse.csvio import TEXT_LIMIT
from data.parse.table_records import Records
from data.parse.timezones import zone_of
from data.parse.values import column_decimal, is_missing, parse_number
from data.readers.base import Batch, Choices, Progress, SetAside, Source

LEARN_ROWS = 500
_PLACE = ("run", "step", "ts", "elapsed_s")
"""Fields that place a row; the others are its numbers."""


@dataclass
class _Steps:
    """Takes the rows in file order."""

    plan: Plan
    own_run: str
    zone: tzinfo | None
    decimals: dict[str, str | None]
    rows: dict[str, list[Row]] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)
    cells: list[SetAside] = field(default_factory=list)
    texts: Counter[str] = field(default_factory=Counter)
    numeric: set[str] = field(default_factory=set)
    naive: int = 0
    missing: int = 0

    def take(self, line: int, text: str, cells: dict[str, str]) -> None:
        """Take one row; a row without a whole step is set aside, a bad cell alone."""
        place = {name: self.plan.column_of(name) for name in _PLACE}
        run = cells.get(place["run"] or "", "") or self.own_run
        bad: list[SetAside] = []
        step = self._step(cells, place["step"], run)
        if step is None:
            shown = text or repr(cells)
            self.set_aside.append(SetAside(line, "a row without a whole step", shown[:TEXT_LIMIT]))
            return
        row = Row(step, {}, line)
        row.ts = self._stamp(line, cells, place["ts"], bad)
        row.elapsed_s = self._number(line, cells, place["elapsed_s"], bad)
        for name, cell in cells.items():
            if name and name not in place.values():
                self._value(row, line, name, cell, bad)
        self.cells += bad
        self.rows.setdefault(run, []).append(row)

    def _step(self, cells: dict[str, str], column: str | None, run: str) -> int | None:
        if column is None:
            return len(self.rows.get(run, ())) + 1
        number = parse_number(cells.get(column), None, self.decimals.get(column)).number
        return int(number) if number is not None and number >= 0 and number.is_integer() else None

    def _stamp(
        self, line: int, cells: dict[str, str], column: str | None, bad: list[SetAside]
    ) -> datetime | None:
        cell = cells.get(column or "", "")
        if column is None or is_missing(cell):
            return None
        at, naive = stamp(cell, self.plan.columns[column].unit, self.zone)
        self.naive += naive
        if at is None:
            bad.append(SetAside(line, NO_TIME, cell[:TEXT_LIMIT], column))
        return at

    def _number(
        self, line: int, cells: dict[str, str], column: str | None, bad: list[SetAside]
    ) -> float | None:
        if column is None:
            return None
        found = amount(cells.get(column, ""), self.plan.columns[column], self.decimals.get(column))
        if found.reason:
            bad.append(SetAside(line, found.reason, cells[column][:TEXT_LIMIT], column))
        return found.number

    def _value(self, row: Row, line: int, name: str, cell: str, bad: list[SetAside]) -> None:
        if is_missing(cell):
            self.missing += 1
            return
        meaning = self.plan.columns.get(name)
        if meaning is not None:
            number = self._number(line, {name: cell}, name, bad)
        else:
            number = parse_number(cell, None, self.decimals.get(name)).number
            number = {"true": 1.0, "false": 0.0}.get(cell.casefold()) if number is None else number
            self.texts[name] += number is None
        if number is not None:
            row.values[name] = number
            self.numeric.add(name)


def steps_batch(
    plan: Plan,
    source: Source,
    choices: Choices,
    names: tuple[str, ...],
    scratch: Path,  # noqa: ARG001 - engines share one signature
    progress: Progress,
) -> Batch:
    """Read a training log: steps, phases, evaluations; every other number becomes a raw metric."""
    sample = [cells for _, _, cells in islice(Records(source).read(), LEARN_ROWS)]
    decimals = {name: column_decimal(cells.get(name) for cells in sample) for name in names}
    taker = _Steps(plan, run_name(choices, source), zone_of(choices.timezone), decimals)
    records = Records(source)
    for line, text, cells in records.read(progress):
        taker.take(line, text, cells)
    file = FlatFile(FORMAT, FORMAT, records.records)
    file.set_aside = [*records.set_aside, *taker.set_aside, *taker.cells]
    file.warnings += records.warnings
    file.names_runs = plan.column_of("run") is not None
    file.facts = {"missing_cells": taker.missing, **records.facts}
    rules, scores = _rules(plan)
    runs = [FlatRun(name, rows, rules=rules, scores=scores) for name, rows in taker.rows.items()]
    for run in runs:
        _clock(run, plan)
    batch = make_batch(file, runs, source)
    _raw_as_written(batch, plan)
    _describe(batch, plan, taker, choices)
    return batch


def _clock(run: FlatRun, plan: Plan) -> None:
    """Where only stamps tell the time, the run's clock starts one step before the first of them.

    Not in a log whose steps start again: what lies between two attempts is not the run's.
    """
    stamps = [row.ts for row in run.rows if row.ts is not None]
    steps = [row.step or 0 for row in run.rows]
    rises = all(a < b for a, b in pairwise(steps)) and all(a <= b for a, b in pairwise(stamps))
    if plan.column_of("elapsed_s") is not None or len(stamps) < len(run.rows) or not rises:
        return
    first = run.rows[0].values.get(plan.column_of("step_s") or "", 0.0)
    for row, at in zip(run.rows, stamps, strict=True):
        row.elapsed_s = (at - stamps[0]).total_seconds() + first
    run.elapsed_basis = "clock"


def _rules(plan: Plan) -> tuple[dict[str, KeyRule], dict[str, EvalKey]]:
    """The mapping as rules of the engine; numbers arrive in base units."""
    rules: dict[str, KeyRule] = {}
    scores: dict[str, EvalKey] = {}
    for column, one in plan.columns.items():
        if one.field.table == "steps" and one.field.name in _PLACE:
            continue
        name, phase = one.field.name, ""
        unit = "" if one.field.unit == "score" else one.field.unit
        if one.field.table == "step_phases":
            name, phase = "", one.field.name
        elif one.field.table == "evals":
            scores[column] = EvalKey(one.options.get(BENCHMARK) or column, "score", None)
            unit = "reward" if one.unit == "points" else "fraction"
        basis = one.basis if one.basis != "step" else ""
        if name == "throughput" and not basis:
            basis = "cluster"
        rules[column] = KeyRule("", "", column, name, unit, basis, phase, "wall", False, one.field.what)
    return rules, scores


def _raw_as_written(batch: Batch, plan: Plan) -> None:
    """Converted columns leave the raw metrics, which hold what the file says."""
    raw = batch.tables.get("metric_raw")
    if raw is None:
        return
    converted = [name for name, one in plan.columns.items() if _converts(one)]
    batch.tables["metric_raw"] = raw[~raw["key"].isin(converted)].reset_index(drop=True)


def _converts(meaning: Meaning) -> bool:
    return meaning.unit is not None and meaning.unit not in ("points", *meaning.field.units[:1])


def _describe(batch: Batch, plan: Plan, taker: _Steps, choices: Choices) -> None:
    for column, one in plan.columns.items():
        batch.mapped[column] = one.text()
    if plan.count_rows:
        batch.mapped[ROW_NUMBER] = "steps.step"
        batch.warnings.append("No column counts the steps: rows were numbered from 1.")
    batch.unmapped = [name for name in batch.unmapped if name not in plan.columns]
    texts = {name: n for name, n in taker.texts.items() if n}
    batch.unmapped += [name for name in texts if name not in batch.unmapped]
    mixed = [f"{name} ({n})" for name, n in texts.items() if name in taker.numeric]
    if mixed:
        batch.warnings.append(
            f"Texts among the numbers of unmapped columns were left out: {', '.join(mixed[:5])}."
        )
    if plan.column_of("ts") is not None:
        batch.timezone = choices.timezone or "UTC"
        batch.timezone_assumed = taker.naive > 0 and taker.zone is None
        if batch.timezone_assumed:
            batch.warnings.append("The stamps name no zone: they were taken as UTC.")
    rate = next(
        (c for c, one in plan.columns.items() if one.field.id == "steps.throughput" and not one.basis), None
    )
    if rate:
        batch.warnings.append(f"Nobody said whether {rate} is of one GPU or of all: it was taken as of all.")
