"""TFRecord framing, as in TensorBoard event files: length, its checksum, bytes, their checksum.

Source: tensorflow/core/lib/io/record_writer.h (little-endian uint64 length, masked CRC-32C of it, data,
masked CRC-32C of the data) and RFC 3720 for the Castagnoli polynomial.
"""

import struct
from functools import cache

import numpy as np
import numpy.typing as npt

HEADER_BYTES = 12
FOOTER_BYTES = 4
FILE_VERSION = b"brain.Event:2"
CHECKED_BYTES = 64 << 10
"""Records above this hold pictures, graphs or audio: stepped over, only their length is checked."""
BLOCK_BYTES = 8 << 20
_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8

Codes = npt.NDArray[np.uint32]


@cache
def _table() -> Codes:
    codes = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        codes = np.where(codes & 1, (codes >> 1) ^ np.uint32(_POLYNOMIAL), codes >> 1).astype(np.uint32)
    return codes


@cache
def _plain_table() -> tuple[int, ...]:
    return tuple(int(code) for code in _table())


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of some bytes."""
    table, code = _plain_table(), 0xFFFFFFFF
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
