"""Which answers a notebook has, which are stale, and the run that brings them up to date."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from data.errors import UserError
from data.store import Store
from pages.parts import notebook_session as session
from pages.parts.notebook_outputs import KEPT, Job
from pages.parts.notices import show_error
from pages.parts.words import counted, md_escape
from reports.notebook.document import name_of
from reports.notebook.graph import fingerprints, problems
from reports.notebook.run import Output, stale, versions_of

AT_ONCE_S = 0.4
"""How long the page waits for cheap cells before it shows them as stale: a redraw costs as much."""
EVERY_S = 0.6
_JOB, _TRIED = "_notebook_job", "_notebook_tried"


@dataclass(frozen=True)
class Answers:
    """What the cells of a document have to show: last outputs, which of them are stale, what is wrong."""

    outputs: Mapping[str, Output]
    stale: tuple[str, ...]
    problems: Mapping[str, str]
    running: frozenset[str] = frozenset()

    @property
    def failed(self) -> list[str]:
        """Cells whose last run failed, or that wait for one that failed."""
        return [i for i, output in self.outputs.items() if output.state != "done" and i not in self.stale]


def answers_of(store: Store, now: session.Open) -> Answers:
    """Return what there is to show for the open notebook."""
    busy = running()  # before the answers are looked up: a run that ends meanwhile has brought more
    versions = versions_of(store)
    outputs = KEPT.of(str(store.home), now.id, fingerprints(now.document, versions))
    late = tuple(stale(now.document, outputs, versions))
    return Answers(outputs, late, problems(now.document), frozenset(late) if busy else frozenset())


def running() -> bool:
    """Whether a run of the open notebook is at work."""
    job: Job | None = st.session_state.get(_JOB)
    return job is not None and job.running


def run_what_is_stale(store: Store, now: session.Open) -> None:
    """Start the run of what is stale, unless it is at work, was cancelled or is started by hand.

    A document is tried once: what failed is not repeated until it, the data or a click says so.
    """
    versions = versions_of(store)
    prints = fingerprints(now.document, versions)
    target = (now.id, tuple(sorted(prints.items())))
    if st.session_state.get(_TRIED) == target or (now.by_hand and _TRIED in st.session_state):
        return
    outputs = KEPT.of(str(store.home), now.id, prints)
    late = tuple(stale(now.document, outputs, versions))
    st.session_state[_TRIED] = target
    if late:
        start(store, now, outputs, late)


def start(store: Store, now: session.Open, outputs: Mapping[str, Output], late: tuple[str, ...]) -> None:
    """Run the stale cells beside the page, after what is at work has been told to stop."""
    before: Job | None = st.session_state.get(_JOB)
    if before is not None:
        before.cancel.set()
    job = Job(now.document, late)
    st.session_state[_JOB] = job
    job.start(store, now.id, outputs, before)
    if job.thread is not None:
        job.thread.join(AT_ONCE_S)


def run_now() -> None:
    """Button callback: run what is stale, also where that was cancelled or waits for a hand."""
    store, now = session.store(), session.held()
    answers = answers_of(store, now)
    if answers.stale:
        start(store, now, answers.outputs, answers.stale)


def run_again(cell_id: str) -> None:
    """Button callback: run a cell once more though nothing that it rests on changed."""
    store, now = session.store(), session.held()
    output = answers_of(store, now).outputs.get(cell_id)
    if output is not None:
        KEPT.forget(str(store.home), now.id, output)
        run_now()


def cancel() -> None:
    """Button callback: stop the run; what is not yet answered stays stale."""
    job: Job | None = st.session_state.get(_JOB)
    if job is not None:
        job.cancel.set()


def show_progress(now: session.Open, answers: Answers) -> None:
    """Say how far the run is, with its cancel button; the page is drawn again as answers arrive.

    A run that ended since `answers` were taken is watched too: that draws the page with what it brought.
    """
    job: Job | None = st.session_state.get(_JOB)
    if job is None:
        return
    if job.running or answers.running:
        _watch(now, len(job.done))
    elif job.failure is not None:
        error = job.failure
        show_error(
            error
            if isinstance(error, UserError)
            else UserError(
                f"The run stopped: {type(error).__name__}: {error}",
                "notebook",
                "Run again; answers are kept.",
            )
        )


@st.fragment(run_every=EVERY_S)
def _watch(now: session.Open, drawn: int) -> None:
    job: Job = st.session_state[_JOB]
    if not job.running or len(job.done) != drawn:
        st.rerun()
    at = next((i for i in job.cells if i not in job.done), job.cells[-1])
    names = {cell.id: name_of(cell) for cell in now.document.cells}
    with st.container(horizontal=True, vertical_alignment="center", key="nb_progress"):
        st.progress(
            len(job.done) / len(job.cells),
            f"Running {md_escape(names.get(at, ''))}: {len(job.done)} of {counted(len(job.cells), 'cell')}",
        )
        stopping = job.cancel.is_set()
        st.button(
            "Stopping …" if stopping else "Cancel",
            key="nb_cancel",
            icon=":material/stop_circle:",
            disabled=stopping,
            on_click=cancel,
        )


def wait(timeout_s: float = 60.0) -> None:
    """Wait until the session's run has ended: for tests."""
    job: Job | None = st.session_state.get(_JOB)
    if job is not None and isinstance(job.thread, threading.Thread):
        job.thread.join(timeout_s)
