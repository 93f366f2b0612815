"""The files of the example: three runs of one campaign, in our own and in other tools' formats."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from data.examples import bill, formats, tables
from data.examples.plan import CAMPAIGN, NOTE
from data.examples.tables import Story
from data.examples.timeline import History

SEED = 20_261_130
MANIFEST = "manifest.json"
VERL_RUN = "gb200-sync"
WANDB_RUN = "gb200-async"
File = tuple[str, dict[str, Any]]
"""Text of a file and the choices to read it with."""
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
    steps = {h.plan.run: tables.steps(h) for h in story.histories}
    files = _own_files(story, steps) | _verl_files(story, steps) | _wandb_files(story, steps)
    files |= _money_files(story)
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


def _own_files(story: Story, steps: dict[str, pd.DataFrame]) -> dict[str, File]:
    """Our templates: everything, but for the run that verl logged and the reward that W&B exported."""
    own = [(i, h) for i, h in enumerate(story.histories) if h.plan.run != VERL_RUN]
    heads, tasks = tables.evals(story)
    told = {VERL_RUN: steps[VERL_RUN][SUPPLEMENT], WANDB_RUN: steps[WANDB_RUN].drop(columns="reward_mean")}
    gpus = [formats.gpu_samples(h, tables.rng_for(story, 50, i)) for i, h in own]
    frames = {
        "runs": tables.runs(story),
        "checkpoints": tables.checkpoints(story),
        "evals": heads,
        "eval_tasks": tasks,
        "env_events": tables.env_events(story),
        "steps": pd.concat([told.get(run, frame) for run, frame in steps.items()], ignore_index=True),
        "step_phases": pd.concat([tables.phases(h) for _, h in own], ignore_index=True),
        "gpu_samples": pd.concat(gpus, ignore_index=True),
    }
    return {f"example_{name}.csv": (_csv(frame), {}) for name, frame in frames.items()}


def _verl_files(story: Story, steps: dict[str, pd.DataFrame]) -> dict[str, File]:
    index, history = _history(story, VERL_RUN)
    log = formats.verl_jsonl(history, steps[VERL_RUN])
    files: dict[str, File] = {f"example_{VERL_RUN}_verl.jsonl": (log, {"run": VERL_RUN})}
    for host, text in formats.nvidia_smi(history, tables.rng_for(story, 50, index)).items():
        place = {"run": VERL_RUN, "host": host, "platform": history.plan.machine.platform, "timezone": "UTC"}
        files[f"example_{VERL_RUN}_{host}_nvidia_smi.csv"] = (text, place)
    return files


def _wandb_files(story: Story, steps: dict[str, pd.DataFrame]) -> dict[str, File]:
    _, history = _history(story, WANDB_RUN)
    chart = formats.wandb_chart(history, steps[WANDB_RUN], "reward_mean", "critic/rewards/mean")
    return {f"example_{WANDB_RUN}_reward_wandb.csv": (chart, {})}


def _money_files(story: Story) -> dict[str, File]:
    return {
        "example_bill_focus.csv": (_csv(bill.focus(story)), {}),
        "example_sacct.txt": (bill.sacct(story), {"timezone": "UTC"}),
    }


def _history(story: Story, run: str) -> tuple[int, History]:
    return next((i, h) for i, h in enumerate(story.histories) if h.plan.run == run)


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
