"""What can be done with an upload: read it, undo it, read it again with other choices, fetch the original."""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import streamlit as st

from data.errors import UserError
from data.ingest import ingest_file, undo_upload
from data.ingest_files import ingest_files
from data.mapping.language import FORMAT
from data.queries.uploads import receipt_and_choices
from data.readers import REGISTRY
from data.readers.base import Choices
from data.receipt import Receipt
from data.run_details import missing_for_cost
from data.store import Store
from data.view import View
from data.workspace import Decision
from pages.parts.dialogs import close_dialog
from pages.parts.words import md_escape
from reports.choices import choices_from
from reports.jobs import intake_dict
from reports.uploads import error_dict

COMMON_ZONES = (
    "UTC",
    "America/Los_Angeles",
    "America/New_York",
    "Europe/London",
    "Europe/Berlin",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "Asia/Tokyo",
    "Australia/Sydney",
)
_CARDS = "upload_cards"


@dataclass
class Card:
    """A file of this session: an upload in the home, the reason why it is not there, or what an archive held.

    `summary`: {receipts, passed_over, errors} of an archive, whose uploads have cards of their own.
    `data`: the bytes of a refused file where no drop zone keeps it.
    """

    id: str
    name: str
    upload_id: str | None = None
    error: dict[str, Any] | None = None
    head: str = ""
    again: bool = False
    note: str = ""
    summary: Mapping[str, Any] | None = None
    data: bytes | None = None


def landed(card_id: str, name: str, answer: Mapping[str, Any]) -> list[Card]:
    """The cards of what came in: one of a file; of an archive one an upload and refusal, its summary last."""
    if "receipts" not in answer:
        again = answer.get("duplicate_of") is not None
        note = str(answer["warnings"][-1]) if again else ""
        return [Card(card_id, name, upload_id=str(answer["upload_id"]), again=again, note=note)]
    made = [
        card
        for number, receipt in enumerate(answer["receipts"])
        for card in landed(f"{card_id}-{number}", str(receipt["file"]), receipt)
    ]
    made += [
        Card(f"{card_id}-x{number}", str(error["file"]), error={**error, "kind": "UserError"})
        for number, error in enumerate(answer["errors"])
    ]
    return [*reversed(made), Card(card_id, name, summary=answer)]


def cards() -> list[Card]:
    """Cards of this session, newest first."""
    found: list[Card] = st.session_state.setdefault(_CARDS, [])
    return found


def add_card(card: Card) -> None:
    """Put a card on top; one that shows the same upload gives way."""
    kept = [c for c in cards() if c.upload_id is None or c.upload_id != card.upload_id]
    st.session_state[_CARDS] = [card, *kept][:50]


def close_card(key: str) -> None:
    """Take a card off the page; the upload stays."""
    st.session_state[_CARDS] = [c for c in cards() if c.id != key]


@cache
def format_titles(*, askable: bool = False) -> dict[str, str]:
    """Format name -> title, for all readers; `askable`: without the one that needs a column mapping."""
    return {reader.format: reader.title for reader in REGISTRY if not askable or reader.format != FORMAT}


def zones(first: str | None) -> list[str]:
    """Time zones to choose from, the present one first."""
    start = [first] if first else []
    return [*start, *(z for z in COMMON_ZONES if z != first)]


def load(store: Store, card_id: str, stream: Any, name: str, choices: Choices) -> list[Card]:
    """Ingest one file or archive with progress on the page; a refusal becomes a card as well."""
    with st.status(f"Loading {md_escape(name)} …") as status:

        def progress(stage: str, done: int, total: int | None) -> None:
            count = f"{done:,} of {total:,}" if total else f"{done:,}"
            status.update(label=f"{md_escape(name)}: {stage} {count if done else ''}")

        try:
            intake = ingest_files(store, stream, name, choices, progress)
        except UserError as error:
            stream.seek(0)
            return [Card(card_id, name, error=error_dict(error), data=stream.read())]
    return landed(card_id, name, intake_dict(intake))


def undo(store: Store, upload_id: str, name: str) -> None:
    """Button callback: take an upload out; its original stays and can be read again."""
    try:
        undo_upload(store, upload_id)
    except UserError as error:
        st.session_state["upload_error"] = error
        return
    st.toast(f"{md_escape(name)} undone. *Uploads* can bring it back.", icon=":material/undo:")
    st.session_state[_CARDS] = [c for c in cards() if c.upload_id != upload_id]


def undone(store: Store) -> list[Decision]:
    """Uploads of files (not of the example) that were undone and are not in the home now, newest first."""
    live = {d.upload_sha256 for d in store.workspace.decisions(live_only=True) if d.kind == "upload"}
    found: dict[str, Decision] = {}
    for decision in store.workspace.decisions():
        sha = decision.upload_sha256
        if decision.kind != "upload" or sha is None or sha in live:
            continue
        if not (decision.payload.get("choices") or {}).get("synthetic") and store.original(sha).is_file():
            found.pop(sha, None)
            found[sha] = decision
    return list(found.values())[::-1]


def bring_back(store: Store, decision: Decision) -> None:
    """Button callback: read the kept original again, with the choices it had."""
    sha = str(decision.upload_sha256)
    try:
        choices = choices_from(decision.payload.get("choices") or {})
        receipt = ingest_file(store, store.original(sha), str(decision.payload["name"]), choices)
    except UserError as error:
        st.session_state["upload_error"] = error
        return
    add_card(Card(receipt.upload_id, receipt.file, upload_id=receipt.upload_id))


def read_again(store: Store, receipt: Receipt, raw: Mapping[str, Any]) -> None:
    """Undo an upload and read its original with other choices; on a refusal the old reading comes back."""
    path = store.original(receipt.sha256)
    with store.exclusive():
        old = _stored_choices(store, receipt.upload_id)
        try:
            wanted = choices_from(raw)
            undo_upload(store, receipt.upload_id)
        except UserError as error:
            st.session_state["upload_error"] = error
            st.rerun()
        try:
            fresh = ingest_file(store, path, receipt.file, wanted)
            add_card(Card(uuid.uuid4().hex, receipt.file, upload_id=fresh.upload_id))
        except UserError as error:
            ingest_file(store, path, receipt.file, old)
            st.session_state["upload_error"] = error
    st.rerun()


def _stored_choices(store: Store, upload_id: str) -> Choices:
    with store.view() as view:
        found = receipt_and_choices(view, upload_id)
    return choices_from(found[1]) if found else Choices()


@st.dialog("Original file", on_dismiss=close_dialog)
def offer_original(url: str, name: str) -> None:
    """Show the one-time address of the untouched bytes."""
    st.markdown(f"The untouched bytes of **{md_escape(name)}**. The address works once.")
    st.html(f'<a href="{url}" download style="font-weight:600">Download the original</a>')


def runs_for_cost(
    store: Store, upload_id: str, leave_out: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """Runs of an upload: those that still lack something for a dollar figure, and those that lack nothing."""
    with store.view() as view:
        runs = [run for run in _runs_of(view, upload_id) if run not in leave_out]
        lacking = [run for run in runs if missing_for_cost(view, run)]
    return lacking, [run for run in runs if run not in lacking]


def files_of_runs(store: Store) -> dict[str, list[str]]:
    """Run -> names of the files among this session's cards that hold it, in the order in which they came."""
    found: dict[str, list[str]] = {}
    with store.view() as view:
        for card in reversed(cards()):
            for run in _runs_of(view, card.upload_id) if card.upload_id is not None else ():
                found.setdefault(run, []).append(card.name)
    return found


def _runs_of(view: View, upload_id: str) -> list[str]:
    found = receipt_and_choices(view, upload_id)
    return list(found[0].get("runs", [])) if found else []


def shown(name: str) -> str:
    """A name from a file, safe inside markdown."""
    return md_escape(name)
