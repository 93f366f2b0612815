"""A chart cell: a figure of an SQL cell's rows, its columns chosen by click."""

from functools import partial

import streamlit as st

from analysis.words import listing
from charts import custom
from data.queries.known import runs_by_arrival
from pages.parts import notebook_session as session
from pages.parts.download import show_chart
from pages.parts.notebook_analysis import waits
from pages.parts.notebook_new import chart_of, chart_of_what_is_left, lost_columns
from pages.parts.notebook_place import Place, put, rename_field, set_fields
from pages.parts.notebook_run import answers_of
from pages.parts.notebook_sql import say_lacking, told
from pages.parts.words import md_escape
from reports.notebook.document import LONGEST_TITLE, ChartCell, name_of

TYPES = {
    "line": (":material/show_chart:", "Line"),
    "area": (":material/area_chart:", "Area"),
    "bar": (":material/bar_chart:", "Bar"),
    "scatter": (":material/scatter_plot:", "Scatter"),
    "histogram": (":material/equalizer:", "Histogram"),
    "box": (":material/candlestick_chart:", "Box"),
    "heat_map": (":material/grid_on:", "Heat map"),
}
NONE = "none"


def show_chart_cell(cell: ChartCell, here: Place) -> None:
    """Draw the figure."""
    output = here.output(cell)
    if waits(output, cell.id) or output is None:
        return
    _, source = here.source(cell.source)
    table = output.table if output.table is not None else source.table if source is not None else None
    if table is None:
        st.caption("Not run yet.")
        return
    cut = source is not None and source.sql is not None and source.sql.cut
    figure, drawn = custom.draw_cell(cell, table.to_pandas(), here.state.theme, _runs(cell, here), cut=cut)
    show_chart(figure, f"nb_chart_{cell.id}")
    _lost(cell, here, table.column_names)
    if source is not None:
        say_lacking(source)
        st.caption(told(source, drawn))


def _lost(cell: ChartCell, here: Place, columns: list[str]) -> None:
    """Name the picked columns that the rows no longer have, with one click to draw without them."""
    lost = lost_columns(cell, columns)
    if not lost or here.now.clash is not None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        words = f"'{cell.source}' no longer gives {listing(lost)}."
        st.caption(f":material/link_off: {md_escape(words)}", width="content")
        st.button(
            "Draw what is left",
            key=f"nb_left_{cell.id}",
            type="tertiary",
            icon=":material/auto_fix_high:",
            on_click=_leave_out,
            args=(cell,),
        )


def _leave_out(cell: ChartCell) -> None:
    now = session.held()
    source = next((c for c in now.document.cells if name_of(c) == cell.source), None)
    output = None if source is None else answers_of(session.store(), now).outputs.get(source.id)
    set_fields(cell.id, **chart_of_what_is_left(cell, source, output))


def _runs(cell: ChartCell, here: Place) -> list[str]:
    """The runs of the home where the chart is coloured by them: each has one colour everywhere."""
    if cell.colour != custom.RUN:
        return []
    with here.state.view() as view:
        return runs_by_arrival(view)


def edit_chart(cell: ChartCell, here: Place) -> None:
    """Draw the choices: type, source, and which of its columns go where."""
    _, source = here.source(cell.source)
    columns = list(source.table.column_names) if source is not None and source.table is not None else []
    with st.container(border=True, key=f"nb_form_{cell.id}"):
        key = here.now.key(cell.id, "chart")
        st.segmented_control(
            "Type",
            list(TYPES),
            default=cell.chart,
            required=True,
            key=key,
            format_func=lambda t: f"{TYPES[t][0]} {TYPES[t][1]}",
            on_change=partial(put, cell.id, key, "chart"),
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _source(cell, here)
            _column(cell, here, "x", "x", columns)
            _ys(cell, here, columns)
            _column(cell, here, "colour", "Colour by", columns)
            _column(cell, here, "facet", "Small multiples by", columns)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            for field, label in (("title", "Title"), ("unit", "Unit of y")):
                told_by = here.now.key(cell.id, field)
                st.text_input(
                    label,
                    getattr(cell, field),
                    key=told_by,
                    width=300 if field == "title" else 140,
                    max_chars=LONGEST_TITLE,
                    on_change=partial(put, cell.id, told_by, field, ""),
                )
            rename_field(cell, 220)


def _source(cell: ChartCell, here: Place) -> None:
    key = here.now.key(cell.id, "source")
    names = [name_of(c) for c in here.above("sql")]
    if not names:
        st.caption("No SQL cell above: add one, a chart draws its rows.")
        return
    st.selectbox(
        "Rows of",
        names,
        index=names.index(cell.source) if cell.source in names else None,
        key=key,
        width=200,
        placeholder="choose an SQL cell",
        on_change=partial(_from, cell.id, key),
    )


def _from(cell_id: str, key: str) -> None:
    if session.again(key):
        return
    now = session.held()
    source = next((c for c in now.document.cells if name_of(c) == st.session_state[key]), None)
    set_fields(cell_id, **chart_of(source, answers_of(session.store(), now).outputs))


def _column(cell: ChartCell, here: Place, field: str, label: str, columns: list[str]) -> None:
    held = getattr(cell, field)
    options = ["", *columns, *([held] if held and held not in columns else [])]
    key = here.now.key(cell.id, field)
    st.selectbox(
        label,
        options,
        index=options.index(held),
        key=key,
        width=200,
        format_func=lambda o: o or NONE,
        on_change=partial(put, cell.id, key, field, ""),
    )


def _ys(cell: ChartCell, here: Place, columns: list[str]) -> None:
    options = [*columns, *(y for y in cell.y if y not in columns)]
    key = here.now.key(cell.id, "y")
    st.multiselect(
        "y",
        options,
        list(cell.y),
        key=key,
        width=300,
        placeholder="choose columns",
        on_change=partial(_put_ys, cell.id, key),
    )


def _put_ys(cell_id: str, key: str) -> None:
    if session.again(key):
        return
    set_fields(cell_id, typed=True, y=tuple(st.session_state[key]))
