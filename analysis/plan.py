"""Planned campaigns as lines of text: `NAME 2026-04..2026-09 480`, then team=, usd=, low=, high= if known."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from data.errors import UserError
from models.accrual import month

HOW = (
    "Write NAME FROM..UNTIL GPU-HOURS-A-DAY, such as: swe-rl 2026-04..2026-09 480 team=rl usd=2.75 low=300 "
    "high=700 (team, usd, low and high may be left out)."
)
_SPAN = re.compile(r"(\d{4}-\d{2})\.\.(\d{4}-\d{2})")
_NUMBERS = ("usd", "low", "high")
MOST_GPU_H = 1e9


@dataclass(frozen=True)
class Planned:
    """A campaign to come: `start` to `end` are months (YYYY-MM), both included; GPU-hours a day with their
    range; `usd_per_gpu_h` None: as the history paid, else the price book.
    """

    name: str
    start: str
    end: str
    gpu_h_per_day: float
    low: float | None = None
    high: float | None = None
    team: str | None = None
    usd_per_gpu_h: float | None = None

    def text(self) -> str:
        """The line that says it."""
        more = {"team": self.team, "usd": self.usd_per_gpu_h, "low": self.low, "high": self.high}
        told = [f"{name}={value:.12g}" if isinstance(value, float) else f"{name}={value}"
                for name, value in more.items() if value is not None]  # fmt: skip
        return " ".join([self.name, f"{self.start}..{self.end}", f"{self.gpu_h_per_day:.12g}", *told])

    def holds(self, name: str) -> bool:
        """Whether the campaign runs in that month."""
        return self.start <= name <= self.end

    @property
    def ends(self) -> tuple[float, float]:
        """Low and high of the GPU-hours a day; the value itself where none was given."""
        value = self.gpu_h_per_day
        return (value if self.low is None else self.low, value if self.high is None else self.high)


def parse(lines: Sequence[str]) -> tuple[Planned, ...]:
    """Every line as a campaign; UserError names the line and what is wrong with it."""
    found = tuple(_parsed(line) for line in lines if line.strip())
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(
            f"The plan names '{twice}' twice", "parameter plan", "Give each line a name of its own."
        )
    return found


def _parsed(line: str) -> Planned:
    words = line.split()
    span = _SPAN.fullmatch(words[1]) if len(words) >= 3 else None
    if span is None:
        raise _refused(line, "names no campaign, span of months and GPU-hours")
    start, end = (_month(line, name) for name in span.groups())
    if end < start:
        raise _refused(line, "ends before it starts")
    more = _more(line, words[3:])
    value = _number(line, words[2])
    low, high = more.get("low"), more.get("high")
    if (low is not None and low > value) or (high is not None and high < value):
        raise _refused(line, "needs low <= GPU-hours <= high")
    return Planned(words[0], start, end, value, low, high, _team(words[3:]), more.get("usd"))


def _month(line: str, name: str) -> str:
    try:
        month(name)
    except ValueError:
        raise _refused(line, f"holds '{name}', which is no month") from None
    return name


def _more(line: str, words: Sequence[str]) -> dict[str, float]:
    out = {}
    for word in words:
        name, _, value = word.partition("=")
        if name == "team" and value:
            continue
        if name not in _NUMBERS or not value or name in out:
            raise _refused(line, f"holds '{word}'")
        out[name] = _number(line, value)
    return out


def _team(words: Sequence[str]) -> str | None:
    found = [word.removeprefix("team=") for word in words if word.startswith("team=")]
    return found[-1] if found else None


def _number(line: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _refused(line, f"holds '{text}' in the place of a number") from None
    if not 0 <= value <= MOST_GPU_H:
        raise _refused(line, f"holds {text}, which is not from 0 to {MOST_GPU_H:g}")
    return value


def _refused(line: str, why: str) -> UserError:
    shown = line.strip() if len(line) <= 80 else f"{line.strip()[:77]}…"
    return UserError(f"The planned campaign '{shown}' {why}", "parameter plan", HOW)
