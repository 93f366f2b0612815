"""Which number of a record is its step: logs hold several counters, and only one counts trainer steps."""

from collections import Counter
from itertools import pairwise

from data.logs.flat_attempts import Row
from data.readers.verl_jsonl import whole_step

STEP_COUNTERS = {
    "verl": ("training/global_step", "step"),
    "nemo-rl": ("step", "train/step"),
    "prime-rl": ("step",),
    "trl": ("train/global_step", "step", "global_step"),
    "slime": ("rollout/step", "eval/step"),
    "openrlhf": ("train/global_step", "eval/global_step", "global_step"),
    "skyrl": ("trainer/global_step", "step"),
    "areal": ("step",),
    "tinker": ("step", "progress/batch"),
    "tinker-sft": ("step", "progress/batch"),
    "open-instruct": ("training_step",),
}
ANY_COUNTERS = (
    "step", "global_step", "train/global_step", "training/global_step", "trainer/global_step",
    "training_step", "train_step", "train/step", "trainer/step", "iteration", "iter",
)  # fmt: skip
LOG_COUNTER = "_step"


def counters_of(framework: str | None, keys: set[str]) -> tuple[str, ...]:
    """Step counters of a log, the trainer's own first; `_step` of W&B is none of them."""
    wanted = STEP_COUNTERS.get(framework or "", ANY_COUNTERS)
    found = tuple(key for key in wanted if key in keys)
    return found if framework in STEP_COUNTERS else found[:1]


def number_steps(rows: list[Row], framework: str | None) -> list[str]:
    """Give each row its step, in place; returns what a reader has to know about it.

    `row.x` holds W&B's log counter where there is one. A row without the trainer's counter takes the log
    counter only when both agree everywhere else.
    """
    keys = {key for row in rows for key in row.values}
    counters = counters_of(framework, keys)
    both = [(row, number) for row in rows if (number := _first(row, counters)) is not None]
    agree = all(row.x == number for row, number in both) if both else True
    left = 0
    for row in rows:
        number = _first(row, counters)
        if number is None and agree:
            number = whole_step(row.x) if row.x is not None else None
        row.step = number
        left += number is None
    return _said(rows, counters, agree, left, keys)


def _first(row: Row, counters: tuple[str, ...]) -> int | None:
    return next((n for key in counters if (n := whole_step(row.values.get(key))) is not None), None)


def _said(rows: list[Row], counters: tuple[str, ...], agree: bool, left: int, keys: set[str]) -> list[str]:
    out = []
    logged = any(row.x is not None for row in rows)
    if counters and not agree and logged:
        out.append(f"Steps are {counters[0]}: W&B's _step differs from it, it numbers log calls.")
    elif not counters and logged:
        out.append("Steps are W&B's _step: the log has no step counter of the trainer.")
    others = [key for key in ANY_COUNTERS if key in keys and key not in counters]
    others += [key for key in ("rollout/step", "eval/step") if key in keys and key not in counters]
    if counters and others:
        out.append(f"Steps are {counters[0]}; other counters ({', '.join(others)}) are raw metrics.")
    if left:
        out.append(f"{left} records have no trainer step: they are raw metrics only.")
    return out


def gaps_in(numbers: list[int]) -> int:
    """Log calls that are missing between the first and the last; 0 when they come at one fixed distance."""
    distinct = sorted(set(numbers))
    spaces = Counter(b - a for a, b in pairwise(distinct))
    if len(spaces) <= 1:
        return 0
    return distinct[-1] - distinct[0] + 1 - len(distinct)
