"""GPU samples in Parquet parts as SQL: a part has the columns that its file had, the others are NULL."""

from collections.abc import Sequence
from pathlib import Path

from data.tables import types


def samples_sql(files: Sequence[Path]) -> str:
    """A parenthesised SELECT over parts, all columns of `gpu_samples` in their order and types."""
    listed = ", ".join("'" + str(path).replace("'", "''") + "'" for path in files)
    return f"({_EMPTY} UNION ALL BY NAME SELECT * FROM read_parquet([{listed}], union_by_name = true))"


def empty_samples_sql() -> str:
    """SELECT of no samples with the right columns and types."""
    return f"({_EMPTY})"


_TYPED = ", ".join(f"NULL::{kind} AS {name}" for name, kind in types("gpu_samples").items())
_EMPTY = f"SELECT {_TYPED} WHERE false"
