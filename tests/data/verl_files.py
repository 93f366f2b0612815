"""Made-up verl logs with the quirks of real ones; numbers are chosen so that sums can be done by hand."""

import json
from collections.abc import Mapping
from pathlib import Path

from data.arrival.spool import spool_bytes
from data.readers.base import Batch, Choices, Source
from data.readers.verl_console import VerlConsoleReader
from data.readers.verl_jsonl import VerlJsonlReader

TASK = "\x1b[36m(TaskRunner pid=77)\x1b[0m "
WORKER = "\x1b[36m(WorkerDict pid=88, ip=10.0.0.2)\x1b[0m "
CONFIG = """{'actor_rollout_ref': {'actor': {'loss': 'it\\'s }}',
                       'optim': {'lr': 1e-06}},
                       'model': {'path': 'Qwen/Qwen3-8B'},
                       'rollout': {'mode': 'async',
                                   'n': 4}},
 'algorithm': {'adv_estimator': 'grpo'},
 'data': {'train_batch_size': 16},
 'reward_model': {'model': {'path': 'some/other-model'}},
 'trainer': {'experiment_name': 'trial - 7',
             'n_gpus_per_node': 8,
             'nnodes': 2,
             'project_name': 'spring'}}"""


def values(step: int, step_s: float = 20.0, tokens: int = 6400, gpus: int = 16) -> dict[str, float]:
    """A synchronous step: 10 s gen, 2 s old_log_prob, 5 s update, 1 s weights, the rest unattributed."""
    return {
        "training/global_step": float(step),
        "critic/rewards/mean": 0.25 + step / 100,
        "response_length/mean": 80.0,
        "response_length/max": 128.0,
        "response_length/clip_ratio": 0.125,
        "prompt_length/mean": tokens / 64 - 80.0,
        "perf/mfu/actor": 0.375,
        "perf/max_memory_reserved_gb": 40.0 + step,
        "actor/lr": 1e-06,
        "timing_s/gen": 10.0,
        "timing_s/generate_sequences": 9.0,
        "timing_s/old_log_prob": 2.0,
        "timing_s/update_actor": 5.0,
        "timing_s/update_weights": 1.0,
        "timing_s/step": step_s,
        "perf/total_num_tokens": float(tokens),
        "perf/time_per_step": step_s,
        "perf/throughput": tokens / step_s / gpus,
    }


def line(step: int, metrics: Mapping[str, object], prefix: str = TASK, form: str = "") -> str:
    """`step:N - k:v - …` as the console logger prints it; `form` is a number format such as `.3f`."""
    texts = [f"{k}:{format(v, form) if isinstance(v, int | float) else v}" for k, v in metrics.items()]
    return f"{prefix}step:{step} - " + " - ".join(texts)


def bar(step: int, total: int, elapsed: str) -> str:
    """A progress bar after the empty line that Ray prints before it."""
    done = f"Training Progress: {100 * step // total:3d}%|####      | {step}/{total}"
    return f"{TASK}\n{done} [{elapsed}<1:00:00, 20.00s/it]"


def config_lines(text: str = CONFIG) -> list[str]:
    """The configuration dump with lines of another process in between."""
    out = []
    for row in text.split("\n"):
        out += [f"{TASK}{row}", f"{WORKER}'nnodes': 99, {{'trainer':"]
    return out


def jsonl(steps: Mapping[int, Mapping[str, float]]) -> str:
    """verl's file logger."""
    return "".join(json.dumps({"step": step, "data": dict(data)}) + "\n" for step, data in steps.items())


def spooled(text: str, folder: Path, name: str = "trial.log") -> Source:
    """Spool a text."""
    return spool_bytes(text.encode(), name, folder)


def read_console(text: str, folder: Path, choices: Choices | None = None) -> Batch:
    """Read a console log."""
    return VerlConsoleReader().read(spooled(text, folder), choices or Choices(), folder)


def read_jsonl(text: str, folder: Path, choices: Choices | None = None) -> Batch:
    """Read a file log."""
    return VerlJsonlReader().read(spooled(text, folder, "trial.jsonl"), choices or Choices(), folder)


def raw_values(batch: Batch) -> dict[tuple[int, int, str], float]:
    """metric_raw as {(attempt, step, key): value}."""
    frame = batch.tables["metric_raw"]
    return {
        (int(a), int(s), str(k)): float(v)
        for a, s, k, v in zip(frame["attempt"], frame["step"], frame["key"], frame["value"], strict=True)
    }


SUMMARY = (
    f"{TASK}wandb: Run summary:\n{TASK}wandb:      timing_s/step 20.0\n{TASK}wandb: training/global_step 2\n"
)


def log(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def whole_run(first: int = 1, last: int = 3, total: int = 3) -> str:
    parts = [
        line(s, values(s)) + "\n" + bar(s, total, f"00:{25 * (s - first + 1):02d}")
        for s in range(first, last + 1)
    ]
    return log(*config_lines(), bar(first - 1, total, "00:00"), *parts)
