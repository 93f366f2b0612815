"""How many examples Hypothesis tries: few in `make test`, many in `make test-full`."""

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
MANY = 10
T = TypeVar("T")


def some(few: int) -> int:
    """`few` examples of a test that is dear; MANY times as many under the profile `full`."""
    return few * MANY if PROFILE == "full" else few


def in_turn(values: Iterable[T], turn: int = 0, of: int = 3) -> list[Any]:
    """Parameters of which `make test` tries every `of`-th, from place `turn`, and `make test-full` all."""
    rest = pytest.mark.full
    return [
        pytest.param(*(v if type(v) is tuple else (v,)), marks=() if i % of == turn else rest)
        for i, v in enumerate(values)
    ]
