"""Lines of a verl console log: take wrappers off, read `step:N - key:value - …`."""

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from data.readers.base import SetAside

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07")
_WRAPPERS = re.compile(
    r"\s*(?:\([^()]*pid=\d+[^()]*\)"
    r"|\[[^\[\]]*\]"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?:INFO|WARNING|ERROR|DEBUG)\b:?"
    r"|\d{1,4}:(?=\s))"
)
_STEP = re.compile(r"step:(\d+)(?: - |$)")
_BAR_BEFORE = re.compile(r"^.*(?:it/s|s/it|\?)\]\s*(?=[(\[]|step:)")
_REPR = re.compile(r"^(?:np\.|numpy\.|torch\.)?[A-Za-z_]\w*\(\s*([^(),]+?)\s*(?:,.*)?\)$")
_NUMBER_THEN_GLUE = re.compile(
    r"^((?:np\.\w+\()?[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)\)?)(?=\s|Training Progress|\(\w+ pid=|\[)"
)
_MISSING = frozenset(
    {"", "-", "n/a", "na", "null", "none", "nan", "inf", "-inf", "+inf", "infinity", "-infinity", "undefined",
     "err!", "unknown error", "not supported", "no reading", "not readable"}
)  # fmt: skip


@dataclass
class Record:
    """One step record: metrics by raw key; NaN stands for a key that was printed without a number.

    `texts_end` is the text of the last value, `keys_last` its key: both tell a cut line from a whole one.
    """

    line: int
    step: int
    values: dict[str, float]
    bad_cells: list[SetAside] = field(default_factory=list)
    texts_end: str = ""
    key_end: str = ""
    zero_keys: tuple[str, ...] = ()


def clean(text: str) -> str:
    """Take terminal colours and what the launcher wrote before the message off one line."""
    return unwrap(_ANSI.sub("", text) if "\x1b" in text else text)


def unwrap(text: str) -> str:
    """Take `(TaskRunner pid=1)`, time stamps, log levels and rank numbers off the front of a line."""
    at = 0
    while (match := _WRAPPERS.match(text, at)) is not None:
        at = match.end()
    return text[at:].strip()


def pieces(line: str) -> list[str]:
    """What a terminal would have shown one after another on this line: it was split by carriage returns."""
    return [line] if "\r" not in line else [part for part in line.split("\r") if part]


def number(text: str) -> float | None:
    """Read one printed metric: NaN for a word that means missing, None for what is no number at all.

    Knows numpy and torch reprs and thousands separators; infinities are missing.
    """
    try:
        value = float(text)
    except ValueError:
        return _odd_number(text.strip())
    return value if math.isfinite(value) else math.nan


def _odd_number(text: str) -> float | None:
    if text.lower().strip("[]") in _MISSING:
        return math.nan
    wrapped = _REPR.match(text)
    if wrapped:
        return number(wrapped[1])
    if text in ("True", "False"):
        return float(text == "True")
    if re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        return float(text.replace(",", ""))
    return None


def step_line(text: str) -> tuple[int, str] | None:
    """(step, metrics text) when the cleaned line starts with `step:N`; never a match inside a line."""
    match = _STEP.match(text)
    if match is None and "step:" in text:
        bar = _BAR_BEFORE.match(text)
        if bar:
            text = unwrap(text[bar.end() :])
            match = _STEP.match(text)
    return (int(match[1]), text[match.end() :]) if match else None


ENOUGH, RECENT = 2, 20
"""Records whose ends show how numbers are printed."""
MAX_STEP = 10**15
"""Larger numbers are damage; beyond 2**63 no column holds them."""


def parse_step(step: int, body: str, line: int) -> Record | SetAside:
    """Read the metrics of one step line; SetAside when the line is damaged as a whole."""
    if step > MAX_STEP:
        return SetAside(line, "a step number that no run reaches", _shown(step, body))
    record = Record(line, step, {})
    values = record.values
    zeros = []
    held = ""
    for segment in body.split(" - "):
        piece = held + segment
        key, colon, text = piece.rpartition(":")
        if not colon:
            held = piece + " - "
            continue
        held = ""
        try:
            value: float | None = float(text)
        except ValueError:
            key, text, value = _slow_value(piece)
        if value is None:
            record.bad_cells.append(SetAside(line, "not a number", text[:80], key.strip()))
            continue
        if value == 0.0 and text[-4:] == ".000":
            zeros.append(key)
        values[sys.intern(key.strip())] = value if math.isfinite(value) else math.nan
        record.key_end, record.texts_end = key, text
    if held:
        return SetAside(line, f"step {step} breaks off: its last metric has no value", _shown(step, body))
    if not any(v == v for v in values.values()):
        return SetAside(line, f"step {step} holds no number", _shown(step, body))
    record.zero_keys = tuple(zeros)
    return record


def _slow_value(piece: str) -> tuple[str, str, float | None]:
    """(key, text, value) of a metric that plain `float` could not read."""
    key, _, text = piece.partition(":")
    for candidate_key, candidate in ((key, text), _split_last(piece)):
        value = number(candidate)
        if value is not None:
            return candidate_key, candidate, value
        glued = _NUMBER_THEN_GLUE.match(candidate)
        if glued:
            return candidate_key, glued[1], number(glued[1])
    return key, text, None


def _split_last(piece: str) -> tuple[str, str]:
    key, _, text = piece.rpartition(":")
    return key, text


def _shown(step: int, body: str) -> str:
    return f"step:{step} - {body}"[:200]


def decimals(text: str) -> int | None:
    """Digits after the point of a plain decimal; None for integers, exponents and reprs."""
    match = re.fullmatch(r"-?\d+\.(\d+)", text)
    return len(match[1]) if match else None


def is_whole(last: Record, earlier: Sequence[Record]) -> bool:
    """Whether the last, unterminated line of a log shows that nothing of its end is lacking.

    Only fixed decimals do: old releases print three of every number, so a shorter one was cut.
    """
    ends = [record for record in earlier if record.key_end == last.key_end]
    fixed = [decimals(record.texts_end) for record in ends[-RECENT:]]
    return len(fixed) >= ENOUGH and all(n == 3 for n in fixed) and decimals(last.texts_end) == 3
