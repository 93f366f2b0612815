"""How long the table of contents of a zip is, before anything reads it into memory."""

import io
import struct
from pathlib import Path

_END, _END_BYTES = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_BYTES = b"PK\x06\x07", 20
_END64 = b"PK\x06\x06"
_COMMENT_BYTES = 1 << 16
_WIDE = 0xFFFFFFFF


def directory_bytes(path: Path) -> int | None:
    """Bytes of the central directory as the file states them; None when there is no end record.

    Source: PKWARE APPNOTE.TXT 4.3.14 to 4.3.16.
    """
    with path.open("rb") as handle:
        end = handle.seek(0, io.SEEK_END)
        start = max(0, end - _COMMENT_BYTES - _END_BYTES - _LOCATOR_BYTES)
        handle.seek(start)
        tail = handle.read()
        at = tail.rfind(_END)
        if at < 0 or len(tail) - at < _END_BYTES:
            return None
        (size,) = struct.unpack_from("<I", tail, at + 12)
        locator = tail[max(0, at - _LOCATOR_BYTES) : at]
        if not locator.startswith(_LOCATOR) or len(locator) < _LOCATOR_BYTES:
            return int(size)
        (offset,) = struct.unpack_from("<Q", locator, 8)
        handle.seek(min(offset, end))
        record = handle.read(56)
        if not record.startswith(_END64) or len(record) < 56:
            return int(size)
        (wide,) = struct.unpack_from("<Q", record, 40)
        return int(max(wide, size if size != _WIDE else 0))
