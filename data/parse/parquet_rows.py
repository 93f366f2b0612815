"""Rows of a Parquet file as plain values by column name."""

from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

from data.errors import UnreadableFileError
from data.readers.base import Progress, Source

BATCH_ROWS = 10_000


def open_parquet(source: Source) -> pq.ParquetFile:
    """The opened file; raises UnreadableFileError when its footer is damaged."""
    try:
        return pq.ParquetFile(source.path)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise UnreadableFileError(
            f"The Parquet file cannot be opened: {problem}", source.name, "Write or download it again."
        ) from problem


def is_damaged(source: Source) -> bool:
    """Whether the footer of a Parquet file cannot be read."""
    try:
        pq.ParquetFile(source.path).close()
    except (pa.ArrowException, OSError, ValueError):
        return True
    return False


def parquet_names(schema: pa.Schema) -> tuple[str, ...]:
    """Column names without the index that pandas adds."""
    return tuple(name for name in schema.names if name != "__index_level_0__")


def _plain(row: dict[str, object]) -> dict[str, object]:
    """Exact decimals, as databases export them, are numbers like others."""
    return {name: float(cell) if isinstance(cell, Decimal) else cell for name, cell in row.items()}


def parquet_records(source: Source, progress: Progress) -> Iterator[dict[str, object]]:
    """All rows in file order; raises UnreadableFileError where the file is damaged."""
    table = open_parquet(source)
    done, total = 0, table.metadata.num_rows
    columns = list(parquet_names(table.schema_arrow))
    try:
        for batch in table.iter_batches(batch_size=BATCH_ROWS, columns=columns):
            yield from (_plain(row) for row in batch.to_pylist())
            done += batch.num_rows
            progress("read", done, total)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise UnreadableFileError(
            f"The Parquet file is damaged after row {done}: {problem}",
            source.name,
            "Write or download it again.",
        ) from problem
