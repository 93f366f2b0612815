"""A watched folder: a file that lands in it is loaded once it rests, and again when it has grown."""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from data.errors import UserError

VARIABLE = "IPD_WATCH"
LOOK_EVERY_S = 2.0
QUIET_S = 3.0
AGAIN_AFTER_S = 30.0
KEPT_EVENTS = 200
_log = logging.getLogger(__name__)
_active: list["Watcher"] = []
_UNFINISHED = (".part", ".tmp", ".crdownload", ".swp")
Load = Callable[[Path, str], str]
"""Loads one file (path, name below the folder) and returns the sentence that says what came of it; raises
UserError when it is refused.
"""


@dataclass(frozen=True)
class Event:
    """What came of one file: `refused` tells a refusal from a load. `at` is UTC."""

    at: datetime
    file: str
    text: str
    refused: bool


@dataclass
class _Seen:
    size: int
    changed: float
    since: float
    loaded: tuple[int, float] | None = None
    loaded_at: float = float("-inf")


@dataclass
class Watcher:
    """Looks into `folder` and below. A file is loaded when it has been the same for `quiet_s` seconds, and a
    file that keeps growing at most every `again_after_s` seconds. Nothing in the folder is changed.
    """

    folder: Path
    load: Load
    quiet_s: float = QUIET_S
    again_after_s: float = AGAIN_AFTER_S
    events: list[Event] = field(default_factory=list)
    _seen: dict[Path, _Seen] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to look, in a thread; raises UserError when the folder is not there."""
        if not self.folder.is_dir():
            raise UserError(
                "The folder to watch is not there", str(self.folder), "Create it, or correct IPD_WATCH."
            )
        self._thread = threading.Thread(target=self._work, name="watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the file in hand."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def look(self, now: float | None = None) -> int:
        """Load what is due and return how many files were taken."""
        moment = time.monotonic() if now is None else now
        due = [path for path in self._files() if self._is_due(path, moment)]
        for path in due:
            if self._stop.is_set():
                break
            self._take(path, moment)
        return len(due)

    def _work(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            self.look()

    def _files(self) -> list[Path]:
        return sorted(
            path
            for path in self.folder.rglob("*")
            if path.is_file()
            and not path.name.endswith(_UNFINISHED)
            and not any(part.startswith(".") for part in path.relative_to(self.folder).parts)
        )

    def _is_due(self, path: Path, moment: float) -> bool:
        try:
            stat = path.stat()
        except FileNotFoundError:
            return False
        seen = self._seen.get(path)
        if seen is None or (seen.size, seen.changed) != (stat.st_size, stat.st_mtime):
            held = seen.loaded if seen else None
            at = seen.loaded_at if seen else float("-inf")
            self._seen[path] = seen = _Seen(stat.st_size, stat.st_mtime, moment, held, at)
        if seen.size == 0 or seen.loaded == (seen.size, seen.changed):
            return False
        if moment - seen.since >= self.quiet_s:
            return True
        return seen.loaded is not None and moment - seen.loaded_at >= self.again_after_s

    def _take(self, path: Path, moment: float) -> None:
        seen = self._seen[path]
        seen.loaded, seen.loaded_at = (seen.size, seen.changed), moment
        name = path.relative_to(self.folder).as_posix()
        try:
            text, refused = self.load(path, name), False
        except UserError as error:
            text, refused = str(error), True
        except Exception:  # noqa: BLE001 - told on the page and logged; the next file must still be taken
            _log.exception("loading %s from the watched folder failed", name)
            text, refused = "The app failed on this file; the server's log names the cause.", True
        self.events.append(Event(datetime.now(UTC).replace(tzinfo=None), name, text, refused))
        del self.events[:-KEPT_EVENTS]


def receipt_line(receipt: Mapping[str, Any]) -> str:
    """One sentence on a loaded file: its counts and runs, or that it was here before."""
    if "receipts" in receipt:
        counts = [len(receipt[part]) for part in ("receipts", "passed_over", "errors")]
        return "{} files loaded, {} passed over, {} refused".format(*counts)
    if receipt.get("duplicate_of"):
        return "These bytes were loaded before: nothing was written."
    runs = ", ".join(map(str, receipt["runs"][:3])) or "no run"
    return f"{receipt['stored']:,} of {receipt['records']:,} records stored · {receipt['format']} · {runs}"


def start_watching(load: Load) -> Watcher | None:
    """Watch the folder that IPD_WATCH names; None when it names none."""
    folder = os.environ.get(VARIABLE, "").strip()
    if not folder:
        return None
    watcher = Watcher(Path(folder).expanduser(), load)
    watcher.start()
    _active.append(watcher)
    return watcher


def stop_watching(watcher: Watcher) -> None:
    """End a watcher that `start_watching` began."""
    _active.remove(watcher)
    watcher.stop()


def watching() -> Watcher | None:
    """The watcher of this process, for the page that tells of it."""
    return _active[-1] if _active else None
