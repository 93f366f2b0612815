"""All readers and the choice between them; see `registry`.

Names are looked up on first use: modules under `data` import `data.readers.base`, and readers import those.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from data.readers.registry import (
        REGISTRY,
        AmbiguousFormatError,
        Candidate,
        choose,
        preview,
        sniff_all,
        what_can_be_read,
    )

__all__ = [
    "REGISTRY",
    "AmbiguousFormatError",
    "Candidate",
    "choose",
    "preview",
    "sniff_all",
    "what_can_be_read",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("data.readers.registry"), name)
