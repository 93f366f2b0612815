"""Canonical facts of step records (units in the name, ratios 0..1), and what the rates let us infer."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from data.facts_base import PHASES, gpu_count
from data.readers.base import Proposal

_WHOLE_GPU_TOLERANCE = 0.01


def infer_gpus(steps: pd.DataFrame) -> float | None:
    """GPUs that the trainer divided by: median over steps of tokens / (step seconds x tokens/s/GPU).

    Within 1 % of a whole number it is that number: printed rates are rounded.
    """
    if not {"tok_total", "step_s", "throughput"} <= set(steps.columns):
        return None
    columns = steps[["tok_total", "step_s", "throughput"]].astype(float)
    usable = columns[(columns["step_s"] > 0) & (columns["throughput"] > 0) & (columns["tok_total"] > 0)]
    if usable.empty:
        return None
    count = float((usable["tok_total"] / (usable["step_s"] * usable["throughput"])).median())
    whole = round(count)
    return float(whole) if whole and abs(count - whole) <= _WHOLE_GPU_TOLERANCE * whole else count


def rate_proposal(run: str, steps: pd.DataFrame, mode: str) -> Proposal | None:
    """The inferred GPU count as a proposal; in async runs it names the pool that it may stand for."""
    count = infer_gpus(steps)
    if count is None:
        return None
    value = int(count) if count == int(count) else count
    how = f"median over {len(steps)} steps of total tokens / (step seconds x tokens/s/GPU)"
    how += f" = {gpu_count(count)}"
    if mode == "sync":
        return Proposal(run, "gpus", value, how)
    how += "; trainers before mid-2026 left rollout GPUs out of that rate"
    return Proposal(run, "gpus_train", value, how)


def with_rate(proposals: list[Proposal], rate: Proposal | None) -> list[Proposal]:
    """One proposal a field: the stated GPU count wins over the inferred one and tells what the rates say."""
    if rate is None:
        return proposals
    stated = [p for p in proposals if p.field in ("gpus", "gpus_train")]
    if not stated:
        return [*proposals, rate]
    count = float(str(rate.value))
    told = replace(stated[0], how=f"{stated[0].how}; the token rates say {gpu_count(count)}")
    return [told if p is stated[0] else p for p in proposals]


def eval_is_inside(steps: pd.DataFrame, phases: pd.DataFrame) -> bool:
    """Whether validation time is part of the step timer: there is room for it beside the other phases."""
    if phases.empty or steps.empty:
        return True
    keys = ["run", "attempt", "step"]
    timed = phases[phases["phase"] == "eval"]
    if timed.empty:
        return True
    evals = timed.groupby(keys)["seconds"].sum()
    others = phases[phases["phase"] != "eval"].groupby(keys)["seconds"].sum()
    step_s = steps.set_index(keys)["step_s"].astype(float).reindex(evals.index).dropna()
    room = step_s - others.reindex(step_s.index).fillna(0.0)
    return bool(room.empty or room.sum() >= 0.9 * evals.reindex(step_s.index).sum())


def step_facts(steps: pd.DataFrame, phases: pd.DataFrame) -> dict[str, object]:
    """Facts of steps and phases; only those that the file fixes."""
    facts: dict[str, object] = {}
    seconds = _numbers(steps, "step_s")
    if not seconds.empty:
        facts["step_seconds_sum"] = float(seconds.sum())
        facts["step_seconds_mean"] = float(seconds.mean())
        facts["step_seconds_median"] = float(seconds.median())
    facts |= _phase_facts(steps, phases, seconds)
    tokens = _numbers(steps, "tok_total")
    if not tokens.empty:
        facts["tokens_total"] = float(tokens.sum())
    if not tokens.empty and not seconds.empty and len(tokens) == len(seconds):
        facts["throughput_tokens_per_s"] = float(tokens.sum() / seconds.sum()) if seconds.sum() else None
    facts |= _level_facts(steps)
    count = infer_gpus(steps)
    if count is not None:
        facts["gpu_count_inferred"] = count
        facts["gpu_hours"] = count * float(seconds.sum()) / 3600
    return facts


def _numbers(frame: pd.DataFrame, column: str) -> "pd.Series[float]":
    if column not in frame.columns:
        return pd.Series(np.array([], dtype=np.float64))
    numbers: pd.Series[float] = frame[column].dropna().astype(float)
    return numbers


def _phase_facts(steps: pd.DataFrame, phases: pd.DataFrame, seconds: pd.Series) -> dict[str, object]:
    if phases.empty:
        return {}
    added = phases[phases["kind"] != "busy"]
    sums = added.groupby("phase")["seconds"].sum()
    facts: dict[str, object] = {f"phase_seconds[{p}]": float(sums[p]) for p in PHASES if p in sums.index}
    if seconds.empty:
        return facts
    inside = added if eval_is_inside(steps, added) else added[added["phase"] != "eval"]
    timed = steps.loc[seconds.index, ["run", "attempt", "step"]]
    inside = inside.merge(timed, on=["run", "attempt", "step"])
    facts["unattributed_seconds"] = float(seconds.sum() - inside["seconds"].sum())
    return facts


def _level_facts(steps: pd.DataFrame) -> dict[str, object]:
    facts: dict[str, object] = {}
    mfu, reward, memory = (_numbers(steps, name) for name in ("mfu_frac", "reward_mean", "mem_peak_bytes"))
    if not mfu.empty:
        facts["mfu_mean"] = float(mfu.mean())
    if not reward.empty:
        facts["reward_mean"] = float(reward.mean())
        last = steps.loc[reward.index].sort_values(["step", "attempt"], kind="stable").index[-1]
        facts["reward_last"] = float(reward.loc[last])
    if not memory.empty:
        facts["memory_peak_bytes"] = float(memory.max())
    rollouts = _numbers(steps, "rollouts")
    if not rollouts.empty and len(rollouts) == len(_numbers(steps, "step_s")):
        facts["rollouts_total"] = float(rollouts.sum())
    return facts


def eval_facts(evals: pd.DataFrame, runs: Sequence[str]) -> dict[str, object]:
    """`eval_score[benchmark]` (`[benchmark|run]` when the file holds several runs): the last logged score.

    A plain mean over samples is preferred to majority and best-of scores of the same benchmark.
    """
    facts: dict[str, object] = {}
    if evals.empty:
        return facts
    ranked = evals.assign(
        derived=evals["metric"].str.contains(r"_(?:maj|best)$").astype(int),
        k_rank=evals["k"].fillna(0).astype(float),
    ).sort_values(["attempt", "step", "derived", "k_rank"], kind="stable")
    for (run, benchmark), group in ranked.groupby(["run", "benchmark"], sort=False):
        plain = group[group["derived"] == group["derived"].min()]
        name = f"{benchmark}|{run}" if len(runs) > 1 else str(benchmark)
        facts[f"eval_score[{name}]"] = float(plain["score"].iloc[-1])
    return facts
