import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.rows import arrow_table, rows_of
from reports.tables import parquet_bytes
from tests.parquet import read_parquet

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT,
    st.datetimes().map(lambda d: d.isoformat()), st.dates().map(lambda d: d.isoformat()),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=2)
)
COLUMNS = st.one_of(*(st.lists(one, min_size=4, max_size=4) for one in (
    st.integers(-5, 5), st.integers(), st.floats(allow_nan=False), TEXT, st.booleans(), VALUES,
    st.one_of(st.none(), st.datetimes().map(lambda d: d.isoformat() + "+00:00")),
    st.one_of(st.none(), st.integers(-9, 9), st.floats(-1, 1)),
)))  # fmt: skip


def typed(value):
    """Equal numbers are equal here, but no truth value is one."""
    return json.dumps(value, sort_keys=True, default=str) if isinstance(value, bool | list | dict) else value


@given(st.lists(COLUMNS, min_size=1, max_size=4))
def test_rows_come_back_from_parquet_as_they_were(columns):
    names = [f"c{i}" for i in range(len(columns))]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    back = rows_of(read_parquet(parquet_bytes(arrow_table(rows, names))))
    assert [[typed(v) for v in row.values()] for row in back] == [
        [typed(v) for v in r.values()] for r in rows
    ]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None], pa.int64()),
        ([1, 0.5], pa.float64()),
        ([2**53 + 1, 0.5], pa.string()),
        ([2**70], pa.string()),
        ([True, None], pa.bool_()),
        ([True, 1], pa.string()),
        ([None], pa.null()),
        (["2026-11-29T10:00:00+00:00", None], pa.timestamp("us", "UTC")),
        (["2026-11-29T10:00:00.123456789+00:00"], pa.string()),
        (["2026-11-29", "2026-02-30"], pa.string()),
        (["2026-11-29"], pa.date32()),
        ([[1.5], []], pa.list_(pa.float64())),
        ([{"a": 1}], pa.string()),
    ],
)
def test_types(values, kind):
    rows = [{"a": v} for v in values]
    table = arrow_table(rows, ["a"])
    assert table.schema.field("a").type == kind
    assert rows_of(table) == rows
