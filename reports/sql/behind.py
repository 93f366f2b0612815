"""The SELECTs behind an answer, as a person can run and change them."""

from collections.abc import Mapping
from typing import Any

from analysis.registry import QUESTIONS, check_against, parse
from data.view import View


def selects_of(view: View, question: str, params: Mapping[str, Any]) -> list[str]:
    """The SELECTs that the answer to a question runs, values as literals; each runs on a snapshot unchanged.

    None where the answer reads no telemetry. The question is asked once more, past all kept answers. Raises
    UserError as asking it does.
    """
    asked = parse(question, params)
    check_against(view, asked)
    traced = view.traced()
    QUESTIONS[question].compute(traced, asked)
    return [] if traced.trace is None else traced.trace.selects()
