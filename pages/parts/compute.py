"""Results for pages, kept by what they depend on: data, catalogue, question and parameters."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis import QUESTIONS, parse, run
from analysis.moneyparams import AUTO, WITH, MoneyParams
from analysis.result import Result
from data.errors import UserError
from data.store import Store
from data.view import View
from pages.parts import opening
from pages.parts.notices import show_error
from pages.parts.state import current

MAX_RESULTS = 256
_KEY = "_page_key"


def compute(question: str, params: Mapping[str, Any] | None = None) -> Result:
    """Answer a question with the shared parameters of the sidebar and the page's own `params`."""
    state = current()
    asked = state.common.model_dump(mode="json")
    if issubclass(QUESTIONS[question].params, MoneyParams) or "example" in (params or {}):
        asked["runs"] = list(state.picked)  # a bill leaves the example out by itself and is shown whole
        asked["example"] = WITH if state.example else AUTO
    asked |= params or {}
    with state.view() as view:
        return answer_in(view, state.store, question, asked)


def answer_in(view: View, store: Store, question: str, asked: Mapping[str, Any]) -> Result:
    """Answer a question about one view of a store, or return the kept answer to the same question."""
    text = json.dumps(parse(question, asked).model_dump(mode="json"), sort_keys=True)
    version = (str(view.data_version), str(view.catalogue.version), str(view.money_version), str(store.home))
    return _cached(question, text, version, view)


def compute_or_stop(question: str, params: Mapping[str, Any] | None = None) -> Result:
    """Like `compute`; a refusal is shown in words and ends the page."""
    try:
        return compute(question, params)
    except UserError as error:
        show_error(error)
        _end()


def _end() -> NoReturn:
    opening.answered()
    st.stop()


def compute_beside(
    question: str, params: Mapping[str, Any], head: DeltaGenerator, title: str, place: DeltaGenerator
) -> Result:
    """Like `compute_or_stop` beside a form: a refusal stands in `place`, where the answer would, and `head`
    still names the page.
    """
    try:
        with place, st.spinner("Working it out …"):
            return compute(question, params)
    except UserError as error:
        with head:
            st.title(title, anchor=False)
        with place:
            show_error(error)
        _end()


@st.cache_data(max_entries=MAX_RESULTS, show_spinner=False)
def _cached(question: str, params: str, version: tuple[str, ...], _view: View) -> Result:
    result = run(question, _view, json.loads(params))
    object.__setattr__(result, _KEY, (question, params, *version))  # no field: what is saved does not hold it
    return result


def key_of(result: Result) -> tuple[str, ...] | None:
    """Return what a kept answer depends on, the same for equal answers; None for a result made otherwise."""
    key: tuple[str, ...] | None = getattr(result, _KEY, None)
    return key
