"""The bytes of a served page: packed once, kept in memory within a bound.

A report is some hundred kB of its own and the 4.8 MB of the chart library, which is the same in every report.
The library is packed once a process; a gzip file is then put together from pieces (RFC 1951: each ends with a
full flush, so that pieces packed apart may follow each other).
"""

import struct
import threading
import zlib
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from reports.html import plotly_js

LEVEL = 5
KEPT_BYTES = 48 * 2**20
_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""RFC 1952: gzip, deflate, no flags, no time, no system: the same bytes at every packing."""
_END = b"\x03\x00"
_TELLING = 200
"""Characters of the library to look for first: a search for all of it takes a second."""


@dataclass(frozen=True)
class Page:
    """A page ready to be sent: its text packed, the policy it carries."""

    packed: bytes
    policy: str

    def plain(self) -> bytes:
        """Return the page as it is, for the rare reader that takes no gzip."""
        return zlib.decompress(self.packed, wbits=31)


class Shelf:
    """Pages by key, the least used thrown away beyond `limit_bytes`. Safe from any thread."""

    def __init__(self, limit_bytes: int = KEPT_BYTES) -> None:
        self._limit = limit_bytes
        self._pages: OrderedDict[Hashable, Page] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Page | None:
        """Return a kept page."""
        with self._lock:
            page = self._pages.get(key)
            if page is not None:
                self._pages.move_to_end(key)
            return page

    def put(self, key: Hashable, page: Page) -> None:
        """Keep a page; one that is larger than the bound is not kept."""
        with self._lock:
            old = self._pages.pop(key, None)
            self._bytes += len(page.packed) - (len(old.packed) if old else 0)
            self._pages[key] = page
            while self._bytes > self._limit:
                _, gone = self._pages.popitem(last=False)
                self._bytes -= len(gone.packed)


def pack(page: str) -> bytes:
    """Return a page as one gzip file; equal pages give equal bytes."""
    raw = page.encode()
    return b"".join((_HEAD, *_pieces(page), _END, struct.pack("<II", zlib.crc32(raw), len(raw) & 0xFFFFFFFF)))


def warm() -> None:
    """Pack the chart library before the first reader comes."""
    _packed_library()


def _pieces(page: str) -> list[bytes]:
    library = plotly_js()
    start = page.find(library[:_TELLING])
    while start >= 0 and not page.startswith(library, start):
        start = page.find(library[:_TELLING], start + 1)
    if start < 0:
        return [_packed(page)]
    return [_packed(page[:start]), _packed_library(), _packed(page[start + len(library) :])]


@lru_cache(maxsize=1)
def _packed_library() -> bytes:
    return _packed(plotly_js())


def _packed(text: str) -> bytes:
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    return deflate.compress(text.encode()) + deflate.flush(zlib.Z_FULL_FLUSH)
