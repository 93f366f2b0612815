"""The made-up campaign as tables with the columns of data/schema."""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pandas as pd

from data.examples.plan import (
    BASELINE,
    CAMPAIGN,
    CHECKPOINT_EVERY,
    EVAL_EVERY,
    KV_BYTES_PER_TOKEN,
    LLM,
    NOTE,
    PARAMS,
    PROMPTS_PER_STEP,
    ROLLOUTS_PER_STEP,
    RUNS,
    SAMPLES_PER_PROMPT,
    TASKS_EVERY,
    Plan,
)
from data.examples.scores import BENCHES, MATH, Examiner, Outcome
from data.examples.steps import Step
from data.examples.timeline import Attempt, History, simulate

HARNESS = "example-harness 1.0"
EFFORT = "max_tokens=8192"
OFFLINE_USD_PER_M_TOKENS = 0.62
SANDBOX_PLATFORM = "x86-reference"
ENV_EVERY_STEPS = 10
ENV_CALLS = 32


@dataclass(frozen=True)
class Story:
    """The three runs as they went, and the generator to draw the rest from."""

    histories: tuple[History, ...]
    seed: int


def tell(seed: int) -> Story:
    """Simulate the campaign; the same seed tells the same story."""
    children = np.random.SeedSequence(seed).spawn(len(RUNS))
    pairs = zip(RUNS, children, strict=True)
    return Story(tuple(simulate(plan, np.random.default_rng(s)) for plan, s in pairs), seed)


def rng_for(story: Story, purpose: int, run: int = 0) -> np.random.Generator:
    """A generator of its own for each purpose, so that one table does not shift the next."""
    return np.random.default_rng([story.seed, purpose, run])


def runs(story: Story) -> pd.DataFrame:
    """One row a run, attempt and pool: run details, attempt and allocation together."""
    rows = []
    for history in story.histories:
        for attempt in history.attempts:
            rows += [_run_row(history, attempt, pool) for pool in _pools(history.plan)]
    frame = pd.DataFrame(rows)
    whole = ["resumed_from_step", "resumed_from_attempt", "last_checkpoint_step", "gpus", "cores"]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _pools(plan: Plan) -> list[dict[str, object]]:
    platform = plan.machine.platform
    sandbox = {
        "pool": "sandbox",
        "role": "sandbox",
        "platform": SANDBOX_PLATFORM,
        "cores": plan.sandbox_cores,
    }
    if plan.colocated:
        return [{"pool": "colocated", "role": "colocated", "platform": platform, "gpus": plan.gpus}, sandbox]
    return [
        {"pool": "train", "role": "train", "platform": platform, "gpus": plan.gpus_train},
        {"pool": "rollout", "role": "rollout", "platform": platform, "gpus": plan.gpus_rollout},
        sandbox,
    ]


def _run_row(history: History, attempt: Attempt, pool: dict[str, object]) -> dict[str, object]:
    plan = history.plan
    resumed = attempt.resumed_from
    return {
        "run": plan.run,
        "campaign": CAMPAIGN,
        "framework": "verl",
        "framework_version": "0.7",
        "algorithm": "grpo",
        "mode": plan.mode,
        "llm": LLM,
        "note": NOTE,
        "attempt": attempt.number,
        "started_at": attempt.start,
        "ended_at": attempt.ended,
        "status": attempt.status,
        "cause": attempt.cause,
        "resumed_from_step": resumed,
        "resumed_from_attempt": None if resumed is None else attempt.number - 1,
        "last_checkpoint_step": attempt.last_checkpoint,
        "pool": None,
        "role": None,
        "platform": None,
        "gpus": None,
        "cores": None,
    } | pool


def steps(history: History) -> pd.DataFrame:
    """One row a logged step: tokens, lengths, groups, rates and clock."""
    plan = history.plan
    return pd.DataFrame([_step_row(plan, a, s, end) for a, s, end in history.rows()])


def _step_row(plan: Plan, attempt: Attempt, step: Step, end_s: float) -> dict[str, object]:
    lengths, wins = step.lengths, step.group_wins
    trained = step.tok_total - round(step.dropped * step.tok_total / ROLLOUTS_PER_STEP)
    flops = 6 * PARAMS * trained
    return {
        "run": plan.run,
        "attempt": attempt.number,
        "step": step.step,
        "ts": attempt.at(end_s),
        "elapsed_s": round(end_s, 3),
        "step_s": step.step_s,
        "tok_prompt": step.tok_prompt,
        "tok_gen": step.tok_gen,
        "tok_cached": step.tok_prompt * (SAMPLES_PER_PROMPT - 1) // SAMPLES_PER_PROMPT,
        "tok_trained": trained,
        "tok_total": step.tok_total,
        "rollouts": ROLLOUTS_PER_STEP,
        "groups": PROMPTS_PER_STEP,
        "groups_all_right": int((wins == SAMPLES_PER_PROMPT).sum()),
        "groups_all_wrong": int((wins == 0).sum()),
        "correct": int(wins.sum()),
        "dropped": step.dropped,
        "len_mean": round(float(lengths.mean()), 3),
        "len_p50": float(np.median(lengths)),
        "len_p95": round(float(np.percentile(lengths, 95)), 1),
        "len_max": int(lengths.max()),
        "truncated_frac": round(float((lengths == 8192).mean()), 6),
        "reward_mean": round(float(wins.sum()) / ROLLOUTS_PER_STEP, 6),
        "staleness": step.staleness,
        "mfu_frac": round(flops / (step.train_s * plan.gpus_train * plan.machine.flops), 4),
        "mem_peak_bytes": _peak_bytes(plan, step),
        "throughput": round(step.tok_total / (step.step_s * plan.gpus), 2),
        "throughput_basis": "per_gpu: prompt and generated tokens over all GPUs",
    }


def _peak_bytes(plan: Plan, step: Step) -> int:
    share = 0.884 + 0.05 * float(step.lengths.mean()) / 2_500
    kv = int(step.lengths.max()) * KV_BYTES_PER_TOKEN // plan.tensor_parallel
    return int(share * plan.machine.hbm_bytes) + min(kv, int(0.01 * plan.machine.hbm_bytes))


def phases(history: History) -> pd.DataFrame:
    """One row a phase, step and pool."""
    return pd.DataFrame(
        [
            {
                "run": history.plan.run,
                "attempt": attempt.number,
                "pool": part.pool,
                "step": step.step,
                "phase": part.phase,
                "seconds": part.seconds,
                "kind": part.kind,
                "source_key": f"{part.phase}_s" if part.kind == "wall" else f"{part.phase}_{part.kind}_s",
            }
            for attempt, step, _ in history.rows()
            for part in step.segments
        ]
    )


def checkpoints(story: Story) -> pd.DataFrame:
    """The shared starting checkpoint, then every saved one with the checkpoint it was trained from."""
    rows: list[dict[str, object]] = [{"checkpoint": BASELINE, "note": f"starting weights; {NOTE}"}]
    for history in story.histories:
        parent = BASELINE
        for attempt, step, end_s in history.rows():
            if step.step % CHECKPOINT_EVERY:
                continue
            name = f"{history.plan.run}@{step.step}"
            where = {"run": history.plan.run, "attempt": attempt.number, "step": step.step}
            rows.append({"checkpoint": name, **where, "parent": parent, "at": attempt.at(end_s)})
            parent = name
    columns = ["checkpoint", "run", "attempt", "step", "parent", "at", "note"]
    return pd.DataFrame(rows, columns=columns).astype({"attempt": "Int64", "step": "Int64"})


def evals(story: Story) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Evaluations of the shared starting checkpoint and of every 40th step; tasks for some of them."""
    heads: list[dict[str, object]] = []
    tasks: list[pd.DataFrame] = []
    for number, bench in enumerate(BENCHES):
        examiner = Examiner(bench, rng_for(story, 10 + number))
        begin = min(h.plan.start for h in story.histories) - timedelta(days=1)
        _record(heads, tasks, examiner.sit(0.0, rng_for(story, 20 + number)), BASELINE, begin)
        for index, history in enumerate(story.histories):
            rng = rng_for(story, 30 + number, index)
            for attempt, step, end_s in _evaluated(history):
                outcome = examiner.sit(history.tokens_after[step.step] / history.plan.token_handicap, rng)
                where = {"run": history.plan.run, "attempt": attempt.number, "step": step.step}
                checkpoint = f"{history.plan.run}@{step.step}"
                by_task = tasks if step.step % TASKS_EVERY == 0 or step.step == history.plan.steps else None
                _record(heads, by_task, outcome, checkpoint, attempt.at(end_s), where)
    return pd.DataFrame(heads).astype({"attempt": "Int64", "step": "Int64"}), pd.concat(
        tasks, ignore_index=True
    )


def _evaluated(history: History) -> list[tuple[Attempt, Step, float]]:
    kept = {step.step: (attempt, step, end) for attempt, step, end in history.rows()}
    return [row for number, row in sorted(kept.items()) if number % EVAL_EVERY == 0]


def _record(
    heads: list[dict[str, object]],
    tasks: list[pd.DataFrame] | None,
    outcome: Outcome,
    checkpoint: str,
    at: object,
    where: dict[str, object] | None = None,
) -> None:
    bench, tokens = outcome.bench, int(outcome.tokens.sum())
    eval_id = f"{checkpoint}:{bench.benchmark}"
    offline = bench is not MATH or where is None
    heads.append(
        {"eval_id": eval_id, "checkpoint": checkpoint, "run": None, "attempt": None, "step": None}
        | (where or {})
        | {
            "benchmark": bench.benchmark,
            "benchmark_version": "1",
            "split": "test",
            "harness": HARNESS,
            "effort": EFFORT,
            "metric": "accuracy",
            "k": bench.repeats,
            "seed": 0,
            "n_tasks": bench.tasks,
            "score": round(outcome.score, 6),
            "score_kind": "fraction",
            "tokens": tokens,
            "usd": round(tokens / 1e6 * OFFLINE_USD_PER_M_TOKENS, 4) if offline else None,
            "at": at,
        }
    )
    if tasks is not None:
        tasks.append(_by_task(eval_id, outcome))


def _by_task(eval_id: str, outcome: Outcome) -> pd.DataFrame:
    bench = outcome.bench
    names = [f"{bench.benchmark}-{i + 1:03d}" for i in range(bench.tasks)]
    return pd.DataFrame(
        {
            "eval_id": eval_id,
            "task": np.repeat(names, bench.repeats),
            "cluster": np.repeat(names, bench.repeats),
            "repeat": np.tile(np.arange(bench.repeats), bench.tasks),
            "passed": outcome.passed.ravel(),
            "tokens": outcome.tokens.ravel(),
        }
    )


def env_events(story: Story) -> pd.DataFrame:
    """A sample of sandbox calls: every tenth step, 32 calls, all runs."""
    frames = []
    for index, history in enumerate(story.histories):
        rng = rng_for(story, 40, index)
        frames += [
            _calls(history, attempt, step, end, rng)
            for attempt, step, end in history.rows()
            if step.step % ENV_EVERY_STEPS == 0
        ]
    return pd.concat(frames, ignore_index=True)


def _calls(
    history: History, attempt: Attempt, step: Step, end_s: float, rng: np.random.Generator
) -> pd.DataFrame:
    begin = end_s - step.step_s
    offsets = np.sort(rng.uniform(0.1, 0.7, ENV_CALLS)) * step.step_s
    cold = np.where(rng.random(ENV_CALLS) < 0.08, rng.lognormal(0.9, 0.3, ENV_CALLS), 0.0)
    return pd.DataFrame(
        {
            "run": history.plan.run,
            "step": step.step,
            "env": "python-sandbox",
            "started_at": [attempt.at(begin + float(o)) for o in offsets],
            "queued_s": np.round(rng.exponential(0.22, ENV_CALLS), 3),
            "cold_s": np.round(cold, 3),
            "busy_s": np.round(rng.lognormal(-0.35, 0.5, ENV_CALLS), 3),
            "cores": 1,
            "mem_bytes": (rng.integers(180, 420, ENV_CALLS) << 20).astype(np.int64),
            "ok": rng.random(ENV_CALLS) > 0.006,
        }
    )
