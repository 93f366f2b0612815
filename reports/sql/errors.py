"""What is wrong with a statement, where in its text, and what to do."""

import re
from dataclasses import dataclass

from data.errors import UserError

_PATH = re.compile(r"(?<![\w/])/(?:[\w.@%+~-]+/)*[\w.@%+~-]+")
_CANDIDATES = "Candidate functions:\n"
WIDTH = 100
MOST_CANDIDATES = 3


@dataclass
class SqlError(UserError):
    """SQL that cannot be run; `line` and `column` count from 1, 0 where the place is not known.

    `pointer` is the line of the SQL and under it a caret, '' where the place is not known.
    """

    line: int = 0
    column: int = 0
    pointer: str = ""


def at(sql: str, what: str, remedy: str, position: int | None) -> SqlError:
    """Return the error at a position (characters from 0); None: no place is known."""
    if position is None or not 0 <= position <= len(sql):
        return SqlError(what, "SQL", remedy)
    before = sql[:position]
    line, start = before.count("\n") + 1, before.rfind("\n") + 1
    column = position - start + 1
    end = sql.find("\n", position)
    text = sql[start : end if end >= 0 else len(sql)]
    first = max(0, column - 1 - WIDTH // 2)
    shown = text[first : first + WIDTH].replace("\t", " ")
    pointer = f"{shown}\n{' ' * (column - 1 - first)}^"
    return SqlError(what, f"SQL, line {line}, column {column}", remedy, line, column, pointer)


def without_paths(text: str) -> str:
    """Words of the engine without names of files and folders of this machine."""
    return _PATH.sub("…", text)


def short(text: str) -> str:
    """Words of the engine with the first candidate functions of its list, and how many more there are."""
    head, found, tail = text.partition(_CANDIDATES)
    if not found:
        return text
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    more = f"; and {len(lines) - MOST_CANDIDATES} more" if len(lines) > MOST_CANDIDATES else ""
    return f"{head.strip()} Candidates: {'; '.join(lines[:MOST_CANDIDATES])}{more}"
