"""Formats of other tools, written the way those tools write them: the example exercises real readers."""

import csv
import io
import json
from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from data.examples.gpus import samples
from data.examples.plan import ROLLOUTS_PER_STEP, Plan
from data.examples.steps import Step
from data.examples.timeline import History

_VERL_TIMERS = {
    "gen": ("rollout",),
    "reward": ("env", "reward"),
    "old_log_prob": ("logprob",),
    "adv": ("advantage",),
    "update_actor": ("train",),
    "update_weights": ("weight_sync",),
    "save_checkpoint": ("checkpoint",),
    "testing": ("eval",),
}


def verl_jsonl(history: History, table: pd.DataFrame) -> str:
    """What verl's file logger writes: one JSON object a step with its flat metric names."""
    lines = []
    rows = table.to_dict("records")
    for (_, step, _), row in zip(history.rows(), rows, strict=True):
        data = _verl_metrics(step, row) | _verl_timers(step)
        lines.append(json.dumps({"step": step.step, "data": data}, separators=(",", ":")))
    return "\n".join(lines) + "\n"


def _verl_metrics(step: Step, row: Mapping[Hashable, Any]) -> dict[str, object]:
    lengths = step.lengths
    return {
        "training/global_step": step.step,
        "training/epoch": 0,
        "critic/rewards/mean": row["reward_mean"],
        "critic/rewards/max": 1.0,
        "critic/rewards/min": 0.0,
        "response_length/mean": float(lengths.mean()),
        "response_length/max": float(lengths.max()),
        "response_length/min": float(lengths.min()),
        "response_length/clip_ratio": row["truncated_frac"],
        "prompt_length/mean": step.tok_prompt / ROLLOUTS_PER_STEP,
        "actor/perf/max_memory_reserved_gb": round(row["mem_peak_bytes"] / 2**30, 4),
        "perf/mfu/actor": row["mfu_frac"],
        "perf/total_num_tokens": step.tok_total,
        "perf/time_per_step": step.step_s,
        "perf/throughput": row["throughput"],
    }


def _verl_timers(step: Step) -> dict[str, object]:
    seconds = {s.phase: s.seconds for s in step.segments}
    timers: dict[str, object] = {}
    for key, parts in _VERL_TIMERS.items():
        total = sum(seconds.get(p, 0.0) for p in parts)
        if total:
            timers[f"timing_s/{key}"] = round(total, 3)
    return timers | {"timing_s/step": step.step_s}


def nvidia_smi(history: History, rng: np.random.Generator) -> dict[str, str]:
    """What `nvidia-smi --query-gpu=… --format=csv -l 10` prints, by host."""
    frame = samples(history, rng).sort_values(["ts", "gpu_index"], kind="stable")
    return {str(host): _smi_text(history.plan, str(host), rows) for host, rows in frame.groupby("host")}


def _smi_text(plan: Plan, host: str, frame: pd.DataFrame) -> str:
    header = (
        "timestamp, index, uuid, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], "
        "memory.total [MiB], power.draw [W], power.limit [W], clocks.current.sm [MHz], temperature.gpu"
    )
    rows = frame.to_dict("records")
    return "\n".join([header, *(_smi_line(plan, host, row) for row in rows)]) + "\n"


def _smi_line(plan: Plan, host: str, row: Mapping[Hashable, Any]) -> str:
    index, machine = int(row["gpu_index"]), plan.machine
    cells = [
        _smi_stamp(row["ts"], index),
        str(index),
        _uuid(plan, host, index),
        machine.name,
        f"{round(100 * row['gpu_util'])} %",
        f"{round(100 * row['mem_util'])} %",
        f"{row['mem_bytes'] >> 20} MiB",
        f"{machine.hbm_bytes >> 20} MiB",
        f"{row['power_w']:.2f} W",
        f"{machine.tdp_w:.2f} W",
        f"{row['sm_clock_mhz']} MHz",
        str(row["temp_c"]),
    ]
    return ", ".join(cells)


def gpu_samples(history: History, rng: np.random.Generator) -> pd.DataFrame:
    """Our own sample table, with the measures that only a profiler daemon sees (SM, tensor pipe, DRAM)."""
    frame = samples(history, rng).sort_values(["ts", "host", "gpu_index"], kind="stable")
    machine = history.plan.machine
    frame.insert(0, "run", history.plan.run)
    frame["model"] = machine.name
    frame["platform"] = machine.platform
    frame["mem_total_bytes"] = machine.hbm_bytes
    frame["power_limit_w"] = machine.tdp_w
    return frame


def wandb_chart(history: History, table: pd.DataFrame, column: str, key: str) -> str:
    """What a W&B panel exports as CSV: a step column, then value, minimum and maximum of one metric."""
    name = f"{history.plan.run} - {key}"
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["Step", name, f"{name}__MIN", f"{name}__MAX"])
    for step, value in zip(table["step"], table[column], strict=True):
        writer.writerow([step, value, value, value])
    return buffer.getvalue()


def _smi_stamp(ts: datetime, index: int) -> str:
    stamp = ts + timedelta(milliseconds=3 + 21 * index)
    return stamp.strftime("%Y/%m/%d %H:%M:%S.") + f"{stamp.microsecond // 1000:03d}"


def _uuid(plan: Plan, host: str, index: int) -> str:
    node = int(host.rsplit("-", 1)[1])
    return f"GPU-e8a3b1e0-{len(plan.run):04x}-4000-8000-{node:06d}{index:06d}"
