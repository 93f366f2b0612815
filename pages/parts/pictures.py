"""Figures of answers that are kept: a page that is drawn again does not build the same picture again.

Each figure knows what it was made from, so that a notebook can make it again.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from analysis import QUESTIONS
from analysis.result import Result
from pages.parts.compute import key_of
from reports.notebook.document import AnalysisCell

MAX_FIGURES = 256
_SOURCE = "_made_from"


@dataclass(frozen=True)
class Source:
    """What a figure was made from: the question, the parameters it was asked with, and how it was drawn.

    `arguments` are what the drawing function took beside the result and the theme.
    """

    question: str
    params: Mapping[str, Any]
    draw: Callable[..., go.Figure]
    arguments: tuple[str | float | None, ...] = ()

    @property
    def figure(self) -> str:
        """Its name in `charts.figures`; LookupError for a drawing that is not there."""
        from charts.figures import name_of  # imports every chart: only who clicks waits for it

        return name_of(self.question, self.draw, *self.arguments)

    def cell(self) -> AnalysisCell:
        """Return the cell of a notebook that asks the same and draws this figure alone."""
        return analysis_cell(self.question, self.params, (self.figure,))


def analysis_cell(
    question: str, params: Mapping[str, Any], figures: tuple[str, ...] | None = None
) -> AnalysisCell:
    """Return a cell that asks `question` as it was asked; `figures` None draws all of the question."""
    return AnalysisCell(
        name=question,
        question=question,
        params=dict(params),
        params_version=QUESTIONS[question].params.version,
        figures=figures,
    )


def asked_of(result: Result) -> tuple[str, dict[str, Any]]:
    """Return the question and the parameters that a result answers, in their JSON form."""
    key = key_of(result)
    return (result.analysis, dict(result.params)) if key is None else (key[0], json.loads(key[1]))


def source_of(fig: go.Figure) -> Source | None:
    """Return what a figure was made from; None for one that was not made by `picture` or `made_from`."""
    found: Source | None = getattr(fig, _SOURCE, None)
    return found


def made_from(
    fig: go.Figure, draw: Callable[..., go.Figure], result: Result, *arguments: str | float | None
) -> go.Figure:
    """Let a figure know that `draw` made it from `result`; returns the figure."""
    setattr(fig, _SOURCE, Source(*asked_of(result), draw, arguments))
    return fig


def picture(
    draw: Callable[..., go.Figure], result: Result, mode: str, *more: str | float | None
) -> go.Figure:
    """Return `draw(result, mode, *more)`; the same object where the same answer was drawn so before. Not to
    be changed by who asks for it.
    """
    key = key_of(result)
    if key is None:
        return made_from(draw(result, mode, *more), draw, result, *more)
    name = f"{draw.__module__}.{draw.__qualname__}"
    return _kept(name, key, (mode, *more), lambda: made_from(draw(result, mode, *more), draw, result, *more))


@st.cache_resource(max_entries=MAX_FIGURES, show_spinner=False)
def _kept(
    name: str,  # noqa: ARG001
    key: tuple[Any, ...],  # noqa: ARG001
    more: tuple[Any, ...],  # noqa: ARG001
    _make: Callable[[], go.Figure],
) -> go.Figure:
    return _make()
