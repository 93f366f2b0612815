"""Answers that several questions share, computed once for one state of the data."""

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, TypeVar

from analysis.params import Params
from data.view import View

MOST = 64
_STORES: list[OrderedDict[tuple[str, ...], Any]] = []
_P = TypeVar("_P", bound=Params)
_R = TypeVar("_R")


def kept(compute: Callable[[View, _P], _R]) -> Callable[[View, _P], _R]:
    """Keep the newest answers of `compute` by home, data, prices, decisions and parameters.

    What it returns is shared: nobody may change it. A traced view takes no answer of another. Two threads
    that ask at once may both compute.
    """
    answers: OrderedDict[tuple[str, ...], _R] = OrderedDict()
    lock = Lock()
    _STORES.append(answers)

    @wraps(compute)
    def ask(view: View, params: _P) -> _R:
        key = (
            str(view.parts), view.data_version, str(view.money_version), str(view.catalogue.version),
            params.model_dump_json(), view.trace.name if view.trace else "",
        )  # fmt: skip
        with lock:
            if key in answers:
                answers.move_to_end(key)
                return answers[key]
        found = compute(view, params)
        with lock:
            answers[key] = found
            while len(answers) > MOST:
                answers.popitem(last=False)
        return found

    return ask


def forget() -> None:
    """Drop every kept answer: the next one is computed anew."""
    for answers in _STORES:
        answers.clear()
