"""Figures of kept answers are built once for each answer, theme and choice."""

import json

import plotly.graph_objects as go

from analysis.result import Result
from pages.parts import compute, pictures


def _kept_answer(asked: str) -> Result:
    """An answer as the page keeps it, unpickled anew at each run of the script."""
    result = Result("ledger", {}, asked)
    object.__setattr__(result, compute._KEY, ("ledger", json.dumps({"benchmark": asked})))
    return result


def test_the_same_answer_is_drawn_once_and_another_one_again() -> None:
    drawn: list[tuple[str, str]] = []

    def draw(result: Result, theme: str) -> go.Figure:
        drawn.append((result.answer, theme))
        return go.Figure(layout={"title": {"text": f"{result.answer} {theme}"}})

    asked = [("test a", "light"), ("test a", "light"), ("test a", "dark"), ("test b", "light")]
    titles = [pictures.picture(draw, _kept_answer(a), theme).layout.title.text for a, theme in asked]
    assert titles == ["test a light", "test a light", "test a dark", "test b light"]
    assert drawn == [asked[0], asked[2], asked[3]]


def test_an_answer_made_otherwise_is_always_drawn() -> None:
    drawn: list[str] = []

    def draw(result: Result, mode: str) -> go.Figure:
        drawn.append(result.answer)
        return go.Figure()

    for _ in range(2):
        pictures.picture(draw, Result("ledger", {}, "loose"), "light")
    assert drawn == ["loose", "loose"]
