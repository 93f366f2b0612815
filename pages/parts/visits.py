"""Whose turn it is: visits go before work that only saves a later wait."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Visits:
    """How many pages are being drawn in this process, and since when none is. Safe between threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._quiet_since = float("-inf")

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Count a page as being drawn while the block runs, however it ends."""
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._quiet_since = time.monotonic()
                self._changed.notify_all()

    def wait_until_quiet(self, quiet_s: float, at_most_s: float) -> bool:
        """Return True when no page has been drawn for `quiet_s`, False when that took over `at_most_s`."""
        end = time.monotonic() + at_most_s
        with self._changed:
            while True:
                now = time.monotonic()
                quiet_at = float("inf") if self._running else self._quiet_since + quiet_s
                if now >= quiet_at:
                    return True
                if now >= end:
                    return False
                self._changed.wait(min(quiet_at, end) - now)


VISITS = Visits()
