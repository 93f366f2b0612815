"""Clean GPU rows in file order -> Parquet parts of samples, and what they add up to."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data.gpu.csv_rows import GpuRows
from data.gpu.ordered import Spacing, space
from data.gpu.plain_rollup import Sums, add_up, rows_by_gpu
from data.gpu.rolled import Part, Rolled
from data.gpu.rollup import MEASURES
from data.parse.typed_csv import WORKERS
from data.parse.values import NumberRule

GROUP_ROWS = 1 << 17
PAGE_ROWS = 1 << 16
SPLIT = ["mem_bytes", "power_w", "energy_j", "sm_clock_mhz"]
"""Measures of many distinct values: a dictionary costs more than it saves, bytes of one rank pack well."""
SPARE_US = 1000
"""As in `store`."""


@dataclass(frozen=True)
class Ordered:
    """Rows in which the time of every GPU increases: a table with ts, gpu, held and numbers as written.

    `measures`: column and rule of each. `sums`: what the rows add up to, if compiled loops have found it.
    """

    table: pa.Table
    measures: Mapping[str, tuple[str, NumberRule]]
    spacing: Spacing
    sums: Sums | None


def in_order(rows: GpuRows, measures: Mapping[str, int], stamp: str) -> Ordered | None:
    """Space the rows of a clean file; None when another way is needed. `stamp`: SQL of the UTC time.

    Without `sums` the view `held` is made as by `rollup.hold`, but without gap_us.
    """
    table, con = rows.clean, rows.con
    if table is None:
        return None
    ts = table["stamp"] if stamp == "stamp" else con.sql(f"select {stamp} from clean").to_arrow_table()[0]
    ts = ts.chunk(0) if ts.num_chunks == 1 else ts.combine_chunks()
    gpu, ts_us = _one(table, "gpu").to_numpy(), ts.to_numpy().view(np.int64)
    columns = {m: (f"n{i}", rows.rules[i]) for m, i in measures.items()}
    sums = None
    if rows.is_large:
        numbers = {
            m: (_one(table, c).to_numpy(zero_copy_only=False), rule) for m, (c, rule) in columns.items()
        }
        sums = add_up(gpu, ts_us, numbers)
    spacing = sums.spacing if sums else space(gpu, ts_us)
    if spacing is None:
        return None
    table = table.drop_columns("stamp").append_column("ts", ts)
    rows.clean = table.append_column("held", pa.array(spacing.held))
    if sums is None:
        con.register("ordered", rows.clean)
        values = "".join(f", {rule.scaled_sql(f'{c}::double')} as {m}" for m, (c, rule) in columns.items())
        con.execute(
            f"create view held as select gpu::integer as gpu, ts, held / {spacing.per_s} as dt_s{values} "
            "from ordered"
        )
    return Ordered(rows.clean, columns, spacing, sums)


def write_parts(path: Path, ordered: Ordered, gpu_ids: Sequence[str]) -> dict[Path, slice]:
    """Write the columns of `gpu_samples`; measures that the file does not have are left out. Rows by file.

    A large table becomes a file a core, `path` and others beside it.
    """
    rows = ordered.table.num_rows
    files = max(1, min(WORKERS, rows // (2 * GROUP_ROWS)))
    each = -(-rows // files)
    paths = [path, *(path.with_stem(f"{path.stem}-{k}") for k in range(1, files))]
    parts = {one: slice(k * each, min((k + 1) * each, rows)) for k, one in enumerate(paths)}
    names = pa.array(gpu_ids, pa.string())
    with ThreadPoolExecutor(files) as pool:
        list(pool.map(lambda one: _write(one, parts[one], ordered, names), parts))
    return parts


def _write(path: Path, rows: slice, ordered: Ordered, names: pa.Array) -> None:
    schema = _schema(ordered)
    with pq.ParquetWriter(
        path,
        schema,
        store_schema=False,
        write_statistics=["ts"],
        compression="lz4",
        use_dictionary=[name for name in schema.names if name not in SPLIT],
        use_byte_stream_split=[name for name in schema.names if name in SPLIT],
        write_batch_size=PAGE_ROWS,
    ) as writer:
        for batch in _batches(rows, ordered, names, schema):
            writer.write_batch(batch)


def _schema(ordered: Ordered) -> pa.Schema:
    """Columns of a part. One without a missing value says so: levels of definition cost a third of it."""
    fields = [
        pa.field("gpu_id", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("ts", pa.timestamp("us"), nullable=False),
        pa.field("dt_s", pa.float64(), nullable=False),
    ]
    for name in MEASURES:
        if name in ordered.measures:
            cells = _one(ordered.table, ordered.measures[name][0])
            fields.append(pa.field(name, pa.float64(), nullable=cells.null_count > 0))
    return pa.schema(fields)


def _batches(rows: slice, ordered: Ordered, names: pa.Array, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for start in range(rows.start, rows.stop, GROUP_ROWS):
        part = ordered.table.slice(start, min(GROUP_ROWS, rows.stop - start))
        columns: dict[str, pa.Array] = {
            "gpu_id": pa.DictionaryArray.from_arrays(_one(part, "gpu").cast(pa.int32()), names),
            "ts": _one(part, "ts"),
            "dt_s": pa.array(_one(part, "held").to_numpy() / ordered.spacing.per_s),
        }
        for name in MEASURES:
            if name in ordered.measures:
                columns[name] = _measure(part, *ordered.measures[name])
        yield pa.record_batch(list(columns.values()), schema=schema)


def _measure(rows: pa.Table, column: str, rule: NumberRule) -> pa.Array:
    cells = _one(rows, column)
    raw = cells.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    return pa.array(rule.scaled(raw), from_pandas=cells.null_count > 0)


def _one(rows: pa.Table, name: str) -> pa.Array:
    # The columns of a clean file are one chunk; to combine it would copy it.
    return rows.column(name).chunk(0)


def rolled_up(ordered: Ordered, sums: Sums, files: Mapping[Path, slice], gpu_ids: Sequence[str]) -> Rolled:
    """What the store needs of the parts that `write_parts` has written, so that it need not read them."""
    gpu, ts = _one(ordered.table, "gpu").to_numpy(), _one(ordered.table, "ts")
    known_us = np.bincount(sums.minute_gpu, sums.seconds, len(gpu_ids)) * 1e6
    has_gaps = bool((sums.last - sums.first - known_us > SPARE_US).any())
    measures = tuple(m for m, by_gpu in sums.by_gpu.items() if by_gpu[:, 5].any())

    def part(rows: slice) -> Part:
        here = np.flatnonzero(rows_by_gpu(gpu[rows]))
        names = sorted(gpu_ids[k] for k in here.tolist())
        own = pc.min_max(ts[rows]).as_py()
        return Part(len(gpu[rows]), names, own["min"], own["max"], has_gaps, measures, ())

    with ThreadPoolExecutor(WORKERS) as pool:
        parts = dict(zip(files, pool.map(part, files.values()), strict=True))
    first, last = min(one.first for one in parts.values()), max(one.last for one in parts.values())
    whole = Part(len(gpu), sorted(gpu_ids), first, last, has_gaps, measures, ())
    return Rolled(parts, whole, sums, gpu_ids)
