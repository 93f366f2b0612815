"""A whole RL step for 10,000 draws on 20 platforms, beside one numpy product of that shape.

Rollout with its tail, prompts, scoring, training, weight sync, composition and p10/p50/p90 of every platform.
"""

import statistics
import sys
import time

import numpy as np

from data.catalogue import load_catalogue
from data.shapes import llm_of, machine_of
from models.decode import DecodeFactors, DecodeLoad, capacity
from models.lengths import lengths_of_quantiles
from models.logprob import LogprobLoad, logprob
from models.machine import Rates
from models.prefill import PrefillLoad, prefill
from models.rollout import RolloutLoad, closed_form_occupancy, rollout_draws
from models.step_time import Phases, step_time
from models.training import TrainLoad, training
from models.weight_sync import SyncLoad, SyncRates, weight_sync

DRAWS, PLATFORMS, REPEATS, GPUS, RESPONSES = 10_000, 20, 9, 64, 2048
LIMIT_S = 0.3


def percentiles(seed: int, model: str = "deepseek-v3") -> np.ndarray:
    """p10, p50, p90 of the step's seconds on every platform; NaN where a peak is not published."""
    catalogue, rng = load_catalogue(), np.random.default_rng(seed)
    machines = [machine_of(catalogue, one.platform_id) for one in catalogue.platforms()[:PLATFORMS]]
    fp8, bf16 = Rates.stack(machines, "fp8"), Rates.stack(machines, "bf16")
    llm, lengths = llm_of(catalogue, model), lengths_of_quantiles({0.5: 2000, 0.95: 8000, 1.0: 16384})

    def around(value: float) -> np.ndarray:
        return value * np.exp(0.15 * rng.standard_normal((DRAWS, 1)))

    factors = DecodeFactors(around(0.9), around(0.6), around(0.4), around(0.7), around(8e-5))
    engine = DecodeLoad(batch=1.0, context=4000.0, gpus=16, weight_bytes=1.0, kv_bytes=1.0, attention_tp=16)
    slots = capacity(llm, engine, fp8).batch
    load = RolloutLoad(RESPONSES / (GPUS / 16), slots, prompt_tokens=500.0, replicas=GPUS / 16)
    made = rollout_draws(llm, closed_form_occupancy(lengths, load), engine, fp8, factors)
    prompts = prefill(llm, PrefillLoad(128.0, 500.0, GPUS, 1.0, group=16), fp8, around(0.2), around(0.9))
    tokens = RESPONSES * (500 + lengths.mean)
    scored = logprob(llm, LogprobLoad(tokens, tokens / RESPONSES, GPUS), bf16, around(0.25))
    trained = training(llm, TrainLoad(tokens, tokens / RESPONSES, GPUS, updates=4), bf16, around(0.2), 0.3)
    synced = weight_sync(SyncLoad(llm.params_total, 1.0, copies=4), SyncRates(around(50e9)))
    work = made.work_s + prompts.total_s
    phases = Phases(work, made.tail_s, scored.total_s, trained.total_s, synced.total_s)
    total = np.asarray(step_time(phases, "sync_colocated").total_s)
    assert total.shape == (DRAWS, PLATFORMS)
    return np.percentile(total, [10, 50, 90], axis=0)


def main() -> int:
    load_catalogue()
    taken, plain = [], []
    for seed in range(REPEATS):
        start = time.perf_counter()
        percentiles(seed)
        taken.append(time.perf_counter() - start)
        start = time.perf_counter()
        np.ones((DRAWS, 1)) * np.ones(PLATFORMS)
        plain.append(time.perf_counter() - start)
    median, product = statistics.median(taken), statistics.median(plain)
    print(
        f"phase models: {DRAWS:,} draws x {PLATFORMS} platforms, median {median:.3f} s of {REPEATS} "
        f"(limit {LIMIT_S} s), {DRAWS * PLATFORMS / median:,.0f} steps a second; "
        f"one product {product * 1e3:.2f} ms"
    )
    return int(median > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
