"""Two runs at equal dollars and at equal score, such as a synchronous against an asynchronous one."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.frames import NAN, Row, known, table
from analysis.pairs import Passed
from analysis.scoredraws import SIZE, Floats, cost_draws, score_draws
from analysis.words import digits3, money, percent
from models.frontier import Versus, score_at, usd_to, versus

VERSUS = [
    "question", "a", "b", "a_mode", "b_mode", "at_usd", "at_score", "points", "points_low", "points_high",
    "usd_more", "usd_more_low", "usd_more_high", "a_above_frac", "known_frac", "verdict", "words",
]  # fmt: skip
NUMBERS = ["at_usd", "at_score", "points", "points_low", "points_high", "usd_more", "usd_more_low"]
NUMBERS += ["usd_more_high", "a_above_frac", "known_frac"]
SAFE = 0.02
"""The default spend (or score) is reached in all but this share of draws on each side."""
SYNC = "sync"
SCORE, DOLLARS = "score at equal dollars", "dollars at equal score"


def sides(points: Mapping[str, Sequence[Row]], modes: Mapping[str, str], a: str, b: str) -> tuple[str, str]:
    """The two runs to compare: those asked for, else the best measured synchronous and other one, or ''."""
    measured = sorted((run for run in points if len(points[run]) > 1), key=lambda r: (-len(points[r]), r))
    first = a or next((run for run in measured if modes.get(run) == SYNC and run != b), "")
    others = [run for run in measured if run not in (a, b) and modes.get(run) not in (SYNC, "", None)]
    return first, b or next(iter(others), "")


def compare_runs(
    runs: tuple[str, str], points: Mapping[str, Sequence[Row]], modes: Mapping[str, str],
    by_eval: dict[str, Passed], seeds: Mapping[str, int], seed: int, at_usd: float | None,
    at_score: float | None,
) -> pd.DataFrame:  # fmt: skip
    """Table VERSUS: a row for equal dollars, one for equal score; differences are a - b, 95 % by joint draws.

    Curves are measured ones, linear between evaluations and never extrapolated. `points`: rows by run, with
    rising dollars.
    """
    a, b = runs
    both = [*points[a], *points[b]]
    drawn = score_draws(both, by_eval, seed).draws
    score_a, score_b = drawn[: len(points[a])], drawn[len(points[a]) :]
    usd_a, usd_b = (_spend(points[run], seeds.get(run, seed)) for run in runs)
    spend = at_usd if at_usd is not None else _down(np.minimum(usd_a[-1], usd_b[-1]))
    score = at_score if at_score is not None else _down(np.minimum(score_a.max(axis=0), score_b.max(axis=0)))
    first = versus(score_at(spend, usd_a, score_a), score_at(spend, usd_b, score_b))
    second = versus(usd_to(score, usd_a, score_a), usd_to(score, usd_b, score_b))
    head = {"a": a, "b": b, "a_mode": modes.get(a, ""), "b_mode": modes.get(b, "")}
    rows = [
        {**head, "question": SCORE, "at_usd": spend, **_row(first, 100.0, "points", a, b)},
        {**head, "question": DOLLARS, "at_score": score, **_row(second, 1.0, "usd_more", a, b)},
    ]
    return table(rows, VERSUS, NUMBERS)


def rising(rows: Sequence[Row]) -> list[Row]:
    """Points of one run by dollars; of several at one spend the first, for a curve has one score a spend."""
    out: list[Row] = []
    for row in sorted(rows, key=lambda r: r["usd"]):
        if not out or row["usd"] > out[-1]["usd"]:
            out.append(row)
    return out


def _spend(rows: Sequence[Row], seed: int) -> Floats:
    """Dollars of a curve, (points, draws): all points at one drawn price."""
    last = rows[-1]
    factor = cost_draws(last, seed, SIZE) / last["usd"]
    spent: Floats = np.outer([row["usd"] for row in rows], factor)
    return spent


def _down(draws: Floats) -> float:
    """A round number below all but SAFE of the draws."""
    value = float(np.quantile(draws, SAFE))
    if not value > 0:
        return 0.0
    scale: float = 10.0 ** (2 - math.floor(math.log10(value)))
    return math.floor(value * scale) / scale


def _row(found: Versus, scale: float, unit: str, a: str, b: str) -> Row:
    ends = (found.value, found.low, found.high)
    value, low, high = (NAN if end is None else scale * end for end in ends)
    verdict = "cannot tell"
    if known(low) and (low > 0 or high < 0):
        # more dollars are worse, a higher score is better
        verdict = "better" if (low > 0) == (unit == "points") else "worse"
    return {
        unit: value, f"{unit}_low": low, f"{unit}_high": high, "a_above_frac": found.a_above_frac,
        "known_frac": found.known_frac, "verdict": verdict,
        "words": _words(found, value, low, high, unit, a, b),
    }  # fmt: skip


def _words(found: Versus, value: float, low: float, high: float, unit: str, a: str, b: str) -> str:
    if not known(value):
        return (
            f"both runs are measured there in {percent(found.known_frac)} of draws: too few for an interval; "
            "choose a lower one"
        )
    if unit == "points":
        return f"{a} - {b}: {value:+.1f} points ({low:+.1f} to {high:+.1f})"
    more = "more" if value > 0 else "less"
    return f"{a} takes {money(abs(value))} {more} than {b} ({_usd(low)} to {_usd(high)})"


def _usd(value: float) -> str:
    return f"{'-' if value < 0 else '+'}${digits3(abs(value))}"
