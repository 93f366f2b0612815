"""The SQL roll-up of GPU samples against the numpy reference: two derivations, one answer."""

from datetime import datetime, timedelta

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.gpu import rollup as gpu_rollup
from models import timeweight
from tests.examples import some

T0 = datetime(2026, 3, 1, 7, 59, 30)
gaps_ms = st.lists(st.integers(1, 400_000), min_size=1, max_size=30)


def sql_minutes(offsets_ms: list[int], values: list[float | None]) -> dict[int, tuple[float, ...]]:
    con = duckdb.connect()
    con.execute("create table raw (gpu_id varchar, ts timestamp, ord bigint, gpu_util double)")
    rows = [
        ("g", T0 + timedelta(milliseconds=o), i, v)
        for i, (o, v) in enumerate(zip(offsets_ms, values, strict=True))
    ]
    con.executemany("insert into raw values (?, ?, ?, ?)", rows)
    gpu_rollup.hold(con, "raw", ["gpu_util"])
    found = con.execute(
        "select epoch(minute), known_s, weighted_sum, v_min, v_max, n from "
        f"({gpu_rollup.minutes_sql('held', ['gpu_util'])})"
    ).fetchall()
    return {round(row[0] / 60): tuple(row[1:]) for row in found}


@settings(max_examples=some(9), deadline=None)
@given(gaps_ms, st.data())
def test_minutes_agree_with_the_reference(gaps: list[int], data: st.DataObject) -> None:
    offsets = [0, *np.cumsum(gaps).tolist()]
    value = st.one_of(st.none(), st.floats(0, 1))
    values = data.draw(st.lists(value, min_size=len(offsets), max_size=len(offsets)))
    base = (T0 - datetime(1970, 1, 1)).total_seconds()
    ts = [base + o / 1000 for o in offsets]
    reference = timeweight.minutes(ts, [np.nan if v is None else v for v in values])
    sql = sql_minutes(offsets, values)
    mine = {m.minute: m for m in reference if m.known_s > 1e-6}
    assert {k for k, row in sql.items() if row[0] > 1e-6} == set(mine)
    for minute, expected in mine.items():
        known, weighted, low, high, n = sql[minute]
        assert known == pytest.approx(expected.known_s, abs=1e-5)
        assert weighted == pytest.approx(expected.weighted_sum, abs=1e-5)
        assert (low, high, n) == (expected.v_min, expected.v_max, expected.n)
