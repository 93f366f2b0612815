"""W&B "Export CSV" of a chart: one x axis, any number of runs, one metric or several."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.logs.flat_attempts import FlatAttempt, Step
from data.logs.flat_facts import comparable
from data.logs.flat_map import SFT, Mapping, add_attempt
from data.logs.flat_modes import mode_of
from data.logs.framework import framework_of
from data.logs.verl import Tables, settle_score_kinds
from data.logs.verl_facts import eval_facts, step_facts
from data.logs.wandb_header import ChartHeader, judge_header, parse_header
from data.logs.wandb_points import Chart, Points
from data.parse.csvio import CsvLayout, CsvRows, no_rows, read_layout, split_line
from data.parse.decimals import PlainCells
from data.parse.last_line import JOINED
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

SOURCE = "wandb"
_ONE_RUN_FACTS = ("reward_last", "gpu_count_inferred", "gpu_hours", "mfu_mean", "throughput_tokens_per_s")


class WandbChartReader:
    """CSV exports of W&B charts."""

    format = "wandb_chart_export"
    title = "W&B chart export (CSV)"

    def sniff(self, source: Source) -> Sniff:
        """Judge the header line alone."""
        first = next((line for line in source.head.split("\n") if line.strip()), "")
        names = tuple(cell.strip() for cell in split_line(first.rstrip("\r"), ","))
        confidence, why = judge_header(names)
        return Sniff(confidence, why)

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all rows; UnreadableFileError for a column named twice, no run or x column, no row."""
        layout = replace(read_layout(source), open_end=JOINED)
        header = _header(source, layout)
        warnings = []
        if choices.run and len(header.runs) == 1:
            header.series = [replace(series, run=choices.run) for series in header.series]
        chart = Chart(header, layout.header)
        rows = CsvRows(source, layout, progress)
        for row in PlainCells(source, layout).rows(rows):
            chart.take(row)
        counts = rows.counts
        if not counts.records:
            raise no_rows(source, layout)
        warnings += counts.said()
        chart.set_aside = counts.set_aside + chart.set_aside
        batch = _batch(self.format, chart)
        batch.records = counts.records
        batch.facts = source_facts(source) | _facts(chart, batch) | batch.facts
        for name in ("header_repeated", "partial_last_line", "ragged_rows"):
            batch.facts[name] = getattr(counts, name)
        batch.facts["columns"] = layout.columns
        batch.warnings = warnings + _warnings(chart)
        batch.reconcile()
        return batch


def _header(source: Source, layout: CsvLayout) -> ChartHeader:
    header = parse_header(layout.header)
    place = f"{source.name}, line {layout.header_line}"
    if not header.series:
        raise UnreadableFileError(
            "No column is named '{run} - {key}'",
            place,
            "Export the chart from W&B with 'Export CSV', or use a template.",
        )
    if header.x_index < 0:
        raise UnreadableFileError(
            "No column is the x axis: the first is a curve, and none is called Step or a time of W&B",
            place,
            "Put the column of the x axis first, as W&B writes it, or map the columns yourself.",
        )
    return header


def _batch(format_name: str, chart: Chart) -> Batch:
    header = chart.header
    keys = list(dict.fromkeys(series.key for series in header.series))
    framework = framework_of(keys)[0]
    mode = mode_of(framework, keys)
    tables = Tables()
    mappings = [_add_run(tables, chart, Mapping(run, SOURCE, framework, mode, keys)) for run in header.runs]
    settle_score_kinds(tables)
    batch = Batch(format_name, names_runs=True, stored=chart.stored, ignored=chart.ignored)
    batch.set_aside = chart.set_aside + tables.set_aside
    batch.tables = tables.frames()
    # A chart shows a few keys: none of them being asynchronous does not make a run synchronous.
    known_mode = mode if mode != "sync" else None
    name = framework.removesuffix(SFT) if framework else None
    batch.tables["runs"] = pd.DataFrame({"run": header.runs, "framework": name, "mode": known_mode})
    batch.tables["attempts"] = _attempts(chart, batch.tables.get("steps"))
    batch.tables |= _raw(chart)
    batch.mapped, batch.unmapped = mappings[0].key_use()
    batch.unmapped += header.other
    if len(mappings) == 1 and "tok_total" in mappings[0].counters.last:
        batch.facts["tokens_total"] = mappings[0].counters.last["tok_total"]
    return batch


def _add_run(tables: Tables, chart: Chart, mapping: Mapping) -> Mapping:
    elapsed = chart.elapsed.get(mapping.run, {})
    stamps = chart.stamps.get(mapping.run, {})
    attempt = FlatAttempt(1)
    for step, record in sorted(chart.records.get(mapping.run, {}).items()):
        ts = _utc(stamps[step]) if step in stamps else None
        attempt.by_step[step] = Step(step, record.line, record.values, ts, elapsed.get(step))
    add_attempt(tables, mapping, attempt, None)
    return mapping


def _utc(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, tz=UTC).replace(tzinfo=None)


def _attempts(chart: Chart, steps: pd.DataFrame | None) -> pd.DataFrame:
    """One attempt a run: a chart does not say how a run was restarted or how it ended.

    W&B's own clock stops at the last logged point, as a progress bar does: it is no pair of stamps.
    """
    rows = []
    for run in chart.header.runs:
        elapsed, basis = chart.elapsed_max.get(run), "progress_bar"
        if elapsed is None and steps is not None:
            own = steps.loc[steps["run"] == run, "step_s"].astype(float).dropna()
            elapsed, basis = (float(own.sum()) if len(own) else None), "step_sum"
        rows.append(
            {
                "run": run,
                "attempt": 1,
                "elapsed_s": elapsed,
                "elapsed_basis": None if elapsed is None else basis,
                "status": "unknown",
            }
        )
    return pd.DataFrame(rows)


def _raw(chart: Chart) -> dict[str, pd.DataFrame]:
    """`metric_raw`: every point of every run, with its x; differing bands under `<key>__MIN`, `__MAX`."""
    frames = [
        pd.DataFrame(
            {
                "run": run,
                "attempt": np.int32(1),
                "step": pd.array(points.step, dtype="Int64"),
                "x_name": chart.header.x_name,
                "x": np.array(points.x, dtype=np.float64),
                "key": key,
                "value": np.array(points.value, dtype=np.float64),
            }
        )
        for run, key, points in _named_points(chart)
        if points.value
    ]
    return {"metric_raw": pd.concat(frames, ignore_index=True)} if frames else {}


def _named_points(chart: Chart) -> Iterator[tuple[str, str, Points]]:
    for series in chart.header.series:
        yield series.run, series.key, chart.points[series.index]
        for ending in ("__MIN", "__MAX"):
            if (series.index, ending) in chart.bands:
                yield series.run, series.key + ending, chart.bands[series.index, ending]


def _warnings(chart: Chart) -> list[str]:
    out = []
    header = chart.header
    lost = [run for run in header.runs if run not in chart.records]
    if lost:
        out.append(
            f"The x axis is {header.x_name!r} and {len(lost)} of {len(header.runs)} runs have no step "
            "column: their points are raw metrics without a step. Export the chart with Step as x axis."
        )
    if chart.broken_steps:
        out.append(
            f"{chart.broken_steps} points have a step that is no whole number: they belong to no step."
        )
    if chart.bands:
        out.append("Some rows pool several points (__MIN and __MAX differ): their values are W&B's averages.")
    if header.other:
        named = ", ".join(header.other[:5])
        out.append(f"{len(header.other)} columns belong to no run and were left out: {named}.")
    return out


def _facts(chart: Chart, batch: Batch) -> dict[str, object]:
    runs = chart.header.runs
    numbers = {step for by_step in chart.records.values() for step in by_step}
    facts: dict[str, object] = {
        "format": batch.format,
        "records": batch.records,
        "missing_cells": chart.missing_cells,
        "runs": len(runs),
        "run_names": ";".join(runs),
        "steps_count": len(numbers) or None,
        "step_first": min(numbers, default=None),
        "step_last": max(numbers, default=None),
        "run_seconds": chart.elapsed_max.get(runs[0]) if len(runs) == 1 else None,
    }
    if chart.all_stamps:
        facts["time_first_epoch_s"] = chart.all_stamps[0]
        facts["span_s"] = max(chart.all_stamps) - min(chart.all_stamps)
    steps = batch.tables.get("steps", pd.DataFrame())
    if len(steps):
        found = step_facts(comparable(steps), batch.tables.get("step_phases", pd.DataFrame()))
        facts |= {k: v for k, v in found.items() if len(runs) == 1 or k not in _ONE_RUN_FACTS}
    facts |= eval_facts(batch.tables.get("evals", pd.DataFrame()), runs)
    for run, by_step in chart.records.items():
        facts[f"step_first[{run}]"], facts[f"step_last[{run}]"] = min(by_step), max(by_step)
    return facts | _series_facts(chart)


def _series_facts(chart: Chart) -> dict[str, object]:
    facts: dict[str, object] = {}
    for series in chart.header.series:
        points = chart.points[series.index]
        facts[f"series_points[{series.name}]"] = len(points.value)
        facts[f"missing_cells[{series.name}]"] = points.missing
        facts[f"series_mean[{series.name}]"] = float(np.mean(points.value)) if points.value else None
        facts[f"series_last[{series.name}]"] = points.value[-1] if points.value else None
    return facts


READERS = (WandbChartReader(),)
