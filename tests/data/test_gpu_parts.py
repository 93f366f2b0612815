"""Parts hold the columns that their file had; together they have all of them, missing where not measured."""

from pathlib import Path

import duckdb

from data.gpu.parts import samples_sql
from data.tables import types


def test_parts_with_few_and_with_all_columns_read_as_one(tmp_path: Path) -> None:
    few, full = tmp_path / "few.parquet", tmp_path / "it's full.parquet"
    con = duckdb.connect()
    stamp = "TIMESTAMP '2026-03-01 00:00:00'"
    one = f"SELECT 300.5::DOUBLE AS power_w, 'g0' AS gpu_id, {stamp} AS ts, 1::DOUBLE AS dt_s"
    con.execute(f"COPY ({one}) TO '{few}'")
    known = {"gpu_id": "'g1'", "ts": stamp, "dt_s": "2", "gpu_util": "0.5"}
    listed = ", ".join(f"{known.get(n, 'NULL')}::{kind} AS {n}" for n, kind in types("gpu_samples").items())
    con.execute(f"COPY (SELECT {listed}) TO '{str(full).replace(chr(39), chr(39) * 2)}'")
    for files in ([few, full], [full, few]):
        relation = con.sql(f"SELECT * FROM {samples_sql(files)} ORDER BY gpu_id")
        assert dict(zip(relation.columns, map(str, relation.types), strict=True)) == types("gpu_samples")
        rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
        assert [(r["gpu_id"], r["dt_s"], r["power_w"], r["gpu_util"]) for r in rows] == [
            ("g0", 1.0, 300.5, None), ("g1", 2.0, None, 0.5)
        ]  # fmt: skip
