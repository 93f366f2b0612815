"""What a choice would make of a column: smallest, largest, missing, and doubts in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from data.mapping.cells import amount, stamp
from data.mapping.language import ADDS_UP, CUMULATIVE, Meaning
from data.parse.timezones import zone_of
from data.parse.values import column_decimal, is_missing, parse_number

_SHARE = 0.5
_LONG_STEP_S = 6 * 3600.0
_LARGEST_W = 3_000.0
_SMALLEST_MEMORY = 1e6
_LARGEST_MEMORY = 4e12
_ENOUGH_CELLS = 4


@dataclass(frozen=True)
class Summary:
    """One column under one choice, over the rows of a sample.

    `low`, `high`: smallest and largest in base units (or times in UTC); `missing`: empty cells; `bad`: cells
    that would be set aside, with the first reason; `doubts`: sentences.
    """

    rows: int
    missing: int
    bad: int
    reason: str = ""
    low: float | datetime | None = None
    high: float | datetime | None = None
    doubts: tuple[str, ...] = field(default=())


def summarise(cells: Sequence[str], meaning: Meaning, timezone: str | None = None) -> Summary:
    """Judge the cells of one column."""
    missing = sum(1 for cell in cells if is_missing(cell))
    if meaning.field.unit == "UTC":
        return _times(cells, meaning, timezone, missing)
    if meaning.field.text or (not meaning.field.units and meaning.field.table == "gpu_samples"):
        return Summary(len(cells), missing, 0)
    if meaning.field.id == "eval_tasks.passed" and not meaning.unit:
        return Summary(len(cells), missing, 0)
    decimal = column_decimal(cells)
    found = [amount(cell, meaning, decimal) for cell in cells if not is_missing(cell)]
    numbers = [one.number for one in found if one.number is not None]
    reasons = [one.reason for one in found if one.reason]
    doubts = [*_ranges(cells, meaning, decimal), *_sizes(numbers, meaning), *_totals(numbers, meaning)]
    if reasons and not numbers and not doubts:
        doubts.append(f"No cell can be read: {reasons[0]}.")
    elif reasons and not doubts:
        doubts.append(
            f"{len(reasons)} of {len(cells)} cells cannot be read and would be set aside: {reasons[0]}."
        )
    low, high = (min(numbers), max(numbers)) if numbers else (None, None)
    return Summary(len(cells), missing, len(reasons), next(iter(reasons), ""), low, high, tuple(doubts))


def _times(cells: Sequence[str], meaning: Meaning, timezone: str | None, missing: int) -> Summary:
    zone = zone_of(timezone)
    read = [stamp(cell, meaning.unit, zone) for cell in cells if not is_missing(cell)]
    times = [at for at, _ in read if at is not None]
    bad = len(read) - len(times)
    doubts = []
    if bad and not times:
        doubts.append("No cell is a time as chosen: pick how the dates are written.")
    elif bad:
        doubts.append(f"{bad} of {len(cells)} cells are no times as chosen.")
    if zone is None and any(naive for _, naive in read):
        doubts.append("The times name no zone: they would be taken as UTC. Choose the zone of the machine.")
    low, high = (min(times), max(times)) if times else (None, None)
    return Summary(len(cells), missing, bad, "not a time" if bad else "", low, high, tuple(doubts))


def _ranges(cells: Sequence[str], meaning: Meaning, decimal: str | None) -> list[str]:
    """Shares that are percentages, and percentages that are shares."""
    share = meaning.field.unit == "ratio" or (meaning.field.unit == "score" and meaning.unit != "points")
    if not share:
        return []
    written = [parse_number(cell, None, decimal).number for cell in cells if "%" not in cell]
    known = [number for number in written if number is not None]
    if not known:
        return []
    if meaning.unit == "%":
        small = max(known) <= 1 and len(set(known)) > 1
        return ["No value is above 1: are these shares already, not percentages?"] if small else []
    above = sum(number > 1 for number in known)
    if not above:
        return []
    word = "percent" if max(known) <= 100 else "points"
    return [f"{100 * above / len(known):.0f} % of the values are above 1: {word}?"]


def _sizes(numbers: Sequence[float], meaning: Meaning) -> list[str]:
    if not numbers:
        return []
    high, unit, out = max(numbers), meaning.field.unit, []
    timer = meaning.field.table in ("steps", "step_phases") and meaning.field.name != "elapsed_s"
    if unit == "s" and timer and high > _LONG_STEP_S:
        out.append(f"The longest takes {high / 3600:,.0f} hours: milliseconds, or seconds since the start?")
    if unit == "W" and high > _LARGEST_W:
        out.append(f"The largest draw is {high:,.0f} W for one GPU: milliwatts?")
    if unit == "B" and 0 < high < _SMALLEST_MEMORY:
        out.append(f"The largest is {high:,.0f} bytes: MiB or GiB?")
    if unit == "B" and high > _LARGEST_MEMORY:
        out.append(f"The largest is {high / 1e12:,.0f} TB: a smaller unit?")
    if unit not in ("score", "", "J") and min(numbers) < 0:
        out.append("Some values are negative: they would be set aside.")
    return out


def _totals(numbers: Sequence[float], meaning: Meaning) -> list[str]:
    """A column that only ever grows is a running total, one that falls is none."""
    if meaning.field.table != "steps" or meaning.field.name not in ADDS_UP or len(numbers) < _ENOUGH_CELLS:
        return []
    rises = all(b > a for a, b in pairwise(numbers))
    falls = sum(b < a for a, b in pairwise(numbers))
    if meaning.basis != CUMULATIVE and rises and numbers[-1] > 2 * numbers[0]:
        return ["It never falls: a running total since the start?"]
    if meaning.basis == CUMULATIVE and falls > _SHARE * len(numbers) / 2:
        return [f"It falls {falls} times: no running total?"]
    return []
