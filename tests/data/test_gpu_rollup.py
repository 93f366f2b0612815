"""Left hold, minutes and coverage against a slow derivation in Python."""

import statistics
from collections import defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.gpu.rollup import FAR_GAP_S, connect, coverage_sql, hold, minutes_sql, time_facts, with_gaps_sql
from tests.examples import some

START = datetime(2026, 1, 1, 23, 58, 30)
Sample = tuple[str, float, float | None]


def held(samples: list[Sample]) -> tuple[duckdb.DuckDBPyConnection, int]:
    con = connect(Path())
    gpus, times, values = zip(*samples, strict=True)
    stamps = [START + timedelta(seconds=at) for at in times]
    con.execute(
        "create table t as select unnest($1::varchar[]) as gpu_id, unnest($2::timestamp[]) as ts, "
        "unnest($3::double[]) as gpu_util, unnest($4::bigint[]) as ord",
        [list(gpus), stamps, list(values), list(range(len(samples)))],
    )
    return con, hold(con, "t", ["gpu_util"])


def slow(samples: list[Sample]) -> dict[str, list[tuple[float, float, float, float | None]]]:
    """(at, gap, hold, value) of each GPU's samples in time order, first of equal stamps kept."""
    by_gpu: dict[str, dict[float, float | None]] = defaultdict(dict)
    for gpu, at, value in samples:
        by_gpu[gpu].setdefault(at, value)
    out = {}
    for gpu, points in by_gpu.items():
        times = sorted(points)
        gaps = [b - a for a, b in pairwise(times)]
        cap = 3 * statistics.median(gaps) if gaps else 0.0
        out[gpu] = [(at, gap, min(gap, cap), points[at]) for at, gap in zip(times, [*gaps, 0.0], strict=True)]
    return out


SAMPLES = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.one_of(st.integers(0, 400), st.sampled_from([1000, 5000])).map(float),
        st.one_of(st.none(), st.integers(0, 100).map(lambda x: x / 100)),
    ),
    min_size=1,
    max_size=14,
)


@given(samples=SAMPLES)
@settings(deadline=None, max_examples=some(14))
def test_hold_minutes_and_coverage_follow_the_definition(samples: list[Sample]) -> None:
    con, duplicates = held(samples)
    want = slow(samples)
    assert duplicates == len(samples) - sum(len(rows) for rows in want.values())
    got = con.execute(
        "select gpu_id, epoch(ts - $1::timestamp), dt_s from held order by 1, 2", [START]
    ).fetchall()
    assert got == [(g, at, pytest.approx(h)) for g in sorted(want) for at, _, h, _ in want[g]]

    known: dict[tuple[str, datetime], float] = defaultdict(float)
    unknown: dict[tuple[str, datetime], float] = defaultdict(float)
    weighted: dict[tuple[str, datetime], float] = defaultdict(float)
    counted: dict[tuple[str, datetime], int] = defaultdict(int)
    for gpu, rows in want.items():
        for at, gap, hold_s, value in rows:
            for minute, seconds in pieces(at, at + hold_s):
                known[gpu, minute] += seconds
                if value is not None:
                    weighted[gpu, minute] += seconds * value
            for minute, seconds in pieces(at + hold_s, at + gap) if gap > hold_s else []:
                unknown[gpu, minute] += seconds
            if value is not None:
                counted[gpu, minute_of(at)] += 1
    cover = con.execute(coverage_sql("held")).fetchall()
    for gpu, minute, known_s, unknown_s in cover:
        assert known_s == pytest.approx(known[gpu, minute], abs=1e-5)
        assert unknown_s == pytest.approx(unknown[gpu, minute], abs=1e-5)
        assert known_s + unknown_s <= 60 + 1e-5
    assert sum(row[2] for row in cover) == pytest.approx(sum(known.values()), abs=1e-4)
    assert sum(row[3] for row in cover) == pytest.approx(sum(unknown.values()), abs=1e-4)
    minutes = con.execute(
        f"select gpu_id, minute, known_s, weighted_sum, n from ({minutes_sql('held', ['gpu_util'])})"
    )
    found = minutes.fetchall()
    for gpu, minute, known_s, sum_, n in found:
        assert known_s <= 60 + 1e-5
        assert sum_ == pytest.approx(weighted[gpu, minute], abs=1e-5)
        assert n == counted[gpu, minute]
    assert sum(row[3] for row in found) == pytest.approx(sum(weighted.values()), abs=1e-4)


def minute_of(at: float) -> datetime:
    return (START + timedelta(seconds=at)).replace(second=0, microsecond=0)


def pieces(begin: float, end: float) -> list[tuple[datetime, float]]:
    out = []
    while True:
        minute = minute_of(begin)
        stop = min((minute - START).total_seconds() + 60, end)
        out.append((minute, stop - begin))
        if stop >= end:
            return out
        begin = stop


def test_a_known_case() -> None:
    samples: list[Sample] = [("a", 0, 1.0), ("a", 10, 0.0), ("a", 20, 0.5), ("a", 120, 1.0)]
    con, _ = held(samples)
    facts = time_facts(con, ["gpu_util"])
    assert facts["gap_median_s"] == 10 and facts["gap_max_s"] == 100 and facts["gap_s"] == 120
    assert facts["known_gpu_util"] == 10 + 10 + 30
    assert facts["mean_gpu_util"] == pytest.approx((10 * 1 + 10 * 0 + 30 * 0.5) / 50)


def test_one_sample_has_no_duration() -> None:
    con, _ = held([("a", 0, 0.5)])
    facts = time_facts(con, ["gpu_util"])
    assert facts["mean_gpu_util"] is None and facts["gap_s"] is None and facts["gap_median_s"] is None
    assert con.execute("select dt_s from held").fetchall() == [(0,)]
    rows = con.execute(minutes_sql("held", ["gpu_util"])).fetchall()
    assert [(row[3], row[7]) for row in rows] == [(0, 1)]


def test_far_gaps_do_not_make_millions_of_minutes() -> None:
    far = 50 * 365 * 86400.0
    con, _ = held([("a", 0, 0.5), ("a", 60, 0.5), ("a", 120, 0.5), ("a", far, 0.5)])
    rows = con.execute(coverage_sql("held")).fetchall()
    assert len(rows) < 10
    assert sum(row[3] for row in rows) == pytest.approx(far - 120 - 180)
    con, _ = held([("a", 0, 0.5), ("a", FAR_GAP_S + 1, 0.5)])
    assert len(con.execute(minutes_sql("held", ["gpu_util"])).fetchall()) == 2


def test_gaps_can_be_found_again_from_a_part() -> None:
    con, _ = held([("a", 0, 1.0), ("a", 10, 0.0), ("a", 20, 0.5), ("a", 120, 1.0), ("b", 5, None)])
    con.execute("create table part as select gpu_id, ts, dt_s, gpu_util from held")
    again = con.execute(f"select * from ({coverage_sql(with_gaps_sql('part'))}) order by 1, 2").fetchall()
    assert again == con.execute(f"select * from ({coverage_sql('held')}) order by 1, 2").fetchall()
