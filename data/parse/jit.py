"""Compiled loops: numba with the machine code kept on disk where some folder can be written."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba as nb

F = TypeVar("F", bound=Callable[..., Any])
OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}
"""Without reference counts, which threads would fight for: a loop makes no array of its own."""
_njit: Any = nb.njit


def compiled(signature: Any) -> Callable[[F], F]:
    """Compile for one signature when the module is imported; without the GIL, without checks of bounds.

    The cache holds for one source file: what a loop calls must stand in the same file, or it goes stale.
    """

    def decorate(function: F) -> F:
        try:
            found: F = _njit(signature, cache=True, **OPTIONS)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            found = _njit(signature, **OPTIONS)(function)
        return found

    return decorate


def part(function: F) -> F:
    """A part of compiled loops of the same file that is called now and then."""
    found: F = _njit(**OPTIONS)(function)
    return found


def inlined(function: F) -> F:
    """A part of compiled loops of the same file that is needed at every turn."""
    found: F = _njit(forceinline=True, **OPTIONS)(function)
    return found
