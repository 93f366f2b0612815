"""Parquet of training metrics: a W&B run history, or any table with a step column."""

from pathlib import Path

from data.errors import UnreadableFileError
from data.logs.flat import FlatFile
from data.logs.flat_rows import ANY_COUNTERS
from data.logs.framework import framework_of
from data.parse.parquet_rows import open_parquet, parquet_names, parquet_records
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.flat_jsonl import TELLING
from data.readers.wandb_history import finished, history_of, judge_history

WANDB_SOURCE = "wandb_history"
FLAT_SOURCE = "flat_metrics"
_COUNTERS = (*ANY_COUNTERS, "_step", "rollout/step")


class _ParquetReader:
    """Reads all rows of a Parquet file as records of raw keys."""

    kinds = ("parquet",)
    format = ""
    source_name = ""

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all rows; raises UnreadableFileError for a damaged file or one without numbers."""
        columns = parquet_names(open_parquet(source).schema_arrow)
        history = history_of(enumerate(parquet_records(source, progress), start=1), source, choices)
        file = FlatFile(self.format, self.source_name, history.records)
        file.facts["columns"] = len(columns)
        if not history.records:
            raise UnreadableFileError(
                "The Parquet file has columns and no rows", source.name, "Export it again with its rows."
            )
        return finished(file, history, source, choices, scratch)


class WandbHistoryParquetReader(_ParquetReader):
    """Parquet of `run.scan_history()` or of W&B's history artifact."""

    format = "wandb_history_parquet"
    title = "W&B run history (Parquet)"
    source_name = WANDB_SOURCE

    def sniff(self, source: Source) -> Sniff:
        """Judge the column names in the footer."""
        names = _footer(source)
        return Sniff(*judge_history(names)) if names else Sniff(0.0, "no readable Parquet footer")


class FlatParquetReader(_ParquetReader):
    """Parquet of someone's own training log: a step column and numbers."""

    format = "flat_metrics_parquet"
    title = "training metrics (Parquet with a step column)"
    source_name = FLAT_SOURCE

    def sniff(self, source: Source) -> Sniff:
        """A step column beside columns with training words."""
        names = _footer(source)
        if not names or judge_history(names)[0] >= 0.5:
            return Sniff(0.0, "no step column of its own")
        counter = next((name for name in _COUNTERS if name in names), None)
        if counter is None or not any(TELLING.search(name) for name in names if name != counter):
            return Sniff(0.0, "no step column with training metrics")
        framework = framework_of(names)[0]
        if framework:
            return Sniff(0.85, f"a column {counter!r} and keys of {framework}")
        return Sniff(0.55, f"a column {counter!r} and metrics of no known framework")


def _footer(source: Source) -> tuple[str, ...]:
    """Column names; empty when the footer is damaged, which `read` reports."""
    try:
        return parquet_names(open_parquet(source).schema_arrow)
    except UnreadableFileError:
        return ()


READERS = (WandbHistoryParquetReader(), FlatParquetReader())
