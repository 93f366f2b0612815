"""What TRL's console and its trainer_state.json share: telling keys, and checks of its step timer."""

import math
from collections.abc import Iterable, Sequence

from data.logs.flat import Row

STEP_TIME = "step_time"
TOKEN_COUNTERS = ("num_tokens", "num_input_tokens_seen")
_ONLINE = ("reward", "reward_std", "kl", "completion_length", "objective/rlhf_reward", "num_tokens")
_COVERED_ENOUGH = 0.75


def is_online(keys: Iterable[str]) -> bool:
    """Whether keys come from a trainer that generates: rewards or completions, not losses alone."""
    return any(
        key in _ONLINE or key.startswith(("completions/", "rewards/"))
        for key in (k.removeprefix("eval_") for k in keys)
    )


def is_training(row: Row) -> bool:
    """A record of trained steps: neither an evaluation nor the summary of the whole run."""
    return "loss" in row.values or "reward" in row.values


def offline_warning(rows: Sequence[Row]) -> str | None:
    """A sentence when the log holds no reward and no completion at all."""
    keys = {key for row in rows for key in row.values}
    if is_online(keys):
        return None
    return (
        "No reward and no completion length in this log: a supervised or preference run of the same trainer, "
        "so it has no rollouts."
    )


def last_counter(rows: Sequence[Row]) -> float | None:
    """The highest token counter of the records; None where no record has one."""
    found = [row.values[key] for row in rows for key in TOKEN_COUNTERS if row.values.get(key, math.nan) > 0]
    return max(found, default=None)


def step_time_warning(rows: Sequence[Row], wall_s: float | None) -> str | None:
    """A sentence when `step_time` times the steps is much less than `wall_s`, the same steps on the clock."""
    timed, before = 0.0, 0
    for row in rows:
        if row.step is None or not is_training(row):
            continue
        steps = row.step - before if row.step > before else 0
        seconds = row.values.get(STEP_TIME, math.nan)
        if seconds == seconds:
            timed += seconds * steps
        before = row.step
    if not wall_s or timed <= 0 or timed / wall_s >= _COVERED_ENOUGH:
        return None
    return (
        f"step_time covers {timed / wall_s:.0%} of the wall clock ({timed:.1f} s of {wall_s:.1f} s): it is "
        "measured inside the training call and leaves out logging, saving and evaluation. Use the wall clock "
        "for cost."
    )


def stated_runtime(rows: Sequence[Row]) -> float | None:
    """`train_runtime` in seconds, which the trainer logs when a run is done."""
    found = [row.values["train_runtime"] for row in rows if row.values.get("train_runtime", 0.0) > 0]
    return found[-1] if found else None
