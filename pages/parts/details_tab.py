"""Run details of all runs in one editable table, and the pools of one run below."""

from typing import Any

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from data.errors import UserError
from data.model_names import model_labels
from data.queries import run_details as queries
from data.queries import uploads
from data.run_details import current_details, missing_for_cost, save_details
from data.store import Store
from pages.parts.join_form import short
from pages.parts.notices import show_error
from pages.parts.run_form import show_run_form
from pages.parts.upload_actions import format_titles
from pages.parts.words import ALGORITHMS, MODES

LAST = "details_last_run"
"""Kept beside the chooser, whose own value is gone once another page was open."""
EDITABLE = ["campaign", "llm", "algorithm", "mode", "team", "note"]


def show_details(store: Store) -> None:
    """Draw the table and, below it, the form of one run."""
    with store.view() as view:
        frame = queries.table(view)
        models = model_labels(view.catalogue)
        frame["complete"] = [not missing_for_cost(view, run) for run in frame["run"]]
    if frame.empty:
        st.caption("No run yet: drop a file above, or load the example.")
        return
    before = (
        frame[["run", "complete", *EDITABLE]]
        .astype(object)
        .where(frame[["run", "complete", *EDITABLE]].notna(), None)
    )
    edited = _editor(before, models)
    if st.button("Save the table", key="save_details_table", icon=":material/save:"):
        _save(store, before, edited)
    names = list(frame["run"])
    first = names.index(first_run(frame, st.session_state.get(LAST)))
    run = st.selectbox("Pools and details of", names, index=first, key="details_run")
    if run in names:
        st.session_state[LAST] = run
        _made_of(store, run)
        show_run_form(store, run, key=f"tab_{run}")


def first_run(frame: pd.DataFrame, last: str | None) -> str:
    """The run that was open last; else an own one that lacks something, an own one, one of the example."""
    if last in set(frame["run"]):
        return str(last)
    rank = frame["synthetic"].fillna(False).astype(int) * 2 + frame["complete"].astype(int)
    return str(frame["run"].iloc[int(rank.to_numpy().argmin())])


def _made_of(store: Store, run: str) -> None:
    """List the files a run is put together from, each with its attempts and the reason."""
    with store.view() as view:
        files = uploads.files_of(view, run)
    if files.empty:
        return
    titles = format_titles()
    with st.expander(f"Made of {len(files):,} file{'s' if len(files) != 1 else ''}", icon=":material/link:"):
        st.caption("Wrong? Open the upload under *Uploads* and choose *Belongs to another run…*")
        shown = pd.DataFrame(
            {
                "File": files["name"],
                "Format": [titles.get(f, f) for f in files["format"]],
                "Attempts": [
                    ", ".join(str(j["attempt"] or "all") for j in joins) or "its jobs"
                    for joins in files["joins"]
                ],
                "Joined because": [
                    short(joins)[1] or "jobs in it belong to the run" for joins in files["joins"]
                ],
            }
        )
        st.dataframe(shown, hide_index=True, key=f"made_of_{run}", alt="Files this run is made of")


def _editor(frame: pd.DataFrame, models: dict[str, str]) -> pd.DataFrame:
    column = st.column_config
    edited: pd.DataFrame = st.data_editor(
        frame,
        hide_index=True,
        disabled=["run", "complete"],
        key="details_table",
        placeholder="",
        alt="Run details of all runs",
        column_config={
            "run": column.TextColumn("Run", pinned=True),
            "complete": column.CheckboxColumn("Has dollars", help="Nothing is missing for a dollar figure."),
            "campaign": column.TextColumn("Campaign", max_chars=200),
            "llm": column.SelectboxColumn(
                "Model", options=list(models), format_func=lambda m: models.get(m, m)
            ),
            "algorithm": column.SelectboxColumn(
                "Algorithm", options=list(ALGORITHMS), format_func=ALGORITHMS.__getitem__
            ),
            "mode": column.SelectboxColumn("Mode", options=list(MODES), format_func=MODES.__getitem__),
            "team": column.TextColumn("Team", max_chars=200),
            "note": column.TextColumn("Note", max_chars=500),
        },
    )
    return edited


def _save(store: Store, before: pd.DataFrame, after: pd.DataFrame) -> None:
    saved = 0
    for old, new in zip(before.to_dict("records"), after.to_dict("records"), strict=True):
        changed = {name: _text(new[name]) for name in EDITABLE if _text(new[name]) != _text(old[name])}
        if not changed:
            continue
        run = str(old["run"])
        try:
            details = current_details(store, run).model_dump()
            save_details(store, type(current_details(store, run)).model_validate({**details, **changed}))
        except ValidationError as error:
            show_error(UserError(error.errors()[0]["msg"], f"run {run}", "Correct it and save again."))
            return
        except UserError as error:
            show_error(error)
            return
        saved += 1
    st.toast(f"{saved} run{'s' if saved != 1 else ''} saved.", icon=":material/check:")
    if saved:
        st.rerun()


def _text(value: Any) -> str | None:
    if value is None or pd.isna(value):
        return None
    return str(value).strip() or None
