"""Made-up GPU samples that follow the phases of the steps: what a sampler beside the job would have seen."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from data.examples.plan import Plan
from data.examples.steps import Step
from data.examples.timeline import Attempt, History

PERIOD_S = 10
WINDOW_S = 9_000
SAMPLED_GPUS = 8
ORDER = (
    "data",
    "rollout",
    "env",
    "reward",
    "logprob",
    "advantage",
    "train",
    "weight_sync",
    "eval",
    "checkpoint",
)


@dataclass(frozen=True)
class Load:
    """What a GPU does in a phase, all 0..1; power is the share of the way from idle to the limit."""

    gpu_util: float
    sm: float
    tensor: float
    dram: float
    power: float
    memory: float


LOADS = {
    "rollout": Load(0.97, 0.52, 0.16, 0.63, 0.55, 0.86),
    "tail": Load(0.90, 0.24, 0.05, 0.41, 0.34, 0.86),
    "eval": Load(0.95, 0.47, 0.14, 0.58, 0.51, 0.86),
    "logprob": Load(0.99, 0.83, 0.47, 0.44, 0.80, 0.71),
    "train": Load(1.00, 0.86, 0.44, 0.47, 0.85, 0.90),
    "weight_sync": Load(0.82, 0.11, 0.00, 0.22, 0.22, 0.88),
    "checkpoint": Load(0.04, 0.01, 0.00, 0.02, 0.06, 0.74),
    "hang": Load(1.00, 0.10, 0.00, 0.01, 0.17, 0.88),
    "idle": Load(0.02, 0.00, 0.00, 0.01, 0.03, 0.70),
    "start": Load(0.06, 0.01, 0.00, 0.03, 0.07, 0.35),
}


@dataclass(frozen=True)
class Spot:
    """One sampled GPU: host, index on it, pool and role."""

    host: str
    index: int
    pool: str
    role: str


def spots(plan: Plan) -> list[Spot]:
    """The GPUs that the example samples: one node of eight, or one tray of four for each of two pools."""
    per_node = plan.machine.gpus_per_node
    names = [("colocated", "colocated")] if plan.colocated else [("train", "train"), ("rollout", "rollout")]
    found: list[Spot] = []
    for node in range(SAMPLED_GPUS // per_node):
        pool, role = names[node % len(names)]
        host = f"{plan.machine.platform.split('-')[0]}-node-{plan.first_node + node:02d}"
        found += [Spot(host, index, pool, role) for index in range(per_node)]
    return found


def window(history: History) -> tuple[datetime, datetime]:
    """Two and a half hours: around the failure if there was one, else in the middle of the run."""
    first = history.attempts[0]
    if first.hang_from_s is not None:
        middle = first.at(first.hang_from_s + 1_500)
    else:
        middle = first.at(first.end_s / 2)
    begin = middle - timedelta(seconds=WINDOW_S // 2)
    return begin, begin + timedelta(seconds=WINDOW_S)


def samples(history: History, rng: np.random.Generator) -> pd.DataFrame:
    """One row a sample and GPU; measures are 0..1, the rest in bytes, W, MHz and degC."""
    begin, end = window(history)
    frames = []
    for attempt in history.attempts:
        for pool in dict.fromkeys(s.pool for s in spots(history.plan)):
            phases = _track(attempt, pool, history.plan, begin, end)
            frames += [
                _draw(history.plan, attempt, spot, phases, rng)
                for spot in spots(history.plan)
                if spot.pool == pool and len(phases)
            ]
    return pd.concat(frames, ignore_index=True)


def _track(attempt: Attempt, pool: str, plan: Plan, begin: datetime, end: datetime) -> pd.DataFrame:
    """What the pool does at each sampling instant that lies in the attempt and in the window."""
    low = max(0.0, (begin - attempt.start).total_seconds())
    high = min(attempt.end_s, (end - attempt.start).total_seconds())
    if high <= low:
        return pd.DataFrame({"at_s": [], "load": []})
    at = np.arange(np.ceil(low / PERIOD_S) * PERIOD_S, high, PERIOD_S)
    edges, names = _schedule(attempt, pool, plan)
    slot = np.searchsorted(np.asarray(edges), at, side="right") - 1
    return pd.DataFrame({"at_s": at, "load": [names[i] for i in slot]})


def _schedule(attempt: Attempt, pool: str, plan: Plan) -> tuple[list[float], list[str]]:
    edges, names = [0.0], ["start"]
    for step, begin in zip(attempt.steps, attempt.begins_s, strict=True):
        clock = begin
        for name, seconds in _pieces(step, pool):
            edges.append(clock)
            names.append(name)
            clock += seconds
        edges.append(clock)
        names.append("idle")
    if attempt.hang_from_s is not None:
        stuck = attempt.hang_from_s
        edges += [attempt.begins_s[-1] + attempt.steps[-1].step_s, stuck]
        names += ["rollout", "hang"]
    else:
        edges.append(attempt.end_s - plan.shutdown_s)
        names.append("idle")
    return edges, names


def _pieces(step: Step, pool: str) -> list[tuple[str, float]]:
    own = {s.phase: s.seconds for s in step.segments if s.pool == pool and s.kind in ("wall", "exposed")}
    pieces: list[tuple[str, float]] = []
    for phase in ORDER:
        seconds = own.get(phase, 0.0)
        if phase == "rollout" and pool == "colocated":
            pieces += [("rollout", 0.55 * seconds), ("tail", 0.45 * seconds)]
        elif seconds:
            pieces.append((phase if phase in LOADS else "idle", seconds))
    return pieces


def _draw(
    plan: Plan, attempt: Attempt, spot: Spot, phases: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    machine, count = plan.machine, len(phases)
    table = {
        name: np.array([getattr(LOADS[p], name) for p in phases["load"]]) for name in Load.__annotations__
    }
    bias = float(rng.normal(1.0, 0.012))
    noisy = {name: np.clip(v * bias * rng.normal(1.0, 0.035, count), 0, 1) for name, v in table.items()}
    util = np.minimum(noisy["gpu_util"], np.where(table["gpu_util"] >= 1.0, 1.0, 0.99))
    util = np.where(phases["load"] == "hang", 1.0, util)
    power = machine.idle_w + (machine.tdp_w * 0.985 - machine.idle_w) * noisy["power"]
    busy = noisy["power"]
    return pd.DataFrame(
        {
            "host": spot.host,
            "gpu_index": spot.index,
            "pool": spot.pool,
            "role": spot.role,
            "attempt": attempt.number,
            "ts": [attempt.start + timedelta(seconds=float(s)) for s in phases["at_s"]],
            "gpu_util": np.round(util, 2),
            "mem_util": np.round(noisy["dram"], 2),
            "sm_active": np.round(noisy["sm"], 3),
            "tensor_active": np.round(noisy["tensor"], 3),
            "dram_active": np.round(noisy["dram"], 3),
            "mem_bytes": (np.rint(table["memory"] * bias * machine.hbm_bytes / 2**20).astype(np.int64)) << 20,
            "power_w": np.round(power, 1),
            "sm_clock_mhz": np.rint(machine.sm_clock_mhz * (1 - 0.11 * busy)).astype(np.int64),
            "temp_c": np.rint(31 + 36 * busy + rng.normal(0, 0.6, count)).astype(np.int64),
        }
    )
