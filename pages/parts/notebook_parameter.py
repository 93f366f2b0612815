"""A parameter cell: a slider, a choice or a date that cells below use."""

from datetime import date
from functools import partial

import streamlit as st

from pages.parts import notebook_session as session
from pages.parts.notebook_place import Place, label_and_unit, rename_field, set_fields
from pages.parts.words import md_escape
from reports.notebook import edit
from reports.notebook.document import ParameterCell

INPUTS = {"slider": "Slider", "choice": "Choice", "date": "Date"}


def show_parameter(cell: ParameterCell, here: Place) -> None:
    """Draw the control itself."""
    label = md_escape(cell.label or cell.name.replace("_", " ").capitalize())
    if cell.unit:
        label += f" :small[({md_escape(cell.unit)})]"
    key = f"{here.now.key(cell.id, 'value')}_{cell.input}"
    told = {"key": key, "on_change": partial(_set, cell.id, key), "disabled": here.now.clash is not None}
    if cell.input == "slider":
        st.slider(
            label, cell.low, cell.high, float(cell.value), step=cell.step, format="%g", width=520, **told
        )
    elif cell.input == "choice":
        st.selectbox(label, cell.choices, index=cell.choices.index(str(cell.value)), width=320, **told)
    else:
        st.date_input(label, date.fromisoformat(str(cell.value)), format="YYYY-MM-DD", width=220, **told)


def _set(cell_id: str, key: str) -> None:
    if session.again(key):
        return
    value = st.session_state[key]
    if value is None:
        return
    value = value.isoformat() if isinstance(value, date) else value
    session.change(lambda document: edit.set_value(document, cell_id, value), cell=cell_id, typed=True)


def edit_parameter(cell: ParameterCell, here: Place) -> None:
    """Draw what the control is: its kind, name, label, unit, and limits or choices."""
    with (
        st.container(border=True, key=f"nb_form_{cell.id}"),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        key = here.now.key(cell.id, "input")
        st.segmented_control(
            "Kind",
            list(INPUTS),
            default=cell.input,
            required=True,
            key=key,
            format_func=INPUTS.__getitem__,
            on_change=partial(_kind, cell.id, key),
        )
        rename_field(cell, 220)
        label_and_unit(cell, 240)
        _limits(cell, here)


def _limits(cell: ParameterCell, here: Place) -> None:
    """The ends and step of a slider, or the choices."""
    if cell.input == "slider":
        for field, label in (("low", "From"), ("high", "To"), ("step", "Step")):
            told = here.now.key(cell.id, field)
            st.number_input(
                label,
                value=float(getattr(cell, field)),
                key=told,
                format="%g",
                width=140,
                on_change=partial(_end, cell.id, told, field),
            )
    elif cell.input == "choice":
        told = here.now.key(cell.id, "choices")
        st.text_area(
            "Choices, one a line",
            "\n".join(cell.choices),
            key=told,
            height=110,
            width=300,
            on_change=partial(_choices, cell.id, told),
        )


def _kind(cell_id: str, key: str) -> None:
    """Another kind of control starts with a value of its own."""
    if session.again(key):
        return
    kind = st.session_state[key]
    if kind == "slider":
        set_fields(cell_id, input=kind, value=50.0, low=0.0, high=100.0, step=1.0, choices=())
    elif kind == "choice":
        set_fields(cell_id, input=kind, value="first", choices=("first", "second"))
    elif kind == "date":
        set_fields(cell_id, input=kind, value=date.today().isoformat(), choices=())


def _end(cell_id: str, key: str, field: str) -> None:
    """Move an end of a slider; a value outside goes to the end."""
    if session.again(key):
        return
    cell = session.held().document.cell(cell_id)
    if not isinstance(cell, ParameterCell) or st.session_state[key] is None:
        return
    ends = {"low": cell.low, "high": cell.high, field: float(st.session_state[key])}
    value = min(max(float(cell.value), ends["low"]), ends["high"])
    set_fields(cell_id, value=value, **ends)


def _choices(cell_id: str, key: str) -> None:
    if session.again(key):
        return
    cell = session.held().document.cell(cell_id)
    lines = [line.strip() for line in str(st.session_state[key]).splitlines() if line.strip()]
    choices = tuple(dict.fromkeys(lines))
    if isinstance(cell, ParameterCell) and choices:
        set_fields(cell_id, choices=choices, value=cell.value if cell.value in choices else choices[0])
