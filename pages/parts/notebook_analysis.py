"""An analysis cell: answer line, figures with intervals, warnings, charts, and tables on request."""

from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from analysis import QUESTIONS
from analysis.result import Result
from charts.figures import FIGURES, chosen, named
from charts.theme import Mode
from data.errors import UserError
from pages.parts import notebook_run, notebook_scenarios
from pages.parts import notebook_session as session
from pages.parts.answer import flowing
from pages.parts.assumptions import show_how
from pages.parts.download import csv_button, show_chart
from pages.parts.figures import show_figures
from pages.parts.notebook_form import show_form
from pages.parts.notebook_place import Place, rename_field, set_fields
from pages.parts.notices import list_warnings, show_error
from pages.parts.tables import UNKNOWN, as_shown, column_config, in_percent, table_height
from pages.parts.words import counted, md_escape
from reports.notebook.document import AnalysisCell
from reports.notebook.run import Output
from reports.notebook.values import timeline_above

MOST_FIGURES = 128


def show_analysis(cell: AnalysisCell, here: Place) -> None:
    """Draw what the question answered, or why it did not."""
    output = here.output(cell)
    if waits(output, cell.id) or output is None or output.result is None:
        return
    result = output.result
    with st.container(key=f"answer_nb_{cell.id}"):
        st.markdown(md_escape(flowing(result.answer)), anchors=False)
    show_figures(result)
    _warnings(cell, result)
    try:
        figures = chosen(cell.question, cell.figures)
    except UserError as error:
        show_error(error)
        figures = []
    outputs = here.answers.outputs
    results = {i: one.result for i, one in outputs.items() if one.result is not None and one.state == "done"}
    under = timeline_above(here.now.document, cell, results)
    ends = "" if under is None else f"{under['bin'].min()} {under['bin'].max()}"
    for name, _, _ in figures:
        told = (output.fingerprint, cell.question, name, here.state.theme, ends)
        show_chart(_figure(*told, result, under), f"nb_{cell.id}_{name}")
    if cell.tables:
        _tables(cell, result)


def waits(output: Output | None, cell_id: str) -> bool:
    """Say that a cell has no answer yet, or why its run failed; returns whether there is nothing to draw."""
    if output is None:
        st.caption("Not run yet.")
        return True
    if output.error is not None:
        if output.state == "blocked":
            st.info(md_escape(f"{output.error.what}."), icon=":material/block:")
        else:
            show_error(output.error)
            pointer = getattr(output.error, "pointer", "")
            if pointer:
                st.code(pointer, language=None)
            st.button(
                "Run again",
                key=f"nb_again_{cell_id}",
                icon=":material/refresh:",
                type="tertiary",
                on_click=notebook_run.run_again,
                args=(cell_id,),
            )
        return True
    return False


@st.cache_resource(max_entries=MOST_FIGURES, show_spinner=False)
def _figure(
    fingerprint: str,  # noqa: ARG001
    question: str,
    name: str,
    mode: Mode,
    ends: str,  # noqa: ARG001
    _result: Result,
    _under: pd.DataFrame | None,
) -> go.Figure:
    ((_, _, draw),) = chosen(question, (name,), _under)
    return draw(_result, mode)


def _warnings(cell: AnalysisCell, result: Result) -> None:
    if not result.warnings:
        return
    head = f"{counted(len(result.warnings), 'warning')} about these numbers"
    with st.expander(head, icon=":material/warning:", key=f"nb_warn_{cell.id}"):
        list_warnings(result)


def _tables(cell: AnalysisCell, result: Result) -> None:
    for name, frame in result.tables.items():
        if frame.empty:
            continue
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
            st.markdown(f"`{cell.name}_{name}`", width="content")
            csv_button(frame, f"{cell.name}-{name}.csv", key=f"nb_csv_{cell.id}_{name}")
        shown = as_shown(frame)
        st.dataframe(
            shown,
            hide_index=True,
            column_config=column_config(shown, in_percent({}, ())),
            key=f"nb_table_{cell.id}_{name}",
            height=table_height(len(shown)),
            placeholder=UNKNOWN,
            alt=f"Table {name} of {cell.name}",
        )
    show_how([result], key=f"nb_{cell.id}")


def edit_analysis(cell: AnalysisCell, here: Place) -> None:
    """Draw question, name, inputs, and which charts and tables are shown."""
    key = here.now.key(cell.id, "question")
    titles = {name: f"{q.title} ({name})" for name, q in QUESTIONS.items()}
    with st.container(border=True, key=f"nb_form_{cell.id}"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.selectbox(
                "Question",
                list(titles),
                index=list(titles).index(cell.question) if cell.question in titles else None,
                format_func=titles.__getitem__,
                key=key,
                width=520,
                on_change=partial(_asked, cell.id, key),
            )
            rename_field(cell)
        if cell.question == notebook_scenarios.QUESTION:
            notebook_scenarios.show_scenarios(cell, here.state.store)
        elif cell.question in QUESTIONS:
            show_form(cell, here.above("parameter"), here.offered)
        _shown(cell, here)


def _asked(cell_id: str, key: str) -> None:
    """Another question has other inputs: those that all questions share stay."""
    if session.again(key):
        return
    question = st.session_state[key]
    cell = session.held().document.cell(cell_id)
    if not isinstance(cell, AnalysisCell) or question is None:
        return
    kind = QUESTIONS[question].params
    params = {k: v for k, v in cell.params.items() if k in ("runs", "price", "boundary", "platforms")}
    set_fields(cell_id, question=question, params=params, params_version=kind.version, figures=None)


def _shown(cell: AnalysisCell, here: Place) -> None:
    titles = {name: title for name, title, _ in FIGURES.get(cell.question, [])}
    titles |= {name: _title(cell.question, name) for name in cell.figures or () if name not in titles}
    key = here.now.key(cell.id, "figures")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if titles:
            picked = list(titles) if cell.figures is None else list(cell.figures)
            st.multiselect(
                "Charts",
                list(titles),
                picked,
                format_func=titles.__getitem__,
                key=key,
                placeholder="none",
                on_change=partial(_picked, cell.id, key, len(titles)),
            )
        told = here.now.key(cell.id, "tables")
        st.toggle("Tables", cell.tables, key=told, on_change=partial(_with_tables, cell.id, told))


def _title(question: str, name: str) -> str:
    """The title of a chart, its name where the question draws none of that name."""
    try:
        return named(question, name)[0]
    except UserError:
        return name


def _picked(cell_id: str, key: str, every: int) -> None:
    if session.again(key):
        return
    names = tuple(st.session_state[key])
    set_fields(cell_id, typed=True, figures=None if len(names) == every else names)


def _with_tables(cell_id: str, key: str) -> None:
    if session.again(key):
        return
    set_fields(cell_id, typed=True, tables=bool(st.session_state[key]))
