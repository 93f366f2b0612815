"""The drop zone: files stream to the upload route, past the widget that would keep them in memory."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from data.store import Store
from reports.home import read_note
from reports.receive import size_limit_bytes
from reports.uploads import issue_token

HERE = Path(__file__).parent
ROUTE = "/api/telemetry"
TOKEN_USES = 200
TOKEN_AGE_S = 1_500.0
_HTML = """
<label class="zone">
  <input type="file" multiple aria-label="Telemetry files" />
  <strong>Drop telemetry here, or <span class="browse">choose files</span></strong>
  <span class="hint"></span>
</label>
<div class="list"></div>
"""
HINT = (
    "Training logs and metrics, W&B, TensorBoard, MLflow · GPU samples · Slurm · bills · evaluations · "
    "sandbox events · our templates. Any name, several at once, zipped too, up to {limit} each. "
    "They stay in this home."
)
_DROP = st.components.v2.component(
    "ipd_drop_zone",
    html=_HTML,
    css=(HERE / "uploader.css").read_text(encoding="utf-8"),
    js=(HERE / "uploader.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class Landed:
    """What came of one file: a receipt, or an error {kind, what, where, remedy} with the head of the file."""

    id: str
    name: str
    receipt: dict[str, Any] | None
    error: dict[str, Any] | None
    head: str = ""
    nonce: str | None = None


def served(store: Store) -> bool:
    """True when this process also answers the upload route (not under a page test)."""
    note = read_note(store.home)
    return note is not None and note.pid == os.getpid()


def drop_zone(said: dict[str, Any], retry: list[dict[str, Any]]) -> list[Landed]:
    """Draw the drop zone; returns all files that have landed since the page was opened, oldest first.

    `said`: choices for the next files. `retry`: [{nonce, id, choices}], files to send again with choices that
    a person has made since.
    """
    limit = size_limit_bytes() / 1e9
    result = _DROP(
        key="drop_zone",
        data={
            "token": _token(),
            "url": ROUTE,
            "choices": said,
            "retry": retry,
            "hint": HINT.format(limit=f"{limit:.3g} GB"),
        },
        on_results_change=_nothing,
        on_renew_change=_renew,
    )
    return [_landed(item) for item in result.results or []]


def _landed(item: dict[str, Any]) -> Landed:
    return Landed(
        id=str(item["id"]),
        name=str(item.get("name", "")),
        receipt=item.get("receipt"),
        error=item.get("error"),
        head=str(item.get("head", "")),
        nonce=item.get("nonce"),
    )


def _token() -> str:
    """A token for this session's next files; a fresh one before the old one could expire."""
    kept = st.session_state.get("upload_token")
    if kept is None or time.monotonic() - kept[1] > TOKEN_AGE_S:
        kept = (issue_token(uses=TOKEN_USES), time.monotonic())
        st.session_state["upload_token"] = kept
    return str(kept[0])


def _renew() -> None:
    st.session_state.pop("upload_token", None)


def _nothing() -> None:
    """Streamlit keeps a state key only when it has a callback."""


def small_files() -> list[Any]:
    """Plain widget for small files, where no upload route runs; each file is handed out once."""
    generation = st.session_state.setdefault("small_generation", 0)
    files = st.file_uploader(
        "Telemetry files", accept_multiple_files=True, key=f"small_files_{generation}", max_upload_size=50
    )
    return list(files)


def release(files: list[Any]) -> None:
    """Give the memory of handed-out files back and empty the widget."""
    st.session_state["small_generation"] += 1
    context = get_script_run_ctx()
    if context is None:
        return
    for item in files:
        context.uploaded_file_mgr.remove_file(session_id=context.session_id, file_id=item.file_id)
