"""One file a question: parameters and a pinned view in, a `Result` out."""

from analysis.registry import QUESTIONS, Question, parse, run

__all__ = ["QUESTIONS", "Question", "parse", "run"]
