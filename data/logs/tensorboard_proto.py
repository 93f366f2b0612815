"""Scalars out of TensorBoard events: the few protobuf fields that hold them, and nothing else.

Source: tensorflow/core/util/event.proto, framework/summary.proto, framework/tensor.proto (field numbers).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64 = 1, 2, 3, 9
_CONTENT = {DT_FLOAT: "<f", DT_DOUBLE: "<d", DT_INT32: "<i", DT_INT64: "<q"}
_START = 1


class ProtoError(ValueError):
    """Bytes that are no protobuf message."""


@dataclass(frozen=True)
class Event:
    """One event: `wall_s` is epoch seconds; `scalars` (tag, value); `others`: values that are no scalars."""

    wall_s: float
    step: int
    scalars: tuple[tuple[str, float], ...] = ()
    others: int = 0
    version: str = ""
    starts: bool = False


def decode(data: bytes) -> Event:
    """One event message. Raises ProtoError for bytes that are none."""
    wall, step, version, starts, others = 0.0, 0, "", False, 0
    scalars: list[tuple[str, float]] = []
    for number, kind, value in _fields(data):
        if number == 1 and kind == FIXED64:
            (wall,) = struct.unpack("<d", _raw(value))
        elif number == 2 and kind == VARINT:
            step = _signed(value)
        elif number == 3 and kind == BYTES:
            version = _raw(value).decode("utf-8", errors="replace")
        elif number == 5 and kind == BYTES:
            for n, k, item in _fields(_raw(value)):
                if n == 1 and k == BYTES:
                    found = _scalar(_raw(item))
                    scalars += [found] if found else []
                    others += found is None
        elif number == 7 and kind == BYTES:
            starts = any(n == 1 and item == _START for n, _, item in _fields(_raw(value)))
        elif kind == BYTES:
            others += 1
    return Event(wall, step, tuple(scalars), others, version, starts)


def _scalar(data: bytes) -> tuple[str, float] | None:
    tag, value = "", None
    for number, kind, item in _fields(data):
        if number == 1 and kind == BYTES:
            tag = _raw(item).decode("utf-8", errors="replace")
        elif number == 2 and kind == FIXED32:
            (value,) = struct.unpack("<f", _raw(item))
        elif number == 8 and kind == BYTES:
            value = _tensor(_raw(item))
    return (tag, float(value)) if tag and value is not None else None


def _tensor(data: bytes) -> float | None:
    """The number of a tensor with one element; None for any other tensor."""
    dtype, content, values = 0, b"", b""
    varints: list[int] = []
    for number, kind, item in _fields(data):
        if number == 1 and kind == VARINT:
            dtype = _signed(item)
        elif number == 2 and kind == BYTES and _elements(_raw(item)) != 1:
            return None
        elif number == 4 and kind == BYTES:
            content = _raw(item)
        elif number in (5, 6) and kind in (BYTES, FIXED32, FIXED64):
            values = _raw(item)
        elif number in (7, 10):
            varints += [_signed(item)] if kind == VARINT else list(_packed(_raw(item)))
    form = _CONTENT.get(dtype)
    if form is None:
        return None
    if dtype in (DT_INT32, DT_INT64) and len(varints) == 1:
        return float(varints[0])
    bits = content or values
    return float(struct.unpack(form, bits)[0]) if len(bits) == struct.calcsize(form) else None


def _elements(shape: bytes) -> int:
    count = 1
    for number, kind, item in _fields(shape):
        if number == 2 and kind == BYTES:
            count *= next((_signed(v) for n, _, v in _fields(_raw(item)) if n == 1), 0)
    return count


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """(field number, wire type, value) of a message."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield key >> 3, kind, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ProtoError(f"wire type {kind}")
        if at + size > end:
            raise ProtoError("a field goes past the end")
        yield key >> 3, kind, data[at : at + size]
        at += size


def _packed(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield _signed(value)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ProtoError("a number goes past the end")


def _signed(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ProtoError("bytes where a number belongs")
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _raw(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtoError("a number where bytes belong")
    return value
