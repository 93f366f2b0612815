"""How a run is organised (`runs.mode`, `runs.algorithm`), as far as its keys and numbers tell it."""

import re
from collections.abc import Iterable

from data.logs.flat_attempts import Row
from data.logs.verl import detect_mode

_ASYNC = {
    "nemo-rl": ("timing/train/exposed_generation", "exposed_generation"),
    "skyrl": ("timing/wait_for_generation_buffer", "async/staleness_mean"),
    "trl": ("weight_sync_time_s", "train/weight_sync_time_s", "rollout/inflight", "train/rollout/inflight"),
}
_SYNC = {
    "nemo-rl": ("timing/train/generation", "generation"),
    "skyrl": ("timing/generate",),
    "trl": ("num_tokens", "train/num_tokens", "step_time", "train/step_time"),
}
_OVERLAP_FROM = 1.05
_OVERLAP = {
    "slime": (frozenset({"perf/train_wait_time"}), frozenset({"perf/rollout_time"})),
    "openrlhf": (
        frozenset({"timing/step_total"}),
        frozenset({"timing/generation", "timing/make_experience", "timing/ppo_train", "timing/broadcast"}),
    ),
}
"""Framework -> (the clock, the work on it)."""
_RL_WORDS = re.compile(
    r"reward|rollout|completion|episode|advantage|critic|actor|policy|return|generat|(?:^|[/_])(?:kl|env)(?:$|[/_])"
)
_LOSS = re.compile(r"(?:^|[/_])(?:loss|nll)$")
_RATE = re.compile(r"(?:^|/)(?:lr|learning_rate|mean_token_accuracy|num_loss_tokens)$")
_ALWAYS_ASYNC = ("prime-rl", "areal", "open-instruct")


def mode_of(framework: str | None, keys: Iterable[str]) -> str | None:
    """`runs.mode` as far as the keys tell it."""
    names = set(keys)
    if framework == "verl":
        return detect_mode(names)
    if framework in _ALWAYS_ASYNC or names & set(_ASYNC.get(framework or "", ())):
        return "async"
    return "sync" if names & set(_SYNC.get(framework or "", ())) else None


def measured_mode(framework: str | None, rows: Iterable[Row]) -> str | None:
    """`runs.mode` where only the numbers tell it: work that overlaps takes longer than the clock it is in."""
    if framework not in _OVERLAP:
        return None
    clock, work = _OVERLAP[framework]
    clocks: dict[int | None, float] = {}
    works: dict[int | None, float] = {}
    for row in rows:
        for key, value in row.values.items():
            plain = key.removeprefix("train/")
            if value == value and plain in clock:
                clocks[row.step] = clocks.get(row.step, 0.0) + value
            elif value == value and plain in work:
                works[row.step] = works.get(row.step, 0.0) + value
    both = clocks.keys() & works.keys()
    timed = sum(clocks[step] for step in both)
    if not timed:
        return None
    return "async" if sum(works[step] for step in both) > _OVERLAP_FROM * timed else "sync"


def algorithm_of(framework: str | None, keys: Iterable[str]) -> str | None:
    """`runs.algorithm` where the keys leave no doubt: preferences are DPO, a bare loss is SFT."""
    names = [key.removeprefix("train/") for key in keys]
    if any(name.startswith("rewards/margins") for name in names):
        return "dpo"
    if framework not in (None, "trl") or any(_RL_WORDS.search(name) for name in names):
        return None
    loss = any(_LOSS.search(name) for name in names)
    return "sft" if loss and any(_RATE.search(name) for name in names) else None
