"""Outputs of cells: kept for all sessions by what they depend on, made by a thread beside the page."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from data.store import Store
from pages.parts.compute import answer_in
from reports.notebook.document import Document
from reports.notebook.run import Cancelled, Engine, Output, run_stale

MOST = 512


class Kept:
    """The outputs of this process, the longest unused ones dropped. Safe between threads.

    `now` is by fingerprint, so that a reload, another tab and a copy of a notebook show at once what was
    answered; `last` is by cell, for the old answer of a cell that is stale.
    """

    def __init__(self, most: int = MOST) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._now: OrderedDict[tuple[str, str], Output] = OrderedDict()
        self._last: OrderedDict[tuple[str, int, str], Output] = OrderedDict()

    def put(self, home: str, notebook: int, output: Output) -> None:
        """Keep an output."""
        with self._lock:
            self._set(self._now, (home, output.fingerprint), output)
            self._set(self._last, (home, notebook, output.cell_id), output)

    def of(self, home: str, notebook: int, fingerprints: Mapping[str, str]) -> dict[str, Output]:
        """Return what there is for each cell: the output of its fingerprint, else its last one."""
        found = {}
        with self._lock:
            for cell_id, fingerprint in fingerprints.items():
                last = self._get(self._last, (home, notebook, cell_id))
                if last is None or last.fingerprint != fingerprint:
                    last = self._get(self._now, (home, fingerprint)) or last
                if last is not None:
                    found[cell_id] = last if last.cell_id == cell_id else replace(last, cell_id=cell_id)
        return found

    def forget(self, home: str, notebook: int, output: Output) -> None:
        """Drop an output: its cell is to run again though nothing that it rests on changed."""
        with self._lock:
            self._now.pop((home, output.fingerprint), None)
            self._last.pop((home, notebook, output.cell_id), None)

    def _set(self, held: OrderedDict, key: tuple, output: Output) -> None:
        held[key] = output
        held.move_to_end(key)
        while len(held) > self._most:
            held.popitem(last=False)

    def _get(self, held: OrderedDict, key: tuple) -> Output | None:
        if key in held:
            held.move_to_end(key)
        return held.get(key)


KEPT = Kept()


def _engine(store: Store) -> Engine:
    """Cells take the answers that the pages keep, and pages those of cells."""
    return Engine.of(store, lambda view, question, asked: answer_in(view, store, question, asked))


@dataclass
class Job:
    """One run of the stale cells of a document, in a thread of its own."""

    document: Document
    cells: tuple[str, ...]
    cancel: threading.Event = field(default_factory=threading.Event)
    done: list[str] = field(default_factory=list)
    failure: Exception | None = None
    thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self.thread is not None and self.thread.is_alive()

    def start(self, store: Store, notebook: int, outputs: Mapping[str, Output], after: "Job | None") -> None:
        """Begin, once the run before has ended: two never work at the same cells."""
        self.thread = threading.Thread(
            target=self._work, args=(store, notebook, dict(outputs), after), name="notebook", daemon=True
        )
        self.thread.start()

    def _work(self, store: Store, notebook: int, outputs: dict[str, Output], after: "Job | None") -> None:
        home = str(store.home)
        if after is not None and after.thread is not None:
            after.thread.join()

        def keep(cell_id: str, output: Output) -> None:
            if not isinstance(output.error, Cancelled):  # its old answer stays, and it stays stale
                KEPT.put(home, notebook, output)
                self.done.append(cell_id)

        try:
            if not self.cancel.is_set():
                run_stale(_engine(store), self.document, outputs, cancel=self.cancel, on_cell=keep)
        except Exception as error:  # noqa: BLE001  the page shows it: a thread has nobody to tell
            self.failure = error
