"""What is wrong with a statement, where in its text, and what to do."""

import re
from dataclasses import dataclass

from data.errors import UserError

_PATH = re.compile(r"(?<![\w/])/(?:[\w.@%+~-]+/)*[\w.@%+~-]+")
WIDTH = 100


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
