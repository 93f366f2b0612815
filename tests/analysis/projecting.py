"""A measured run of our own numbers, to be carried to other platforms."""

from typing import Any

from analysis.registry import run as ask
from analysis.result import Result
from tests.analysis.conftest import Home, phases, pool, steps

SECONDS = {
    "rollout": 60.0,
    "logprob": 8.0,
    "train": 24.0,
    "weight_sync": 3.0,
    "env": 2.0,
    "reward": 1.0,
    "data": 0.5,
}
STEP_S = 100.0
ROLLOUTS, PROMPT, RESPONSE = 1024.0, 200.0, 1500.0


def load(home: Home, run: str = "r", gpus: int = 64, platform: str = "h100-sxm", **more: Any) -> None:
    """A colocated synchronous run of Qwen2.5 32B: 20 steps of 100 s, 98.5 s of them in phases."""
    home.add("runs", {"run": run, "mode": "sync", "llm": "qwen2.5-32b", "synthetic": False} | more)
    home.add("attempts", {"run": run, "attempt": 1, "status": "completed"})
    home.add("allocations", pool(run, 1, "all", "colocated", platform, 2000, gpus=gpus))
    tokens = {"tok_prompt": ROLLOUTS * PROMPT, "tok_gen": ROLLOUTS * RESPONSE}
    tokens["tok_trained"] = sum(tokens.values())
    lengths = {"len_mean": RESPONSE, "len_p50": 1300.0, "len_p95": 3300.0, "len_max": 6000.0}
    home.add(
        "steps",
        *steps(run, 1, range(1, 21), STEP_S, rollouts=ROLLOUTS, groups=64.0, **tokens, **lengths),
    )
    home.add("step_phases", *phases(run, 1, range(1, 21), SECONDS))


def whole(home: Home, run: str, platform: str, gpus: int, step_s: float) -> None:
    """A run of which only platform, GPUs and the seconds of a step are known."""
    home.add("runs", {"run": run, "mode": "sync", "synthetic": False})
    home.add("attempts", {"run": run, "attempt": 1, "status": "completed"})
    home.add("allocations", pool(run, 1, "all", "colocated", platform, 2000, gpus=gpus))
    home.add("steps", *steps(run, 1, range(1, 6), step_s))


def asked(home: Home, **params: Any) -> Result:
    """The answer with fewer draws than on screen."""
    return ask("projection", home.view(), {"draws": 2000, **params})


def row(result: Result, target: str, table: str = "platforms", kind: str = "projected") -> dict[str, Any]:
    """The only row of a target."""
    frame = result.tables[table]
    found = frame[frame["target"] == target]
    if "kind" in found.columns:
        found = found[found["kind"] == kind]
    (only,) = found.to_dict("records")
    return dict(only)
