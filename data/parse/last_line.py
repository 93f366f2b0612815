"""What to make of a file whose last line has no end: `0.12` there may be the beginning of `0.1234`.

Programs that write line by line end every line, so a line without an end was cut or is still being written.
It counts only where it proves to be whole, by a closing quote or bracket or by its unit. Otherwise its record
is left out with a sentence; the longer copy of a growing file brings it. Exports that join their lines never
end the last one (`JOINED`); a bill or a list that a person made may lack the end (`BY_HAND`).
"""

import re
from typing import Literal

from data.errors import UnreadableFileError

OpenEnd = Literal["cut", "by_hand", "joined"]
"""What the lack of a last line end says: the record is left out, kept with a word, or nothing."""
CUT: OpenEnd = "cut"
BY_HAND: OpenEnd = "by_hand"
JOINED: OpenEnd = "joined"
REMEDY = "If the line is whole, end it with a line break and load the file again."
SHOWN = 60
_CLOSED = re.compile(r"[\"'}\])]\s*$|\d\s?(?:%|W|MiB|GiB|MHz)\s*$")


def is_closed(text: str) -> bool:
    """Whether the end of a text shows that nothing of it is lacking: a quote, a bracket, or a unit."""
    return _CLOSED.search(text) is not None


def cut_inside(line: int, record: str) -> str:
    """The sentence on a last line that lacks fields."""
    return f"Line {line}, the last, is cut in the middle of a {record}; it was dropped."


def left_out(line: int, value: str, record: str) -> str:
    """The sentence on a last line that may lack the end of its last value."""
    return (
        f"Line {line}, the last, has no line end: its last value, {_shown(value)}, may be cut short, so the "
        f"{record} was left out. {REMEDY}"
    )


def kept(line: int, value: str, record: str) -> str:
    """The sentence on a last line without an end that is taken as it stands."""
    return (
        f"Line {line}, the last, has no line end: if the file was cut there, the last value of the {record}, "
        f"{_shown(value)}, is too short."
    )


def only_line(source: str, said: str) -> UnreadableFileError:
    """The refusal of a file whose only record is that last line; `said`: the sentence on it."""
    why = said.removesuffix(REMEDY).strip().rstrip(".")
    return UnreadableFileError(f"The file has no other record. {why}", source, REMEDY)


def _shown(value: str) -> str:
    return repr(value.strip()[-SHOWN:])
