"""A metric cell: one number, large, with its interval where it has one."""

from functools import partial
from typing import get_args

import streamlit as st

from pages.parts import notebook_session as session
from pages.parts.figures import card_html
from pages.parts.notebook_analysis import waits
from pages.parts.notebook_new import metric_of
from pages.parts.notebook_place import Place, label_and_unit, put, rename_field, set_fields
from pages.parts.notebook_run import answers_of
from reports.notebook.document import AnalysisCell, MetricCell, Summary, name_of

SUMMARIES = {
    "first": "first row",
    "last": "last row",
    "sum": "sum",
    "mean": "mean",
    "min": "least",
    "max": "most",
    "count": "number of values",
}


def show_metric(cell: MetricCell, here: Place) -> None:
    """Draw the number."""
    output = here.output(cell)
    if waits(output, cell.id) or output is None or output.value is None:
        return
    st.html(f'<dl class="ipd-figures ipd-one">{card_html(output.value)}</dl>')


def edit_metric(cell: MetricCell, here: Place) -> None:
    """Draw the choices: of which cell, and which of its figures or columns."""
    with (
        st.container(border=True, key=f"nb_form_{cell.id}"),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        key = here.now.key(cell.id, "source")
        names = [name_of(c) for c in here.above("sql", "analysis")]
        if not names:
            st.caption("No analysis or SQL cell above: add one, a metric shows a number of it.")
            return
        st.selectbox(
            "Of",
            names,
            index=names.index(cell.source) if cell.source in names else None,
            key=key,
            width=220,
            placeholder="choose a cell",
            on_change=partial(_from, cell.id, key),
        )
        _which(cell, here)
        label_and_unit(cell, 220)
        rename_field(cell, 220)


def _which(cell: MetricCell, here: Place) -> None:
    """Which figure of an analysis, or which column and row of an SQL cell."""
    source, output = here.source(cell.source)
    if isinstance(source, AnalysisCell):
        result = output.result if output is not None else None
        labels = {f.name: f.label or f.name for f in result.headline} if result is not None else {}
        _select(cell, here, "figure", "Figure", labels)
    elif source is not None:
        table = output.table if output is not None else None
        columns = list(table.column_names) if table is not None else []
        _select(cell, here, "column", "Column", {name: name for name in columns})
        _select(cell, here, "summary", "Row", {s: SUMMARIES[s] for s in get_args(Summary)})


def _from(cell_id: str, key: str) -> None:
    if session.again(key):
        return
    now = session.held()
    source = next((c for c in now.document.cells if name_of(c) == st.session_state[key]), None)
    set_fields(cell_id, **metric_of(source, answers_of(session.store(), now).outputs))


def _select(cell: MetricCell, here: Place, field: str, label: str, words: dict[str, str]) -> None:
    held = getattr(cell, field)
    options = [*words, *([held] if held and held not in words else [])]
    key = here.now.key(cell.id, field)
    st.selectbox(
        label,
        options,
        index=options.index(held) if held else None,
        key=key,
        width=240,
        placeholder="choose",
        format_func=lambda o: words.get(o, o),
        on_change=partial(put, cell.id, key, field, ""),
    )
