"""Shared answers: computed once for one state of the home, again after any change."""

from dataclasses import dataclass

from analysis.kept import MOST, kept
from analysis.params import CommonParams


@dataclass
class Book:
    version: str = "b1"


@dataclass
class Seen:
    parts: str = "home"
    data_version: str = "1"
    money_version: int = 0
    catalogue: Book = None  # type: ignore[assignment]
    trace: object = None

    def __post_init__(self) -> None:
        self.catalogue = self.catalogue or Book()


def test_an_answer_is_made_once_until_something_changes() -> None:
    asked: list[str] = []

    @kept
    def compute(view, params):  # type: ignore[no-untyped-def]
        asked.append(params.boundary)
        return object()

    first = compute(Seen(), CommonParams())
    assert compute(Seen(), CommonParams()) is first
    changed = [
        Seen(data_version="2"),
        Seen(money_version=7),
        Seen(parts="other"),
        Seen(catalogue=Book("b2")),
    ]
    assert all(compute(view, CommonParams()) is not first for view in changed)
    assert compute(Seen(), CommonParams(boundary="full")) is not first
    assert len(asked) == 6
    for number in range(MOST):
        compute(Seen(data_version=f"v{number}"), CommonParams())
    assert compute(Seen(), CommonParams()) is not first
