"""Seconds of each phase by step out of the timers of a run, on the clocks of its mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from models.step_time import Mode

Floats = npt.NDArray[np.float64]
GROUPS = {
    "rollout": ("rollout",),
    "env": ("env", "reward"),
    "logprob": ("logprob", "ref", "value"),
    "train": ("train",),
    "sync": ("weight_sync",),
    "other": ("data", "advantage", "checkpoint", "eval", "other"),
}
"""Phases of the projection and the phases of logs that they hold."""
CLOCK = ("wall", "exposed")
TOP = ("outside", "outside_exposed")
WAITED = 0.02
"""A trainer that waits longer than this share of its steps is paced by the engines."""


@dataclass(frozen=True)
class Timed:
    """Seconds by step (arrays of one length): `step_s` with what lies on top of the step timer, and `phases`
    by name of GROUPS; a phase that no step timed is not in it. `engines_from`: which timer told the engines'
    seconds where pools overlap, "" when none did. `passes`: models whose scoring is timed. `sandbox_frac`:
    share of `env` that timers name environments; the rest are rewards, of which no log says that they are
    sandbox work.
    """

    step_s: Floats
    phases: Mapping[str, Floats]
    sandbox_frac: float = 1.0
    engines_from: str = ""
    passes: int = 1


def timed(steps: pd.DataFrame, timers: pd.DataFrame, mode: Mode, engine_pools: Sequence[str]) -> Timed:
    """Phases of `steps` (attempt, step, seconds) in `mode`.

    A phase that several pools time is one event: the longest counts. Waits and busy threads are not on the
    clock. Where pools overlap, scoring, training and the rest are those of the trainer, generation that of
    `engine_pools`: its wall time, else the log's timer beside the training, else what the trainer worked and
    waited.
    """
    keys = pd.MultiIndex.from_frame(steps[["attempt", "step"]])
    step_s = steps["seconds"].to_numpy(dtype=np.float64)
    step_s = step_s + _on_top(timers, keys)
    overlap = mode in ("one_step_off", "async")
    engines = timers["pool"].isin(engine_pools)
    clock = timers[timers["kind"].isin((*CLOCK, *TOP))]
    ours = clock[~engines.loc[clock.index]] if overlap else clock
    phases = {}
    for name, members in GROUPS.items():
        rows = clock if name in ("rollout", "env") or not overlap else ours
        found = _seconds(rows[rows["phase"].isin(members)], keys)
        if found is not None:
            phases[name] = found
    boxes = _sandbox_frac(clock, keys)
    passes = max(1, int(clock.loc[clock["phase"].isin(("logprob", "ref")), "phase"].nunique()))
    if not overlap:
        return Timed(step_s, phases, boxes, passes=passes)
    made, words = _engines(timers, phases, keys, float(step_s.mean()))
    phases.pop("rollout", None)
    phases = phases if made is None else {**phases, "rollout": made}
    return Timed(step_s, phases, boxes, words, passes)


def _sandbox_frac(clock: pd.DataFrame, keys: pd.MultiIndex) -> float:
    """Seconds of environments over those of environments and rewards; 1 where neither was timed."""
    found = [_seconds(clock[clock["phase"] == name], keys) for name in GROUPS["env"]]
    boxes, rewards = (0.0 if one is None else float(one.sum()) for one in found)
    return boxes / (boxes + rewards) if boxes + rewards > 0 else 1.0


def _seconds(rows: pd.DataFrame, keys: pd.MultiIndex) -> Floats | None:
    """Sum over phases of the longest pool's seconds, by step; None when nothing was timed."""
    if rows.empty:
        return None
    by_pool = rows.groupby(["attempt", "step", "phase", "pool"], sort=False)["seconds"].sum()
    once = by_pool.groupby(level=["attempt", "step", "phase"], sort=False).max()
    out: Floats = once.groupby(level=["attempt", "step"]).sum().reindex(keys, fill_value=0.0).to_numpy()
    return out


def _on_top(timers: pd.DataFrame, keys: pd.MultiIndex) -> Floats:
    found = _seconds(timers[timers["kind"].isin(TOP)], keys)
    return np.zeros(len(keys)) if found is None else found


def _engines(
    timers: pd.DataFrame, phases: Mapping[str, Floats], keys: pd.MultiIndex, step_s: float
) -> tuple[Floats | None, str]:
    if "rollout" in phases:
        return phases["rollout"], "the clock of the rollout pool"
    busy = timers[timers["kind"].eq("busy") & timers["phase"].eq("rollout")]
    if len(busy):  # nested timers of one log: the longest holds the others
        longest = busy.groupby(["attempt", "step"])["seconds"].max()
        return longest.reindex(keys, fill_value=0.0).to_numpy(), "the log's timer of generation"
    waits = _seconds(timers[timers["kind"].eq("wait") & timers["phase"].eq("rollout")], keys)
    worked = [phases[name] for name in ("logprob", "train") if name in phases]
    if waits is None or not worked or float(waits.mean()) < WAITED * step_s:
        return None, ""
    return sum(worked, waits), "what the trainer worked and waited"
