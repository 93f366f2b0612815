"""TFRecord framing, as in TensorBoard event files: length, its checksum, bytes, their checksum.

Source: tensorflow/core/lib/io/record_writer.h (little-endian uint64 length, masked CRC-32C of it, data,
masked CRC-32C of the data) and RFC 3720 for the Castagnoli polynomial.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HEADER_BYTES = 12
FOOTER_BYTES = 4
FILE_VERSION = b"brain.Event:2"
CHECKED_BYTES = 64 << 10
"""Records above this hold pictures, graphs or audio: stepped over, only their length is checked."""
BLOCK_BYTES = 8 << 20
_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8


@cache
def _table() -> tuple[int, ...]:
    codes = []
    for code in range(256):
        for _ in range(8):
            code = (code >> 1) ^ (_POLYNOMIAL if code & 1 else 0)
        codes.append(code)
    return tuple(codes)


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of some bytes."""
    table, code = _table(), 0xFFFFFFFF
    for byte in data:
        code = table[(code ^ byte) & 0xFF] ^ (code >> 8)
    return code ^ 0xFFFFFFFF


def masked(code: int) -> int:
    """The checksum as it stands in the file: rotated and shifted, so that data may hold checksums."""
    return (((code >> 15) | (code << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def is_event_file(head: bytes) -> bool:
    """True for the start of a TensorBoard event file: a framed first event that names the file version."""
    if len(head) < HEADER_BYTES:
        return False
    length, check = struct.unpack_from("<QI", head)
    if length > 1024 or masked(crc32c(head[:8])) != check:
        return False
    return FILE_VERSION in head[HEADER_BYTES : HEADER_BYTES + length]


@dataclass
class Records:
    """The records of a file, one at a time: iterate, then look at how it ended.

    `damaged`: numbers (1-based) of records whose own checksum is wrong; they are not given out. `cut`: why
    reading stopped before the end of the file, "" when it did not. Records above `CHECKED_BYTES` are given
    as b"": nothing is read out of them. `start`, `size`: where the records are in a larger file.
    """

    path: Path
    start: int = 0
    size: int | None = None
    count: int = 0
    damaged: list[int] = field(default_factory=list)
    cut: str = ""
    at: int = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """(number of the record from 1, its bytes)."""
        with self.path.open("rb", buffering=BLOCK_BYTES) as handle:
            end = self.path.stat().st_size if self.size is None else self.start + self.size
            self.at = handle.seek(self.start)
            while header := handle.read(min(HEADER_BYTES, end - self.at)):
                length = self._length(header)
                if length is None:
                    return
                following = self.at + HEADER_BYTES + length + FOOTER_BYTES
                if following > end:
                    self.cut = "the last record is cut off"
                    return
                self.count += 1
                self.at = following
                if length > CHECKED_BYTES:
                    handle.seek(following)
                    yield self.count, b""
                    continue
                body = handle.read(length + FOOTER_BYTES)
                if struct.pack("<I", masked(crc32c(body[:length]))) != body[length:]:
                    self.damaged.append(self.count)
                else:
                    yield self.count, body[:length]

    @property
    def left_bytes(self) -> int:
        """Bytes behind the last whole record."""
        end = self.path.stat().st_size if self.size is None else self.start + self.size
        return end - self.at

    def _length(self, header: bytes) -> int | None:
        if len(header) < HEADER_BYTES:
            self.cut = "the last record is cut off"
            return None
        length, check = struct.unpack("<QI", header)
        if masked(crc32c(header[:8])) != check:
            self.cut = f"the record after number {self.count} has a wrong length, so the rest cannot be found"
            return None
        return int(length)
