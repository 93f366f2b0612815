"""The controls of an analysis cell: one input a parameter, each of which a parameter cell can stand for."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from analysis import QUESTIONS, parse
from pages.parts import notebook_session as session
from pages.parts.notebook_inputs import BY_DEFAULT, COMMON, Input, fits, inputs
from pages.parts.words import md_escape
from reports.notebook import edit
from reports.notebook.document import REFERENCE, AnalysisCell, Document, ParameterCell

FIRST = 10
WIDTH = 300
OWN = "Own value"
Offered = Mapping[str, Mapping[str, str]]


def show_form(cell: AnalysisCell, parameters: Sequence[ParameterCell], offered: Offered) -> None:
    """Draw the inputs of the cell's question: common ones and the first of its own, the rest on request."""
    every = inputs(cell.question)
    common = [one for one in every if one.name in COMMON]
    own = [one for one in every if one.name not in COMMON]
    given = [one for one in own if one.name in cell.params]
    first = [one for n, one in enumerate(own) if n < FIRST or one in given]
    rest = [one for one in own if one not in first]
    _grid(cell, [*common, *first], parameters, offered)
    if rest:
        with st.expander(f"{len(rest)} more inputs", key=f"nb_more_{cell.id}"):
            _grid(cell, rest, parameters, offered)


def _grid(
    cell: AnalysisCell, shown: Sequence[Input], parameters: Sequence[ParameterCell], offered: Offered
) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"nb_grid_{cell.id}_{shown[0].name}"):
        for one in shown:
            usable = [p for p in parameters if fits(one, p.input)]
            with st.container(
                horizontal=True,
                vertical_alignment="bottom",
                gap="xxsmall",
                width=WIDTH,
                wrap=False,
                key=f"nb_in_{cell.id}_{one.name}",
            ):
                tied = tied_to(cell, one.name)
                if tied:
                    st.text_input(
                        one.label,
                        f"= {tied}",
                        disabled=True,
                        key=session.held().key(cell.id, f"tied_{one.name}"),
                    )
                else:
                    _widget(cell, one, offered.get(one.source, {}))
                if usable or tied:
                    _tie(cell, one, tied, usable)


def tied_to(cell: AnalysisCell, name: str) -> str:
    """Return the parameter cell that stands for an input; '' when it has a value of its own."""
    value = cell.params.get(name)
    return str(value.get(REFERENCE, "")) if isinstance(value, dict) else ""


def _tie(cell: AnalysisCell, one: Input, tied: str, usable: Sequence[ParameterCell]) -> None:
    key = session.held().key(cell.id, f"tie_{one.name}")
    options = [p.name for p in usable if p.name != tied] + ([OWN] if tied else [])
    if not options:
        return
    st.menu_button(
        "",
        options,
        key=key,
        icon=":material/link:",
        type="tertiary",
        width="content",
        help=f"Let a parameter stand for {md_escape(one.label)}.",
        on_click=partial(_tied, cell.id, one.name, key),
        format_func=md_escape,
    )


def _tied(cell_id: str, name: str, key: str) -> None:
    picked = st.session_state[key]
    set_param(cell_id, name, None if picked == OWN else {REFERENCE: picked}, typed=False)


def _widget(cell: AnalysisCell, one: Input, names: Mapping[str, str]) -> None:
    key = session.held().key(cell.id, one.name)
    value = cell.params.get(one.name, None)
    told: dict[str, Any] = {
        "key": key,
        "on_change": partial(_typed, cell.id, one, key),
        "help": f"Parameter `{one.name}`{_range(one)}",
    }
    if one.kind in ("whole", "number"):
        _number(one, value, told)
    elif one.kind == "switch":
        st.checkbox(one.label, bool(one.default if value is None else value), **told)
    elif one.kind == "maybe":
        options = ["", "yes", "no"]
        index = 0 if value is None else options.index("yes" if value else "no")
        st.selectbox(one.label, options, index=index, format_func=lambda o: o or BY_DEFAULT, **told)
    elif one.kind == "several":
        held = [str(v) for v in value] if isinstance(value, list) else []
        options = [*names, *(v for v in held if v not in names)]
        st.multiselect(
            one.label,
            options,
            held,
            format_func=lambda o: names.get(o, f"{o} (not here)"),
            placeholder="all" if one.name in COMMON else BY_DEFAULT,
            **told,
        )
    elif one.kind in ("choice", "one"):
        _select(one, "" if value is None else str(value), names, told)
    elif one.kind == "lines":
        held = [str(v) for v in value] if isinstance(value, list) else []
        st.text_area(one.label, "\n".join(held), height=80, placeholder="one a line", **told)
    else:
        st.text_input(one.label, str(value or ""), placeholder=str(one.default or "") or BY_DEFAULT, **told)


def _range(one: Input) -> str:
    """The limits of a number as typed."""
    ends = [
        f"{word} {end * one.scale:.10g}"
        for word, end in (("from", one.low), ("to", one.high))
        if end is not None
    ]
    return f", {' '.join(ends)}" if ends else ""


def _number(one: Input, value: Any, told: dict[str, Any]) -> None:
    kind = int if one.kind == "whole" else float
    low, high = (None if end is None else kind(end * one.scale) for end in (one.low, one.high))
    default = "" if one.default is None else f"{one.default * one.scale:.10g}"
    st.number_input(
        one.label,
        low,
        high,
        None if value is None else kind(value * one.scale),
        step=1 if kind is int else None,
        format=None if kind is int else "%g",
        placeholder=default or BY_DEFAULT,
        **told,
    )


def _select(one: Input, value: str, names: Mapping[str, str], told: dict[str, Any]) -> None:
    options = list(one.options or names)
    if one.kind == "one" and "" not in options and one.default == "":
        options = ["", *options]
    shown = value or str(one.default or "")
    if shown not in options:
        options.append(shown)
    words = {option: names.get(option, option.replace("_", " ")) for option in options}
    words[""] = BY_DEFAULT
    st.selectbox(one.label, options, index=options.index(shown), format_func=words.__getitem__, **told)


def _typed(cell_id: str, one: Input, key: str) -> None:
    if session.again(key):
        return
    value = st.session_state[key]
    if one.kind == "lines":
        value = [line.strip() for line in str(value).splitlines() if line.strip()]
    elif one.kind == "maybe":
        value = {"yes": True, "no": False}.get(value)
    elif one.kind == "number" and value is not None:
        value = round(value / one.scale, 12)
    set_param(cell_id, one.name, None if value == one.default or value in ("", []) else value)


def set_param(cell_id: str, name: str, value: Any, *, typed: bool = True) -> None:
    """Give a cell's question a value for a parameter, None for its default; a bad one is refused in words."""

    def make(document: Document) -> Document:
        cell = document.cell(cell_id)
        if not isinstance(cell, AnalysisCell):
            return document
        params = {k: v for k, v in cell.params.items() if k != name}
        if value is not None:
            params[name] = value
        parse(cell.question, {k: v for k, v in params.items() if not isinstance(v, dict)})
        version = QUESTIONS[cell.question].params.version
        return edit.replace(document, cell.model_copy(update={"params": params, "params_version": version}))

    session.change(make, cell=cell_id, typed=typed)
