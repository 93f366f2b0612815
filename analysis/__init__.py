"""One file a question: parameters and a pinned view in, a `Result` out.

`open_home` and `ask` are the Python API of notebooks and scripts: see docs/python-api.md. They are imported
when they are first used, so that a page pays for them not at all.
"""

from typing import TYPE_CHECKING, Any

from analysis.registry import QUESTIONS, Question, parse, run

if TYPE_CHECKING:
    from analysis.api import Home, ask, open_home
    from analysis.result import Result

__all__ = ["QUESTIONS", "Home", "Question", "Result", "ask", "open_home", "parse", "run"]
_OF_API = {"Home", "ask", "open_home"}


def __getattr__(name: str) -> Any:
    if name in _OF_API:
        from analysis import api

        return getattr(api, name)
    if name == "Result":
        from analysis.result import Result

        return Result
    raise AttributeError(f"module 'analysis' has no attribute '{name}'")
