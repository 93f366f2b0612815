"""What compiled loops add up on the way, stored, against what SQL finds in the Parquet parts."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.gpu.csv_rows import GpuRows
from data.gpu.ordered import space
from data.gpu.plain_rollup import Sums, add_up
from data.gpu.rolled import Rolled
from data.gpu.rollup import connect
from data.gpu.samples import in_order, rolled_up, write_parts
from data.gpu.store import add_samples
from data.parse.csvio import CsvCounts
from data.parse.values import NumberRule
from data.readers.base import no_progress
from data.tables import ddl
from tests.examples import some

PERCENT = NumberRule(" %", 0.01, 0.0, 1.0, False)
WATT = NumberRule("", 1.0, 0.0, 1e6, False)
T0_US = 1_767_225_570_123_456
NAMES = ["b", "a", "c"]
GAPS_US = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from([250_000, 1_000_001, 60_000_000, 300_000_000, 8 * 86_400_000_000])
    ),
    min_size=1,
    max_size=30,
)


def rows_of(con: duckdb.DuckDBPyConnection, gaps: Sequence[tuple[int, int]], values: np.ndarray) -> GpuRows:
    """A clean file in which the next row is of a GPU a gap after its row before."""
    now, stamps = dict.fromkeys(range(3), T0_US), []
    for gpu, gap in gaps:
        now[gpu] += gap
        stamps.append(now[gpu])
    table = pa.table(
        {
            "stamp": pa.array(np.array(stamps).view("datetime64[us]")),
            "gpu": pa.array(np.array([gpu for gpu, _ in gaps], np.int16)),
            "n0": pa.array(values, from_pandas=True),
            "n1": pa.array((np.arange(len(gaps)) * 7.25).astype(np.float32)),
        }
    )
    rules = {0: PERCENT, 1: WATT}
    return GpuRows(con, CsvCounts(), [], None, clean=table, is_large=True, rules=rules)


def stored(parts: Path, files: Sequence[Path], rolled: Rolled | None) -> dict[str, pd.DataFrame]:
    """The tables that the store fills."""
    con = duckdb.connect()
    con.execute(ddl())
    parts.mkdir()
    copies = [Path(shutil.copy(file, parts / f"in-{file.name}")) for file in files]
    if rolled is not None:
        rolled = replace(rolled, parts=dict(zip(copies, rolled.parts.values(), strict=True)))
    add_samples(con, parts, copies, "u", [], no_progress, rolled)
    found = {
        "gpu_minutes": con.execute("select * from gpu_minutes order by gpu_id, measure, minute").df(),
        "gpu_coverage": con.execute("select * from gpu_coverage order by gpu_id, minute").df(),
        "gpu_parts": con.execute(
            "select rows, gpu_ids, ts_min, ts_max from gpu_parts order by ts_min, rows"
        ).df(),
    }
    con.close()
    return found


@settings(max_examples=some(9), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gaps=GAPS_US, data=st.data())
def test_loops_store_what_sql_finds_in_the_parts(
    gaps: list[tuple[int, int]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rollup")
    cell = st.one_of(st.none(), st.integers(0, 100))
    cells = data.draw(st.lists(cell, min_size=len(gaps), max_size=len(gaps)))
    values = np.array([np.nan if one is None else one for one in cells], np.float32)
    con = connect(folder)
    try:
        numbers = sorted({gpu for gpu, _ in gaps})
        gaps = [(numbers.index(gpu), gap) for gpu, gap in gaps]
        ordered = in_order(rows_of(con, gaps, values), {"gpu_util": 0, "power_w": 1}, "stamp")
        assert ordered is not None
        if ordered.sums is None:
            return
        names = NAMES[: len(numbers)]
        files = write_parts(folder / "p.parquet", ordered, names)
        rolled = rolled_up(ordered, ordered.sums, files, names)
    finally:
        con.close()
    loops, sql = stored(folder / "a", list(files), rolled), stored(folder / "b", list(files), None)
    for name, table in sql.items():
        pd.testing.assert_frame_equal(loops[name], table, check_dtype=False, rtol=1e-12, atol=1e-5, obj=name)


def sums_of(stamps_s: Sequence[float], gpus: Sequence[int], power: Sequence[float]) -> Sums | None:
    """Sums of rows with one measure."""
    ts_us = (np.array(stamps_s) * 1e6).round().astype(np.int64)
    return add_up(np.array(gpus, np.int16), ts_us, {"power_w": (np.array(power, np.float64), WATT)})


def test_a_worked_minute() -> None:
    """A sample at 50 s that stands for 20 s gives 10 s to its minute and 10 s to the next."""
    sums = sums_of([50, 70, 90], [0, 0, 0], [100.0, 200.0, 300.0])
    assert sums is not None
    assert sums.minute.tolist() == [0, 1]
    table = sums.wide(["g"]).to_pydict()
    assert table["k_power_w"] == [10, 30]
    assert table["w_power_w"] == [1000, 10 * 100 + 20 * 200]
    assert (table["lo_power_w"], table["hi_power_w"]) == ([100, 100], [100, 300])
    assert table["n_power_w"] == [1, 2]
    assert sums.timed()["mean_power_w"] == (20 * 100 + 20 * 200) / 40
    assert sums.mean("power_w") == 200
    assert sums.timed()["first"] == datetime(1970, 1, 1, 0, 0, 50)


def test_unknown_time_is_listed_once() -> None:
    sums = sums_of([0, 10, 20, 200, 210], [0] * 5, [1.0] * 5)
    assert sums is not None
    assert sums.holes.ts.tolist() == [20_000_000]
    assert (sums.holes.dt_s.tolist(), sums.holes.gap_us.tolist()) == ([30.0], [180_000_000])
    assert sums.spacing.gap_max_s == 180


@pytest.mark.parametrize("stamps", [[0, 0], [10, 0], [0, 10, 5]])
def test_time_that_does_not_increase_is_left_to_sql(stamps: list[float]) -> None:
    assert sums_of(stamps, [0] * len(stamps), [1.0] * len(stamps)) is None


def test_slow_samplers_are_left_to_sql() -> None:
    hours = [3600.0 * k for k in range(4)]
    assert sums_of(hours, [0] * 4, [1.0] * 4) is None


def test_both_spacings_agree_bit_by_bit() -> None:
    rng = np.random.default_rng(1)
    gpu = rng.integers(0, 5, 2000).astype(np.int16)
    ts_us = np.cumsum(rng.integers(1, 900_001, 2000)) + T0_US
    sums, numpy = add_up(gpu, ts_us, {}), space(gpu, ts_us)
    assert sums is not None and numpy is not None
    assert np.array_equal(sums.spacing.held / sums.spacing.per_s, numpy.held / numpy.per_s)
    for name in ("gap_max_s", "gap_median_s", "gap_s"):
        assert getattr(sums.spacing, name) == getattr(numpy, name)


def test_a_column_of_a_part_may_be_empty_only_where_a_cell_is_missing(tmp_path: Path) -> None:
    con = connect(tmp_path)
    try:
        ordered = in_order(
            rows_of(con, [(0, 1_000_000)] * 3, np.array([10, np.nan, 30], np.float32)),
            {"gpu_util": 0, "power_w": 1},
            "stamp",
        )
        assert ordered is not None
        write_parts(tmp_path / "p.parquet", ordered, ["a"])
    finally:
        con.close()
    schema = pq.read_schema(tmp_path / "p.parquet")
    assert {field.name: field.nullable for field in schema} == {
        "gpu_id": False, "ts": False, "dt_s": False, "gpu_util": True, "power_w": False,
    }  # fmt: skip
    assert pq.read_table(tmp_path / "p.parquet")["gpu_util"].to_pylist() == [0.1, None, 0.3]
