"""Steps of a made-up run: lengths, rewards, phase seconds and tokens that fit each other.

Decode time of one synchronous replica follows the three-term model: every decode step reads the weights and
the KV cache of the sequences still running and pays a fixed overhead a layer, so a replica takes
`L_max * (weights / bandwidth + overhead) + sum_i(prompt * L_i + L_i**2 / 2) * kv / bandwidth` seconds.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from data.examples.plan import (
    CHECKPOINT_EVERY,
    EVAL_EVERY,
    KV_BYTES_PER_TOKEN,
    LAYER_OVERHEAD_S,
    LAYERS,
    LENGTH_CAP,
    LENGTH_SIGMA,
    PARAMS,
    PROMPTS_PER_STEP,
    ROLLOUTS_PER_STEP,
    SAMPLES_PER_PROMPT,
    WEIGHT_BYTES,
    Plan,
)

Ints = NDArray[np.int64]
BATCH_PER_REPLICA = 128


@dataclass(frozen=True)
class Segment:
    """One phase of one step on one pool: seconds, and whether it is wall, wait, exposed or busy time."""

    pool: str
    phase: str
    seconds: float
    kind: str = "wall"


@dataclass(frozen=True)
class Step:
    """One training step; seconds are rounded to the millisecond, so that sums can be checked exactly."""

    step: int
    step_s: float
    segments: tuple[Segment, ...]
    lengths: Ints = field(repr=False)
    tok_prompt: int
    group_wins: Ints = field(repr=False)
    dropped: int
    staleness: float | None
    train_s: float

    @property
    def tok_gen(self) -> int:
        """Generated tokens."""
        return int(self.lengths.sum())

    @property
    def tok_total(self) -> int:
        """Prompt and generated tokens."""
        return self.tok_prompt + self.tok_gen


def sigmoid(tokens: float, low: float, ceiling: float, middle: float, slope: float) -> float:
    """R(C) = R0 + (A - R0) / (1 + (C_mid / C)**B); the ScaleRL form (arXiv 2510.13786)."""
    if tokens <= 0:
        return low
    return low + (ceiling - low) / (1.0 + math.pow(middle / tokens, slope))


def make_step(plan: Plan, step: int, tokens_before: float, rng: np.random.Generator) -> Step:
    """Draw one step of a run that has trained on `tokens_before` tokens."""
    progress = tokens_before / plan.token_handicap
    lengths = _lengths(progress, rng)
    prompts = rng.integers(80, 220, PROMPTS_PER_STEP)
    tok_prompt = int(prompts.sum()) * SAMPLES_PER_PROMPT
    wins = _group_wins(progress, rng)
    tokens = tok_prompt + int(lengths.sum())
    build = _sync_segments if plan.colocated else _async_segments
    segments, step_s = build(plan, step, lengths, tok_prompt, tokens, rng)
    late = 0 if plan.colocated else int(rng.binomial(ROLLOUTS_PER_STEP, 0.012))
    train_s = sum(s.seconds for s in segments if s.phase == "train" and s.kind == "wall")
    staleness = None if plan.colocated else round(float(rng.normal(0.92, 0.07)), 3)
    return Step(step, step_s, tuple(segments), lengths, tok_prompt, wins, late, staleness, train_s)


def _lengths(progress: float, rng: np.random.Generator) -> Ints:
    mean = 760.0 + 1_500.0 * progress / (progress + 3.4e8)
    drawn = rng.lognormal(np.log(mean) - LENGTH_SIGMA**2 / 2, LENGTH_SIGMA, ROLLOUTS_PER_STEP)
    return np.clip(np.rint(drawn), 24, LENGTH_CAP).astype(np.int64)


def _group_wins(progress: float, rng: np.random.Generator) -> Ints:
    rate = sigmoid(progress, 0.315, 0.66, 2.4e8, 1.3)
    chance = rng.beta(1.15 * rate, 1.15 * (1 - rate), PROMPTS_PER_STEP)
    return rng.binomial(SAMPLES_PER_PROMPT, chance).astype(np.int64)


def _noise(rng: np.random.Generator, spread: float = 0.02) -> float:
    return float(rng.lognormal(0.0, spread))


def _decode_sync_s(plan: Plan, lengths: Ints, tok_prompt: int) -> float:
    replicas = plan.gpus_rollout // plan.tensor_parallel
    share = plan.machine.hbm_bytes_per_s * plan.bandwidth_frac * plan.tensor_parallel
    by_replica = lengths.reshape(replicas, -1).astype(float)
    prompt = tok_prompt / ROLLOUTS_PER_STEP
    fixed = by_replica.max(axis=1) * (WEIGHT_BYTES / share + LAYERS * LAYER_OVERHEAD_S)
    reads = (prompt * by_replica + by_replica**2 / 2).sum(axis=1) * KV_BYTES_PER_TOKEN / share
    return float((fixed + reads).max())


def _decode_async_s(plan: Plan, lengths: Ints, tok_prompt: int) -> float:
    replicas = plan.gpus_rollout // plan.tensor_parallel
    share = plan.machine.hbm_bytes_per_s * plan.bandwidth_frac * plan.tensor_parallel
    context = tok_prompt / ROLLOUTS_PER_STEP + float((lengths**2).mean() / (2 * lengths.mean()))
    reads = (WEIGHT_BYTES + BATCH_PER_REPLICA * context * KV_BYTES_PER_TOKEN) / share
    token_s = reads + LAYERS * LAYER_OVERHEAD_S
    return float(lengths.sum()) * token_s / (replicas * BATCH_PER_REPLICA)


def _compute_s(flops_per_token: float, tokens: int, gpus: int, plan: Plan, mfu: float) -> float:
    return flops_per_token * tokens / (gpus * plan.machine.flops * mfu)


def _sync_segments(
    plan: Plan, step: int, lengths: Ints, tok_prompt: int, tokens: int, rng: np.random.Generator
) -> tuple[list[Segment], float]:
    prefill = _compute_s(2 * PARAMS, tok_prompt // SAMPLES_PER_PROMPT, plan.gpus, plan, 0.45)
    seconds = {
        "data": 0.45 * _noise(rng, 0.1),
        "rollout": (_decode_sync_s(plan, lengths, tok_prompt) + prefill) * _noise(rng),
        "env": 5.2 * _noise(rng, 0.15),
        "reward": 1.3 * _noise(rng, 0.08),
        "logprob": _compute_s(2 * PARAMS, tokens, plan.gpus, plan, plan.logprob_mfu) * _noise(rng),
        "advantage": 0.18 * _noise(rng, 0.08),
        "train": _compute_s(6 * PARAMS, tokens, plan.gpus, plan, plan.train_mfu) * _noise(rng),
        "weight_sync": (2.9 + 0.6 * plan.tensor_parallel) * _noise(rng, 0.06),
    }
    seconds |= _occasional(plan, step, rng)
    segments = [Segment("colocated", phase, round(s, 3)) for phase, s in seconds.items()]
    known = sum(s.seconds for s in segments)
    return segments, round(known * (1 + 0.012 + 0.012 * float(rng.random())), 3)


def _async_segments(
    plan: Plan, step: int, lengths: Ints, tok_prompt: int, tokens: int, rng: np.random.Generator
) -> tuple[list[Segment], float]:
    decode = _decode_async_s(plan, lengths, tok_prompt) * _noise(rng)
    logprob = _compute_s(2 * PARAMS, tokens, plan.gpus_train, plan, plan.logprob_mfu) * _noise(rng)
    train = _compute_s(6 * PARAMS, tokens, plan.gpus_train, plan, plan.train_mfu) * _noise(rng)
    sync, extra = 3.1 * _noise(rng, 0.08), _occasional(plan, step, rng)
    overhead = 0.9 + sum(extra.values())
    busy_train, busy_rollout = logprob + train + overhead, decode
    body = max(busy_train, busy_rollout)
    step_s = round((body + sync) * (1 + 0.012 * float(rng.random())) + 0.4, 3)
    trainer = {"logprob": logprob, "train": train, "data": 0.6, "advantage": 0.2, "weight_sync": sync} | extra
    rows = [
        Segment("train", p, round(s, 3), "exposed" if p == "weight_sync" else "wall")
        for p, s in trainer.items()
    ]
    rows.append(Segment("rollout", "rollout", round(decode, 3)))
    rows.append(Segment("rollout", "weight_sync", round(sync, 3), "exposed"))
    rows.append(Segment("rollout", "env", round(decode * 0.31 * _noise(rng, 0.1), 3), "busy"))
    rows += _waits(body, busy_train, busy_rollout)
    return rows, step_s


def _waits(body: float, busy_train: float, busy_rollout: float) -> list[Segment]:
    waits = []
    if body - busy_train > 0.05:
        waits.append(Segment("train", "rollout", round(body - busy_train, 3), "wait"))
    if body - busy_rollout > 0.05:
        waits.append(Segment("rollout", "train", round(body - busy_rollout, 3), "wait"))
    return waits


def _occasional(plan: Plan, step: int, rng: np.random.Generator) -> dict[str, float]:
    extra = {}
    if step % CHECKPOINT_EVERY == 0:
        extra["checkpoint"] = 21.0 * _noise(rng, 0.1)
    if step % EVAL_EVERY == 0:
        extra["eval"] = (74.0 if plan.machine.flops < 1.5e15 else 61.0) * _noise(rng, 0.05)
    return extra
