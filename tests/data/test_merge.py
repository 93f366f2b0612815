"""Rows by key: stored values stay, empty cells fill, overlapping exports do not count twice."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.merge import Merged, merge
from data.migrations import migrate
from tests.examples import some


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as con:
        migrate(con)
        yield con


@pytest.fixture(autouse=True)
def empty(con):
    for table in ("steps", "env_events", "metric_raw"):
        con.execute(f"DELETE FROM {table}")


def steps(rows, **more):
    frame = pd.DataFrame(rows, columns=["step", "step_s", "tok_gen"])
    return frame.assign(run="r", attempt=1, source="x", upload_id="u", **more)


def stored(con):
    return con.execute("SELECT step, step_s, tok_gen FROM steps ORDER BY step").fetchall()


def test_equal_rows_write_nothing(con):
    assert merge(con, "steps", steps([(1, 1.0, 5.0), (2, 2.0, 6.0)])) == Merged(added=2)
    assert merge(con, "steps", steps([(1, 1.0, 5.0), (2, 2.0, 6.0)])) == Merged()


def test_empty_cells_are_filled_and_stored_ones_kept(con):
    merge(con, "steps", steps([(1, 1.0, None), (2, None, 6.0)]))
    assert merge(con, "steps", steps([(1, 9.0, 5.0), (2, 2.0, 6.0)])) == Merged(completed=2, conflicts=1)
    assert stored(con) == [(1, 1.0, 5.0), (2, 2.0, 6.0)]


def test_replacing_takes_the_later_value_but_never_empties_a_cell(con):
    merge(con, "steps", steps([(1, 1.0, 5.0), (2, 2.0, 6.0)]))
    merged = merge(con, "steps", steps([(1, 9.0, None), (2, 2.0, 6.0)]), "replace")
    assert merged == Merged(completed=1, conflicts=1)
    assert stored(con) == [(1, 9.0, 5.0), (2, 2.0, 6.0)]


def test_the_last_digit_of_a_double_is_no_contradiction(con):
    merge(con, "steps", steps([(1, 0.1 + 0.2, 1.0)]))
    assert merge(con, "steps", steps([(1, 0.3, 1.0)])).conflicts == 0
    assert merge(con, "steps", steps([(1, 0.3001, 1.0)])).conflicts == 1


def test_a_key_twice_in_one_file_is_one_row(con):
    assert merge(con, "steps", steps([(1, 1.0, None), (1, None, 5.0)])).added == 1
    assert stored(con) == [(1, 1.0, 5.0)]


def test_empty_key_cells_match_each_other(con):
    frame = pd.DataFrame({"run": "r", "attempt": 1, "key": ["a", "b"], "value": 1.0, "upload_id": "u"})
    assert merge(con, "metric_raw", frame).added == 2
    assert merge(con, "metric_raw", frame).added == 0


def test_not_a_number_equals_itself(con):
    merge(con, "steps", steps([(1, np.nan, 1.0)]))
    assert merge(con, "steps", steps([(1, np.nan, 1.0)])).conflicts == 0


def test_faults_of_a_reader_are_loud(con):
    with pytest.raises(RuntimeError, match="nonsense"):
        merge(con, "steps", steps([(1, 1.0, 1.0)], nonsense=1))
    with pytest.raises(RuntimeError, match=r"steps\.run must be filled"):
        merge(con, "steps", steps([(1, 1.0, 1.0)]).assign(run=None))


EVENTS = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([None, 1.0, 2.0])), max_size=12)


@settings(max_examples=some(9), deadline=None)
@given(EVENTS, st.integers(0, 12))
def test_rows_without_a_key_count_as_often_as_the_longest_export_shows_them(con, events, cut):
    """A prefix first and the whole later hold what the whole alone holds, repeated events included."""
    con.execute("DELETE FROM env_events")
    frame = pd.DataFrame(events, columns=["env", "busy_s"]).assign(upload_id="u")
    merge(con, "env_events", frame.iloc[:cut])
    merge(con, "env_events", frame)
    merge(con, "env_events", frame.iloc[:cut])
    got = con.execute("SELECT env, busy_s FROM env_events").fetchall()
    assert sorted(got, key=repr) == sorted(events, key=repr)


ROWS = st.dictionaries(
    st.integers(0, 9), st.tuples(st.sampled_from([None, 1.5]), st.sampled_from([None, 7.0])), min_size=1
)


@settings(max_examples=some(9), deadline=None)
@given(ROWS, ROWS)
def test_order_of_uploads_does_not_matter_when_they_agree(con, left, right):
    results = []
    for first, second in ((left, right), (right, left)):
        con.execute("DELETE FROM steps")
        for rows in (first, second):
            merge(con, "steps", steps([(s, *v) for s, v in rows.items()]))
        results.append(stored(con))
    expected = {
        s: tuple(
            a if a is not None else b
            for a, b in zip(left.get(s, (None, None)), right.get(s, (None, None)), strict=True)
        )
        for s in sorted(left.keys() | right.keys())
    }
    assert results[0] == results[1] == [(s, *v) for s, v in expected.items()]
