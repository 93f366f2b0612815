"""What a question can be asked: its parameters as inputs, with unit, limits and what a home offers."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from analysis import QUESTIONS
from data.catalogue_types import price_words
from data.model_names import model_labels
from data.queries.known import known_benchmarks, known_runs
from data.view import View
from pages.parts.notebook_labels import label_of

Kind = Literal["choice", "switch", "maybe", "whole", "number", "several", "one", "lines", "words"]
COMMON = ("runs", "price", "boundary", "platforms")
LAST = ("draws", "seed")
BY_DEFAULT = "as by default"
_FROM = {
    "runs": "runs",
    "compare": "platforms",
    "run": "runs",
    "platforms": "platforms",
    "targets": "platforms",
    "platform": "platforms",
    "step_platform": "platforms",
    "serve_on": "platforms",
    "price": "prices",
    "to_price": "prices",
    "benchmark": "benchmarks",
    "llm": "models",
}
"""Parameter -> which names of the home it holds."""


@dataclass(frozen=True)
class Input:
    """One parameter as an input. `low`, `high`, `default` are as stored: a percent is a ratio there.

    `scale`: how many typed units make 1 of what is stored.
    """

    name: str
    label: str
    kind: Kind
    default: Any = None
    options: tuple[str, ...] = ()
    source: str = ""
    low: float | None = None
    high: float | None = None
    optional: bool = False
    scale: float = 1.0


@cache
def inputs(question: str) -> tuple[Input, ...]:
    """Return the inputs of a question: what all questions share first, draws and seed last.

    A parameter that is made of other answers has none: `cases` of scenarios are picked by their names
    (`notebook_scenarios`).
    """
    found = [
        made
        for name, info in QUESTIONS[question].params.model_fields.items()
        if (made := _input(question, name, info)) is not None
    ]
    place = {name: n - len(COMMON) for n, name in enumerate(COMMON)} | dict.fromkeys(LAST, 1)
    return tuple(sorted(found, key=lambda one: place.get(one.name, 0)))


def _input(question: str, name: str, info: FieldInfo) -> Input | None:
    kind, optional = _without_none(info.annotation)
    label, scale = label_of(question, name)
    low, high = _limits(info.metadata)
    source = _FROM.get(name, "")
    plain = {"name": name, "label": label, "default": info.default, "optional": optional}
    if get_origin(kind) is Literal:
        return Input(**plain, kind="choice", options=tuple(str(v) for v in get_args(kind)))
    if kind is bool:
        return Input(**plain, kind="maybe" if optional else "switch")
    if kind is int:
        return Input(**plain, kind="whole", low=low, high=high)
    if kind is float:
        return Input(**plain, kind="number", low=low, high=high, scale=scale)
    if kind is str:
        return Input(**plain, kind="one" if source else "words", source=source)
    if get_origin(kind) is tuple and get_args(kind)[0] is str:
        return Input(**plain, kind="several" if source else "lines", source=source)
    return None


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return kinds[0], len(kinds) < len(get_args(annotation))
    return annotation, False


def _limits(metadata: Sequence[Any]) -> tuple[float | None, float | None]:
    low = high = None
    for rule in metadata:
        if isinstance(rule, Ge | Gt):
            low = float(str(rule.ge if isinstance(rule, Ge) else rule.gt))
        elif isinstance(rule, Le | Lt):
            high = float(str(rule.le if isinstance(rule, Le) else rule.lt))
    return low, high


def offered(view: View) -> dict[str, Mapping[str, str]]:
    """Return what this home has to choose from: source -> {stored value: words}."""
    book = view.catalogue
    benchmarks = {}
    for name in known_benchmarks(view):
        held = book.benchmark(name)
        benchmarks[held.benchmark_id if held else name] = held.name if held else name
    return {
        "runs": {name: name for name in known_runs(view)},
        "platforms": {p.platform_id: p.name for p in book.platforms()},
        "prices": {f"{kind}.{tier}": price_words(kind, tier) for kind, tier in book.price_menu()},
        "benchmarks": benchmarks,
        "models": model_labels(book),
    }


def fits(one: Input, kind: str) -> bool:
    """Whether a parameter cell of this kind (slider, choice, date) can stand for the input."""
    if one.kind in ("whole", "number"):
        return kind == "slider"
    if one.kind in ("choice", "one", "words", "several", "lines"):
        return kind in ("choice", "date")
    return False
