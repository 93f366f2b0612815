"""Rows of JSON as typed columns and back, each value as it was: what Parquet holds of a frozen table."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

ENCODING = b"encoding"
JSON_TEXT = b"json"
"""Encoding of a column whose values have no one type: each is JSON in a text."""
_INT64 = range(-(2**63), 2**63)
_DATE_LENGTH = 10
Row = Mapping[str, Any]


def arrow_table(
    rows: Sequence[Row],
    columns: Sequence[str],
    about: Callable[[str], Mapping[str, str]] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> pa.Table:
    """Return rows as a table; a missing key is a null.

    Types: bool, int64, float64, text, timestamp (ISO with a time), date, lists of one of the first four; a
    column without a value has the type null, and one of mixed types is JSON text (`encoding = json` in its
    metadata). `about(column)` is further metadata of a column, such as its unit; `metadata` is the table's.
    """
    fields, arrays = [], []
    for column in columns:
        array, encoding = arrow_column([row.get(column) for row in rows])
        told = dict(about(column)) if about else {}
        if encoding:
            told["encoding"] = encoding
        fields.append(pa.field(column, array.type, metadata=told or None))
        arrays.append(array)
    schema = pa.schema(fields, metadata=dict(metadata or {}) or None)
    return pa.Table.from_arrays(arrays, schema=schema)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return a table of `arrow_table` as the rows of JSON that it was made of."""
    names = table.column_names
    columns = [_json_values(table.column(i), table.schema.field(i)) for i in range(len(names))]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def arrow_column(values: Sequence[Any], *, times: bool = True) -> tuple[pa.Array, str]:
    """Return values as one array and its encoding, '' or 'json'; `times` reads ISO texts as such."""
    kinds = {type(v) for v in values if v is not None}
    if not kinds:
        return pa.nulls(len(values)), ""
    plain = _plain_type(kinds, values)
    if plain == pa.string() and times:
        return _times(values) or pa.array(values, plain), ""
    if plain is not None:
        return pa.array(values, plain), ""
    if kinds == {list}:
        flat = [item for value in values if value is not None for item in value]
        inner = _plain_type({type(v) for v in flat if v is not None}, flat)
        if inner is not None:
            return pa.array(values, pa.list_(inner)), ""
    told = [None if v is None else json.dumps(v, ensure_ascii=False, sort_keys=True) for v in values]
    return pa.array(told, pa.string()), JSON_TEXT.decode()


def _plain_type(kinds: set[type], values: Sequence[Any]) -> pa.DataType | None:
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {str}:
        return pa.string()
    if kinds == {int}:
        return pa.int64() if all(v is None or v in _INT64 for v in values) else None
    if kinds in ({float}, {int, float}) and all(not isinstance(v, int) or _is_float(v) for v in values):
        return pa.float64()
    return None


def _is_float(value: int) -> bool:
    """Whether the nearest double is this number."""
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _times(values: Sequence[str | None]) -> pa.Array | None:
    """Texts as timestamps (UTC or no zone) or dates; None where any would come back as another text."""
    first = next(v for v in values if v is not None)
    if len(first) < _DATE_LENGTH or not first[:4].isdigit():
        return None
    if len(first) == _DATE_LENGTH:
        days = [None if v is None else _read(date.fromisoformat, v) for v in values]
        return _unless_lost(days, values, pa.date32())
    moments = [None if v is None else _read(datetime.fromisoformat, v) for v in values]
    known = [m for m in moments if isinstance(m, datetime)]
    zones = {m.tzinfo for m in known}
    if zones == {UTC}:
        return _unless_lost(moments, values, pa.timestamp("us", "UTC"))
    return _unless_lost(moments, values, pa.timestamp("us")) if zones == {None} else None


def _read(parse: Callable[[str], Any], text: str) -> Any:
    try:
        found = parse(text)
    except ValueError:
        return None
    return found if found.isoformat() == text else None


def _unless_lost(found: Sequence[Any], values: Sequence[str | None], kind: pa.DataType) -> pa.Array | None:
    lost = any(f is None and v is not None for f, v in zip(found, values, strict=True))
    return None if lost else pa.array(found, kind)


def _json_values(column: pa.ChunkedArray, field: pa.Field) -> list[Any]:
    values = column.to_pylist()
    if (field.metadata or {}).get(ENCODING) == JSON_TEXT:
        return [None if v is None else json.loads(v) for v in values]
    if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
        return [None if v is None else v.isoformat() for v in values]
    return list(values)
