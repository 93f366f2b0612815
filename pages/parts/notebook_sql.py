"""An SQL cell: the statement, its rows with what was scanned, returned and drawn, and what can be asked."""

import html
from functools import partial

import pandas as pd
import streamlit as st

from data.store import Store
from pages.parts import notebook_run
from pages.parts.download import csv_button
from pages.parts.notebook_analysis import waits
from pages.parts.notebook_place import Place, put, rename_field
from pages.parts.tables import UNKNOWN, table_height
from pages.parts.words import counted, md_escape
from reports.notebook.document import LONGEST_SQL, SqlCell, name_of
from reports.notebook.run import Output
from reports.notebook.values import lacking
from reports.sql.schema import TableInfo, describe

DRAWN = 1_000
TALLEST, LINE_PX, FRAME_PX = 24, 22, 40


def show_sql(cell: SqlCell, here: Place) -> None:
    """Draw the rows, with the statement one click away."""
    output = here.output(cell)
    if not cell.sql.strip():
        st.caption("Empty SQL: Edit writes it.")
        return
    if cell.id not in here.now.editing:
        with st.expander("SQL", icon=":material/database:", key=f"nb_sqltext_{cell.id}"):
            st.code(cell.sql, language="sql", wrap_lines=True)
    if waits(output, cell.id) or output is None or output.table is None:
        return
    rows = output.table.slice(0, DRAWN).to_pandas()
    st.dataframe(
        rows,
        hide_index=True,
        key=f"nb_rows_{cell.id}",
        height=table_height(len(rows)),
        placeholder=UNKNOWN,
        alt=f"Rows of {cell.name}",
    )
    if output.sql is not None and output.sql.notes:
        st.caption(f"Columns changed: {'; '.join(md_escape(note) for note in output.sql.notes)}")
    say_lacking(output)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.caption(told(output), width="content")
        whole = output.table
        csv_button(_all_of(whole), f"{cell.name}.csv", key=f"nb_csv_{cell.id}") if whole.num_rows else None


def say_lacking(output: Output) -> None:
    """Say where numbers are made of rows that were cut."""
    if output.sql is not None and output.sql.partial:
        st.warning(md_escape(lacking(output.sql.partial)), icon=":material/content_cut:")


def _all_of(table: object) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas()  # type: ignore[attr-defined]
    return frame


def told(output: Output, drawn: int | None = None) -> str:
    """Return how many rows were scanned, returned and drawn, and how long it took."""
    facts, rows = output.sql, output.table.num_rows if output.table is not None else 0
    parts = []
    if facts is not None:
        scanned = facts.rows_scanned
        parts.append("rows scanned not counted" if scanned is None else f"{scanned:,} rows scanned")
    parts.append(f"{rows:,} returned" + (" (cut at the limit)" if facts is not None and facts.cut else ""))
    parts.append(f"{min(rows, DRAWN) if drawn is None else drawn:,} drawn")
    if facts is not None:
        parts.append(f"{facts.seconds:.2f} s")
    return " · ".join(parts)


def edit_sql(cell: SqlCell, here: Place) -> None:
    """Draw the statement's field, Run, and the browser of what can be asked."""
    key = here.now.key(cell.id, "sql")
    lines = min(max(cell.sql.count("\n") + 2, 5), TALLEST)
    st.text_area(
        "SQL: one SELECT",
        cell.sql,
        key=key,
        max_chars=LONGEST_SQL,
        height=lines * LINE_PX + FRAME_PX,
        on_change=partial(put, cell.id, key, "sql", ""),
        placeholder="select …",
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button(
            "Run",
            key=f"nb_runsql_{cell.id}",
            icon=":material/play_arrow:",
            on_click=notebook_run.run_now,
            help="Ctrl+Enter in the field runs it too.",
        )
        if cell.id in here.answers.running:
            st.button(
                "Cancel",
                key=f"nb_stopsql_{cell.id}",
                icon=":material/stop_circle:",
                on_click=notebook_run.cancel,
            )
        rename_field(cell, 220)
    with st.expander("What can be asked", icon=":material/schema:", key=f"nb_schema_{cell.id}"):
        _browser(cell, here)


def _browser(cell: SqlCell, here: Place) -> None:
    above = _from_above(here)
    if above:
        st.markdown("**From cells above:** " + " · ".join(above))
    tables = _schema(here.state.store, _version(here.state.store))
    names = {t.name: f"{t.name} ({counted(t.rows, 'row')}): {t.description}" for t in tables}
    picked = st.selectbox(
        "Table",
        list(names),
        key=f"nb_schema_of_{cell.id}",
        format_func=names.__getitem__,
        filter_mode="contains",
        help="Type a name, or a word of its description.",
    )
    for table in tables:
        if table.name == picked:
            _columns(table)


def _from_above(here: Place) -> list[str]:
    found = []
    for other in here.now.document.cells[: here.place]:
        output = here.output(other)
        if other.kind == "parameter":
            found.append(f"`${name_of(other)}`")
        elif other.kind == "sql":
            found.append(f"`{name_of(other)}`")
        elif other.kind == "analysis" and output is not None and output.result is not None:
            tables = [name for name, frame in output.result.tables.items() if len(frame.columns)]
            found += [f"`{name_of(other)}_{name}`" for name in ("headline", *tables)]
    return found


def _version(store: Store) -> str:
    with store.view() as view:
        return str(view.data_version)


@st.cache_data(max_entries=4, show_spinner=False)
def _schema(_store: Store, version: str) -> list[TableInfo]:  # noqa: ARG001
    return describe(_store)


def _columns(table: TableInfo) -> None:
    rows = "".join(
        f"<tr><td><code>{html.escape(c.name)}</code></td><td>{html.escape(c.type)}</td>"
        f"<td>{html.escape(c.unit or '')}</td><td>{html.escape(c.description or '')}</td></tr>"
        for c in table.columns
    )
    st.caption(md_escape(table.description or ""))
    st.html(
        '<div class="ipd-schema"><table><thead><tr><th>Column</th><th>Type</th><th>Unit</th>'
        f"<th>Meaning</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
