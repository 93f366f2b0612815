"""The files of the example: three runs of one campaign, in our own and in other tools' formats."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from data.examples import formats, tables
from data.examples.plan import CAMPAIGN, NOTE
from data.examples.tables import Story
from data.examples.timeline import History

SEED = 20_261_130
MANIFEST = "manifest.json"
SUPPLEMENT = [
    "run",
    "attempt",
    "step",
    "ts",
    "elapsed_s",
    "tok_prompt",
    "tok_gen",
    "tok_cached",
    "tok_trained",
    "rollouts",
    "groups",
    "groups_all_right",
    "groups_all_wrong",
    "correct",
    "dropped",
    "len_p50",
    "len_p95",
]
"""Columns of `steps` that verl does not log: written beside its own log by a small callback."""


def write_example(folder: Path, seed: int = SEED) -> list[Path]:
    """Write all files and a manifest into `folder`; equal seeds give equal bytes. Returns the data files."""
    folder.mkdir(parents=True, exist_ok=True)
    story = tables.tell(seed)
    files = _campaign_files(story)
    for index, history in enumerate(story.histories):
        files |= _run_files(story, history, index)
    paths = [_write(folder / name, text) for name, (text, _) in files.items()]
    manifest = {
        "synthetic": True,
        "note": NOTE,
        "campaign": CAMPAIGN,
        "seed": seed,
        "files": [{"file": name, "choices": choices} for name, (_, choices) in files.items()],
    }
    _write(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    return paths


File = tuple[str, dict[str, Any]]


def _campaign_files(story: Story) -> dict[str, File]:
    heads, tasks = tables.evals(story)
    return {
        "example_runs.csv": (_csv(tables.runs(story)), {}),
        "example_checkpoints.csv": (_csv(tables.checkpoints(story)), {}),
        "example_evals.csv": (_csv(heads), {}),
        "example_eval_tasks.csv": (_csv(tasks), {}),
        "example_env_events.csv": (_csv(tables.env_events(story)), {}),
    }


def _run_files(story: Story, history: History, index: int) -> dict[str, File]:
    writers = {"h100-sync": _own_files, "gb200-sync": _verl_files, "gb200-async": _wandb_files}
    return writers[history.plan.run](story, history, index)


def _own_files(story: Story, history: History, index: int) -> dict[str, File]:
    run, steps = history.plan.run, tables.steps(history)
    gpus = formats.gpu_samples(history, tables.rng_for(story, 50, index))
    return {
        f"example_{run}_steps.csv": (_csv(steps), {}),
        f"example_{run}_step_phases.csv": (_csv(tables.phases(history)), {}),
        f"example_{run}_gpu_samples.csv": (_csv(gpus), {}),
    }


def _verl_files(story: Story, history: History, index: int) -> dict[str, File]:
    plan, steps = history.plan, tables.steps(history)
    run = plan.run
    files: dict[str, File] = {
        f"example_{run}_verl.jsonl": (formats.verl_jsonl(history, steps), {"run": run}),
        f"example_{run}_rollout_counts.csv": (_csv(steps[SUPPLEMENT]), {}),
    }
    for host in formats.hosts(history):
        text = formats.nvidia_smi(history, host, tables.rng_for(story, 50, index))
        choices = {"run": run, "host": host, "platform": plan.machine.platform, "timezone": "UTC"}
        files[f"example_{run}_{host}_nvidia_smi.csv"] = (text, choices)
    return files


def _wandb_files(story: Story, history: History, index: int) -> dict[str, File]:
    run, steps = history.plan.run, tables.steps(history)
    files = _own_files(story, history, index)
    chart = formats.wandb_chart(history, steps, "reward_mean", "critic/rewards/mean")
    files[f"example_{run}_steps.csv"] = (_csv(steps.drop(columns="reward_mean")), {})
    files[f"example_{run}_reward_wandb.csv"] = (chart, {})
    return files


def _csv(frame: pd.DataFrame) -> str:
    out = frame.copy()
    for name in out.columns:
        if pd.api.types.is_datetime64_any_dtype(out[name]):
            out[name] = out[name].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        elif pd.api.types.is_bool_dtype(out[name]):
            out[name] = out[name].map({True: "true", False: "false"})
    return str(out.to_csv(index=False, lineterminator="\n"))


def _write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path
