"""What must be read with a projection: which model is believed, what disagrees, what is missing."""

from dataclasses import replace

import streamlit as st

from analysis.frames import records
from analysis.result import Notice, Result
from data.catalogue import Catalogue
from data.errors import UserError
from data.run_details import current_details, save_details
from data.store import Store
from pages.parts.model_picker import pick_model, resolve_model
from pages.parts.notices import show_error
from pages.parts.state import PageState
from pages.parts.words import md_escape

CAUTIONS = ("rules_differ", "partial_nodes", "training_small")
BELIEF = ("believed", "published_pairs")
OF_MODEL = ("model", "shape")


def show_cautions(result: Result) -> None:
    """Draw what qualifies the charts above, and which of the models is believed."""
    for notice in _of(result, CAUTIONS):
        st.warning(md_escape(notice.text), icon=":material/warning:")
    told = _of(result, BELIEF)
    if told:
        with st.expander("Which estimate is believed", icon=":material/rule:", key="pr_believed"):
            st.markdown("\n".join(f"- {md_escape(n.text)}" for n in told))


def other_notices(result: Result) -> Result:
    """Return the result with the notices alone that `show_cautions` and `show_gaps` do not draw."""
    rest = tuple(n for n in result.warnings if n.code not in (*CAUTIONS, *BELIEF, "phases_not_measured"))
    return replace(result, warnings=rest)


def _of(result: Result, codes: tuple[str, ...]) -> list[Notice]:
    return [n for code in codes for n in result.warnings if n.code == code]


def show_gaps(state: PageState, catalogue: Catalogue, result: Result) -> None:
    """List what a projection by phases lacks, with the field that names the model where that is lacking."""
    rows = records(result.tables["gaps"])
    if not rows:
        return
    with st.container(border=True, key="pr_gaps"):
        st.markdown("**Not projected by phase: only the whole step is**")
        st.markdown(
            "\n".join(f"- {_first_upper(md_escape(r['what']))}. {md_escape(r['remedy'])}" for r in rows)
        )
        if any(r["kind"] in OF_MODEL for r in rows):
            _model_form(state.store, catalogue, str(rows[0]["run"]))
        if any(r["kind"] not in OF_MODEL for r in rows):
            st.page_link("telemetry.py", label="Upload a file", icon=":material/upload_file:")


def _model_form(store: Store, catalogue: Catalogue, run: str) -> None:
    with st.form("pr_model_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        typed = pick_model(catalogue, None, "pr_model", shaped_only=True)
        if not st.form_submit_button("Set the model", icon=":material/save:") or typed is None:
            return
    try:
        named = resolve_model(catalogue, typed)
        save_details(store, current_details(store, run).model_copy(update={"llm": named}))
    except UserError as error:
        show_error(error)
        return
    st.toast(f"The model of {run} is {catalogue.llm_names()[str(named)]}.", icon=":material/check:")
    st.rerun()


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]
