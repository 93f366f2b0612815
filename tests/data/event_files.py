"""Writes TensorBoard event files for tests, by hand: framing, checksums and the few messages they hold."""

import struct

from data.logs.tfrecord import crc32c, masked


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def block(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def framed(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(crc32c(length))) + data + struct.pack("<I", masked(crc32c(data)))


def event(wall_s: float, step: int, body: bytes) -> bytes:
    return framed(b"\x09" + struct.pack("<d", wall_s) + (b"\x10" + varint(step) if step else b"") + body)


def opened(wall_s: float) -> bytes:
    return event(wall_s, 0, block(3, b"brain.Event:2"))


def simple(tag: str, value: float) -> bytes:
    return block(1, block(1, tag.encode()) + b"\x15" + struct.pack("<f", value))


def tensor(tag: str, dtype: int, payload: bytes, shape: bytes = b"") -> bytes:
    """TF2 style: the number sits in a tensor, with the name of the plugin beside it."""
    body = b"\x08" + varint(dtype) + block(2, shape) + payload
    return block(1, block(1, tag.encode()) + block(9, block(1, block(1, b"scalars"))) + block(8, body))


def summary(*values: bytes) -> bytes:
    return block(5, b"".join(values))


def scalars(wall_s: float, step: int, **values: float) -> bytes:
    """One event a tag, as SummaryWriter.add_scalar does; `__` in a name stands for a slash."""
    tags = ((tag.replace("__", "/"), value) for tag, value in values.items())
    return b"".join(event(wall_s, step, summary(simple(tag, value))) for tag, value in tags)
