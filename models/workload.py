"""A run as the projection sees it: what it does in a step, on which GPUs, and what was measured. Seconds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from models.lengths import Lengths
from models.machine import Machine
from models.shapes import BYTES_PER_WEIGHT, Llm, precision_class
from models.step_time import MODES, Mode

Floats = npt.NDArray[np.float64]
KV_BYTES = {"bf16": 2.0, "fp8": 1.0, "fp4": 1.0}
"""Bytes of a cached value beside weights of a precision, as the back-test of decode takes it."""
TIMED = ("rollout_s", "logprob_s", "train_s", "sync_s", "env_s", "other_s", "unattributed_s")


@dataclass(frozen=True)
class Pool:
    """GPUs of one machine at a precision class (bf16, fp8, fp4). Raises ValueError below one GPU."""

    machine: Machine
    gpus: int
    precision: str

    def __post_init__(self) -> None:
        if self.gpus < 1:
            raise ValueError(f"a pool needs a GPU: {self.gpus}")
        object.__setattr__(self, "precision", precision_class(self.precision))

    @property
    def bytes_per_weight(self) -> float:
        """Bytes a weight takes at this precision, scales of a block format included."""
        return BYTES_PER_WEIGHT[self.precision]


@dataclass(frozen=True)
class Workload:
    """One RL step: `rollouts` responses in groups of `group`, and the GPUs that make and learn them.

    `prompt_tokens` of a prompt on average; `trained_tokens` of a step with their prompts; `updates` optimiser
    steps. `engines` and `trainer` are the same GPUs in `sync_colocated`. What a log may not say: `tail_known`
    False when only a mean of the lengths is known; `replica_gpus` GPUs of an engine replica and `max_batch`
    its sequences at most (None: chosen by memory and rate); `kv_bytes` a cached value (None: `KV_BYTES`);
    `passes` models that score the tokens in the measured log-prob seconds.
    """

    llm: Llm
    mode: Mode
    lag: float
    rollouts: float
    group: float
    prompt_tokens: float
    lengths: Lengths
    trained_tokens: float
    updates: float
    engines: Pool
    trainer: Pool
    tail_known: bool = True
    replica_gpus: int | None = None
    max_batch: float | None = None
    kv_bytes: float | None = None
    passes: float = 1.0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}: {self.mode!r}")
        if not (self.rollouts >= 1 and self.group >= 1 and self.trained_tokens > 0):
            raise ValueError(f"rollouts and trained tokens needed: {self.rollouts}, {self.trained_tokens}")
        if self.mode == "sync_colocated" and self.engines.gpus != self.trainer.gpus:
            raise ValueError(
                f"colocated pools are the same GPUs: {self.engines.gpus} engines, {self.trainer.gpus} trainer"
            )

    @property
    def response_tokens(self) -> float:
        """Output tokens of a step."""
        return self.rollouts * self.lengths.mean

    @property
    def tokens(self) -> float:
        """Prompt and output tokens of a step; a prompt counts once a response."""
        return self.rollouts * (self.prompt_tokens + self.lengths.mean)

    @property
    def mean_seq_len(self) -> float:
        """Mean length that attention of the trainer sees."""
        return self.prompt_tokens + self.lengths.mean

    def cached_bytes(self, pool: Pool) -> float:
        """Bytes of a cached value on a pool."""
        return KV_BYTES[pool.precision] if self.kv_bytes is None else self.kv_bytes

    def gpus(self, engines: Pool, trainer: Pool) -> int:
        """GPUs of two pools: counted once where one pool does both, else their sum."""
        same = self.mode == "sync_colocated" and engines.machine == trainer.machine
        return engines.gpus if same and engines.gpus == trainer.gpus else engines.gpus + trainer.gpus


@dataclass(frozen=True)
class Measured:
    """Seconds a step of one run, arrays of shape (steps,); None: not timed.

    Phases do not nest: tools and sandboxes are in `env_s` and not in `rollout_s`, the reference model is in
    `logprob_s`. In `async` mode `rollout_s` is the time the engines need for a step's batch, not the wait of
    the trainer. `unattributed_s` is used where no `step_s` is known; else it follows from the composition.
    """

    rollout_s: Floats | None = None
    logprob_s: Floats | None = None
    train_s: Floats | None = None
    sync_s: Floats | None = None
    env_s: Floats | None = None
    other_s: Floats | None = None
    unattributed_s: Floats | None = None
    step_s: Floats | None = None

    @cached_property
    def known(self) -> Mapping[str, Floats]:
        """Timed columns over the steps in which every one of them is known; lengths must agree."""
        found = {
            name: np.asarray(getattr(self, name), dtype=np.float64)
            for name in (*TIMED, "step_s")
            if getattr(self, name) is not None
        }
        if len({column.shape for column in found.values()}) > 1:
            raise ValueError(f"steps differ: { ({name: column.shape for name, column in found.items()}) }")
        if not found:
            return found
        whole = np.isfinite(np.stack(list(found.values()))).all(axis=0)
        return {name: column[whole] for name, column in found.items()}

    @property
    def n_steps(self) -> int:
        """Steps in which every timed phase is known."""
        return len(next(iter(self.known.values()), ()))

    @property
    def has_phases(self) -> bool:
        """True when generation and training are timed: below that only a step as a whole can be projected."""
        return self.rollout_s is not None and self.train_s is not None

    def mean(self, name: str) -> float:
        """Mean seconds of a column, NaN when it was not timed."""
        return self._means.get(name, (math.nan, 0.0))[0]

    def mean_sigma(self, name: str) -> float:
        """Log standard error of that mean: sd / mean / sqrt(n), steps as independent; 0 for one step."""
        return self._means.get(name, (math.nan, 0.0))[1]

    @cached_property
    def _means(self) -> Mapping[str, tuple[float, float]]:
        return {name: _mean_sigma(column) for name, column in self.known.items() if column.size}


def _mean_sigma(column: Floats) -> tuple[float, float]:
    mean = float(column.mean())
    if column.size < 2 or not mean > 0:
        return mean, 0.0
    return mean, float(column.std(ddof=1) / mean / np.sqrt(column.size))


@dataclass(frozen=True)
class EnginePoint:
    """Measured seconds of a decode step at a batch and a mean context, from an engine's log."""

    batch: float
    context: float
    step_s: float
