"""One RL step out of its phases: synchronous, one step off, asynchronous. Seconds."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.shapes import Num, at_least, at_most, num

Mode = Literal["sync_colocated", "sync_disaggregated", "one_step_off", "async"]
MODES: tuple[Mode, ...] = ("sync_colocated", "sync_disaggregated", "one_step_off", "async")


@dataclass(frozen=True)
class Phases:
    """Seconds of the phases of one step, each on the GPUs of its pool.

    `work_s` and `tail_s` of generation (prompts belong to the work); `tools_s`: what tools add to generation;
    `hidden_sync_s`: part of the weight update that runs beside other work.
    """

    work_s: Num
    tail_s: Num
    logprob_s: Num
    train_s: Num
    sync_s: Num
    tools_s: Num = 0.0
    hidden_sync_s: Num = 0.0
    other_s: Num = 0.0

    @property
    def generation_s(self) -> Num:
        """Generation with its tail and what tools add."""
        return self.work_s + self.tail_s + self.tools_s

    @property
    def trainer_s(self) -> Num:
        """Scoring and training."""
        return self.logprob_s + self.train_s


@dataclass(frozen=True)
class StepTime:
    """Parts of a step's wall time in seconds; they add up to `total_s`.

    Where pools work side by side `generation_s` is what the trainer waits for the engines, and not the work
    itself (`engines_s`). `trainer_stall_s` and `engine_stall_s`: waits of a pool for the other inside the
    step, 0 where one pool does both.
    """

    generation_s: Num
    logprob_s: Num
    train_s: Num
    sync_s: Num
    other_s: Num
    engines_s: Num
    trainer_stall_s: Num
    engine_stall_s: Num

    @property
    def total_s(self) -> Num:
        """Sum of the parts that nothing else hides."""
        return self.generation_s + self.logprob_s + self.train_s + self.sync_s + self.other_s


def step_time(phases: Phases, mode: Mode, lag: Num = 1.0) -> StepTime:
    """Wall time of a step. Sync: sum of phases. Else: max over pools + exposed weight update + other.

    `one_step_off`: engines make one batch while the trainer takes the one before, T = max(generation,
    log-prob + training). `async` with trajectories of age <= `lag`: streams keep the batch full, a response
    may last lag + 1 steps, T = max(work + tools, (work + tail + tools) / (lag + 1), log-prob + training).
    Efficiencies measured in one mode do not hold in another (phases of synchronous verl runs predict
    asynchronous steps 1.6 to 2.4 times too slow). Raises ValueError for an unknown mode.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}: {mode!r}")
    engines, trainer = num(phases.generation_s), num(phases.trainer_s)
    if mode == "async":
        flowing = num(phases.work_s) + phases.tools_s
        engines = at_least(flowing, engines / (num(lag) + 1))
    together = mode in ("one_step_off", "async")
    cycle = at_least(engines, trainer) if together else engines + trainer
    pools = 0.0 if mode == "sync_colocated" else 1.0
    return StepTime(
        generation_s=cycle - trainer,
        logprob_s=num(phases.logprob_s),
        train_s=num(phases.train_s),
        sync_s=num(phases.sync_s) - at_most(num(phases.hidden_sync_s), num(phases.sync_s)),
        other_s=num(phases.other_s),
        engines_s=engines,
        trainer_stall_s=pools * (cycle - trainer),
        engine_stall_s=pools * (cycle - engines),
    )


@dataclass(frozen=True)
class Split:
    """GPUs of two pools and the cycle they give; `slack_frac`: share of the cycle the faster pool waits."""

    engine_gpus: int
    trainer_gpus: int
    cycle_s: float
    slack_frac: float


def best_split(
    total_gpus: int, engine_gpu_s: float, trainer_gpu_s: float, serial_s: float = 0.0, unit: int = 8
) -> Split:
    """Split with the shortest cycle: max(engine GPU-s / G_e + serial, trainer GPU-s / G_t).

    GPUs come in multiples of `unit`. `serial_s`: tail that more engines do not shrink. Raises ValueError
    below two units.
    """
    if unit < 1 or total_gpus < 2 * unit:
        raise ValueError(f"{total_gpus} GPUs cannot be split into two pools of {unit}")
    engines = np.arange(unit, total_gpus - unit + 1, unit, dtype=np.float64)
    made, used = engine_gpu_s / engines + serial_s, trainer_gpu_s / (total_gpus - engines)
    cycles = np.maximum(made, used)
    at = int(cycles.argmin())
    slack = abs(made[at] - used[at]) / cycles[at]
    return Split(int(engines[at]), total_gpus - int(engines[at]), float(cycles[at]), float(slack))


def amdahl(step: StepTime, part_s: Num, factor: Num) -> Num:
    """Step seconds when a part of it takes 1 / factor of its time: total - part + part / factor."""
    return step.total_s - part_s + num(part_s) / factor
