"""Files on their way in: the drop zone, what may be said beforehand, and a card for each file."""

import io
import uuid
from typing import Any

import streamlit as st

from data.store import Store
from pages.parts import example, push, uploader
from pages.parts import upload_actions as actions
from pages.parts.compute import compute
from pages.parts.notices import show_error
from pages.parts.run_form import show_run_form
from pages.parts.state import go_to, settle
from pages.parts.upload_actions import Card
from pages.parts.upload_card import show_card, show_failure, show_summary
from pages.parts.words import md_escape
from reports.choices import ChoiceError, choices_from

_RETRY = "upload_retry"
_SEEN = "upload_seen"
_GOING = "upload_going"
NAMED = 8


def take_files(store: Store) -> None:
    """Draw the way in and turn what has landed into cards."""
    zone = st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        said = _said_beforehand()
        example.load_button(store)
        _terminal()
        push.popover(store)
    with zone:
        _zone(store, said)


def _terminal() -> None:
    with st.popover("From a terminal", icon=":material/terminal:"):
        st.caption("The same readers and the same receipt; works while this page is open.")
        st.code(".venv/bin/python cli.py import FILE|FOLDER|ZIP… --run NAME --campaign NAME", language="bash")


def _zone(store: Store, said: dict[str, Any]) -> None:
    if uploader.served(store):
        retry: list[dict[str, Any]] = st.session_state.setdefault(_RETRY, [])
        seen: set[str] = st.session_state.setdefault(_SEEN, set())
        fresh = [item for item in uploader.drop_zone(said, retry) if item.id not in seen]
        for item in fresh:
            seen.add(item.id)
            for card in _cards(item):
                actions.add_card(card)
            retry[:] = [r for r in retry if r["nonce"] != item.nonce]
        if fresh:
            st.rerun()
        return
    st.caption("Small files only: the upload route is not running here.")
    files = uploader.small_files()
    if files:
        _take_small(store, files, said)


def _take_small(store: Store, files: list[Any], said: dict[str, Any]) -> None:
    try:
        choices = choices_from(said)
    except ChoiceError as error:
        show_error(error)
        return
    for item in files:
        for card in actions.load(store, uuid.uuid4().hex, item, item.name, choices):
            actions.add_card(card)
    uploader.release(files)
    st.rerun()


def _cards(item: uploader.Landed) -> list[Card]:
    if item.receipt is None:
        return [Card(item.id, item.name, error=item.error, head=item.head)]
    return actions.landed(item.id, item.name, item.receipt)


def show_cards(store: Store) -> None:
    """Draw the cards of this session, newest first, each with what its runs still need for dollars.

    What a run needs is asked once, below the newest of its files, which names the others.
    """
    files = actions.files_of_runs(store)
    asked: set[str] = set()
    for card in list(actions.cards()):
        if card.upload_id is not None:
            show_card(store, card.upload_id, key=card.id, closable=True, again=card.note)
            _still_needed(store, card, files, asked)
        elif card.summary is not None:
            show_summary(card.name, card.summary, key=card.id)
        elif card.error is not None:
            picked = show_failure(store, card.name, card.error, card.head, key=card.id)
            if picked:
                _again(store, card, picked)


def _still_needed(store: Store, card: Card, files: dict[str, list[str]], asked: set[str]) -> None:
    runs, priced = actions.runs_for_cost(store, str(card.upload_id), leave_out=asked)
    asked.update(runs, priced)
    for run in priced[:4]:
        _priced(run, card.id, files.get(run, []))
    for run in runs[:4]:
        with st.container(border=True, key=f"needs_{card.id}_{run}"):
            st.markdown(f"**Still needed for dollars: {actions.shown(run)}**")
            _made_of(files.get(run, []))
            show_run_form(store, run, key=f"{card.id}_{run}")
    if len(runs) > 4:
        st.caption(f"{len(runs) - 4} more runs need details: see *Run details* below.")


def _made_of(files: list[str]) -> None:
    """Name the files of a run where several came at once: one answer counts for all of them."""
    if len(files) > 1:
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        named = md_escape(", ".join(files[:NAMED]))
        st.caption(f"{len(files)} of the files just loaded are of this run: {named}{more}")


def _priced(run: str, card_id: str, files: list[str]) -> None:
    """What a run of the file costs, now that all is known, and where to read on."""
    result = compute("ledger", {"runs": [run], "platforms": []})
    with st.container(border=True, key=f"priced_{card_id}_{run}"):
        st.markdown(f":green[:material/check:] {md_escape(' '.join(result.answer.split()))}")
        _made_of(files)
        with st.container(horizontal=True):
            for file, title in (("overview.py", "Overview"), ("rollouts.py", "Rollouts")):
                st.button(
                    f"{title} of this run",
                    key=f"to_{title}_{card_id}_{run}",
                    icon=":material/arrow_forward:",
                    type="tertiary",
                    on_click=_choose,
                    args=(run, file),
                )


def _choose(run: str, file: str) -> None:
    """Make `run` the only chosen one: a link's address alone does not move a picker that is drawn already."""
    st.session_state["runs"] = [run]
    st.session_state["platforms"] = []
    settle("runs")
    settle("platforms")
    st.session_state[_GOING] = file


def go_on() -> None:
    """Open the page that a card's button asked for; the click itself would be lost to a redraw in between."""
    file = st.session_state.pop(_GOING, None)
    if file is not None:
        go_to(file)


def _again(store: Store, card: Card, picked: dict[str, Any]) -> None:
    """Read a refused file again: the drop zone has it still, the card itself where there is none."""
    if card.data is not None:
        fresh = actions.load(store, uuid.uuid4().hex, io.BytesIO(card.data), card.name, choices_from(picked))
        actions.close_card(card.id)
        for one in fresh:
            actions.add_card(one)
        st.rerun()
    retry: list[dict[str, Any]] = st.session_state.setdefault(_RETRY, [])
    retry.append({"nonce": uuid.uuid4().hex, "id": card.id, "choices": picked})
    actions.close_card(card.id)
    st.rerun()


def _said_beforehand() -> dict[str, Any]:
    """What a person may say about the next files: format, run, campaign, time zone, host."""
    with (
        st.popover("Say more before dropping", icon=":material/edit_note:"),
        st.container(),
    ):
        st.caption("Only what the file itself does not know. It applies to the next files you drop.")
        formats = {"": "Recognise it", **actions.format_titles(askable=True)}
        form = st.selectbox("Format", list(formats), format_func=formats.__getitem__, key="say_format")
        run = st.text_input("Run", key="say_run", max_chars=200)
        campaign = st.text_input("Campaign", key="say_campaign", max_chars=200)
        host = st.text_input("Host of GPU samples", key="say_host", max_chars=200)
        zone = st.selectbox("Time zone of stamps without one", ["", *actions.COMMON_ZONES], key="say_zone")
    said = {
        "format": form,
        "run": run.strip(),
        "campaign": campaign.strip(),
        "host": host.strip(),
        "timezone": zone,
    }
    return {k: v for k, v in said.items() if v}
