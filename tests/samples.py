"""Small inputs of our own that show the shape and the quirks of real telemetry files."""

import random

CONFIG = (
    "{{'actor_rollout_ref': {{'model': {{'path': 'Qwen/Qwen3-8B'}},\n"
    "                        'rollout': {{'n': 8, 'name': 'vllm'}}}},\n"
    " 'algorithm': {{'adv_estimator': 'grpo'}},\n"
    " 'data': {{'train_batch_size': 64}},\n"
    " 'trainer': {{'experiment_name': '{run}',\n"
    "             'n_gpus_per_node': 8,\n"
    "             'nnodes': {nodes},\n"
    "             'project_name': 'samples'}}}}"
)


def verl_step(step: int, gpus: int = 16, seed: int = 7) -> dict[str, float]:
    """One step of a made-up synchronous GRPO run; the same (step, seed) gives the same numbers."""
    rng = random.Random(seed * 1_000_003 + step)
    gen, logprob, update, sync = 30 + 6 * rng.random(), 5.0, 18 + 2 * rng.random(), 2.5
    evaluated = step % 10 == 0
    testing = 12.0 if evaluated else 0.0
    total = gen + logprob + update + sync + testing + 1.5
    tokens = 512 * round(900 + 4 * step + 50 * rng.random())
    values = {
        "training/global_step": step,
        "critic/rewards/mean": min(0.9, 0.35 + 0.004 * step + 0.02 * rng.random()),
        "response_length/mean": tokens / 512 - 120,
        "response_length/max": 4096.0,
        "response_length/clip_ratio": 0.02,
        "prompt_length/mean": 120.0,
        "perf/mfu/actor": 0.31,
        "perf/max_memory_reserved_gb": 61.5,
        "timing_s/gen": gen,
        "timing_s/old_log_prob": logprob,
        "timing_s/update_actor": update,
        "timing_s/update_weights": sync,
        "timing_s/step": total,
        "perf/total_num_tokens": tokens,
        "perf/time_per_step": total,
        "perf/throughput": tokens / total / gpus,
    }
    if evaluated:
        values["timing_s/testing"] = testing
        values["val-core/openai/gsm8k/acc/mean@1"] = min(0.93, 0.55 + 0.0035 * step)
    return values


def verl_line(step: int, **options: int) -> str:
    """One console step line, with colour codes and the process prefix that Ray adds."""
    body = " - ".join(f"{key}:{value:.6g}" for key, value in verl_step(step, **options).items())
    return f"\x1b[36m(TaskRunner pid=4242)\x1b[0m step:{step} - {body}"


def verl_log(first: int, last: int, run: str = "grpo-sample", nodes: int = 2, total: int = 100) -> str:
    """A whole console log: configuration dump, step lines, progress bars."""
    config = CONFIG.format(run=run, nodes=nodes).split("\n")
    lines = [f"\x1b[36m(TaskRunner pid=4242)\x1b[0m {row}" for row in config]
    clock = 0.0
    for step in range(first, last + 1):
        lines.append(verl_line(step, gpus=nodes * 8))
        clock += verl_step(step, gpus=nodes * 8)["timing_s/step"]
        minutes, seconds = divmod(int(clock), 60)
        hours, minutes = divmod(minutes, 60)
        lines.append(
            f"\x1b[36m(TaskRunner pid=4242)\x1b[0m Training Progress: {100 * step // total:3d}%|##        | "
            f"{step}/{total} [{hours}:{minutes:02d}:{seconds:02d}<1:00:00, 60.00s/it]"
        )
    return "\n".join(lines) + "\n"
