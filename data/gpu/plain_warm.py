"""Brings in the compiled loops while a large GPU log is still arriving: their import takes half a second."""

import re
from functools import cache
from threading import Thread

PLAIN_FROM_BYTES = 20 << 20
"""Smaller files do not earn back the import of the compiled loops."""
_GPU_LOG = re.compile(rb"gpu|nvidia|card|power\.draw|dcgm", re.IGNORECASE)
_HEADER_BYTES = 1 << 12


def warm(head: bytes) -> None:
    """Start the import beside the caller when the first lines of a text may be those of a GPU log."""
    if _GPU_LOG.search(head[:_HEADER_BYTES]):
        _start()


@cache
def _start() -> Thread:
    thread = Thread(target=_load, name="compiled loops")
    thread.start()
    return thread


def _load() -> None:
    from data.gpu import plain_kernels, plain_minutes  # noqa: F401
