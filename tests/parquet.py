"""Parquet from bytes, for tests of what leaves the app."""

import io

import pyarrow as pa
import pyarrow.parquet as pq


def read_parquet(data: bytes) -> pa.Table:
    """Return the table of a Parquet file."""
    return pq.read_table(io.BytesIO(data))
