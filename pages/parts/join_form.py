"""Which run an upload belongs to, why, and how to say otherwise."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from data.errors import UserError
from data.job_runs import job_ties
from data.join import NEW_ATTEMPT, candidates, span_of_upload
from data.queries import run_details
from data.receipt import Receipt
from data.rejoin import join_upload, last_join, undo_join
from data.store import Store
from pages.parts.words import md_escape

RUN, NEW, NONE = "An existing run", "A new run", "No run"
BY_ROWS = "Its rows decide"
OWN = "An attempt of its own"
SHOWN = 4


def sentence(joined: Mapping[str, Any]) -> str:
    """One join in words, with markdown."""
    sure = f"{100 * float(joined['confidence']):.0f} % sure"
    attempt = "" if joined["attempt"] is None else f", attempt {joined['attempt']}"
    return (
        f"Joined to run **{md_escape(str(joined['run']))}**{attempt}, because "
        f"{md_escape(str(joined['why']))} :gray[({sure})]"
    )


def sentences(joins: Sequence[Mapping[str, Any]]) -> list[str]:
    """Joins in words, those of several runs for one reason in one line."""
    alike: dict[tuple[str, float], list[Mapping[str, Any]]] = {}
    for joined in joins:
        alike.setdefault((str(joined["why"]), float(joined["confidence"])), []).append(joined)
    return [sentence(group[0]) if len(group) == 1 else _together(group) for group in alike.values()]


def _together(group: Sequence[Mapping[str, Any]]) -> str:
    runs = len({str(joined["run"]) for joined in group})
    words = f"{runs:,} runs" if runs > 1 else f"run **{md_escape(str(group[0]['run']))}**"
    attempts = f", {len(group):,} attempts" if len(group) > runs else ""
    sure = f"{100 * float(group[0]['confidence']):.0f} % sure"
    each = "for each, " if runs > 1 else ""
    return f"Joined to {words}{attempts}, because {each}{md_escape(str(group[0]['why']))} :gray[({sure})]"


def short(joins: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Runs with attempts, and the reasons, as plain text for a table."""
    runs: dict[str, list[str]] = {}
    for joined in joins:
        attempts = runs.setdefault(str(joined["run"]), [])
        if joined["attempt"] is not None:
            attempts.append(str(joined["attempt"]))
    named = [" · ".join(filter(None, (run, ", ".join(tries[:6])))) for run, tries in runs.items()]
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    why = "; ".join(dict.fromkeys(str(joined["why"]) for joined in joins))
    return ", ".join(named[:3]) + more, why


def show_joins(store: Store, receipt: Receipt, synthetic: bool) -> None:
    """Say what the upload is joined to, or which runs it might belong to."""
    lines = sentences(receipt.joins)
    for line in lines[:SHOWN]:
        st.markdown(f":material/link: {line}")
    if len(lines) > SHOWN:
        st.caption(f"and joins for {len(lines) - SHOWN:,} more reasons")
    if not receipt.joins and not receipt.runs and not _jobs_tied(store, receipt):
        _might_be(store, receipt, synthetic)


def _jobs_tied(store: Store, receipt: Receipt) -> bool:
    """Whether the file holds scheduler jobs of which some are tied to runs: then it is joined, job by job."""
    if not receipt.rows_written.get("scheduler_jobs"):
        return False
    with store.view() as view:
        return bool(job_ties(view, receipt.upload_id, receipt.runs)[0])


def _might_be(store: Store, receipt: Receipt, synthetic: bool) -> None:
    with store.view() as view:
        span = span_of_upload(view.cursor, receipt.upload_id)
        found = candidates(view.cursor, span, synthetic) if span else []
    if not found:
        return
    st.markdown(":orange[:material/link_off:] Joined to no run. It may belong to:")
    for one in found[:SHOWN]:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{md_escape(one.run)}**: {md_escape(one.why)}")
            st.button(
                f"Join to {md_escape(one.run)}",
                key=f"might_{receipt.upload_id}_{one.run}",
                on_click=_join,
                args=(store, receipt.upload_id, one.run, one.attempt),
            )


def show_form(store: Store, receipt: Receipt, key: str) -> None:
    """Draw \"Belongs to another run…\" with its choices, and the undo of the last word."""
    with st.popover("Belongs to another run…", icon=":material/link:", key=f"join_{key}"):
        said = last_join(store, receipt.sha256)
        with store.view() as view:
            runs = [str(run) for run in run_details.table(view)["run"]]
        kind = st.radio("It belongs to", [RUN, NEW, NONE], key=f"join_kind_{key}", horizontal=True)
        run, attempts = None, [BY_ROWS, OWN]
        if kind == RUN:
            run = st.selectbox("Run", runs, key=f"join_run_{key}", index=None, placeholder="Choose a run")
            if run:
                with store.view() as view:
                    attempts += [f"Attempt {n}" for n in run_details.attempts(view, run)["attempt"]]
        elif kind == NEW:
            run = st.text_input("Name of the run", key=f"join_name_{key}", max_chars=200).strip()
        attempt = BY_ROWS
        if kind != NONE:
            attempt = st.selectbox("Attempt", attempts, key=f"join_attempt_{key}")
        st.caption("Everything it shares rows with is read again; this can be undone.")
        with st.container(horizontal=True):
            ready = kind == NONE or bool(run)
            if st.button("Join", key=f"join_go_{key}", type="primary", disabled=not ready):
                _join(store, receipt.upload_id, run, _number(attempt))
                st.rerun()
            if said is not None and st.button("Undo the last join", key=f"join_undo_{key}"):
                _undo(store, receipt.upload_id)
                st.rerun()


def _number(label: str | None) -> int | str | None:
    if label == OWN:
        return NEW_ATTEMPT
    return None if label in (None, BY_ROWS) else int(str(label).removeprefix("Attempt "))


def _join(store: Store, upload_id: str, run: str | None, attempt: int | str | None) -> None:
    try:
        join_upload(store, upload_id, run, attempt)
    except UserError as error:
        st.session_state["upload_error"] = error
        return
    where = f"joined to {md_escape(run)}" if run else "belongs to no run now"
    st.toast(f"The upload {where}.", icon=":material/link:")


def _undo(store: Store, upload_id: str) -> None:
    try:
        undo_join(store, upload_id)
    except UserError as error:
        st.session_state["upload_error"] = error
        return
    st.toast("The last join was undone.", icon=":material/undo:")
